// SPDX-License-Identifier: Apache-2.0
#include "softdv/engine/finish/pointwise.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/aligned.h"
#include "kernels/arithmetic/elementwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "softdv/engine/finish/pointwise.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "kernels/vectors-inl.h"
#include "softdv/engine/finish/register_finish-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::softdv::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using kernels::HWY_NAMESPACE::ForEachVector;

// Calls visit(first pixel of the window inside the input, its rows and columns, output pixel).
template <typename Visit>
HWY_INLINE void ForEachWindow(RowsView from, const RowShape& in, const PoolWindow& w, float* to,
                              const RowShape& out, Band band, Visit visit) {
  const size_t channels = in.pixel();
  float* pixel = to;
  for (int r = band.first; r < band.last; ++r) {
    const int r0 = r * w.stride_rows - w.pad_rows;
    const int first_row = std::max(r0, 0), last_row = std::min(r0 + w.size_rows, in.rows);
    for (int c = 0; c < out.cols; ++c, pixel += channels) {
      const int c0 = c * w.stride_cols - w.pad_cols;
      const int first_col = std::max(c0, 0), last_col = std::min(c0 + w.size_cols, in.cols);
      // A window that lies in the padding has no rows or columns, and no first pixel.
      const bool empty = first_row >= last_row || first_col >= last_col;
      const float* first = empty ? from.data : from.row(in, first_row) + in.before_pixel(first_col);
      visit(first, empty ? 0 : last_row - first_row, empty ? 0 : last_col - first_col, pixel);
    }
  }
}

// Writes the maximum of some rows of `count` floats, `pitch` apart.
void MaxRows(const float* HWY_RESTRICT from, int rows, size_t pitch, size_t count,
             float* HWY_RESTRICT to) {
  ForEachVector(count, [&](auto d, size_t k) HWY_ATTR {
    auto best = hn::Set(d, -std::numeric_limits<float>::infinity());
    for (int r = 0; r < rows; ++r) {
      best = Larger(hn::LoadU(d, from + static_cast<size_t>(r) * pitch + k), best);
    }
    hn::StoreU(best, d, to + k);
  });
}

// Writes the maximum of some pixels of 8 floats, none of them NaN.
HWY_INLINE void MaxOfChunks(const float* HWY_RESTRICT from, int count, float* HWY_RESTRICT to) {
  const hn::CappedTag<float, 8> d;
  for (size_t k = 0; k < 8; k += hn::Lanes(d)) {
    auto best = hn::LoadU(d, from + k);
    for (int i = 1; i < count; ++i) best = Larger(hn::LoadU(d, from + 8 * i + k), best);
    hn::StoreU(best, d, to + k);
  }
}

// Pools a row of maxima along its columns, for columns `c` to `end` of the result.
void MaxOfColumns(const float* HWY_RESTRICT row, const RowShape& in, const PoolWindow& w, int c,
                  int end, float* to) {
  const size_t channels = in.pixel();
  for (; c < end; ++c, to += channels) {
    const int c0 = c * w.stride_cols - w.pad_cols;
    const int first = std::clamp(c0, 0, in.cols), last = std::min(c0 + w.size_cols, in.cols);
    const float* const pixels = row + in.before_pixel(first);
    if (channels == 8 && first < last) {
      MaxOfChunks(pixels, last - first, to);
    } else {
      MaxRows(pixels, std::max(last - first, 0), channels, channels, to);
    }
  }
}

// Pools down the columns, then along the rows. `row` has room for an input row.
void MaxPool(RowsView from, const RowShape& in, const PoolWindow& w, float* to, const RowShape& out,
             Band band, float* row) {
  const size_t channels = in.pixel();
  // Complete windows one column apart are pooled together, as rows that begin one pixel apart.
  const int whole = std::min(w.pad_cols, out.cols);
  const int whole_end = w.stride_cols == 1
                            ? std::clamp(in.cols - w.size_cols + w.pad_cols + 1, whole, out.cols)
                            : whole;
  for (int r = band.first; r < band.last; ++r) {
    const int r0 = r * w.stride_rows - w.pad_rows;
    const int first_row = std::max(r0, 0), last_row = std::min(r0 + w.size_rows, in.rows);
    const bool empty = first_row >= last_row;
    MaxRows(empty ? from.data : from.row(in, first_row), empty ? 0 : last_row - first_row, in.row(),
            in.row(), row);
    MaxOfColumns(row, in, w, 0, whole, to);
    MaxRows(row, w.size_cols, channels, Band{whole, whole_end}.count() * channels,
            to + in.before_pixel(whole));
    MaxOfColumns(row, in, w, whole_end, out.cols, to + in.before_pixel(whole_end));
    to += out.row();
  }
}

