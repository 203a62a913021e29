// SPDX-License-Identifier: Apache-2.0
#include "image/lanes.h"

#include <algorithm>
#include <utility>

namespace dvnn::image {
namespace {

constexpr size_t kGroup = 4;  // lanes
constexpr int kPartBytes = 16;
constexpr size_t kAtOnce = 16;   // vectors take more groups than one; the rest picks nothing
constexpr uint8_t kZero = 0x80;  // in TapTable::pick

uint16_t lane_weight(int weight) {
  return static_cast<uint16_t>(weight << (15 - kWeightBits));
}

}  // namespace

void LanePlan::plan(const std::vector<Component>& components, const std::vector<Tap>& taps,
                    int row_bytes) {
  const Component& c = components[0];
  plane_ = c.plane;
  sample_bytes_ = c.sample_bytes;
  shift_ = c.shift;
  const size_t per_pixel = components.size() == 3 ? 4 : components.size();
  lanes_ = taps.size() * per_pixel;
  const size_t room = lanes_ + kRowPadding;
  at_.assign(room, Lane());
  first_weight_.assign(room, 0);
  second_weight_.assign(room, 0);
  taps_.assign(2 * room, 0);
  for (size_t x = 0; x < taps.size(); ++x) {
    for (size_t k = 0; k < components.size(); ++k) {
      const size_t lane = x * per_pixel + k;
      auto offset = [&](int sample) {
        return static_cast<uint32_t>(components[k].first + sample * components[k].step);
      };
      at_[lane] = {offset(taps[x].first), offset(taps[x].second)};
      first_weight_[lane] = lane_weight(taps[x].first_weight);
      second_weight_[lane] = lane_weight(taps[x].second_weight);
    }
  }
  groups_ = (lanes_ + kGroup - 1) / kGroup;
  for (int parts : {1, 2, 4, 0}) {
    parts_ = parts;
    if (plan_parts(row_bytes)) break;
  }
  plan_copy(row_bytes);
}

// Fills the table for copy(), or leaves it empty.
void LanePlan::plan_copy(int row_bytes) {
  constexpr size_t kLanes = 2 * kGroup;
  copy_base_.clear();
  if (sample_bytes_ != 1 || row_bytes < kPartBytes ||
      std::any_of(second_weight_.begin(), second_weight_.end(), [](uint16_t w) { return w > 0; })) {
    return;
  }
  const size_t groups = (lanes_ + kLanes - 1) / kLanes;
  std::vector<uint32_t> base(groups + kAtOnce, 0);
  copy_pick_.assign(kPartBytes * (groups + kAtOnce), kZero);
  for (size_t group = 0; group < groups; ++group) {
    const Lane* lanes = &at_[group * kLanes];
    uint32_t low = static_cast<uint32_t>(row_bytes - kPartBytes), high = 0;
    for (size_t k = 0; k < kLanes; ++k) {
      if (lanes[k].first == kNowhere) continue;
      low = std::min(low, lanes[k].first);
      high = std::max(high, lanes[k].first + 1);
    }
    if (high > low + kPartBytes) return;
    base[group] = low;
    for (size_t k = 0; k < kLanes; ++k) {
      if (lanes[k].first == kNowhere) continue;
      copy_pick_[kPartBytes * group + 2 * k] = static_cast<uint8_t>(lanes[k].first - low);
    }
  }
  copy_base_ = std::move(base);
}

void LanePlan::copy(const uint8_t* row, int16_t* levels) const {
  const TapTable table = {copy_base_.data(), copy_pick_.data()};
  pick_taps(row, &table, 1, copy_base_.size() - kAtOnce, reinterpret_cast<uint16_t*>(levels));
}

// False where the lanes of a part are spread over more than 16 bytes, or rows are shorter than
// that.
bool LanePlan::plan_parts(int row_bytes) {
  for (size_t part = 0; part < static_cast<size_t>(parts_); ++part) {
    base_[part].assign(groups_ + kAtOnce, 0);
    pick_[part].assign(kPartBytes * (groups_ + kAtOnce), kZero);
    const size_t count = kGroup / static_cast<size_t>(parts_);
    for (size_t group = 0; group < groups_; ++group) {
      if (!fill_part(group, part, part * count, count, row_bytes)) return false;
    }
  }
  return true;
}

// The part of a group that gives its lanes `from`..`from` + `count` - 1.
bool LanePlan::fill_part(size_t group, size_t part, size_t from, size_t count, int row_bytes) {
  constexpr uint32_t kBytes = kPartBytes;
  if (row_bytes < kPartBytes) return false;
  const Lane* lanes = &at_[group * kGroup];
  uint32_t low = kNowhere, high = 0;
  for (size_t k = from; k < from + count; ++k) {
    for (uint32_t at : {lanes[k].first, lanes[k].second}) {
      if (at == kNowhere) continue;
      low = std::min(low, at);
      high = std::max(high, at + static_cast<uint32_t>(sample_bytes_));
    }
  }
  const uint32_t base = std::min(low, static_cast<uint32_t>(row_bytes) - kBytes);
  if (high > base + kBytes) return false;
  base_[part][group] = base;
  for (size_t k = from; k < from + count; ++k) {
    for (size_t tap = 0; tap < 2; ++tap) {
      const uint32_t at = tap ? lanes[k].second : lanes[k].first;
      if (at == kNowhere) continue;
      uint8_t* pick = &pick_[part][kBytes * group + 2 * (tap * kGroup + k)];
      const auto index = static_cast<uint8_t>(at - base);
      if (sample_bytes_ == 2) pick[0] = index;
      pick[1] = static_cast<uint8_t>(index + sample_bytes_ - 1);
    }
  }
  return true;
}

// What pick_taps() does, one by one.
void LanePlan::gather(const uint8_t* row) {
  auto sample = [&](uint32_t at) -> uint16_t {
    if (at == kNowhere) return 0;
    if (sample_bytes_ == 1) return static_cast<uint16_t>(row[at] << 8);
    return static_cast<uint16_t>(row[at] | row[at + 1] << 8);
  };
  for (size_t i = 0; i < lanes_; ++i) {
    uint16_t* group = &taps_[i / kGroup * 2 * kGroup + i % kGroup];
    group[0] = sample(at_[i].first);
    group[kGroup] = sample(at_[i].second);
  }
}

void LanePlan::resample(const uint8_t* row, uint16_t* out) {
  if (parts_ == 0) {
    gather(row);
  } else {
    TapTable tables[4] = {};
    for (size_t i = 0; i < 4; ++i) tables[i] = {base_[i].data(), pick_[i].data()};
    pick_taps(row, tables, parts_, groups_, taps_.data());
  }
  interpolate(taps_.data(), first_weight_.data(), second_weight_.data(), shift_, lanes_, out);
}

}  // namespace dvnn::image
