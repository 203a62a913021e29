// SPDX-License-Identifier: Apache-2.0
// Chooses which objects are worth another look, where there are more than there is time for. An
// object is known again by its track; one without a track is new in each frame.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/span.h"
#include "image/view.h"

namespace dvnn::regions {

using Time = int64_t;  // nanoseconds

struct BudgetRules {
  size_t max_per_frame = 0;  // looks; 0: no limit
  double max_rate = 0;       // looks per second on average, at once up to a second's; 0: no limit
  Time refresh = 0;          // a track is looked at again after so long, or when its box has grown

  bool limits() const { return max_per_frame > 0 || max_rate > 0 || refresh > 0; }
};

/// An object that could be looked at.
struct Candidate {
  uint64_t track = 0;  // 0: not tracked
  image::Corners box;
};

/// For one thread at a time.
class Budget {
 public:
  /// The candidates, by their indices, that are looked at in the frame of that time: those that
  /// were never looked at, then those whose box has grown by a fifth since, then those whose last
  /// look is longest ago. Times do not fall; if one does, everything is forgotten.
  std::vector<size_t> choose(const BudgetRules& rules, Time now, Span<const Candidate> candidates);
  /// The frame is not looked at after all: undoes the last choose().
  void withdraw();
  void reset();

 private:
  struct Look {
    Time at = 0;
    uint64_t turn = 0;             // of all looks; those of a frame have turns, too
    double width = 0, height = 0;  // of the box then
    Time seen = 0;                 // the track's last frame
  };
  struct Ranked {
    size_t index;
    int rank;
    uint64_t turn;
  };
  struct Undo {
    uint64_t track;
    bool known;
    Look look;
  };

  void refill(double max_rate, Time now);
  void forget_old(Time now);
  void note(const Candidate& candidate, Time now);

  std::unordered_map<uint64_t, Look> looks_;
  std::vector<Undo> undo_;
  double allowance_ = -1;  // looks that max_rate allows now; below 0: not begun
  double spent_ = 0;       // by the last choose()
  Time last_ = 0;
  uint64_t turns_ = 0;
};

}  // namespace dvnn::regions
