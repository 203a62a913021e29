// SPDX-License-Identifier: Apache-2.0
// How often a classifier is right: the top-1 and top-5 accuracy of ImageNet's challenge (O.
// Russakovsky et al., "ImageNet Large Scale Visual Recognition Challenge", IJCV 115, 2015).
#pragma once

#include <cstdint>
#include <vector>

#include "evaluate/data_set.h"

namespace dvnn::evaluate {

/// Pictures by whether their class was the most confident one, or among the five most confident
/// ones, overall and by class.
struct Hits {
  uint64_t pictures = 0, first = 0, among_five = 0;

  /// Counts a picture `times` times.
  void add(size_t place, uint64_t times = 1);
};
struct Accuracy {
  Hits all;
  std::vector<Hits> classes;
};

/// By picture, the place of its class among what was found, the most confident one being 0. Of
/// equal scores, the one found first is ahead. SIZE_MAX: it was not found.
std::vector<size_t> places_of(const DataSet& data, const FoundByPicture& found);

/// Only pictures whose class is `known` count, by class.
Accuracy accuracy_of(const DataSet& data, const std::vector<size_t>& places,
                     const std::vector<bool>& known);

}  // namespace dvnn::evaluate
