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
}

void AreaTable::row(const PlaneRows& plane, int y, float* out) {
  const Component& c = components_[0];
  const float unit = c.bits == 10 ? 0.25f : 1.0f;
  std::fill(sums_.begin(), sums_.end(), 0.0f);
  const AreaTap& down = nth(y_.taps, y);
  for (int k = 0; k < down.count; ++k) {
    const float weight = unit * nth(y_.weights, down.weight + k);
    HWY_DYNAMIC_DISPATCH(AddRow)
    (plane.row(down.first + k), c.sample_bytes(), c.shift, weight, row_samples_, sums_.data());
  }
  for (size_t i = 0; i < components_.size(); ++i) {
    const int step = components_[i].step / c.sample_bytes(),
              first = components_[i].first / c.sample_bytes();
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

}  // namespace dvnn::image
#endif  // HWY_ONCE
