// SPDX-License-Identifier: Apache-2.0
// Convolutions, poolings, sums and activations, one number at a time, in doubles: the reference for
// the software device's runs.
//
// Tolerance: the device rounds each result once to binary16, so it may differ from the reference by
// half a unit in the last place of 11 bits, 2^-11 relative (2^-25 absolute below 2^-14), plus the
// difference of FP32 sums in another order: at most n * 2^-24 * sum|w x| for n products.
//
// Kernels of three taps without strides, for 16 channels or more, may be convolved in tiles by
// Winograd's F(4x4, 3x3), whose results mix in source values beyond their own taps, which cancel
// but for FP32's rounding. In units of 2^-24 times the channels' sum of largest weight times
// largest value, NumPy's float32 by the paper's formulas is off from float64 by 1.1 on average and
// by 36 at most, in 14,400 results of 16 to 256 channels whose values spread by up to e^2 to either
// side; the bound here is 64.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "conv_cases.h"

namespace dvnn::test {

// A result, and the largest error of a correct answer.
struct Expected {
  double value = 0, slack = 0;
};

using Plane = std::vector<Expected>;  // (c, h, w)

inline size_t at(device::Dims d, int c, int y, int x) {
  return (static_cast<size_t>(c) * static_cast<size_t>(d.h) + static_cast<size_t>(y)) *
             static_cast<size_t>(d.w) +
         static_cast<size_t>(x);
}

// Returns what tiles may add to the error of a result of the m-th kernel.
inline double tile_slack(const RunCase& c, const std::vector<float>& in, device::Dims d, int m) {
  const device::ConvRun& run = c.run;
  const auto in_tiles = [](int kernel, int stride, int dilation) {
    return stride == 1 && (kernel == 1 || (kernel == 3 && dilation == 1));
  };
  if (device::is_depthwise(run.conv) || d.c < 16 || run.kernel.x * run.kernel.y == 1 ||
      !in_tiles(run.kernel.x, run.stride.x, run.dilation.x) ||
      !in_tiles(run.kernel.y, run.stride.y, run.dilation.y)) {
    return 0;
  }
  const auto taps = static_cast<size_t>(run.kernel.x * run.kernel.y);
  const auto pixels = static_cast<size_t>(d.w * d.h), channels = static_cast<size_t>(d.c);
  auto largest = [](const float* from, size_t count) {
    float most = 0;
    for (size_t i = 0; i < count; ++i) most = std::max(most, std::fabs(from[i]));
    return double{most};
  };
  double sum = 0;
  for (size_t k = 0; k < channels; ++k) {
    const size_t kernel = static_cast<size_t>(m) * channels + k;
    sum += largest(&c.weights[kernel * taps], taps) * largest(&in[k * pixels], pixels);
  }
  return 64 * std::ldexp(1.0, -24) * sum;
}

inline Plane convolve(const RunCase& c, const std::vector<float>& in, device::Dims d,
                      device::Dims out) {
  const device::ConvRun& run = c.run;
  const bool depthwise = device::is_depthwise(run.conv), deconv = device::is_deconv(run.conv);
  const device::Extent step = deconv ? device::Extent{1, 1} : run.stride;
  const device::Extent gap = deconv ? run.stride : device::Extent{1, 1};
  Plane result(static_cast<size_t>(out.w * out.h * out.c));
  for (int m = 0; m < out.c; ++m) {
    const double tiles = tile_slack(c, in, d, m);
    for (int y = 0; y < out.h; ++y) {
      for (int x = 0; x < out.w; ++x) {
        double sum = c.bias[static_cast<size_t>(m)], size = std::fabs(sum);
        int products = 1;
        for (int k = 0; k < (depthwise ? 1 : d.c); ++k) {
          for (int j = 0; j < run.kernel.y; ++j) {
            for (int i = 0; i < run.kernel.x; ++i) {
              const int sx = x * step.x + i * run.dilation.x - run.conv_pad.left;
              const int sy = y * step.y + j * run.dilation.y - run.conv_pad.top;
              if (sx < 0 || sy < 0 || sx % gap.x || sy % gap.y || sx / gap.x >= d.w ||
                  sy / gap.y >= d.h) {
                continue;
              }
              const size_t w = static_cast<size_t>(
                  ((m * (depthwise ? 1 : d.c) + k) * run.kernel.y + j) * run.kernel.x + i);
              const double product =
                  double{c.weights[w]} * in[at(d, depthwise ? m : k, sy / gap.y, sx / gap.x)];
              sum += product;
              size += std::fabs(product);
              ++products;
            }
          }
        }
        result[at(out, m, y, x)] = {sum, products * size * std::ldexp(1.0, -24) + tiles};
      }
    }
  }
  return result;
}

inline Plane pool(const device::ConvRun& run, const Plane& in, device::Dims d, device::Dims out) {
  Plane result(static_cast<size_t>(out.w * out.h * out.c));
  for (int c = 0; c < out.c; ++c) {
    for (int y = 0; y < out.h; ++y) {
      for (int x = 0; x < out.w; ++x) {
        Expected& r = result[at(out, c, y, x)];
        if (run.pool == device::PoolKind::kUpsample) {
          r = in[at(d, c, y / 2, x / 2)];
          continue;
        }
        const bool max = run.pool == device::PoolKind::kMax;
        r = {max ? -INFINITY : 0.0, 0};
        double size = 0;
        for (int j = 0; j < run.pool_size.y; ++j) {
          for (int i = 0; i < run.pool_size.x; ++i) {
            const int sx = x * run.pool_stride.x + i - run.pool_pad.left;
            const int sy = y * run.pool_stride.y + j - run.pool_pad.top;
            if (sx < 0 || sy < 0 || sx >= d.w || sy >= d.h) continue;
            const Expected& v = in[at(d, c, sy, sx)];
            r.value = max ? std::max(r.value, v.value) : r.value + v.value;
            r.slack = std::max(r.slack, v.slack);
            size += std::fabs(v.value);
          }
        }
        if (!max) {
          r.value *= run.pool_scale;
          r.slack = (size * 64 * std::ldexp(1.0, -24) + r.slack) * std::fabs(run.pool_scale);
        }
      }
    }
  }
  return result;
}

inline double activate(const device::ConvRun& run, double x, float slope) {
  switch (run.activation) {
    case device::Activation::kNone:
      return x;
    case device::Activation::kTanh:
      return std::tanh(x);
    case device::Activation::kRelu:
      return x > 0 ? x : x * run.activation_param;
    case device::Activation::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case device::Activation::kPrelu:
      return x > 0 ? x : x * slope;
    case device::Activation::kElu:
      return x > 0 ? x : std::expm1(x);
    case device::Activation::kRelu6:
      return std::min(std::max(x, 0.0), 6.0);
  }
  return x;
}

inline void add(Plane* plane, const std::vector<float>& operand) {
  for (size_t i = 0; i < plane->size(); ++i) {
    (*plane)[i].value += operand[i];
    (*plane)[i].slack += std::fabs((*plane)[i].value) * std::ldexp(1.0, -23);
  }
}

}  // namespace dvnn::test
