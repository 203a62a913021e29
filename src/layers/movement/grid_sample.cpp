// SPDX-License-Identifier: Apache-2.0
// Source of the formulas: ONNX, operator GridSample, opset 20.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/nth.h"
#include "base/share.h"
#include "layers/attributes/fields.h"
#include "layers/factories.h"
#include "layers/loops/floats.h"

namespace dvnn::layers {
namespace {

using Mode = GridSampleAttributes::Mode;
using Padding = GridSampleAttributes::Padding;

// In the enums' orders.
constexpr const char* kSampleModes[] = {"nearest", "linear", "cubic"};
constexpr const char* kPaddings[] = {"zeros", "border", "reflection"};

constexpr int kMaxTaps = 4, kMaxAxes = 3;

// Along one axis: elements (-1: zero) and their weights.
struct Taps {
  size_t count = 0;
  std::array<int, kMaxTaps> at;
  std::array<float, kMaxTaps> weight;
};

double reflected(double x, double low, double high) {
  const double range = high - low;
  if (range <= 0) return low;
  const double turn = std::fmod(std::fabs(x - low), 2 * range);
  return low + (turn > range ? 2 * range - turn : turn);
}

// Returns the element at `x` of an axis, by the padding rule if `x` lies outside.
int element_at(const GridSampleAttributes& a, double x, int size) {
  if (a.padding == Padding::kReflection) {
    x = a.align_corners ? reflected(x, 0, size - 1) : reflected(x, -0.5, size - 0.5);
  }
  if (a.padding != Padding::kZeros) x = std::clamp(std::nearbyint(x), 0.0, size - 1.0);
  return x >= 0 && x <= size - 1 ? static_cast<int>(x) : -1;
}

float cubic(float d) {
  constexpr float kA = -0.75f;
  d = std::fabs(d);
  return d <= 1 ? ((kA + 2) * d - (kA + 3)) * d * d + 1 : ((d - 5) * d + 8) * kA * d - 4 * kA;
}

Taps taps_at(const GridSampleAttributes& a, float coordinate, int size) {
  // Coordinates are clamped to far outside every picture; NaN counts as outside.
  constexpr float kFar = 1e6f;
  const float c = coordinate == coordinate ? std::clamp(coordinate, -kFar, kFar) : kFar;
  double x = a.align_corners ? (static_cast<double>(c) + 1) / 2 * (size - 1)
                             : ((static_cast<double>(c) + 1) * size - 1) / 2;
  if (a.padding == Padding::kBorder && a.mode != Mode::kCubic) {
    x = std::clamp(x, 0.0, size - 1.0);
  } else if (a.padding == Padding::kReflection && a.mode != Mode::kCubic) {
    x = a.align_corners ? reflected(x, 0, size - 1) : reflected(x, -0.5, size - 0.5);
    x = std::clamp(x, 0.0, size - 1.0);
  }
  Taps taps;
  auto add = [&](double at, float weight) {
    const size_t i = taps.count++;
    taps.at[i] = element_at(a, at, size);
    taps.weight[i] = weight;
  };
  if (a.mode == Mode::kNearest) {
    add(std::nearbyint(x), 1);
    return taps;
  }
  const double floor = std::floor(x);
  const auto part = static_cast<float>(x - floor);
  if (a.mode == Mode::kLinear) {
    add(floor, 1 - part);
    add(floor + 1, part);
    return taps;
  }
  for (int k = -1; k <= 2; ++k) add(floor + k, cubic(part - static_cast<float>(k)));
  return taps;
}

// Sums all taps of the axes from `axis` on.
float sample(const float* plane, const int* sizes, const Taps* taps, int axes) {
  float sum = 0;
  for (size_t tap = 0; tap < taps->count; ++tap) {
    if (taps->at[tap] < 0) continue;
    const float* part = plane;
    if (axes == 1) {
      sum += taps->weight[tap] * part[taps->at[tap]];
      continue;
    }
    int64_t stride = 1;
    for (int k = 1; k < axes; ++k) stride *= sizes[k];
    sum += taps->weight[tap] * sample(part + taps->at[tap] * stride, sizes + 1, taps + 1, axes - 1);
  }
  return sum;
}

// Sums the taps of two axes, without recursion.
float sample_plane(const float* plane, int width, const Taps* taps) {
  float sum = 0;
  for (size_t i = 0; i < taps[0].count; ++i) {
    if (taps[0].at[i] < 0) continue;
    const float* const row = plane + int64_t{taps[0].at[i]} * width;
    float part = 0;
    for (size_t k = 0; k < taps[1].count; ++k) {
      if (taps[1].at[k] >= 0) part += taps[1].weight[k] * row[taps[1].at[k]];
    }
    sum += taps[0].weight[i] * part;
  }
  return sum;
}

}  // namespace

void GridSampleAttributes::fields(Fields* f) {
  f->choice("mode", &mode, kSampleModes);
  f->choice("padding", &padding, kPaddings);
  f->boolean("align_corners", &align_corners);
}

DimsResult GridSampleAttributes::dims_after(Span<const Shape> inputs) const {
  DVNN_TRY(expect_inputs(inputs, 2));
  const Shape &in = inputs[0], &grid = inputs[1];
  const int axes = in.rank - 2;
  if (axes < 1 || axes > kMaxAxes || grid.rank != in.rank || grid[grid.rank - 1] != axes ||
      grid[0] != in[0]) {
    return unsupported(in.to_string() + " is not sampled by a grid " + grid.to_string());
  }
  std::vector<int64_t> dims = {in[0], in[1]};
  dims.insert(dims.end(), grid.dims + 1, grid.dims + grid.rank - 1);
  return dims;
}

Cost GridSampleAttributes::cost(Span<const TensorDesc> in, Span<const TensorDesc> out) const {
  constexpr uint64_t kTaps = 64;  // kMaxTaps along each of kMaxAxes
  static_assert(kTaps == kMaxTaps * kMaxTaps * kMaxTaps && kMaxAxes == 3);
  return float_layer_cost(in, out, kTaps);
}

LayerResult GridSampleAttributes::create(Span<const TensorDesc> inputs,
                                         Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_result(*this, 2, inputs, outputs));
  const Shape in_shape = inputs[0].shape, out = outputs[0].shape;
  return make_float_layer(
      inputs, outputs, [a = *this, in_shape, out](const float* const* in, float* result) {
        const int axes = in_shape.rank - 2, channels = in_shape[1];
        int64_t plane = 1, places = 1;
        for (int i = 0; i < axes; ++i) {
          plane *= in_shape[i + 2];
          places *= out[i + 2];
        }
        // The taps of some places serve all channels; threads share the places.
        constexpr int64_t kBlock = 64;
        const int64_t blocks = (places + kBlock - 1) / kBlock;
        share(static_cast<int>(in_shape[0] * blocks), [&](int i) {
          const int64_t n = i / blocks, first = i % blocks * kBlock;
          const int64_t count = std::min(kBlock, places - first);
          const float* const picture = in[0] + n * channels * plane;
          const float* grid = in[1] + (n * places + first) * axes;
          float* to = result + n * channels * places + first;
          Taps taps[kBlock][kMaxAxes];
          for (int64_t p = 0; p < count; ++p, grid += axes) {
            for (int k = 0; k < axes; ++k) {
              taps[p][k] = taps_at(a, grid[axes - 1 - k], in_shape[k + 2]);
            }
          }
          for (int c = 0; c < channels; ++c, to += places) {
            const float* const from = picture + c * plane;
            for (int64_t p = 0; p < count; ++p) {
              to[p] = axes == 2 ? sample_plane(from, in_shape[3], taps[p])
                                : sample(from, in_shape.dims + 2, taps[p], axes);
            }
          }
        });
      });
}

}  // namespace dvnn::layers
