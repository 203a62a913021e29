// SPDX-License-Identifier: Apache-2.0
// Importers of Caffe's layer types; caffe_import.cpp holds the table. Private to the Caffe front
// end.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "import/builder.h"
#include "import/caffe/blobs.h"
#include "import/options.h"

namespace dvnn::import {

/// The state of one import.
struct CaffeImporter {
  CaffeImporter(const caffe::NetParameter& weights, const ImportOptions& import_options)
      : blobs(weights), options(import_options) {}
  GraphBuilder builder;
  CaffeBlobs blobs;
  const ImportOptions& options;
  std::vector<std::string> input_names;
  std::map<std::string, int> blobs_by_name;  // values; in-place layers re-define their name

  Result<int> bottom(const caffe::LayerParameter& layer, int index) const;
  Status set_top(const caffe::LayerParameter& layer, int index, int value);
  /// The layer's only output is this.
  Status done(const caffe::LayerParameter& layer, const Result<int>& value);
  Status add_input(const std::string& name, std::vector<int64_t> dims);
};

/// The layer's type, or the class that a Python layer names.
std::string caffe_custom_type(const caffe::LayerParameter& layer);

#define DVNN_CAFFE_LAYER(name) \
  Status name(CaffeImporter* importer, const caffe::LayerParameter& layer)
DVNN_CAFFE_LAYER(import_abs);
DVNN_CAFFE_LAYER(import_axpy);
DVNN_CAFFE_LAYER(import_batch_norm);
DVNN_CAFFE_LAYER(import_concat);
DVNN_CAFFE_LAYER(import_convolution);
DVNN_CAFFE_LAYER(import_crop);
DVNN_CAFFE_LAYER(import_custom);
DVNN_CAFFE_LAYER(import_data);
DVNN_CAFFE_LAYER(import_detection_output);
DVNN_CAFFE_LAYER(import_elu);
DVNN_CAFFE_LAYER(import_eltwise);
DVNN_CAFFE_LAYER(import_flatten);
DVNN_CAFFE_LAYER(import_identity);
DVNN_CAFFE_LAYER(import_inner_product);
DVNN_CAFFE_LAYER(import_input);
DVNN_CAFFE_LAYER(import_interp);
DVNN_CAFFE_LAYER(import_lrn);
DVNN_CAFFE_LAYER(import_normalize);
DVNN_CAFFE_LAYER(import_permute);
DVNN_CAFFE_LAYER(import_pooling);
DVNN_CAFFE_LAYER(import_power);
DVNN_CAFFE_LAYER(import_prelu);
DVNN_CAFFE_LAYER(import_prior_box);
DVNN_CAFFE_LAYER(import_relu);
DVNN_CAFFE_LAYER(import_reshape);
DVNN_CAFFE_LAYER(import_scale);
DVNN_CAFFE_LAYER(import_sigmoid);
DVNN_CAFFE_LAYER(import_softmax);
DVNN_CAFFE_LAYER(import_split);
DVNN_CAFFE_LAYER(import_tanh);
DVNN_CAFFE_LAYER(import_upsample);

}  // namespace dvnn::import
