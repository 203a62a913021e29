// SPDX-License-Identifier: Apache-2.0
// How well the pixels of pictures are told apart by their class: intersection over union, as in the
// segmentation challenge of Pascal VOC (M. Everingham et al., "The PASCAL Visual Object Classes
// (VOC) Challenge", IJCV 88, 2010), and its mean (J. Long et al., "Fully Convolutional Networks for
// Semantic Segmentation", CVPR 2015).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dvnn::evaluate {

/// Classes of masks: a byte tells a pixel's, and 255 that it does not count.
constexpr size_t kMostPixelClasses = 255;

/// Pixels by what they are and what they were taken for.
class PixelCount {
 public:
  PixelCount() : counts_(kSide * kSide) {}
  /// A pixel of class `truth` was taken for `found`, which is kMostPixelClasses where it is none of
  /// the classes.
  void add(size_t truth, size_t found) { ++counts_[truth * kSide + found]; }
  /// Pixels of this class.
  uint64_t pixels(size_t of) const;
  /// Of the pixels that are of this class or were taken for it, the share that is and was; -1 if
  /// there are none.
  double overlap(size_t of) const;
  /// The mean over all classes that there are, or that were found.
  double mean_overlap() const;
  /// The share of pixels that were taken for what they are.
  double accuracy() const;

 private:
  static constexpr size_t kSide = kMostPixelClasses + 1;
  uint64_t at(size_t truth, size_t found) const { return counts_[truth * kSide + found]; }
  std::vector<uint64_t> counts_;
};

}  // namespace dvnn::evaluate
