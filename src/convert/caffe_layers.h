// SPDX-License-Identifier: Apache-2.0
// Importers of Caffe's layer types; caffe_import.cpp holds the table. Private to the Caffe front
// end.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "convert/builder.h"
#include "convert/caffe_blobs.h"
#include "convert/graph.h"

namespace dvnn::convert {

/// The state of one import.
struct CaffeImporter {
  explicit CaffeImporter(const caffe::NetParameter& weights) : blobs(weights) {}
  Graph graph;
  CaffeBlobs blobs;
  int width = 0, height = 0;  // of the input instead of the file's own; 0: the file's
  std::map<std::string, int> blobs_by_name;  // values; in-place layers re-define their name

  Result<int> bottom(const caffe::LayerParameter& layer, int index) const;
  Status set_top(const caffe::LayerParameter& layer, int index, int value);
  /// Appends `node` with one output of shape `dims`.
  Status add(const caffe::LayerParameter& layer, Node node, const std::vector<int64_t>& dims);
  Status add_input(const std::string& name, std::vector<int64_t> dims);
};

#define DVNN_CAFFE_LAYER(name) \
  Status name(CaffeImporter* importer, const caffe::LayerParameter& layer)
DVNN_CAFFE_LAYER(import_batch_norm);
DVNN_CAFFE_LAYER(import_concat);
DVNN_CAFFE_LAYER(import_convolution);
DVNN_CAFFE_LAYER(import_detection_output);
DVNN_CAFFE_LAYER(import_elu);
DVNN_CAFFE_LAYER(import_eltwise);
DVNN_CAFFE_LAYER(import_flatten);
DVNN_CAFFE_LAYER(import_identity);
DVNN_CAFFE_LAYER(import_inner_product);
DVNN_CAFFE_LAYER(import_input);
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

}  // namespace dvnn::convert
