// SPDX-License-Identifier: Apache-2.0
// Operators that sample pictures at other places.
#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "base/json.h"
#include "base/nth.h"
#include "import/onnx/operators.h"
#include "layers/attributes/fields.h"

namespace dvnn::import {
namespace {

using Resize = layers::ResizeAttributes;

// The attributes of the layer, by the names that its file format has.
Result<Resize> read_rule(const OnnxNode& node) {
  const bool late = node.type() == "Resize" && node.opset() >= 11;
  const std::string mode = node.text("mode", "nearest");
  Json rule;
  rule["mode"] = mode == "bilinear" ? "linear" : mode;
  std::string coordinates =
      late ? node.text("coordinate_transformation_mode", "half_pixel") : "asymmetric";
  // Opset 11 alone, and what tf2onnx writes there for nearest neighbours, which it rounds down.
  if (coordinates == "tf_half_pixel_for_nn") coordinates = "half_pixel_corner";
  if (coordinates == "tf_crop_and_resize") coordinates = "crop_and_resize";
  rule["coordinates"] = coordinates;
  // Opset 10 does not say; its own test and ONNX Runtime take the next pixel of a larger picture.
  std::string rounding = late                      ? node.text("nearest_mode", "round_prefer_floor")
                         : node.type() == "Resize" ? "ceil_where_smaller"
                                                   : "floor";
  if (rounding.compare(0, 6, "round_") == 0) rounding = rounding.substr(6);
  rule["rounding"] = rounding;
  rule["cubic_a"] = node.number("cubic_coeff_a", -0.75f);
  rule["exclude_outside"] = node.integer("exclude_outside", 0) != 0;
  rule["antialias"] = node.integer("antialias", 0) != 0;
  rule["extrapolation"] = node.number("extrapolation_value", 0);
  auto parsed = layers::read_fields<Resize>(rule);
  if (parsed.ok()) return parsed;
  return unsupported(parsed.error().message);
}

// Numbers for some axes (since opset 18), as numbers for all.
Result<std::vector<double>> for_all_axes(const OnnxNode& node, const std::vector<double>& given,
                                         const std::vector<double>& others) {
  const std::vector<int64_t> named = node.integers("axes");
  if (named.empty()) {
    if (given.size() == others.size()) return given;
    return malformed(format("%zu scales or sizes for %zu dimensions", given.size(), others.size()));
  }
  if (given.size() != named.size()) return malformed("axes and scales or sizes differ in length");
  std::vector<double> all = others;
  for (size_t i = 0; i < named.size(); ++i) {
    DVNN_ASSIGN(const int64_t axis, onnx_axis(named[i], others.size()));
    nth(all, axis) = given[i];
  }
  return all;
}

Result<std::vector<double>> optional_numbers(const OnnxNode& node, int input) {
  if (!node.has(input)) return std::vector<double>();
  DVNN_ASSIGN(const auto constant, node.constant(input));
  return constant->values;
}

Result<std::vector<double>> scales_of(const OnnxNode& node, bool late) {
  // Upsample: (x, scales), or attributes; Resize: (x, scales) in opset 10, later (x, roi, scales,
  // sizes).
  DVNN_ASSIGN(std::vector<double> scales, optional_numbers(node, late ? 2 : 1));
  if (!scales.empty()) return scales;
  for (float s : node.numbers("scales")) scales.push_back(static_cast<double>(s));
  const auto width = static_cast<double>(node.number("width_scale", 0));  // opset 1
  if (scales.empty() && width > 0) {
    scales = {1, 1, static_cast<double>(node.number("height_scale", 1)), width};
  }
  return scales;
}

// Sizes of which the picture's proportions are kept (since opset 18), and the one scale of these
// axes, which sizes are rounded from. Without such a policy, there are no scales.
std::vector<float> keep_aspect(const std::string& policy, const Shape& shape,
                               const std::vector<int64_t>& axes, std::vector<double>* sizes) {
  const bool larger = policy == "not_smaller";
  if (!larger && policy != "not_larger") return {};
  double scale = larger ? 0 : 1e9;
  for (int64_t axis : axes) {
    const double own = nth((*sizes), axis) / shape[static_cast<int>(axis)];
    scale = larger ? std::max(scale, own) : std::min(scale, own);
  }
  for (int64_t axis : axes) {
    nth((*sizes), axis) = std::floor(scale * shape[static_cast<int>(axis)] + 0.5);
  }
  std::vector<float> scales(sizes->size(), 1);
  for (int64_t axis : axes) nth(scales, axis) = static_cast<float>(scale);
  return scales;
}

Result<std::vector<int64_t>> resized_axes(const OnnxNode& node, size_t rank) {
  std::vector<int64_t> axes = node.integers("axes");
  for (int64_t& axis : axes) {
    DVNN_ASSIGN(axis, onnx_axis(axis, rank));
  }
  for (size_t i = 0; axes.size() < rank && node.integers("axes").empty(); ++i) {
    axes.push_back(static_cast<int64_t>(i));
  }
  return axes;
}

// Returns whether every pixel is repeated 2, 4 or 8 times, as the device does it.
bool doubles(const Resize& rule, const std::vector<double>& scales, const Shape& shape) {
  if (rule.mode != Resize::Mode::kNearest || shape.rank != 4 || shape.n() != 1 || scales[0] != 1 ||
      scales[1] != 1 || scales[2] != scales[3]) {
    return false;
  }
  const double scale = scales[2];
  if (scale != 2 && scale != 4 && scale != 8) return false;
  using Coordinates = Resize::Coordinates;
  using Rounding = Resize::Rounding;
  // floor(i / scale) is repetition, and floor((i + 0.5) / scale); so is rounding
  // (i + 0.5) / scale - 0.5 to the nearest.
  const bool corner =
      (rule.coordinates == Coordinates::kAsymmetric ||
       rule.coordinates == Coordinates::kHalfPixelCorner) &&
      (rule.rounding == Rounding::kFloor || rule.rounding == Rounding::kCeilWhereSmaller);
  const bool centre =
      (rule.coordinates == Coordinates::kHalfPixel ||
       rule.coordinates == Coordinates::kHalfPixelSymmetric ||
       rule.coordinates == Coordinates::kPytorchHalfPixel) &&
      (rule.rounding == Rounding::kPreferFloor || rule.rounding == Rounding::kPreferCeil);
  return corner || centre;
}

Result<int> doubled(const OnnxNode& node, int value, double scale) {
  for (int step = 1; scale > 1; ++step, scale /= 2) {
    const std::string name = scale == 2 ? node.name() : node.name() + "_" + std::to_string(step);
    DVNN_ASSIGN(value, node.builder().upsample2(name, value));
  }
  return value;
}

}  // namespace

Status import_onnx_resize(const OnnxNode& node) {
  DVNN_ASSIGN(const int in, node.value(0));
  const Shape shape = node.builder().shape_of(in);
  const size_t rank = shape.axes();
  const bool late = node.type() == "Resize" && node.opset() >= 11;
  DVNN_ASSIGN(Resize rule, read_rule(node));
  DVNN_ASSIGN(std::vector<double> scales, scales_of(node, late));
  if (scales.empty()) {
    DVNN_ASSIGN(std::vector<double> sizes, optional_numbers(node, 3));
    DVNN_ASSIGN(
        sizes, for_all_axes(node, sizes, std::vector<double>(shape.dims, shape.dims + shape.rank)));
    DVNN_ASSIGN(const auto axes, resized_axes(node, rank));
    const std::string policy = node.text("keep_aspect_ratio_policy", "stretch");
    rule.scales = keep_aspect(policy, shape, axes, &sizes);
    for (size_t i = 0; i < rank; ++i) {
      if (!(sizes[i] >= 1 && sizes[i] <= 1 << 28)) {
        return malformed(format("size %g of axis %zu", sizes[i], i));
      }
      rule.sizes.push_back(static_cast<int>(sizes[i]));
      scales.push_back(rule.scales.empty() ? sizes[i] / shape.dims[i]
                                           : static_cast<double>(rule.scales[i]));
    }
  } else {
    DVNN_ASSIGN(scales, for_all_axes(node, scales, std::vector<double>(rank, 1)));
    for (double s : scales) {
      if (!(s > 0)) return malformed("a scale is not above 0");
      rule.scales.push_back(static_cast<float>(s));
    }
  }
  if (rule.coordinates == Resize::Coordinates::kCropAndResize) {
    DVNN_ASSIGN(const auto roi, optional_numbers(node, 1));
    const size_t half = roi.size() / 2;
    const std::vector<double> first(roi.begin(), roi.begin() + static_cast<ptrdiff_t>(half));
    const std::vector<double> last(roi.begin() + static_cast<ptrdiff_t>(half), roi.end());
    DVNN_ASSIGN(const auto begins, for_all_axes(node, first, std::vector<double>(rank, 0)));
    DVNN_ASSIGN(const auto ends, for_all_axes(node, last, std::vector<double>(rank, 1)));
    rule.roi.assign(begins.begin(), begins.end());
    rule.roi.insert(rule.roi.end(), ends.begin(), ends.end());
  }
  if (doubles(rule, scales, shape)) return node.done(doubled(node, in, scales[2]));
  return node.done(node.builder().cpu(node.name(), rule, {in}));
}

Status import_onnx_grid_sample(const OnnxNode& node) {
  DVNN_ASSIGN(const int in, node.value(0));
  DVNN_ASSIGN(const int grid, node.value(1));
  std::string mode = node.text("mode", "linear");
  if (mode == "bilinear" || mode == "bicubic") mode = mode.substr(2);  // before opset 20
  auto rule = layers::read_fields<layers::GridSampleAttributes>(
      {{"mode", mode},
       {"padding", node.text("padding_mode", "zeros")},
       {"align_corners", node.integer("align_corners", 0) != 0}});
  if (!rule.ok()) return unsupported(rule.error().message);
  return node.done(node.builder().cpu(node.name(), rule.value(), {in, grid}));
}

}  // namespace dvnn::import
