// SPDX-License-Identifier: Apache-2.0
#include "evaluate/confusion.h"

#include <algorithm>
#include <numeric>

namespace dvnn::evaluate {
namespace {

constexpr double kLeastOverlap = 0.5;
constexpr size_t kNoTruth = SIZE_MAX;

bool is_wanted(const Truth& truth) {
  return !truth.crowd && !truth.ignored;
}

// Returns the found objects above their thresholds, the most confident one first.
std::vector<size_t> believed(const std::vector<Found>& found,
                             const std::vector<double>& thresholds) {
  std::vector<size_t> order;
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i].score >= thresholds[static_cast<size_t>(found[i].class_id)]) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return found[a].score > found[b].score; });
  return order;
}

// Returns the free truth that overlaps most, among those that must be found or, if not `wanted`,
// the others; of equals, one of the same class.
size_t best_truth(const Picture& picture, const Found& found, const std::vector<bool>& taken,
                  bool wanted) {
  size_t best = kNoTruth;
  double most = kLeastOverlap;
  for (size_t i = 0; i < picture.truths.size(); ++i) {
    const Truth& truth = picture.truths[i];
    if (taken[i] || is_wanted(truth) != wanted) continue;
    const double shared = overlap(found.box, truth.box, truth.crowd);
    const bool better = best == kNoTruth || shared > most || truth.class_id == found.class_id;
    if (shared < most || !better) continue;
    most = shared;
    best = i;
  }
  return best;
}

}  // namespace

Comparison compare(const Picture& picture, const std::vector<Found>& found,
                   const std::vector<double>& thresholds) {
  Comparison result;
  std::vector<bool> taken(picture.truths.size());
  for (const size_t i : believed(found, thresholds)) {
    const size_t truth = best_truth(picture, found[i], taken, true);
    if (truth != kNoTruth) {
      taken[truth] = true;
      result.pairs.push_back({i, truth});
    } else if (best_truth(picture, found[i], taken, false) == kNoTruth) {
      result.alarms.push_back(i);
    }
  }
  for (size_t i = 0; i < picture.truths.size(); ++i) {
    if (!taken[i] && is_wanted(picture.truths[i])) result.missed.push_back(i);
  }
  return result;
}

size_t Comparison::mistakes(const Picture& picture, const std::vector<Found>& found) const {
  const auto differ = [&](const Pair& pair) {
    return picture.truths[pair.truth].class_id != found[pair.found].class_id;
  };
  return alarms.size() + missed.size() +
         static_cast<size_t>(std::count_if(pairs.begin(), pairs.end(), differ));
}

void Confusion::add(const Picture& picture, const std::vector<Found>& found,
                    const Comparison& comparison) {
  const size_t nothing = side_ - 1;
  const auto truth = [&](size_t i) { return static_cast<size_t>(picture.truths[i].class_id); };
  const auto taken_for = [&](size_t i) { return static_cast<size_t>(found[i].class_id); };
  for (const auto& [f, t] : comparison.pairs) ++at(truth(t), taken_for(f));
  for (const size_t i : comparison.alarms) ++at(nothing, taken_for(i));
  for (const size_t i : comparison.missed) ++at(truth(i), nothing);
}

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
