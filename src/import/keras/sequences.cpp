// SPDX-License-Identifier: Apache-2.0
// Imports layers over sequences (length, channels) as layers over pictures of one row.
#include "base/json.h"
#include "import/keras/layers.h"

namespace dvnn::import {
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
