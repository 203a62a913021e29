// SPDX-License-Identifier: Apache-2.0
#include "softdv/pointwise.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "softdv/parallel.h"

namespace dvnn::softdv {
namespace {

// Calls visit(output pixel's lanes, input plane, first and last row and column of its window).
template <typename Visit>
void for_each_window(const float* from, const WorkingShape& in, const PoolWindow& w, float* to,
                     const WorkingShape& out, Visit visit) {
  const size_t lanes = static_cast<size_t>(in.lanes);
  const size_t out_row = static_cast<size_t>(out.cols) * lanes;
  parallel_for(in.groups() * out.rows, in.size(), [&](int i) {
    const int g = i / out.rows, r = i % out.rows;
    const float* plane = from + static_cast<size_t>(g) * in.pixels() * lanes;
    const int r0 = r * w.stride_rows - w.pad_rows;
    float* pixel = to + static_cast<size_t>(i) * out_row;
    for (int c = 0; c < out.cols; ++c, pixel += lanes) {
      const int c0 = c * w.stride_cols - w.pad_cols;
      visit(pixel, plane, std::max(r0, 0), std::min(r0 + w.size_rows, in.rows), std::max(c0, 0),
            std::min(c0 + w.size_cols, in.cols));
    }
  });
}

}  // namespace

void max_pool(const float* from, const WorkingShape& in, const PoolWindow& window, float* to,
              const WorkingShape& out) {
  const size_t lanes = static_cast<size_t>(in.lanes);
  for_each_window(from, in, window, to, out,
                  [&](float* best, const float* plane, int r0, int r1, int c0, int c1) {
                    std::fill(best, best + lanes, -std::numeric_limits<float>::infinity());
                    for (int r = r0; r < r1; ++r) {
                      for (int c = c0; c < c1; ++c) {
                        const float* v = plane + (static_cast<size_t>(r) * in.cols + c) * lanes;
                        for (size_t k = 0; k < lanes; ++k)
                          best[k] = v[k] > best[k] ? v[k] : best[k];
                      }
                    }
                  });
}

void average_pool(const float* from, const WorkingShape& in, const PoolWindow& window, float scale,
                  float* to, const WorkingShape& out) {
  const size_t lanes = static_cast<size_t>(in.lanes);
  for_each_window(from, in, window, to, out,
                  [&](float* sum, const float* plane, int r0, int r1, int c0, int c1) {
                    std::fill(sum, sum + lanes, 0.0f);
                    for (int r = r0; r < r1; ++r) {
                      for (int c = c0; c < c1; ++c) {
                        const float* v = plane + (static_cast<size_t>(r) * in.cols + c) * lanes;
                        for (size_t k = 0; k < lanes; ++k) sum[k] += v[k];
                      }
                    }
                    for (size_t k = 0; k < lanes; ++k) sum[k] *= scale;
                  });
}

void upsample(const float* from, const WorkingShape& in, float* to, const WorkingShape& out) {
  const size_t lanes = static_cast<size_t>(in.lanes);
  for (int g = 0; g < in.groups(); ++g, from += in.pixels() * lanes) {
    for (int r = 0; r < out.rows; ++r) {
      for (int c = 0; c < out.cols; ++c, to += lanes) {
        std::memcpy(to, from + (static_cast<size_t>(r / 2) * in.cols + c / 2) * lanes,
                    lanes * sizeof(float));
      }
    }
  }
}

void lrn(const float* from, const WorkingShape& shape, int prescale, float* to) {
  // g(S) = (1 + 2e-5 S)^-0.75 at S = 4^a; source: dv-sdk driver's LRN test, closed form.
  constexpr int kSegments = 12;
  float nodes[kSegments + 1], values[kSegments + 1];
  for (int a = 0; a <= kSegments; ++a) {
    nodes[a] = static_cast<float>(std::pow(4.0, a));
    values[a] = static_cast<float>(std::pow(1.0 + 2e-5 * std::pow(4.0, a), -0.75));
  }
  const float divisor = std::ldexp(1.0f, -prescale), restore = std::ldexp(1.0f, 2 * prescale);
  const int channels = shape.channels;
  for (size_t p = 0; p < shape.pixels(); ++p, from += channels, to += channels) {
    for (int c = 0; c < channels; ++c) {
      float sum = 0;
      for (int k = std::max(0, c - 2); k <= std::min(channels - 1, c + 2); ++k) {
        const float x = from[k] * divisor;
        sum += x * x;
      }
      sum *= restore;
      const int exponent = sum < 1 ? 0 : std::ilogb(sum);
      const int a = std::clamp(exponent >> 1, 0, kSegments - 1);
      const float slope = (values[a + 1] - values[a]) / (nodes[a + 1] - nodes[a]);
      to[c] = from[c] * (values[a] + (sum - nodes[a]) * slope);
    }
  }
}

void activate(device::Activation activation, float param, const float* slopes, bool absolute,
              const WorkingShape& shape, float* data) {
  using device::Activation;
  const size_t lanes = static_cast<size_t>(shape.lanes), plane = shape.pixels() * lanes;
  // Calls f(value, channel) in place; channels beyond the last are passed too.
  auto each_channel = [&](auto f) {
    parallel_for(shape.groups() * shape.rows, shape.size(), [&](int i) {
      const size_t group = static_cast<size_t>(i / shape.rows),
                   row = static_cast<size_t>(i % shape.rows);
      const size_t count = static_cast<size_t>(shape.cols) * lanes;
      float* values = data + group * plane + row * count;
      for (size_t k = 0; k < count; k += lanes) {
        for (size_t l = 0; l < lanes; ++l) values[k + l] = f(values[k + l], group * lanes + l);
      }
    });
  };
  auto each = [&](auto f) { each_channel([&](float x, size_t) { return f(x); }); };
  switch (activation) {
    case Activation::kNone:
      break;
    case Activation::kTanh:
      each([](float x) { return std::tanh(x); });
      break;
    case Activation::kRelu:
      each([param](float x) { return x > 0 ? x : x * param; });
      return;  // rectifi_en acts after other activations only
    case Activation::kSigmoid:
      each([](float x) { return 1.0f / (1.0f + std::exp(-x)); });
      break;
    case Activation::kPrelu:
      each_channel([slopes](float x, size_t channel) { return x > 0 ? x : x * slopes[channel]; });
      break;
    case Activation::kElu:
      each([](float x) { return x > 0 ? x : std::expm1(x); });
      break;
    case Activation::kRelu6:
      each([](float x) { return std::min(std::max(x, 0.0f), 6.0f); });
      break;
  }
  if (absolute) each([](float x) { return std::fabs(x); });
}

}  // namespace dvnn::softdv
