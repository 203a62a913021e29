// SPDX-License-Identifier: Apache-2.0
// Resamples arrays along their axes. Each axis is a sparse matrix of the elements' weights in each
// result. Source of the formulas: ONNX, operator Resize, opset 19.
#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "base/nth.h"
#include "base/numbers.h"
#include "base/share.h"
#include "layers/attributes/fields.h"
#include "layers/factories.h"
#include "layers/loops/floats.h"
#include "layers/movement/resize_picture.h"
#include "tensor/tensor.h"

namespace dvnn::layers {
namespace {

using ResizeMode = ResizeAttributes::Mode;
using Coordinates = ResizeAttributes::Coordinates;
using Rounding = ResizeAttributes::Rounding;

// In the enums' orders.
constexpr const char* kResizeModes[] = {"nearest", "linear", "cubic"};
constexpr const char* kCoordinates[] = {
    "half_pixel",         "half_pixel_symmetric", "asymmetric",       "align_corners",
    "pytorch_half_pixel", "crop_and_resize",      "half_pixel_corner"};
constexpr const char* kRoundings[] = {"prefer_floor", "prefer_ceil", "floor", "ceil",
                                      "ceil_where_smaller"};

// The resampling of one axis: its sizes, and the scale and part of the input that the model gives.
struct AxisRule {
  int in, out;
  double scale;
  double begin, end;  // roi
};

double source_of(const ResizeAttributes& a, const AxisRule& axis, int i) {
  const double x = i, in = axis.in, out = axis.out, exact = in * axis.scale;
  switch (a.coordinates) {
    case Coordinates::kHalfPixel:
      return (x + 0.5) / axis.scale - 0.5;
    case Coordinates::kHalfPixelSymmetric: {
      const double offset = in / 2 * (1 - out / exact);
      return offset + (x + 0.5) / axis.scale - 0.5;
    }
    case Coordinates::kAsymmetric:
      return x / axis.scale;
    case Coordinates::kAlignCorners:
      return exact <= 1 ? 0 : x * (in - 1) / (exact - 1);
    case Coordinates::kPytorchHalfPixel:
      return out > 1 ? (x + 0.5) / axis.scale - 0.5 : 0;
    case Coordinates::kHalfPixelCorner:
      return (x + 0.5) / axis.scale;
    case Coordinates::kCropAndResize:
      return out > 1 ? axis.begin * (in - 1) + x * (axis.end - axis.begin) * (in - 1) / (out - 1)
                     : 0.5 * (axis.begin + axis.end) * (in - 1);
  }
  return x;
}

double rounded(Rounding rounding, double scale, double x) {
  switch (rounding) {
    case Rounding::kPreferFloor:
      return std::ceil(x - 0.5);
    case Rounding::kPreferCeil:
      return std::floor(x + 0.5);
    case Rounding::kFloor:
      return std::floor(x);
    case Rounding::kCeil:
      return std::ceil(x);
    case Rounding::kCeilWhereSmaller:
      return scale < 1 ? std::ceil(x) : std::floor(x);
  }
  return x;
}

double cubic(double a, double distance) {
  const double d = std::fabs(distance);
  if (d < 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  if (d < 2) return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
  return 0;
}

double weight_at(const ResizeAttributes& a, double distance) {
  if (a.mode == ResizeMode::kCubic) return cubic(static_cast<double>(a.cubic_a), distance);
  return std::max(0.0, 1 - std::fabs(distance));
}

// Adds the elements and their weights for the result at `x`, in elements of the input.
void add_taps(const ResizeAttributes& a, const AxisRule& axis, double x, AxisTaps* taps) {
  const int last = axis.in - 1;
  if (a.mode == ResizeMode::kNearest) {
    const auto at =
        static_cast<int>(std::clamp(rounded(a.rounding, axis.scale, x), 0.0, double(last)));
    taps->from.push_back(at);
    taps->weights.push_back(1);
    return;
  }
  // With antialiasing, shrinking widens the filter by the inverse of the scale.
  const double narrow = a.antialias && axis.scale < 1 ? axis.scale : 1;
  const double reach = (a.mode == ResizeMode::kCubic ? 2 : 1) / narrow;
  const bool unit_sum = a.exclude_outside || narrow < 1;
  const size_t begin = taps->from.size();
  double sum = 0;
  for (double at = std::floor(x - reach) + 1; at < x + reach; ++at) {
    const double weight = weight_at(a, (at - x) * narrow);
    if (weight == 0 || (a.exclude_outside && (at < 0 || at > last))) continue;
    sum += weight;
    taps->from.push_back(static_cast<int32_t>(std::clamp(at, 0.0, double(last))));
    taps->weights.push_back(static_cast<float>(weight));
  }
  for (size_t i = begin; unit_sum && sum != 0 && i < taps->weights.size(); ++i) {
    taps->weights[i] = static_cast<float>(static_cast<double>(taps->weights[i]) / sum);
  }
}

AxisTaps taps_of(const ResizeAttributes& a, const AxisRule& axis) {
  AxisTaps taps;
  taps.in = axis.in;
  taps.out = axis.out;
  const bool crops = a.coordinates == Coordinates::kCropAndResize;
  taps.changes = axis.in != axis.out || axis.scale != 1 || crops;
  if (!taps.changes) return taps;
  for (int i = 0; i < axis.out; ++i) {
    const double x = source_of(a, axis, i);
    taps.outside.push_back(crops && (x < 0 || x > axis.in - 1));
    if (!taps.outside.back()) add_taps(a, axis, x, &taps);
    taps.end_result();
  }
  return taps;
}

// Computes results begin..end-1 along an axis, of `inner` elements each.
void apply_part(const AxisTaps& axis, size_t begin, size_t end, int64_t inner, float extrapolation,
                const float* in, float* out) {
  kernels::mix_along(axis.taps(), begin, end, 0, in, static_cast<size_t>(inner),
                     out + static_cast<int64_t>(begin) * inner);
  for (size_t i = begin; i < end; ++i) {
    if (axis.outside[i]) std::fill_n(out + static_cast<int64_t>(i) * inner, inner, extrapolation);
  }
}

// Resamples (outer, in, inner) to (outer, out, inner).
void apply(const AxisTaps& axis, int64_t outer, int64_t inner, float extrapolation, const float* in,
           float* out) {
  const size_t made = axis.results();
  // A task has some groups of results along the axis, or some results of one group.
  constexpr int64_t kTaskFloats = 1 << 13;
  const int64_t group = axis.out * inner;
  const int64_t groups = std::max<int64_t>(1, kTaskFloats / group);
  const size_t parts =
      group <= kTaskFloats ? 1 : std::min(made, static_cast<size_t>(group / kTaskFloats + 1));
  const int64_t tasks = (outer + groups - 1) / groups;
  share(static_cast<int>(tasks * static_cast<int64_t>(parts)), [&](int task) {
    const int64_t first = task / static_cast<int64_t>(parts) * groups;
    const size_t part = static_cast<size_t>(task) % parts;
    for (int64_t o = first; o < std::min(outer, first + groups); ++o) {
      apply_part(axis, made * part / parts, made * (part + 1) / parts, inner, extrapolation,
                 in + o * axis.in * inner, out + o * group);
    }
  });
}

// Returns the largest number of elements of the array between two axes' steps.
uint64_t between_axes(const Shape& from, const Shape& to) {
  double now = 1;
  for (int i = 0; i < from.rank; ++i) now *= from[i];
  double most = now;
  for (int i = 0; i < from.rank; ++i) {
    now = now / from[i] * to[i];
    most = std::max(most, now);
  }
  return static_cast<uint64_t>(std::min(most, 1e18));
}

void resize(const std::vector<AxisTaps>& axes, size_t count, float extrapolation, const float* in,
            float* result) {
  float* const spare[] = {Workspace::current().floats(count), Workspace::current().floats(count)};
  int64_t outer = 1, inner = 1;
  for (const AxisTaps& axis : axes) inner *= axis.in;
  int turn = 0;
  for (const AxisTaps& axis : axes) {
    inner /= axis.in;
    if (axis.changes) {
      float* const to = spare[turn];
      apply(axis, outer, inner, extrapolation, in, to);
      in = to;
      turn = 1 - turn;
    }
    outer *= axis.out;
  }
  std::copy(in, in + outer, result);
}

Result<std::vector<AxisRule>> rules_of(const ResizeAttributes& a, const Shape& shape) {
  const size_t rank = shape.axes();
  const bool by_size = !a.sizes.empty(), crops = a.coordinates == Coordinates::kCropAndResize;
  const bool by_scale = !a.scales.empty();
  if ((by_size && a.sizes.size() != rank) || (by_scale && a.scales.size() != rank) ||
      (!by_size && !by_scale) || (crops && a.roi.size() != 2 * rank)) {
    return unsupported("has not one scale or size for each axis of " + shape.to_string());
  }
  std::vector<AxisRule> rules;
  for (size_t i = 0; i < rank; ++i) {
    AxisRule rule = {shape[static_cast<int>(i)], 1, 1, 0, 1};
    if (crops) {
      rule.begin = static_cast<double>(a.roi[i]);
      rule.end = static_cast<double>(a.roi[rank + i]);
    }
    const auto part = static_cast<float>(crops ? rule.end - rule.begin : 1);
    rule.scale = by_scale ? static_cast<double>(a.scales[i]) : double(a.sizes[i]) / rule.in;
    // Scales are single precision, and so is the product: 3 x 0.33333334 is meant to be 1, and
    // 460 x 1.29999995 to be 598.
    const double out =
        by_size ? a.sizes[i]
                : static_cast<double>(std::floor(static_cast<float>(rule.in) * part * a.scales[i]));
    if (!(out >= 1 && out <= kMaxTensorElements)) {
      return unsupported(format("makes %g elements of %d along axis %zu", out, rule.in, i));
    }
    rule.out = static_cast<int>(out);
    rules.push_back(rule);
  }
  return rules;
}

}  // namespace

void ResizeAttributes::fields(Fields* f) {
  f->require("mode");
  f->choice("mode", &mode, kResizeModes);
  f->choice("coordinates", &coordinates, kCoordinates);
  f->choice("rounding", &rounding, kRoundings, mode == ResizeMode::kNearest);
  f->number("cubic_a", &cubic_a, mode == ResizeMode::kCubic);
  f->number("extrapolation", &extrapolation, extrapolation != 0);
  f->boolean("exclude_outside", &exclude_outside, exclude_outside);
  f->boolean("antialias", &antialias, antialias);
  f->numbers("scales", &scales, Shape::kMaxRank, !scales.empty());
  f->integers("sizes", &sizes, 1, kMaxTensorElements, Shape::kMaxRank, !sizes.empty());
  f->numbers("roi", &roi, 2 * Shape::kMaxRank, !roi.empty());
  for (float scale : scales) {
    if (!(scale > 0)) f->fail("scales", "must be above 0");
  }
}

DimsResult ResizeAttributes::dims_after(Span<const Shape> inputs) const {
  DVNN_TRY(expect_inputs(inputs, 1));
  DVNN_ASSIGN(const auto rules, rules_of(*this, inputs[0]));
  std::vector<int64_t> dims;
  for (const AxisRule& rule : rules) dims.push_back(rule.out);
  return dims;
}

Cost ResizeAttributes::cost(Span<const TensorDesc> in, Span<const TensorDesc> out) const {
  // Four taps along each axis that changes; with antialiasing, one per element under the filter.
  constexpr uint64_t kPerAxis = 4 * Shape::kMaxRank;
  double most = 1;
  for (float scale : scales) most = std::max(most, 1 / static_cast<double>(scale));
  const auto together = static_cast<uint64_t>(std::min(most, 1e9));
  // Two arrays between the axes' steps; shapes that do not fit are refused later.
  const bool fits = in.size() == 1 && out.size() == 1 && in[0].shape.rank == out[0].shape.rank;
  const uint64_t between = fits ? between_axes(in[0].shape, out[0].shape) : 0;
  const uint64_t taps = antialias ? saturating_product(kPerAxis, together) : kPerAxis;
  return float_layer_cost(in, out, taps)
      .borrow_floats(saturating_product(2, between))
      .keep_bytes(index_bytes(in))
      .keep_bytes(index_bytes(out));
}

LayerResult ResizeAttributes::create(Span<const TensorDesc> inputs,
                                     Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_result(*this, 1, inputs, outputs));
  const Shape& shape = inputs[0].shape;
  DVNN_ASSIGN(const auto rules, rules_of(*this, shape));
  std::vector<AxisTaps> axes;
  for (const AxisRule& rule : rules) axes.push_back(taps_of(*this, rule));
  if (shape.rank == 4 && !axes[0].changes && !axes[1].changes) {
    auto layer = make_picture_resize(axes[2], axes[3], inputs[0], outputs[0]);
    if (layer) return LayerResult(std::move(layer));
  }
  const size_t count = between_axes(shape, outputs[0].shape);
  return make_float_layer(
      inputs, outputs,
      [axes = std::move(axes), count, outside = extrapolation](
          const float* const* in, float* result) { resize(axes, count, outside, in[0], result); });
}

}  // namespace dvnn::layers