void AveragePool(RowsView from, const RowShape& in, const PoolWindow& window, float scale,
                 float* to, const RowShape& out, Band band) {
  const size_t channels = in.pixel(), pitch = in.row();
  ForEachWindow(from, in, window, to, out, band,
                [&](const float* first, int rows, int cols, float* pixel) HWY_ATTR {
                  ForEachVector(channels, [&](auto d, size_t k) HWY_ATTR {
                    auto sum = hn::Zero(d);
                    for (int r = 0; r < rows; ++r) {
                      const float* at = first + static_cast<size_t>(r) * pitch + k;
                      for (int c = 0; c < cols; ++c, at += channels)
                        sum = hn::Add(sum, hn::LoadU(d, at));
                    }
                    hn::StoreU(hn::Mul(sum, hn::Set(d, scale)), d, pixel + k);
                  });
                });
}

void Prelu(const float* HWY_RESTRICT slopes, size_t channels, size_t pixels,
           float* HWY_RESTRICT data) {
  for (size_t i = 0; i < pixels; ++i, data += channels) {
    ForEachVector(channels, [&](auto d, size_t k) HWY_ATTR {
      const auto x = hn::LoadU(d, data + k);
      const auto below = hn::Mul(x, hn::LoadU(d, slopes + k));
      hn::StoreU(hn::IfThenElse(hn::Gt(x, hn::Zero(d)), x, below), d, data + k);
    });
  }
}

// Finishes a vector that is stored at element `at`; `slope` is its channels'.
template <class D>
HWY_INLINE void FinishVector(D d, hn::Vec<D> value, hn::Vec<D> slope, size_t at,
                             const RegisterFinish& finish) {
  if (finish.addend) value = hn::Add(value, LoadHalves(d, finish.addend + at));
  Activate(d, finish.activation, slope, &value, 1);
  StoreHalves(d, value, finish.to + at);
}

template <class D>
HWY_INLINE void FinishHalf(D d, const half_t* from, size_t at, const RegisterFinish& finish) {
  FinishVector(d, LoadHalves(d, from + at), hn::Set(d, finish.slope), at, finish);
}

void FinishHalves(const half_t* from, size_t count, const RegisterFinish& finish) {
  const hn::CappedTag<float, 16> wide;
  const hn::CappedTag<float, 8> chunk;
  size_t at = 0;
  for (; at + hn::Lanes(wide) <= count; at += hn::Lanes(wide)) FinishHalf(wide, from, at, finish);
  for (; at < count; at += hn::Lanes(chunk)) FinishHalf(chunk, from, at, finish);
}

// Finishes the vectors at element `lane` and every 16 elements after it, up to `count`.
template <class D>
HWY_INLINE void ScaleLane(D d, const half_t* from, size_t lane, size_t first, size_t count,
                          const float* weights, const float* bias, const RegisterFinish& finish) {
  const auto weight = hn::LoadU(d, weights + lane), added = hn::LoadU(d, bias + lane);
  const auto slope = finish.slopes ? hn::LoadU(d, finish.slopes + lane) : hn::Set(d, finish.slope);
  for (size_t at = first + lane; at + hn::Lanes(d) <= count; at += 16) {
    FinishVector(d, hn::MulAdd(LoadHalves(d, from + at), weight, added), slope, at, finish);
  }
}

void ScaleHalves(const half_t* from, size_t count, const float* weights, const float* bias,
                 const RegisterFinish* finish) {
  const RegisterFinish by = *finish;  // a copy: stores to the results cannot change it
  const hn::CappedTag<float, 16> wide;
  const hn::CappedTag<float, 8> chunk;
  const size_t whole = count - count % 16;
  for (size_t lane = 0; lane < 16; lane += hn::Lanes(wide)) {
    ScaleLane(wide, from, lane, 0, whole, weights, bias, by);
  }
  for (size_t lane = 0; lane < count - whole; lane += hn::Lanes(chunk)) {
    ScaleLane(chunk, from, lane, whole, count, weights, bias, by);
  }
}

}  // namespace dvnn::softdv::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn::softdv {
namespace {

HWY_EXPORT(MaxPool);
HWY_EXPORT(AveragePool);
HWY_EXPORT(Prelu);
HWY_EXPORT(FinishHalves);
HWY_EXPORT(ScaleHalves);

}  // namespace

