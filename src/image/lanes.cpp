// SPDX-License-Identifier: Apache-2.0
#include "image/lanes.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace dvnn::image {
namespace {

constexpr uint8_t kZero = 0x80;      // in Picks::pick
constexpr size_t kVectorBytes = 64;  // the longest that resample.cpp uses
constexpr size_t kLaneBytes = 4;     // of a pair of samples

size_t rounded_up(size_t n, size_t unit) {
  return (n + unit - 1) / unit * unit;
}

}  // namespace

void PickTable::prepare(std::vector<uint32_t> source, size_t row_bytes) {
  source.resize(rounded_up(source.size(), kVectorBytes), kNothing);
  blocks_ = source.size() / pick_unit().block;
  parts_ = 1;
  near_ = split(source, row_bytes, pick_unit().block);
  if (near_) return;
  // This ends, as a part of one byte is always within reach.
  for (; !split(source, row_bytes, pick_unit().reach); parts_ *= 2) continue;
}

// Returns false if a part of a block needs bytes more than `reach` apart.
bool PickTable::split(const std::vector<uint32_t>& source, size_t row_bytes, size_t reach) {
  const size_t block = pick_unit().block, part_bytes = block / parts_;
  base_.assign(parts_ * blocks_, 0);
  pick_.assign(source.size(), kZero);
  for (size_t start = 0; start < source.size(); start += part_bytes) {
    const uint32_t* part = &source[start];
    const uint32_t low = *std::min_element(part, part + part_bytes);  // kNothing is largest
    if (low == kNothing) continue;
    const uint32_t base = std::min(low, static_cast<uint32_t>(row_bytes - reach));
    base_[start % block / part_bytes * blocks_ + start / block] = base;
    for (size_t k = 0; k < part_bytes; ++k) {
      if (part[k] == kNothing) continue;
      if (part[k] - base >= reach) return false;
      pick_[start + k] = static_cast<uint8_t>(part[k] - base);
    }
  }
  return true;
}

void LaneTable::prepare(const std::vector<Component>& components, const std::vector<Tap>& taps,
                        int row_bytes) {
  const Component& c = components[0];
  bits_ = c.bits;
  shift_ = c.shift;
  row_bytes_ = static_cast<size_t>(row_bytes);
  const size_t per_pixel = components.size() == 3 ? 4 : components.size();
  lanes_ = taps.size() * per_pixel;
  std::vector<uint32_t> single(lanes_, PickTable::kNothing);
  std::vector<uint32_t> pairs(lanes_ * kLaneBytes, PickTable::kNothing);
  weights_.assign(rounded_up(2 * lanes_, kVectorBytes / sizeof(int16_t)), 0);
  only_copies_ = bits_ == 8;
  for (size_t lane = 0; lane < lanes_; ++lane) {
    const Tap& tap = taps[lane / per_pixel];
    if (lane % per_pixel >= components.size()) continue;
    const Component& component = components[lane % per_pixel];
    auto offset = [&](int sample) {
      return static_cast<uint32_t>(component.first + sample * component.step);
    };
    single[lane] = offset(tap.first);
    for (uint32_t k = 0; k < static_cast<uint32_t>(component.sample_bytes()); ++k) {
      pairs[lane * kLaneBytes + k] = offset(tap.first) + k;
      pairs[lane * kLaneBytes + 2 + k] = offset(tap.second) + k;
    }
    weights_[2 * lane] = static_cast<int16_t>(tap.first_weight);
    weights_[2 * lane + 1] = static_cast<int16_t>(tap.second_weight);
    only_copies_ &= tap.second_weight == 0;
  }
  const size_t readable_bytes = std::max(row_bytes_, pick_unit().reach);
  short_rows_.assign(row_bytes_ < readable_bytes ? 2 * readable_bytes : 0, 0);
  pairs_.prepare(std::move(pairs), readable_bytes);
  if (bits_ == 8) pairs_.prepare_bilinear();
  if (only_copies_) copies_.prepare(std::move(single), readable_bytes);
}

RowPair LaneTable::readable(const RowPair& rows) {
  RowPair pair = rows;
  if (pair.below_weight == 0) pair.below = pair.above;
  if (short_rows_.empty()) return pair;
  uint8_t *above = short_rows_.data(), *below = above + short_rows_.size() / 2;
  std::memcpy(above, pair.above, row_bytes_);
  std::memcpy(below, pair.below, row_bytes_);
  return {above, pair.below == pair.above ? above : below, pair.above_weight, pair.below_weight};
}

void LaneTable::levels(RowPair rows, uint8_t* out) {
  rows = readable(rows);
  if (only_copies_ && rows.below_weight == 0) {
    copy_picked(rows.above, copies_.picks(), out);
  } else {
    interpolate_levels(rows, {pairs_.picks(), weights_.data(), bits_, shift_}, out);
  }
}

void LaneTable::fine(RowPair rows, float* out) {
  interpolate_fine(readable(rows), {pairs_.picks(), weights_.data(), bits_, shift_}, out);
}

}  // namespace dvnn::image
