// SPDX-License-Identifier: Apache-2.0
// Importers of Keras' layer classes, and their table. Private to the Keras front end.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "base/json.h"
#include "import/builder.h"
#include "import/keras/files.h"
#include "import/options.h"

namespace dvnn::import {

/// The result of a layer. Pictures, which Keras has as (N, H, W, C), are N x C x H x W in the
/// graph; everything else has Keras' own dimensions, but for what the two flags say.
struct KerasTensor {
  int value = -1;
  bool flat = false;  // Keras sees the picture `value` flattened, in the order H, W, C
  bool row = false;   // Keras sees a sequence (N, length, C), which is a picture of one row here
  /// Returns another value in the same form.
  KerasTensor with(int other) const { return {other, flat, row}; }
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
  int version = 2;       // of Keras
  bool archive = false;  // weights are found by their path in an archive
  std::vector<std::string> input_names;

  /// Returns the tensor as a value of the graph; flattened pictures are put in Keras' order.
  Result<int> plain(const KerasLayer& layer, const KerasTensor& tensor);
  /// Like plain(), but keeps the mark of a sequence.
  Result<KerasTensor> tensor(const KerasLayer& layer, const KerasTensor& tensor);
  /// Returns the number of dimensions in Keras, the batch included.
  int rank(const KerasTensor& tensor) const;
  /// A sequence in the form of a picture of one row, and one of Keras' own dimensions.
  /// kUnsupported if it is no sequence.
  Result<KerasTensor> as_row(const std::string& name, const KerasTensor& tensor);
  Result<KerasTensor> as_sequence(const std::string& name, const KerasTensor& tensor);
  /// Returns the graph's axis for Keras' `axis`, 1 or more, of such a tensor.
  int graph_axis(const KerasTensor& tensor, int axis) const;
  /// Adds y = scale[i] x + bias[i] along an axis of the graph.
  Result<int> affine_along(const std::string& name, int in, int axis, std::vector<float> scale,
                           std::vector<float> bias);
};

/// Imports one layer (not a nested model). kUnsupported if its class is not known.
Result<KerasTensor> import_keras_layer(KerasImporter* importer, const KerasLayer& layer);

/// is_keras_1d() says whether a class works on sequences; the other returns the same layer for
/// images of one row.
bool is_keras_1d(const std::string& class_name);
KerasLayer keras_1d_as_2d(const KerasLayer& layer);

/// Returns the index in (c, h, w) of element `i` of an array (h, w, c) with `count` elements,
/// `channels` of them in the last axis.
inline size_t channels_first(size_t i, size_t channels, size_t count) {
  return i % channels * (count / channels) + i / channels;
}

/// Returns the configuration's value for the first of several keys that it has; null if it has
/// none.
const Json& keras_option(const Json& config, std::initializer_list<const char*> keys);
/// Returns the graph's axis for a layer's option `axis`, of a tensor that is not flat; without the
/// option, the last axis. kUnsupported for several axes, or values that are no axis.
Result<int> keras_axis(const KerasImporter& importer, const KerasLayer& layer,
                       const KerasTensor& tensor);
/// Returns the only input of a layer over pictures. kUnsupported for other inputs and
/// channels_first.
Result<int> keras_picture(KerasImporter* importer, const KerasLayer& layer);
/// Computes the pads of "same" along one axis: as many outputs as strides fit into the input,
/// rounded up. TensorFlow puts an odd pixel at the end.
void keras_same_pads(int64_t size, int64_t window, int64_t stride, int64_t* before, int64_t* after);
/// Returns whether the padding is "same"; kUnsupported for values that Keras does not have.
Result<bool> keras_is_same(const Json& config);
/// Checks array `index` of a layer: kMalformed if it is missing or has other dimensions.
Status keras_check_weights(const KerasLayer& layer, size_t index, const std::vector<int64_t>& dims);
bool keras_flag(const Json& value, bool fallback);
/// Returns a number, or `fallback` if `value` is none.
double keras_number(const Json& value, double fallback);
/// Returns two integers (y, x); a single one counts for both.
Result<std::vector<int64_t>> keras_pair(const Json& value, int64_t fallback);
/// Adds a named activation after `in`; "linear" and null add none.
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
