// SPDX-License-Identifier: Apache-2.0
// Whether a place, such as a parking bay or a seat, is occupied: by how long objects have been in
// it, and for how long they have been gone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "zones/config.h"

namespace dvnn::zones {

/// A change of a bay.
struct BayChange {
  bool occupied = false;
  Time time = 0;
  Time since = 0;      // when the stay began, or when the last object left
  Time duration = 0;   // of the stay so far, or of the occupancy that ended
  uint64_t track = 0;  // that occupies it; 0: it is free
  std::string label;
};

/// A bay is told of all tracks in it, frame by frame, in the order of time: first enter(), see()
/// and leave(), then watch().
class Bay {
 public:
  /// Sets the times of stay and of absence after which the bay changes. Its state stays.
  void configure(Time occupied_after, Time free_after);
  /// A track came in. `appears`: it was not seen outside before.
  void enter(uint64_t track, const std::string& label, Time time, bool appears);
  /// A track that is in the bay was seen there.
  void see(uint64_t track, const std::string& label, Time time);
  /// A track left; or, if it is `lost`, was seen for the last time then and is given up.
  void leave(uint64_t track, Time time, bool lost);
  /// Appends the changes that are due by `now`, the time of the frame.
  void watch(Time now, std::vector<BayChange>* changes);
  /// Forgets tracks and times, because the stream jumps. An occupied bay stays so, and becomes free
  /// if no object appears in it in time.
  void jump();

  bool occupied() const { return occupied_; }
  /// Returns when the present state began: a stay, or an absence. Nothing before the first change.
  std::optional<Time> since() const { return since_; }

 private:
  // A track's stay. It goes on while the track has left for less than the time of absence.
  struct Stay {
    uint64_t track = 0;  // 0: of before a jump
    std::string label;
    Time since = 0, seen = 0;  // `seen`: the last time at which it was there
    bool inside = false, appeared = false, lost = false;
  };
  Stay* find(uint64_t track);
  void add(uint64_t track, const std::string& label, Time time, bool appears);
  bool has_stayed(const Stay& stay) const { return stay.seen - stay.since >= occupied_after_; }
  void take_over(Time now);
  bool become_occupied(std::vector<BayChange>* changes);
  bool become_free(Time now, std::vector<BayChange>* changes);

  Time occupied_after_ = 0, free_after_ = 0;
  bool occupied_ = false, jumped_ = false;
  std::optional<Time> since_;
  std::vector<Stay> stays_;
};

}  // namespace dvnn::zones
