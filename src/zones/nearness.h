// SPDX-License-Identifier: Apache-2.0
// Which objects on the ground are near each other, and since when.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/span.h"
#include "zones/config.h"

namespace dvnn::zones {

/// Where a track stood in a frame.
struct Standing {
  Time time = 0;
  Metres at;
  double deviation = 0;  // standard deviation of x and of y, metres
};

/// A track of a frame: where it stands, and where it stood in the frame in which it was seen
/// before.
struct Neighbour {
  uint64_t track = 0;
  Standing now, before;
  bool has_before = false;
};

/// Two tracks; the first number is the smaller one.
struct NearPair {
  uint64_t first = 0, second = 0;
  double metres = 0, deviation = 0;
  size_t first_index = 0, second_index = 0;  // in the list that was searched
};

/// Pairs that find_near() compares, and that it returns.
constexpr size_t kMostCompared = 1000000, kMostNearPairs = 1000;

/// Finds the pairs that are less than `below` metres apart, nearest first, at most kMostNearPairs.
/// Returns false if there were too many to compare them all.
bool find_near(Span<const Neighbour> all, double below, std::vector<NearPair>* pairs);

/// A beginning or an end of two tracks' being too close.
struct NearChange {
  bool begins = false;
  uint64_t first = 0, second = 0;
  Time time = 0, since = 0;
  double metres = 0, deviation = 0;  // at that time; at the end the least that there were
};

/// Watches the pairs of tracks in one area.
class NearWatch {
 public:
  /// Sets from which distance on, in metres, and after which time pairs are told.
  void configure(double below, Time after);
  /// Takes those in the area that were seen in this frame. `inside_since(track)` returns since when
  /// a track has been in the area, or nothing if it is no longer; `left(track)` when it was there
  /// last. Appends changes. Returns false if there were too many to compare them all.
  template <typename Since, typename Left>
  bool watch(Time now, Span<const Neighbour> seen, Since inside_since, Left left,
             std::vector<NearChange>* changes) {
    for (auto pair = pairs_.begin(); pair != pairs_.end();) {
      const auto [first, second] = pair->first;
      if (inside_since(first) && inside_since(second)) {
        ++pair;
        continue;
      }
      end_pair(pair->first, pair->second, std::min(left(first), left(second)), changes);
      pair = pairs_.erase(pair);
    }
    const bool all = find_near(seen, below_, &found_);
    for (const NearPair& pair : found_) {
      const Neighbour &a = seen[pair.first_index], &b = seen[pair.second_index];
      const Time inside = std::max(*inside_since(pair.first), *inside_since(pair.second));
      see_near(now, std::max(inside, began(a, b, now)), pair, changes);
    }
    see_far(now, seen, changes);
    return all;
  }
  /// Ends all pairs at the times at which they were last seen near.
  void end(std::vector<NearChange>* changes);

 private:
  struct Pair {
    Time since = 0, seen = 0;
    bool told = false;
    double least = 0, deviation = 0;
  };
  using Key = std::pair<uint64_t, uint64_t>;
  Time began(const Neighbour& a, const Neighbour& b, Time now) const;
  void see_near(Time now, Time since, const NearPair& pair, std::vector<NearChange>* changes);
  void see_far(Time now, Span<const Neighbour> seen, std::vector<NearChange>* changes);
  static void end_pair(const Key& key, const Pair& pair, Time time,
                       std::vector<NearChange>* changes);

  double below_ = 0;
  Time after_ = 0;
  std::map<Key, Pair> pairs_;
  std::vector<NearPair> found_;
};

}  // namespace dvnn::zones
