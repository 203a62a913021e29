// SPDX-License-Identifier: Apache-2.0
// Keras layers with windows and without weights.
#include <algorithm>

#include "base/json.h"
#include "import/keras/layers.h"

namespace dvnn::import {

void keras_same_pads(int64_t size, int64_t window, int64_t stride, int64_t* before,
                     int64_t* after) {
  const int64_t outputs = (size + stride - 1) / stride;
  const int64_t total = std::max<int64_t>((outputs - 1) * stride + window - size, 0);
  *before = total / 2;
  *after = total - *before;
}

Result<bool> keras_is_same(const Json& config) {
  const Json& mode = keras_option(config, {"padding", "border_mode"});
  if (mode == "same") return true;
  if (mode == "valid" || mode == "causal" || mode.is_null()) return false;
  return unsupported("padding " + shown(mode) + " is not supported");
}

namespace {

Result<KerasTensor> pooling(KerasImporter* importer, const KerasLayer& layer, bool average) {
  DVNN_ASSIGN(const int in, keras_picture(importer, layer));
  const Shape shape = importer->builder.shape_of(in);
  DVNN_ASSIGN(const auto window, keras_pair(keras_option(layer.config, {"pool_size"}), 2));
  const Json& strides_option = keras_option(layer.config, {"strides"});
  std::vector<int64_t> strides = window;
  if (!strides_option.is_null()) {
    DVNN_ASSIGN(strides, keras_pair(strides_option, 1));
  }
  if (std::min({window[0], window[1], strides[0], strides[1]}) < 1) {
    return malformed("a window or a stride is 0");
  }
  DVNN_ASSIGN(const bool same, keras_is_same(layer.config));
  PoolSpec spec;
  spec.average = average;
  spec.counts_pads = false;
  spec.kernel_y = window[0], spec.kernel_x = window[1];
  spec.stride_y = strides[0], spec.stride_x = strides[1];
  if (same) {
    keras_same_pads(shape.w(), spec.kernel_x, spec.stride_x, &spec.left, &spec.right);
    keras_same_pads(shape.h(), spec.kernel_y, spec.stride_y, &spec.top, &spec.bottom);
  }
  DVNN_ASSIGN(const int out, importer->builder.pooling(layer.name, in, spec));
  return KerasTensor{out, false, false};
}

}  // namespace

Result<KerasTensor> import_max_pooling(KerasImporter* importer, const KerasLayer& layer) {
  return pooling(importer, layer, false);
}

Result<KerasTensor> import_average_pooling(KerasImporter* importer, const KerasLayer& layer) {
  return pooling(importer, layer, true);
}

Result<KerasTensor> import_global_pooling(KerasImporter* importer, const KerasLayer& layer) {
  DVNN_ASSIGN(const int in, keras_picture(importer, layer));
  const bool average = layer.class_name == "GlobalAveragePooling2D";
  const bool keeps = keras_flag(keras_option(layer.config, {"keepdims"}), false);
  DVNN_ASSIGN(const int pooled, importer->builder.global_pooling(layer.name, in, average));
  if (keeps) return KerasTensor{pooled, false, false};
  DVNN_ASSIGN(const int out,
              importer->builder.reshape(layer.name + "_vector", pooled,
                                        {1, importer->builder.shape_of(pooled).c()}));
  return KerasTensor{out, false, false};
}

Result<KerasTensor> import_zero_padding(KerasImporter* importer, const KerasLayer& layer) {
  DVNN_ASSIGN(const int in, keras_picture(importer, layer));
  // One number, (y, x), or ((top, bottom), (left, right)); Keras 1: (y, x) or four.
  const Json& padding = keras_option(layer.config, {"padding"});
  std::vector<Json> sides = {1, 1};
  if (padding.is_array()) sides.assign(padding.begin(), padding.end());
  if (padding.is_number_integer()) sides = {padding, padding};
  std::vector<int64_t> p;
  if (sides.size() == 4) {
    for (const Json& side : sides) {
      DVNN_ASSIGN(const auto pair, keras_pair(side, 0));
      p.push_back(pair[0]);
    }
  } else if (sides.size() == 2) {
    for (const Json& side : sides) {
      DVNN_ASSIGN(const auto pair, keras_pair(side, 0));
      p.insert(p.end(), pair.begin(), pair.end());
    }
  } else {
    return malformed(shown(padding) + " is no padding");
  }
  DVNN_ASSIGN(const int out, importer->builder.pad(layer.name, in, p[2], p[3], p[0], p[1]));
  return KerasTensor{out, false, false};
}

// The device can double pixels; the CPU handles other sizes, and interpolation.
Result<KerasTensor> import_up_sampling(KerasImporter* importer, const KerasLayer& layer) {
  DVNN_ASSIGN(const int in, keras_picture(importer, layer));
  GraphBuilder& b = importer->builder;
  DVNN_ASSIGN(const auto size, keras_pair(keras_option(layer.config, {"size"}), 2));
  const Json& mode = keras_option(layer.config, {"interpolation"});
  if (!mode.is_null() && mode != "nearest" && mode != "bilinear") {
    return unsupported("interpolation " + shown(mode) +
                       " is not supported (nearest and bilinear are)");
  }
  if (std::min(size[0], size[1]) < 1) {
    return malformed("size " + shown(keras_option(layer.config, {"size"})) + " leaves no pixels");
  }
  const bool nearest = mode != "bilinear";
  const bool doubles = size[0] == size[1] && (size[0] & (size[0] - 1)) == 0;
  if (nearest && doubles) {
    int value = in;
    for (int64_t left = size[0], step = 1; left > 1; ++step, left /= 2) {
      DVNN_ASSIGN(
          value,
          b.upsample2(left == 2 ? layer.name : layer.name + "_" + std::to_string(step), value));
    }
    return KerasTensor{value, false, false};
  }
  layers::ResizeAttributes resize;
  if (nearest) {
    resize.coordinates = layers::ResizeAttributes::Coordinates::kAsymmetric;
    resize.rounding = layers::ResizeAttributes::Rounding::kFloor;
  } else {
    resize.mode = layers::ResizeAttributes::Mode::kLinear;
  }
  resize.scales = {1.0f, 1.0f, static_cast<float>(size[0]), static_cast<float>(size[1])};
  DVNN_ASSIGN(const int out, b.cpu(layer.name, std::move(resize), {in}));
  return KerasTensor{out, false, false};
}

}  // namespace dvnn::import
