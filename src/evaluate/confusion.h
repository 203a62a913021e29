// SPDX-License-Identifier: Apache-2.0
// What is taken for what: a matrix of classes.
#pragma once

#include <cstdint>
#include <vector>

#include "evaluate/data_set.h"

namespace dvnn::evaluate {

/// What became of the objects of one picture, where all found ones below their class's threshold
/// are left out.
struct Comparison {
  struct Pair {
    size_t found, truth;  // indices into the picture's lists
  };
  std::vector<Pair> pairs;     // overlapping by at least 0.5, of any classes
  std::vector<size_t> alarms;  // found, but there is nothing
  std::vector<size_t> missed;  // truths
  /// Objects that were not found as what they are, and found ones that are not there.
  size_t mistakes(const Picture& picture, const std::vector<Found>& found) const;
};

/// The most confident found object chooses first; it takes the free truth that it overlaps most.
/// What lies on crowds and ignored objects is neither right nor wrong. `thresholds` are by class.
Comparison compare(const Picture& picture, const std::vector<Found>& found,
                   const std::vector<double>& thresholds);

/// Counts by class: a row for what there is, a column for what is found. The last row and the last
/// column are nothing.
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
