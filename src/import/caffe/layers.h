// SPDX-License-Identifier: Apache-2.0
// Importers of Caffe's layer types, their table, and the weights that they read. Private to the
// Caffe front end.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "caffe.pb.h"
#include "import/builder.h"
#include "import/options.h"

namespace dvnn::import {

/// The weights of a caffemodel, found by layer name.
class CaffeBlobs {
 public:
  explicit CaffeBlobs(const caffe::NetParameter& weights);
  /// Number of blobs of a layer; 0 if the model does not have it.
  int count(const std::string& layer) const;
  /// Returns blob `index` of a layer: any number of finite floats.
  Result<std::vector<float>> get(const std::string& layer, int index) const;
  /// Returns blob `index` of a layer: exactly `elements` finite floats, or an error that names the
  /// blob; the caller adds the layer.
  Result<std::vector<float>> get(const std::string& layer, int index, size_t elements) const;

 private:
  std::map<std::string, const caffe::LayerParameter*> layers_;
};

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
  /// Makes `value` the layer's only output.
  Status done(const caffe::LayerParameter& layer, const Result<int>& value);
  Status add_input(const std::string& name, std::vector<int64_t> dims);
};

/// Returns the layer's type, or the class that a Python layer names.
std::string caffe_custom_type(const caffe::LayerParameter& layer);

/// Every layer type with its importer, which stands among its kin in a file of this folder.
#define DVNN_CAFFE_LAYERS(ROW)                    \
  ROW("AbsVal", import_abs)                       \
  ROW("Axpy", import_axpy)                        \
  ROW("BatchNorm", import_batch_norm)             \
  ROW("Concat", import_concat)                    \
  ROW("Convolution", import_convolution)          \
  ROW("ConvolutionDepthwise", import_convolution) \
  ROW("Crop", import_crop)                        \
  ROW("Data", import_data)                        \
  ROW("Deconvolution", import_convolution)        \
  ROW("DepthwiseConvolution", import_convolution) \
  ROW("DetectionOutput", import_detection_output) \
  ROW("Dropout", import_identity)                 \
  ROW("ELU", import_elu)                          \
  ROW("Eltwise", import_eltwise)                  \
  ROW("Flatten", import_flatten)                  \
  ROW("InnerProduct", import_inner_product)       \
  ROW("Input", import_input)                      \
  ROW("Interp", import_interp)                    \
  ROW("LRN", import_lrn)                          \
  ROW("Normalize", import_normalize)              \
  ROW("PReLU", import_prelu)                      \
  ROW("Permute", import_permute)                  \
  ROW("Pooling", import_pooling)                  \
  ROW("Power", import_power)                      \
  ROW("PriorBox", import_prior_box)               \
  ROW("ReLU", import_relu)                        \
  ROW("Reshape", import_reshape)                  \
  ROW("Scale", import_scale)                      \
  ROW("Sigmoid", import_sigmoid)                  \
  ROW("Softmax", import_softmax)                  \
  ROW("Split", import_split)                      \
  ROW("TanH", import_tanh)                        \
  ROW("Upsample", import_upsample)

// A function may import several types: then this declares it as often.
#define DVNN_DECLARE(type, import) \
  Status import(CaffeImporter* importer, const caffe::LayerParameter& layer);
DVNN_CAFFE_LAYERS(DVNN_DECLARE)
DVNN_DECLARE("any other", import_custom)
#undef DVNN_DECLARE

}  // namespace dvnn::import
