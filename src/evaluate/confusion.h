// SPDX-License-Identifier: Apache-2.0
// Matrix of confusion: counts which class is taken for which.
#pragma once

#include <cstdint>
#include <vector>

#include "evaluate/data_set.h"

namespace dvnn::evaluate {

/// Matches of one picture's found objects and truths. Found objects below their class's threshold
/// are left out.
struct Comparison {
  struct Pair {
    size_t found, truth;  // indices into the picture's lists
  };
  std::vector<Pair> pairs;     // pairs that overlap by at least 0.5, of any classes
  std::vector<size_t> alarms;  // found objects without a truth
  std::vector<size_t> missed;  // truths without a found object
  /// Returns how many objects were missed, false alarms, or found as another class.
  size_t mistakes(const Picture& picture, const std::vector<Found>& found) const;
};

/// Matches found objects to truths: the most confident one first takes the free truth that it
/// overlaps most. Objects found on crowds and ignored truths are neither right nor wrong.
/// `thresholds` are by class.
Comparison compare(const Picture& picture, const std::vector<Found>& found,
                   const std::vector<double>& thresholds);

/// Counts by class: a row for each true class, a column for each found one. The last row and the
/// last column stand for no object.
class Confusion {
 public:
  explicit Confusion(size_t classes) : side_(classes + 1), counts_(side_ * side_) {}
  void add(const Picture& picture, const std::vector<Found>& found, const Comparison& comparison);
  size_t side() const { return side_; }
  uint64_t count(size_t truth, size_t found) const { return counts_[truth * side_ + found]; }

 private:
  uint64_t& at(size_t truth, size_t found) { return counts_[truth * side_ + found]; }
  size_t side_;
  std::vector<uint64_t> counts_;
};

}  // namespace dvnn::evaluate
