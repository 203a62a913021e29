// SPDX-License-Identifier: Apache-2.0
#include "motion/motion_watch.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace dvnn::motion {
namespace {

constexpr int64_t kMillisecond = 1000000;
// Time for which a place that has moved belongs to an area, so that areas do not flicker.
constexpr int64_t kAreaTime = 300 * kMillisecond;
// Time for which a look at the whole frame lasts, so that rules which leave out frames
// (dvinfer's interval-frames) see one of them, and a tracker has more than one detection.
constexpr int64_t kWholeLook = 200 * kMillisecond;
// Longest gap between frames over which a background stays known.
constexpr int64_t kLongestGap = 30000 * kMillisecond;
// Something that has come, or the ground that something has left, rests once few of its cells are
// new: kRestSeconds is the age of others, and kNew their most share. What moves always has new
// cells in front.
constexpr float kRestSeconds = 1;
constexpr double kNew = 0.06;
// Share of cells that differ if the scene is another one.
constexpr double kEverywhere = 0.4;
// Cells of the 3 x 3 around one that differ, too, if it is more than noise.
constexpr int kDense = 4;
// Most areas; more are merged.
constexpr size_t kMostAreas = 16;
// Most boxes of what has moved that are kept one by one, as merging takes the square of their
// number: more, such as those of falling snow, become one in each of kPlaces x kPlaces places.
constexpr size_t kMostMoved = 512;
constexpr int kPlaces = 6;
// Two areas become one if the box around both is at most this much larger than they are.
constexpr double kWaste = 1.3;

image::Corners around(const image::Corners& a, const image::Corners& b) {
  return {std::min(a.x0, b.x0), std::min(a.y0, b.y0), std::max(a.x1, b.x1), std::max(a.y1, b.y1)};
}

}  // namespace

const char* to_string(Reason reason) {
  switch (reason) {
    case Reason::kStill:
      return "still";
    case Reason::kMoving:
      return "moving";
    case Reason::kHeld:
      return "held";
    case Reason::kEverywhere:
      return "everywhere";
    case Reason::kVerify:
      return "verify";
  }
  return "";
}

void MotionWatch::reset() {
  background_.reset();
  moved_.clear();
  areas_.clear();
  last_.clear();
  begun_ = false;
}

void MotionWatch::set_mask(std::function<bool(double x, double y)> masked) {
  masked_ = std::move(masked);
  mask_.clear();
}

// Makes the mask of cells from the middles of cells.
void MotionWatch::make_mask() {
  const LumaPyramid::Level& cells = picture_.level(0);
  if (mask_.size() == cells.pixels.size()) return;
  const double size = picture_.step();
  mask_.assign(cells.pixels.size(), 0);
  age_.assign(cells.pixels.size(), 0);
  for (size_t i = 0; masked_ && i < mask_.size(); ++i) {
    const size_t x = i % static_cast<size_t>(cells.width), y = i / static_cast<size_t>(cells.width);
    mask_[i] =
        masked_((static_cast<double>(x) + 0.5) * size, (static_cast<double>(y) + 0.5) * size);
  }
}

// Whether enough neighbours of a cell differ, too.
bool MotionWatch::is_dense(int x, int y) const {
  const std::vector<uint8_t>& marks = background_.marks();
  const int w = background_.width(), h = background_.height();
  int count = 0;
  for (int j = std::max(0, y - 1); j <= std::min(h - 1, y + 1); ++j) {
    for (int i = std::max(0, x - 1); i <= std::min(w - 1, x + 1); ++i) {
      count += marks[static_cast<size_t>(j * w + i)];
    }
  }
  return count >= kDense;
}

// Collects the cells that differ and are connected with (x, y), over gaps of a cell.
void MotionWatch::follow(int x, int y, std::vector<size_t>* cells) {
  const std::vector<uint8_t>& marks = background_.marks();
  const int w = background_.width(), h = background_.height();
  cells->clear();
  const auto take = [&](int i, int j) {
    const auto at = static_cast<size_t>(j * w + i);
    if (visited_[at] || !marks[at]) return;
    visited_[at] = 1;
    cells->push_back(at);
  };
  take(x, y);
  for (size_t next = 0; next < cells->size(); ++next) {
    const int cx = static_cast<int>((*cells)[next]) % w, cy = static_cast<int>((*cells)[next]) / w;
    for (int j = std::max(0, cy - 2); j <= std::min(h - 1, cy + 2); ++j) {
      for (int i = std::max(0, cx - 2); i <= std::min(w - 1, cx + 2); ++i) take(i, j);
    }
  }
}

// Notes the box of connected cells as moved, or takes them as background if none has changed for a
// while. What moves is kept in one piece: the inside of a large thing of one colour does not
// change.
void MotionWatch::keep(const std::vector<size_t>& cells, int64_t time) {
  const auto w = static_cast<size_t>(background_.width());
  image::Corners box{1e9, 1e9, 0, 0};
  size_t fresh = 0;
  for (size_t cell : cells) {
    const auto x = static_cast<double>(cell % w), y = static_cast<double>(cell / w);
    box = around(box, {x, y, x + 1, y + 1});
    fresh += age_[cell] < kRestSeconds;
  }
  if (static_cast<double>(fresh) < kNew * static_cast<double>(cells.size())) {
    for (size_t cell : cells) background_.absorb(cell);
    return;
  }
  const double size = picture_.step();
  box = {box.x0 * size, box.y0 * size, box.x1 * size, box.y1 * size};
  const double least = rules_.least * frame_.height;
  if (std::max(box.x1 - box.x0, box.y1 - box.y0) < least) return;
  moved_.push_back({time, box});
  last_motion_ = time;
}

