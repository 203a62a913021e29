// SPDX-License-Identifier: Apache-2.0
// Matrices of confusion, which count what is taken for what: objects by class, and pixels of maps.
// Maps are judged by intersection over union, as in the segmentation challenge of Pascal VOC
// (M. Everingham et al., "The PASCAL Visual Object Classes (VOC) Challenge", IJCV 88, 2010), and
// its mean (J. Long et al., "Fully Convolutional Networks for Semantic Segmentation", CVPR 2015).
#pragma once

#include <cstddef>
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

/// Number of classes of a mask, which has a byte per pixel; 255: the pixel does not count.
constexpr size_t kMostPixelClasses = 255;

/// Counts pixels by their true and their found class.
class PixelCount {
 public:
  PixelCount() : counts_(kSide * kSide) {}
  /// Counts a pixel of class `truth` that was found as `found`; kMostPixelClasses: as no class.
  void add(size_t truth, size_t found) { ++counts_[truth * kSide + found]; }
  /// Returns the number of pixels of class `of`.
  uint64_t pixels(size_t of) const;
  /// Returns the intersection over union of class `of`: of the pixels that are or were found as it,
  /// the share that is both. -1: there are none.
  double overlap(size_t of) const;
  /// Returns the mean over all classes that occur or were found.
  double mean_overlap() const;
  /// Returns the share of pixels whose class was found.
  double accuracy() const;

 private:
  static constexpr size_t kSide = kMostPixelClasses + 1;
  uint64_t at(size_t truth, size_t found) const { return counts_[truth * kSide + found]; }
  std::vector<uint64_t> counts_;
};

}  // namespace dvnn::evaluate
