// SPDX-License-Identifier: Apache-2.0
#include "zones/nearness.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>

namespace dvnn::zones {
namespace {

// Two that are nearer no longer are once they are surely apart, by so many standard deviations.
constexpr double kSurelyApart = 2;

double apart(const Standing& a, const Standing& b) {
  return std::hypot(a.at.x - b.at.x, a.at.y - b.at.y);
}

double deviation_of(const Standing& a, const Standing& b) {
  return std::hypot(a.deviation, b.deviation);
}

}  // namespace

// Goes through the tracks along the axis on which they are spread most, and compares each with
// those that are less than `below` further on.
bool find_near(Span<const Neighbour> all, double below, std::vector<NearPair>* pairs) {
  pairs->clear();
  Metres least{INFINITY, INFINITY}, most{-INFINITY, -INFINITY};
  for (const Neighbour& one : all) {
    least = {std::min(least.x, one.now.at.x), std::min(least.y, one.now.at.y)};
    most = {std::max(most.x, one.now.at.x), std::max(most.y, one.now.at.y)};
  }
  const bool by_x = most.x - least.x >= most.y - least.y;
  const auto place = [&](size_t i) { return by_x ? all[i].now.at.x : all[i].now.at.y; };
  std::vector<size_t> order(all.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return place(a) != place(b) ? place(a) < place(b) : all[a].track < all[b].track;
  });
  size_t compared = 0;
  bool complete = true;
  for (size_t i = 0; i < order.size() && complete; ++i) {
    for (size_t k = i + 1; k < order.size() && place(order[k]) - place(order[i]) < below; ++k) {
      if (++compared > kMostCompared) {
        complete = false;
        break;
      }
      size_t a = order[i], b = order[k];
      const double metres = apart(all[a].now, all[b].now);
      if (!(metres < below) || all[a].track == all[b].track) continue;
      if (all[a].track > all[b].track) std::swap(a, b);
      pairs->push_back(
          {all[a].track, all[b].track, metres, deviation_of(all[a].now, all[b].now), a, b});
    }
  }
  const auto nearer = [](const NearPair& a, const NearPair& b) {
    return a.metres != b.metres ? a.metres < b.metres
           : a.first != b.first ? a.first < b.first
                                : a.second < b.second;
  };
  std::sort(pairs->begin(), pairs->end(), nearer);
  if (pairs->size() > kMostNearPairs) pairs->resize(kMostNearPairs);
  return complete;
}

void NearWatch::configure(double below, Time after) {
  below_ = below;
  after_ = after;
  pairs_.clear();
}

// Returns when two that are near now came so, if both moved straight since they were last seen
// together; otherwise now.
Time NearWatch::began(const Neighbour& a, const Neighbour& b, Time now) const {
  if (!a.has_before || !b.has_before || a.before.time != b.before.time || !(a.before.time < now)) {
    return now;
  }
  const double x = a.before.at.x - b.before.at.x, y = a.before.at.y - b.before.at.y;
  const double dx = a.now.at.x - b.now.at.x - x, dy = a.now.at.y - b.now.at.y - y;
  // |(x, y) + part (dx, dy)| = below
  const double square = dx * dx + dy * dy, half = x * dx + y * dy;
  const double over = x * x + y * y - below_ * below_;
  if (over < 0) return a.before.time;  // they were, but not in the area
  const double root = half * half - square * over;
  if (!(square > 0) || root < 0) return now;
  const double part = std::clamp((-half - std::sqrt(root)) / square, 0.0, 1.0);
  return a.before.time +
         static_cast<Time>(std::llround(part * static_cast<double>(now - a.before.time)));
}

void NearWatch::see_near(Time now, Time since, const NearPair& pair,
                         std::vector<NearChange>* changes) {
  const auto [at, is_new] = pairs_.try_emplace({pair.first, pair.second});
  Pair& known = at->second;
  if (is_new) {
    known.since = since;
    known.least = std::numeric_limits<double>::infinity();
  }
  known.seen = now;
  if (pair.metres < known.least) {
    known.least = pair.metres;
    known.deviation = pair.deviation;
  }
  if (known.told || now - known.since < after_) return;
  known.told = true;
  changes->push_back({true, pair.first, pair.second, known.since + after_, known.since, pair.metres,
                      pair.deviation});
}

// Ends the pairs of which both were seen apart.
void NearWatch::see_far(Time now, Span<const Neighbour> seen, std::vector<NearChange>* changes) {
  if (pairs_.empty()) return;
  std::unordered_map<uint64_t, const Neighbour*> by_track;
  for (const Neighbour& one : seen) by_track.emplace(one.track, &one);
  for (auto pair = pairs_.begin(); pair != pairs_.end();) {
    const auto a = by_track.find(pair->first.first), b = by_track.find(pair->first.second);
    bool ends = false;
    if (pair->second.seen < now && a != by_track.end() && b != by_track.end()) {
      const Standing &one = a->second->now, &other = b->second->now;
      const double slack = pair->second.told ? kSurelyApart * deviation_of(one, other) : 0;
      ends = apart(one, other) >= below_ + slack;
    }
    if (ends) end_pair(pair->first, pair->second, now, changes);
    pair = ends ? pairs_.erase(pair) : std::next(pair);
  }
}

void NearWatch::end_pair(const Key& key, const Pair& pair, Time time,
                         std::vector<NearChange>* changes) {
  if (!pair.told) return;
  changes->push_back({false, key.first, key.second, time, pair.since, pair.least, pair.deviation});
}

void NearWatch::end(std::vector<NearChange>* changes) {
  for (const auto& [key, pair] : pairs_) end_pair(key, pair, pair.seen, changes);
  pairs_.clear();
}

}  // namespace dvnn::zones
