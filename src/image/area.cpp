// SPDX-License-Identifier: Apache-2.0
#include "image/lanes.h"

#include <algorithm>
#include <cstring>

#include "base/nth.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "image/area.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::image::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// sums += weight * (samples >> shift), for samples of type T at any address: a GstVideoMeta may
// have rows an odd number of bytes apart.
template <typename T>
void AddRowOf(const uint8_t* HWY_RESTRICT row, int shift, float weight, size_t count,
              float* HWY_RESTRICT sums) {
  const hn::ScalableTag<float> df;
  const hn::RebindToSigned<decltype(df)> di;
  const hn::Rebind<T, decltype(df)> ds;
  HWY_ALIGN T samples[hn::MaxLanes(df)];
  const auto w = hn::Set(df, weight);
  size_t i = 0;
  for (; i + hn::Lanes(df) <= count; i += hn::Lanes(df)) {
    std::memcpy(samples, row + i * sizeof(T), hn::Lanes(df) * sizeof(T));
    const auto wide = hn::PromoteTo(di, hn::Load(ds, samples));
    const auto value = hn::ConvertTo(df, hn::ShiftRightSame(wide, shift));
    hn::StoreU(hn::MulAdd(value, w, hn::LoadU(df, sums + i)), df, sums + i);
  }
  for (; i < count; ++i) {
    T sample;
    std::memcpy(&sample, row + i * sizeof(T), sizeof(T));
    sums[i] += weight * static_cast<float>(sample >> shift);
  }
}

void AddRow(const uint8_t* row, int bytes_per_sample, int shift, float weight, size_t count,
            float* sums) {
  if (bytes_per_sample == 1) {
    AddRowOf<uint8_t>(row, shift, weight, count, sums);
  } else {
    AddRowOf<uint16_t>(row, shift, weight, count, sums);
  }
}

}  // namespace dvnn::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn::image {

HWY_EXPORT(AddRow);

void AreaTable::prepare(const std::vector<Component>& components, const AxisMapping& x,
                        const AxisMapping& y, int row_bytes) {
  components_ = components;
  x_ = make_area_taps(x);
  y_ = make_area_taps(y);
  per_pixel_ = components.size() == 3 ? 4 : components.size();
  lanes_ = x_.taps.size() * per_pixel_;
  row_samples_ = static_cast<size_t>(row_bytes / components[0].sample_bytes());
  sums_.assign(row_samples_, 0);
  rows_are_shared_ = y.target_size > y.source_size;
  forget();
  for (Resampled& kept : kept_) kept.lanes.assign(rows_are_shared_ ? lanes_ : 0, 0);
}

void AreaTable::forget() {
  for (Resampled& kept : kept_) kept.row = -1;
}

// Adds a row of the plane to the sums.
void AreaTable::add(const PlaneRows& plane, int row, float weight) {
  const Component& c = components_[0];
  const float unit = c.bits == 10 ? 0.25f : 1.0f;
  HWY_DYNAMIC_DISPATCH(AddRow)
  (plane.row(row), c.sample_bytes(), c.shift, unit * weight, row_samples_, sums_.data());
}

// Computes lanes from the sums.
void AreaTable::sum_across(float* out) const {
  const int sample_bytes = components_[0].sample_bytes();
  for (size_t i = 0; i < components_.size(); ++i) {
    const int step = components_[i].step / sample_bytes,
              first = components_[i].first / sample_bytes;
    for (size_t x = 0; x < x_.taps.size(); ++x) {
      const AreaTap& across = x_.taps[x];
      const float* from = &nth(sums_, first + across.first * step);
      const float* weights = &nth(x_.weights, across.weight);
      float sum = 0;
      for (int k = 0; k < across.count; ++k) sum += weights[k] * from[k * step];
      out[x * per_pixel_ + i] = sum;
    }
  }
}

const float* AreaTable::resampled(const PlaneRows& plane, int row) {
  Resampled& kept = kept_[row % 2];
  if (kept.row != row) {
    std::fill(sums_.begin(), sums_.end(), 0.0f);
    add(plane, row, 1);
    sum_across(kept.lanes.data());
    kept.row = row;
  }
  return kept.lanes.data();
}

void AreaTable::row(const PlaneRows& plane, int y, float* out) {
  const AreaTap& down = nth(y_.taps, y);
  const float* const weights = &nth(y_.weights, down.weight);
  if (!rows_are_shared_) {
    std::fill(sums_.begin(), sums_.end(), 0.0f);
    for (int k = 0; k < down.count; ++k) add(plane, down.first + k, weights[k]);
    return sum_across(out);
  }
  // One row or two.
  const float* const first = resampled(plane, down.first);
  const float* const last = resampled(plane, down.first + down.count - 1);
  const float last_weight = down.count == 1 ? 0 : weights[1];
  for (size_t i = 0; i < lanes_; ++i) out[i] = weights[0] * first[i] + last_weight * last[i];
}

}  // namespace dvnn::image
#endif  // HWY_ONCE
