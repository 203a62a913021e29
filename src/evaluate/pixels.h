// SPDX-License-Identifier: Apache-2.0
// Accuracy of maps of classes: intersection over union, as in the segmentation challenge of Pascal
// VOC (M. Everingham et al., "The PASCAL Visual Object Classes (VOC) Challenge", IJCV 88, 2010),
// and its mean (J. Long et al., "Fully Convolutional Networks for Semantic Segmentation", CVPR
// 2015).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dvnn::evaluate {

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
