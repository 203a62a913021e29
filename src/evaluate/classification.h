// SPDX-License-Identifier: Apache-2.0
// Accuracy of classifiers: top-1 and top-5 of ImageNet's challenge (O. Russakovsky et al.,
// "ImageNet Large Scale Visual Recognition Challenge", IJCV 115, 2015).
#pragma once

#include <cstdint>
#include <vector>

#include "evaluate/data_set.h"

namespace dvnn::evaluate {

/// Counts of pictures: all, and those whose class was the most confident one, or among the five
/// most confident ones.
struct Hits {
  uint64_t pictures = 0, first = 0, among_five = 0;

  /// Counts a picture `times` times. `place`: of its class, as places_of() returns it.
  void add(size_t place, uint64_t times = 1);
};
struct Accuracy {
  Hits all;
  std::vector<Hits> classes;
};

/// Returns for each picture the place of its class among the found ones, the most confident one
/// being 0. Of equal scores, the one found first comes first. SIZE_MAX: it was not found.
std::vector<size_t> places_of(const DataSet& data, const FoundByPicture& found);

/// Computes the accuracy over the pictures whose class is `known`, a flag for each class.
Accuracy accuracy_of(const DataSet& data, const std::vector<size_t>& places,
                     const std::vector<bool>& known);

}  // namespace dvnn::evaluate
