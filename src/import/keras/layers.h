// SPDX-License-Identifier: Apache-2.0
// Importers of Keras' layer classes, and their table. Private to the Keras front end.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "base/json.h"
#include "import/builder.h"
#include "import/keras/hdf5_file.h"
#include "import/options.h"

namespace dvnn::import {

/// The result of a layer.
struct KerasTensor {
  int value = -1;
  bool flat = false;  // Keras sees the picture `value` flattened, in the order H, W, C
};

/// A layer as its importer sees it.
struct KerasLayer {
  std::string name, class_name;
  Json config;
  std::vector<KerasTensor> inputs;
  std::vector<Hdf5Array> weights;  // in Keras' order
};

struct KerasImporter {
  explicit KerasImporter(const ImportOptions& import_options) : options(import_options) {}
  GraphBuilder builder;
  const ImportOptions& options;
  bool keras1 = false, keras3 = false;
  std::vector<std::string> input_names;

  /// A tensor as the graph has it: flattened pictures are put in Keras' order.
  Result<int> plain(const KerasLayer& layer, const KerasTensor& tensor);
};

/// Imports one layer (not a nested model). kUnsupported if its class is not known.
Result<KerasTensor> import_keras_layer(KerasImporter* importer, const KerasLayer& layer);

/// is_keras_1d() says whether a class works on sequences; the other returns the same layer for
/// images of one row.
bool is_keras_1d(const std::string& class_name);
KerasLayer keras_1d_as_2d(const KerasLayer& layer);

/// The first of several keys that a configuration has; null if it has none.
const Json& keras_option(const Json& config, std::initializer_list<const char*> keys);
/// The graph's axis that the option `axis` of a layer means, for an input of that shape; without
/// the option, the channels. An error for what is no axis, and for a sequence's own axes, which
/// pictures of one row cannot be told from.
Result<int> keras_axis(const KerasLayer& layer, const Shape& shape);
/// A number, or `fallback` if `value` is none.
double keras_number(const Json& value, double fallback);
/// Two integers (y, x), or one for both.
Result<std::vector<int64_t>> keras_pair(const Json& value, int64_t fallback);
/// A named activation after `in`; "linear" and null are none.
Result<int> keras_activation(KerasImporter* importer, const std::string& name,
                             const Json& activation, int in);

/// Every layer class with its importer, which stands among its kin in a file of this folder.
/// "Layer" is the input of a sequence of layers, in Keras 1.
#define DVNN_KERAS_LAYERS(ROW)                           \
  ROW("Activation", import_activation)                   \
  ROW("ActivityRegularization", import_identity)         \
  ROW("Add", import_merge)                               \
  ROW("AlphaDropout", import_identity)                   \
  ROW("Average", import_merge)                           \
  ROW("AveragePooling2D", import_average_pooling)        \
  ROW("BatchNormalization", import_batch_norm)           \
  ROW("BatchNormalizationV1", import_batch_norm)         \
  ROW("Concatenate", import_merge)                       \
  ROW("Conv2D", import_conv2d)                           \
  ROW("Conv2DTranspose", import_conv2d_transpose)        \
  ROW("Convolution2D", import_conv2d)                    \
  ROW("Deconvolution2D", import_conv2d_transpose)        \
  ROW("Dense", import_dense)                             \
  ROW("DepthwiseConv2D", import_depthwise_conv2d)        \
  ROW("Dropout", import_identity)                        \
  ROW("ELU", import_elu)                                 \
  ROW("Flatten", import_flatten)                         \
  ROW("GaussianDropout", import_identity)                \
  ROW("GaussianNoise", import_identity)                  \
  ROW("GlobalAveragePooling2D", import_global_pooling)   \
  ROW("GlobalMaxPooling2D", import_global_pooling)       \
  ROW("Layer", import_identity)                          \
  ROW("LeakyReLU", import_leaky_relu)                    \
  ROW("MaxPooling2D", import_max_pooling)                \
  ROW("Maximum", import_merge)                           \
  ROW("Merge", import_merge_mode)                        \
  ROW("Multiply", import_merge)                          \
  ROW("PReLU", import_prelu)                             \
  ROW("Permute", import_permute)                         \
  ROW("ReLU", import_relu)                               \
  ROW("Rescaling", import_rescaling)                     \
  ROW("Reshape", import_reshape)                         \
  ROW("SeparableConv2D", import_separable_conv2d)        \
  ROW("SeparableConvolution2D", import_separable_conv2d) \
  ROW("Softmax", import_softmax)                         \
  ROW("SpatialDropout1D", import_identity)               \
  ROW("SpatialDropout2D", import_identity)               \
  ROW("Subtract", import_merge)                          \
  ROW("UpSampling2D", import_up_sampling)                \
  ROW("ZeroPadding2D", import_zero_padding)

// A function may import several classes: then this declares it as often.
#define DVNN_DECLARE(class_name, import) \
  Result<KerasTensor> import(KerasImporter* importer, const KerasLayer& layer);
DVNN_KERAS_LAYERS(DVNN_DECLARE)
#undef DVNN_DECLARE

}  // namespace dvnn::import
