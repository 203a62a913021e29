// SPDX-License-Identifier: Apache-2.0
#include "evaluate/pixels.h"

#include <numeric>

namespace dvnn::evaluate {

uint64_t PixelCount::pixels(size_t of) const {
  uint64_t sum = 0;
  for (size_t found = 0; found < kSide; ++found) sum += at(of, found);
  return sum;
}

double PixelCount::overlap(size_t of) const {
  uint64_t taken_for = 0;
  for (size_t truth = 0; truth < kSide; ++truth) taken_for += at(truth, of);
  const uint64_t both = pixels(of) + taken_for - at(of, of);
  return both == 0 ? -1 : static_cast<double>(at(of, of)) / static_cast<double>(both);
}

double PixelCount::mean_overlap() const {
  double sum = 0;
  int count = 0;
  for (size_t of = 0; of < kMostPixelClasses; ++of) {
    const double one = overlap(of);
    if (one < 0) continue;
    sum += one;
    ++count;
  }
  return count == 0 ? -1 : sum / count;
}

double PixelCount::accuracy() const {
  const uint64_t all = std::accumulate(counts_.begin(), counts_.end(), uint64_t{0});
  uint64_t right = 0;
  for (size_t of = 0; of < kSide; ++of) right += at(of, of);
  return all == 0 ? -1 : static_cast<double>(right) / static_cast<double>(all);
}

}  // namespace dvnn::evaluate
