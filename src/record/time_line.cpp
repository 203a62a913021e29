// SPDX-License-Identifier: Apache-2.0
#include "record/time_line.h"

#include <algorithm>

namespace dvnn::record {
namespace {

constexpr size_t kMostStretches = 256;
// How far behind the last unit of a stretch a time still belongs to it: the last frame's duration.
constexpr Time kTail = kSecond;

}  // namespace

Place TimeLine::lead(Time decode, uint64_t flushes) {
  const bool begins = stretches_.empty() || flushes > 0 ||
                      decode < stretches_.back().last - kBack ||
                      decode > stretches_.back().last + kGap;
  if (begins) {
    Stretch next;
    next.first = next.last = decode;
    next.offset = end_ - decode;
    next.flushes = flushes + (stretches_.empty() ? 0 : stretches_.back().flushes);
    stretches_.push_back(next);
    if (stretches_.size() > kMostStretches) {
      stretches_.pop_front();
      ++begin_;
    }
  }
  Stretch& now = stretches_.back();
  now.last = std::max(now.last, decode);
  reach(decode + now.offset);
  return {last(), decode + now.offset};
}

void TimeLine::reach(Time line) {
  end_ = std::max(end_, line);
}

bool TimeLine::holds(uint64_t stretch, Time time) const {
  if (stretch < begin_ || stretch > last()) return false;
  const Stretch& one = at(stretch);
  return time >= one.first && time <= one.last + (stretch == last() ? kGap : kTail);
}

std::optional<Place> Follower::place_from(const TimeLine& line, uint64_t from, Time time) const {
  for (uint64_t stretch = std::max(from, line.first()); stretch <= line.last(); ++stretch) {
    if (line.flushes(stretch) < flushes_ || !line.holds(stretch, time)) continue;
    return Place{stretch, line.line(stretch, time)};
  }
  return std::nullopt;
}

std::optional<Place> Follower::follow(const TimeLine& line, Time time) {
  if (line.empty()) return std::nullopt;
  const bool back = known_ && time < last_ - TimeLine::kBack &&
                    (!line.knows(stretch_) || line.flushes(stretch_) >= flushes_);
  auto place = place_from(line, known_ ? stretch_ + (back ? 1 : 0) : line.first(), time);
  // Streams that begin before the video does belong to its beginning.
  if (!place && !known_ && line.last() == line.first() && !line.holds(line.first(), time)) {
    place = Place{line.first(), line.line(line.first(), time)};
  }
  if (!place) return std::nullopt;
  before_ = known_ ? stretch_ : place->stretch;
  stretch_ = place->stretch;
  known_ = true;
  last_ = time;
  return place;
}

std::optional<Place> Follower::place_told(const TimeLine& line, Time time, Time now) const {
  if (line.empty() || !known_) return std::nullopt;
  const uint64_t stretch = time > now && before_ != stretch_ ? before_ : stretch_;
  if (line.holds(stretch, time)) return Place{stretch, line.line(stretch, time)};
  for (uint64_t other = line.last() + 1; other-- > line.first();) {
    if (line.holds(other, time)) return Place{other, line.line(other, time)};
  }
  if (stretch < line.first()) return std::nullopt;
  return Place{stretch, line.line(stretch, time)};
}

}  // namespace dvnn::record
