// SPDX-License-Identifier: Apache-2.0
// The forms of Keras' tensors in the graph: flat, as pictures, and as sequences (length, channels),
// layers over which are imported as layers over pictures of one row.

#include "base/format.h"
#include "base/json.h"
#include "import/keras/layers.h"

namespace dvnn::import {
namespace {

constexpr int kSequenceRank = 3, kPictureRank = 4;

}  // namespace

Result<int> KerasImporter::plain(const KerasLayer& layer, const KerasTensor& tensor) {
  if (!tensor.flat) return tensor.value;
  const Shape shape = builder.shape_of(tensor.value);
  const std::string name = layer.name + "_flat";
  int value = tensor.value;
  if (shape.h() * shape.w() > 1) {
    DVNN_ASSIGN(value, builder.permute(name + "_hwc", value, {0, 2, 3, 1}));
  }
  return builder.reshape(name, value, {1, shape.elements()});
}

Result<KerasTensor> KerasImporter::tensor(const KerasLayer& layer, const KerasTensor& tensor) {
  DVNN_ASSIGN(const int value, plain(layer, tensor));
  return KerasTensor{value, false, tensor.row && !tensor.flat};
}

int KerasImporter::rank(const KerasTensor& tensor) const {
  if (tensor.flat) return 2;
  return tensor.row ? kSequenceRank : builder.shape_of(tensor.value).rank;
}

Result<KerasTensor> KerasImporter::as_row(const std::string& name, const KerasTensor& tensor) {
  if (tensor.row) return tensor;
  const Shape shape = builder.shape_of(tensor.value);
  if (tensor.flat || shape.rank != kSequenceRank) {
    return unsupported("needs a sequence, has " + shape.to_string());
  }
  DVNN_ASSIGN(const int reshaped,
              builder.reshape(name + "_row", tensor.value, {1, 1, shape[1], shape[2]}));
  DVNN_ASSIGN(const int moved, builder.permute(name + "_chw", reshaped, {0, 3, 1, 2}));
  return KerasTensor{moved, false, true};
}

Result<KerasTensor> KerasImporter::as_sequence(const std::string& name, const KerasTensor& tensor) {
  if (!tensor.row) return tensor;
  const Shape shape = builder.shape_of(tensor.value);
  DVNN_ASSIGN(const int moved, builder.permute(name + "_hwc", tensor.value, {0, 2, 3, 1}));
  DVNN_ASSIGN(const int value,
              builder.reshape(name + "_sequence", moved, {1, shape.w(), shape.c()}));
  return KerasTensor{value, false, false};
}

int KerasImporter::graph_axis(const KerasTensor& tensor, int axis) const {
  static constexpr int kPicture[] = {0, 2, 3, 1};  // (n, h, w, c) as the graph has them
  if (tensor.row) return kPicture[axis + 1];
  return builder.shape_of(tensor.value).rank == kPictureRank ? kPicture[axis] : axis;
}

Result<int> KerasImporter::affine_along(const std::string& name, int in, int axis,
                                        std::vector<float> scale, std::vector<float> bias) {
  if (axis == 1) return builder.affine(name, in, std::move(scale), std::move(bias));
  std::vector<int64_t> dims(builder.shape_of(in).axes(), 1);
  dims[static_cast<size_t>(axis)] = static_cast<int64_t>(scale.size());
  DVNN_ASSIGN(const int factors, builder.constant(name + "_scale", dims, std::move(scale)));
  DVNN_ASSIGN(const int terms, builder.constant(name + "_bias", dims, std::move(bias)));
  using kernels::Operation;
  DVNN_ASSIGN(const int product, builder.binary(name + "_scaled", Operation::kMul, in, factors));
  return builder.binary(name, Operation::kAdd, product, terms);
}

Result<int> keras_axis(const KerasImporter& importer, const KerasLayer& layer,
                       const KerasTensor& tensor) {
  const Json& option = keras_option(layer.config, {"axis"});
  const Json& number = option.is_array() && option.size() == 1 ? option.at(0) : option;
  const int rank = importer.rank(tensor);
  const int64_t given = number.is_null()             ? -1
                        : number.is_number_integer() ? number.get<int64_t>()
                                                     : 0;
  const int64_t axis = given < 0 ? given + rank : given;
  if (axis >= 1 && axis < rank) return importer.graph_axis(tensor, static_cast<int>(axis));
  return unsupported(
      format("axis %s is not supported: the input has the axes 1 to %d, of which one may be named",
             json_text(number, -1, true).c_str(), rank - 1));
}

Result<int> keras_picture(KerasImporter* importer, const KerasLayer& layer) {
  const KerasTensor& in = layer.inputs[0];
  const Shape& shape = importer->builder.shape_of(in.value);
  const Json& format_name = keras_option(layer.config, {"data_format", "dim_ordering"});
  const bool known = format_name.is_null() || format_name == "channels_last" ||
                     format_name == "tf" || format_name == "default";
  if (!known) return unsupported(shown(format_name) + " is not supported (channels_last is)");
  if (!in.flat && !in.row && shape.rank == kPictureRank) return in.value;
  const char* const of = in.row ? " of a sequence" : "";
  return unsupported("needs a picture, has " + shape.to_string() + of);
}

namespace {

// Returns a size along the length as (y, x), also for lists of one number.
Json row_of(const Json& value) {
  if (value.is_array() && value.size() == 1) return {1, value.at(0)};
  if (value.is_number_integer()) return {1, value};
  return value;
}

}  // namespace

bool is_keras_1d(const std::string& class_name) {
  return class_name.find("1D") != std::string::npos && class_name != "SpatialDropout1D";
}

KerasLayer keras_1d_as_2d(const KerasLayer& layer) {
  KerasLayer row = layer;
  row.class_name.replace(row.class_name.find("1D"), 2, "2D");
  Json& config = row.config;
  // Names of Keras 1 and today's.
  static constexpr const char* kSizes[][2] = {{"kernel_size", "kernel_size"},
                                              {"strides", "strides"},
                                              {"subsample_length", "strides"},
                                              {"dilation_rate", "dilation_rate"},
                                              {"atrous_rate", "dilation_rate"},
                                              {"pool_size", "pool_size"},
                                              {"pool_length", "pool_size"},
                                              {"stride", "strides"},

                                              {"size", "size"},
                                              {"length", "size"}};
  if (!config.is_object()) return row;
  for (const auto& [old, name] : kSizes) {
    const auto it = config.find(old);
    if (it != config.end() && !it->is_null()) config[name] = row_of(Json(*it));
  }
  const Json padding = config.value("output_padding", Json(nullptr));
  const Json& added = padding.is_array() && padding.size() == 1 ? padding.at(0) : padding;
  if (added.is_number_integer()) config["output_padding"] = {0, Json(added)};
  if (row.class_name == "ZeroPadding2D") {  // one number for both ends, or one for each
    const Json given = config.value("padding", Json(1));
    const Json ends = given.is_array() && given.size() == 2   ? given
                      : given.is_array() && given.size() == 1 ? Json({given.at(0), given.at(0)})
                                                              : Json({given, given});
    config["padding"] = Json::array({Json::array({0, 0}), ends});
  }
  // (length, in, out) -> (1, length, in, out); Keras 1 has (length, 1, in, out).
  for (Hdf5Array& array : row.weights) {
    if (array.dims.size() == 3)
      array.dims.insert(array.dims.begin(), 1);
    else if (array.dims.size() == 4 && array.dims[1] == 1)
      std::swap(array.dims[0], array.dims[1]);
  }
  return row;
}

}  // namespace dvnn::import
