// SPDX-License-Identifier: Apache-2.0
#include "plan/passes/quantise.h"

#include <algorithm>
#include <cmath>

namespace dvnn::plan {
namespace {

constexpr size_t kCentres = 255, kTableSize = 256;
constexpr int kMostRounds = 50;

// Finds the best centres of a histogram of the weights by dynamic programming over the ends of
// clusters: least[k][n] is the least sum of squared errors of the first n bins in k clusters. The
// begin of the best last cluster never decreases as n grows, so each k takes bins * log(bins)
// steps. Source: Wang and Song, "Ckmeans.1d.dp: Optimal k-means clustering in one dimension"
// (2011).
class BestClusters {
 public:
  explicit BestClusters(const std::vector<float>& sorted)
      : count_(kBins + 1, 0.0), sum_(kBins + 1, 0.0), squares_(kBins + 1, 0.0) {
    const double low = double{sorted.front()}, width = (double{sorted.back()} - low) / kBins;
    for (float w : sorted) {
      const size_t bin = std::min(kBins - 1, static_cast<size_t>((double{w} - low) / width));
      count_[bin + 1] += 1;
      sum_[bin + 1] += double{w};
      squares_[bin + 1] += double{w} * double{w};
    }
    for (auto* list : {&count_, &sum_, &squares_}) {
      for (size_t i = 0; i < kBins; ++i) (*list)[i + 1] += (*list)[i];
    }
  }

  std::vector<double> centres() {
    std::vector<double> least(kBins + 1);
    for (size_t n = 0; n <= kBins; ++n) least[n] = error(0, n);
    begins_.assign(kCentres, std::vector<uint16_t>(kBins + 1, 0));
    for (size_t k = 1; k < kCentres; ++k) {
      std::vector<double> next(kBins + 1);
      fill(least, k, 0, kBins, 0, kBins, &next);
      least = std::move(next);
    }
    std::vector<double> centres;
    size_t end = kBins;
    for (size_t k = kCentres; k-- > 0;) {
      const size_t begin = begins_[k][end];
      if (count_[end] > count_[begin]) {
        centres.push_back((sum_[end] - sum_[begin]) / (count_[end] - count_[begin]));
      }
      end = begin;
    }
    std::reverse(centres.begin(), centres.end());
    return centres;
  }

 private:
  static constexpr size_t kBins = 2048;

  // Returns the error of bins [begin, end) as one cluster.
  double error(size_t begin, size_t end) const {
    const double n = count_[end] - count_[begin];
    if (n <= 0) return 0;
    const double s = sum_[end] - sum_[begin];
    return std::max(0.0, squares_[end] - squares_[begin] - s * s / n);
  }

  // Fills next[first..last]; the last cluster of each begins within [low, high].
  void fill(const std::vector<double>& least, size_t k, size_t first, size_t last, size_t low,
            size_t high, std::vector<double>* next) {
    const size_t middle = (first + last) / 2;
    double best = least[low] + error(low, middle);
    size_t where = low;
    for (size_t begin = low + 1; begin <= std::min(middle, high); ++begin) {
      const double total = least[begin] + error(begin, middle);
      if (total < best) best = total, where = begin;
    }
    (*next)[middle] = best;
    begins_[k][middle] = static_cast<uint16_t>(where);
    if (middle > first) fill(least, k, first, middle - 1, low, where, next);
    if (middle < last) fill(least, k, middle + 1, last, where, high, next);
  }

  std::vector<double> count_, sum_, squares_;  // sums over the bins before
  std::vector<std::vector<uint16_t>> begins_;  // begin of the last of k + 1 clusters
};

// Returns the first centres. If there are few enough values, these are the centres themselves.
std::vector<double> first_centres(const std::vector<float>& sorted) {
  std::vector<double> centres;
  for (float w : sorted) {
    if (centres.empty() || centres.back() != double{w}) centres.push_back(double{w});
    if (centres.size() > kCentres) return BestClusters(sorted).centres();
  }
  return centres;
}

// Moves each centre to the mean of the values nearest to it until nothing changes. In one dimension
// these values lie between the midpoints to the neighbouring centres.
void settle(const std::vector<float>& sorted, std::vector<double>* centres) {
  std::vector<double> sums(sorted.size() + 1, 0.0);
  for (size_t i = 0; i < sorted.size(); ++i) sums[i + 1] = sums[i] + double{sorted[i]};
  for (int round = 0; round < kMostRounds; ++round) {
    bool moved = false;
    size_t first = 0;
    for (size_t k = 0; k < centres->size(); ++k) {
      size_t last = sorted.size();
      if (k + 1 < centres->size()) {
        const double middle = ((*centres)[k] + (*centres)[k + 1]) / 2;
        last = static_cast<size_t>(
            std::lower_bound(sorted.begin() + static_cast<ptrdiff_t>(first), sorted.end(), middle,
                             [](float v, double m) { return double{v} < m; }) -
            sorted.begin());
      }
      if (last > first) {
        const double mean = (sums[last] - sums[first]) / static_cast<double>(last - first);
        moved |= mean != (*centres)[k];
        (*centres)[k] = mean;
      }
      first = last;
    }
    if (!moved) return;
    std::sort(centres->begin(), centres->end());
  }
}

}  // namespace

bool are_bytes(const std::vector<half_t>& weights) {
  constexpr half_t kSign = 0x8000;
  // With fewer weights the table takes as many bytes as it saves.
  constexpr size_t kLeastWeights = 2 * kTableSize;
  if (weights.size() <= kLeastWeights) return false;
  std::vector<bool> seen(size_t{1} << 16, false);
  size_t values = 0;
  for (half_t w : weights) {
    if ((w & ~kSign) == 0 || seen[w]) continue;
    seen[w] = true;
    if (++values > kCentres) return false;
  }
  return true;
}

QuantisedWeights quantise(const std::vector<float>& weights) {
  std::vector<float> sorted;
  std::copy_if(weights.begin(), weights.end(), std::back_inserter(sorted),
               [](float w) { return w != 0; });
  std::sort(sorted.begin(), sorted.end());
  std::vector<double> centres;
  if (!sorted.empty()) {
    centres = first_centres(sorted);
    settle(sorted, &centres);
  }
  // The values in the device's table: centres as binary16, some of which may coincide.
  std::vector<float> values = {0.0f};
  for (double c : centres) values.push_back(half_to_float(float_to_half(static_cast<float>(c))));
  std::sort(values.begin(), values.end());
  std::vector<float> nearest;
  for (float w : weights) {
    const auto above = std::lower_bound(values.begin(), values.end(), w);
    size_t k = static_cast<size_t>(above - values.begin());
    if (k == values.size() || (k > 0 && w - values[k - 1] < values[k] - w)) --k;
    nearest.push_back(w == 0 ? 0.0f : values[k]);
  }
  // Keep only the values in use: weights that were quantised before keep their table.
  std::vector<float> used = nearest;
  used.erase(std::remove(used.begin(), used.end(), 0.0f), used.end());
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  QuantisedWeights result;
  result.table.assign(kTableSize, float_to_half(0.0f));
  for (size_t k = 0; k < used.size(); ++k) result.table[k + 1] = float_to_half(used[k]);
  for (float v : nearest) {
    const auto at = std::lower_bound(used.begin(), used.end(), v) - used.begin();
    result.indices.push_back(v == 0 ? uint8_t{0} : static_cast<uint8_t>(at + 1));
  }
  return result;
}

}  // namespace dvnn::plan
