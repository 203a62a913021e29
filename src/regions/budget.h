// SPDX-License-Identifier: Apache-2.0
// Chooses the objects that are worth another look if there are more than time allows. Objects are
// recognised by their track; one without a track is new in each frame.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/span.h"
#include "image/view.h"

namespace dvnn::regions {

using Time = int64_t;  // nanoseconds

/// A box that has become wider or higher by this factor is worth another look, although no more
/// looks were needed at its old size.
constexpr double kGrownAgain = 1.5;

struct BudgetRules {
  size_t max_per_frame = 0;  // looks per frame; 0: no limit
  double max_rate = 0;  // looks per second on average, with bursts of a second's worth; 0: no limit
  Time refresh = 0;     // age of a look at which another one is due, unless the box has grown

  bool limits() const { return max_per_frame > 0 || max_rate > 0 || refresh > 0; }
};

/// An object that may be looked at.
struct Candidate {
  uint64_t track = 0;  // 0: not tracked
  image::Corners box;
};

/// Used by one thread at a time.
class Budget {
 public:
  /// Returns the indices of the candidates to look at in the frame at time `now`: first those that
  /// were never looked at, then those whose box has grown by a fifth since, then those whose last
  /// look is oldest. If time goes backwards, everything is forgotten.
  std::vector<size_t> choose(const BudgetRules& rules, Time now, Span<const Candidate> candidates);
  /// Notes whether more looks at a track are needed. If not, it is looked at again when its box has
  /// grown by kGrownAgain, and by no other rule. Each look makes them needed again.
  void settle(uint64_t track, bool settled);
  /// Whether settle() has told of any track since the last reset().
  bool any_settled() const { return any_settled_; }
  /// Undoes the last choose(), because the frame is not looked at after all.
  void withdraw();
  void reset();

 private:
  struct Look {
    Time at = 0;
    uint64_t turn = 0;             // number among all looks, which orders those of a frame, too
    double width = 0, height = 0;  // of the box at that time
    Time seen = 0;                 // time of the last frame with the track
    bool settled = false;          // whether more looks are not needed
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
  double allowance_ = -1;  // looks that max_rate allows now; below 0: not yet set
  double spent_ = 0;       // by the last choose()
  Time last_ = 0;
  uint64_t turns_ = 0;
  bool any_settled_ = false;
};

}  // namespace dvnn::regions