Band window_rows(const RowShape& in, const PoolWindow& window, Band band) {
  const int first = band.first * window.stride_rows - window.pad_rows;
  const int last = (band.last - 1) * window.stride_rows - window.pad_rows + window.size_rows;
  return {std::clamp(first, 0, in.rows), std::clamp(last, 0, in.rows)};
}

void max_pool(RowsView from, const RowShape& in, const PoolWindow& window, float* to,
              const RowShape& out, Band band) {
  static thread_local AlignedFloats buffer;
  HWY_DYNAMIC_DISPATCH(MaxPool)(from, in, window, to, out, band, buffer.room(in.row()));
}

void average_pool(RowsView from, const RowShape& in, const PoolWindow& window, float scale,
                  float* to, const RowShape& out, Band band) {
  HWY_DYNAMIC_DISPATCH(AveragePool)(from, in, window, scale, to, out, band);
}

void upsample(RowsView from, const RowShape& in, float* to, const RowShape& out, Band band) {
  const size_t channels = in.pixel();
  for (int r = band.first; r < band.last; ++r) {
    const float* const source = from.row(in, r / 2);
    for (int c = 0; c < out.cols; ++c, to += channels) {
      std::memcpy(to, source + in.before_pixel(c / 2), channels * sizeof(float));
    }
  }
}

void lrn(RowsView from, const RowShape& shape, int prescale, float* to, Band band) {
  // g(S) = (1 + 2e-5 S)^-0.75 at S = 4^a; source: dv-sdk driver's LRN test, closed form.
  constexpr int kSegments = 12;
  float nodes[kSegments + 1], values[kSegments + 1];
  for (int a = 0; a <= kSegments; ++a) {
    nodes[a] = static_cast<float>(std::pow(4.0, a));
    values[a] = static_cast<float>(std::pow(1.0 + 2e-5 * std::pow(4.0, a), -0.75));
  }
  const float divisor = std::ldexp(1.0f, -prescale), restore = std::ldexp(1.0f, 2 * prescale);
  const int channels = shape.channels;
  const float* x = from.row(shape, band.first);
  const float* const end = x + band.count() * shape.row();
  for (; x < end; x += channels, to += channels) {
    for (int c = 0; c < channels; ++c) {
      float sum = 0;
      for (int k = std::max(0, c - 2); k <= std::min(channels - 1, c + 2); ++k) {
        const float v = x[k] * divisor;
        sum += v * v;
      }
      sum *= restore;
      const int exponent = sum < 1 ? 0 : std::ilogb(sum);
      const int a = std::clamp(exponent >> 1, 0, kSegments - 1);
      const float slope = (values[a + 1] - values[a]) / (nodes[a + 1] - nodes[a]);
      to[c] = x[c] * (values[a] + (sum - nodes[a]) * slope);
    }
  }
}

void finish_halves(const half_t* from, size_t count, const RegisterFinish& finish) {
  const RegisterFinish by = finish;  // a copy: the loop's stores cannot change it
  HWY_DYNAMIC_DISPATCH(FinishHalves)(from, count, by);
}

void scale_halves(const half_t* from, size_t count, const DepthwiseWeights& by,
                  const RegisterFinish& finish) {
  HWY_DYNAMIC_DISPATCH(ScaleHalves)(from, count, by.weights, by.bias, &finish);
}

void activate(device::Activation activation, float param, const float* slopes, bool absolute,
              const RowShape& shape, Band band, float* data) {
  using device::Activation;
  using kernels::Curve;
  const size_t count = band.count() * shape.row();
  auto each = [&](Curve curve, float a = 0, float b = 0) {
    kernels::apply(curve, a, b, data, data, count);
  };
  switch (activation) {
    case Activation::kNone:
      break;
    case Activation::kTanh:
      each(Curve::kTanh);
      break;
    case Activation::kRelu:
      each(Curve::kRelu, param);
      return;  // rectifi_en acts after other activations only
    case Activation::kSigmoid:
      each(Curve::kSigmoid);
      break;
    case Activation::kPrelu:
      HWY_DYNAMIC_DISPATCH(Prelu)(slopes, shape.pixel(), band.count() * shape.row_pixels(), data);
      break;
    case Activation::kElu:
      each(Curve::kElu, 1);
      break;
    case Activation::kRelu6:
      each(Curve::kClip, 0, 6);
      break;
  }
  if (absolute) each(Curve::kAbs);
}

}  // namespace dvnn::softdv
#endif  // HWY_ONCE