void MotionWatch::find(int64_t time) {
  const std::vector<uint8_t>& marks = background_.marks();
  const auto seconds = static_cast<float>(seconds_);
  for (size_t i = 0; i < marks.size(); ++i) {
    age_[i] = marks[i] ? age_[i] + seconds : std::max(0.0f, age_[i] - seconds);
  }
  visited_.assign(marks.size(), 0);
  static thread_local std::vector<size_t> cells;
  const int w = background_.width();
  for (int y = 0; y < background_.height(); ++y) {
    for (int x = 0; x < w; ++x) {
      const auto at = static_cast<size_t>(y * w + x);
      if (visited_[at] || !marks[at] || !is_dense(x, y)) continue;
      follow(x, y, &cells);
      keep(cells, time);
    }
  }
  moved_.erase(std::remove_if(moved_.begin(), moved_.end(),
                              [&](const Moved& moved) { return time - moved.time > kAreaTime; }),
               moved_.end());
  if (moved_.size() > kMostMoved) join_places();
}

// Makes one box of all whose middles lie in the same place of the frame.
void MotionWatch::join_places() {
  const auto place = [](double middle, double extent) {
    return std::clamp(static_cast<int>(middle / extent * kPlaces), 0, kPlaces - 1);
  };
  std::array<std::optional<Moved>, size_t{kPlaces} * kPlaces> joined;
  for (const Moved& moved : moved_) {
    const image::Corners& box = moved.box;
    const int x = place((box.x0 + box.x1) / 2, frame_.width);
    const int y = place((box.y0 + box.y1) / 2, frame_.height);
    std::optional<Moved>& all = joined[static_cast<size_t>(y * kPlaces + x)];
    all = all ? Moved{std::max(all->time, moved.time), around(all->box, box)} : moved;
  }
  moved_.clear();
  for (const std::optional<Moved>& all : joined) {
    if (all) moved_.push_back(*all);
  }
}

// Makes areas of what has moved: with margins, within the frame, and merged where that costs
// little.
void MotionWatch::merge() {
  areas_.clear();
  const double margin = rules_.margin * frame_.height;
  for (const Moved& moved : moved_) {
    const image::Corners& box = moved.box;
    areas_.push_back({std::max(0.0, box.x0 - margin), std::max(0.0, box.y0 - margin),
                      std::min(frame_.width, box.x1 + margin),
                      std::min(frame_.height, box.y1 + margin)});
  }
  const auto merge_once = [&](double waste) {
    const size_t before = areas_.size();
    for (size_t a = 0; a < areas_.size(); ++a) {
      for (size_t b = a + 1; b < areas_.size(); ++b) {
        const image::Corners both = around(areas_[a], areas_[b]);
        if (area_of(both) > waste * (area_of(areas_[a]) + area_of(areas_[b]))) continue;
        areas_[a] = both;
        areas_.erase(areas_.begin() + static_cast<ptrdiff_t>(b));
        b = a;  // the others again, with the larger one
      }
    }
    return areas_.size() < before;
  };
  double waste = kWaste;
  while (areas_.size() > 1) {
    if (merge_once(waste)) continue;
    if (areas_.size() <= kMostAreas) break;
    waste *= 2;
  }
}

Reason MotionWatch::look_at_all(int64_t time, Reason reason) {
  if (reason != Reason::kVerify) last_whole_ = time;
  areas_ = {{0, 0, frame_.width, frame_.height}};
  return reason;
}

Reason MotionWatch::decide(int64_t time, bool readable) {
  if (!readable || background_.is_learning()) return look_at_all(time, Reason::kEverywhere);
  if (background_.unknown_share() > kEverywhere) {
    background_.restart();
    moved_.clear();
    return look_at_all(time, Reason::kEverywhere);
  }
  find(time);
  if (rules_.verify > 0 && time - last_whole_ >= rules_.verify) {
    if (time - last_whole_ >= rules_.verify + kWholeLook) last_whole_ = time;
    return look_at_all(time, Reason::kVerify);
  }
  if (!moved_.empty()) {
    merge();
    last_ = areas_;
    return Reason::kMoving;
  }
  if (!last_.empty() && time - last_motion_ <= rules_.hold) {
    areas_ = last_;
    return Reason::kHeld;
  }
  last_.clear();
  areas_.clear();
  return Reason::kStill;
}

Reason MotionWatch::see(int64_t time, const Luma& frame) {
  const bool follows = begun_ && time >= last_time_ && time - last_time_ <= kLongestGap &&
                       frame.width == static_cast<int>(frame_.width) &&
                       frame.height == static_cast<int>(frame_.height);
  if (!follows) {
    reset();
    mask_.clear();
    last_whole_ = time;
  }
  frame_ = {static_cast<double>(frame.width), static_cast<double>(frame.height)};
  seconds_ = follows ? 1e-9 * static_cast<double>(time - last_time_) : 0;
  last_time_ = time;
  begun_ = true;
  const bool readable = picture_.build(frame);
  if (readable) {
    make_mask();
    background_.see(picture_.level(0), seconds_, rules_.contrast, mask_);
  }
  return decide(time, readable);
}

}  // namespace dvnn::motion
