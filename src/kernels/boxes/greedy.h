// SPDX-License-Identifier: Apache-2.0
// The common part of all forms of suppression: sorts by score, keeps the best of each overlap.
#pragma once

#include <algorithm>
#include <vector>

#include "base/nth.h"
#include "kernels/boxes/suppression.h"

namespace dvnn::kernels {

/// Sorts candidates by falling score, and keeps the `top_k` best.
inline void sort_candidates(const NmsOptions& options, std::vector<Candidate>* candidates) {
  auto better = [](const Candidate& a, const Candidate& b) {
    return a.score != b.score ? a.score > b.score : a.index < b.index;
  };
  if (has_nth(*candidates, options.top_k)) {
    std::nth_element(candidates->begin(), candidates->begin() + options.top_k, candidates->end(),
                     better);
    keep_first(options.top_k, candidates);
  }
  std::sort(candidates->begin(), candidates->end(), better);
}

/// Reduces sorted candidates to the kept ones, in their order. overlaps(index, kept, threshold)
/// returns whether a box overlaps one of the first `kept` candidates; keep(index, kept) is called
/// for each that does not.
template <typename Overlaps, typename Keep>
void keep_greedily(const NmsOptions& options, std::vector<Candidate>* candidates, Overlaps overlaps,
                   Keep keep) {
  float threshold = options.iou_threshold;
  size_t kept = 0;
  if (options.max_kept == 0) candidates->clear();
  for (size_t i = 0; i < candidates->size(); ++i) {
    const Candidate candidate = (*candidates)[i];
    const size_t index = candidate.place();
    if (overlaps(index, kept, threshold)) continue;
    keep(index, kept);
    (*candidates)[kept++] = candidate;
    if (options.max_kept >= 0 && kept >= static_cast<size_t>(options.max_kept)) break;
    if (options.eta < 1 && threshold > 0.5f) threshold *= options.eta;
  }
  candidates->resize(kept);
}

/// Suppression in its plain form: each box is compared with all kept ones. overlap(a, b) is the
/// overlap of the boxes of two indices.
template <typename Overlap>
void keep_by_all_pairs(const NmsOptions& options, std::vector<Candidate>* candidates,
                       Overlap overlap) {
  sort_candidates(options, candidates);
  keep_greedily(
      options, candidates,
      [&](size_t index, size_t kept, float threshold) {
        for (size_t k = 0; k < kept; ++k) {
          const size_t better = (*candidates)[k].place();
          if (!(overlap(index, better) <= threshold)) return true;
        }
        return false;
      },
      [](size_t, size_t) {});
}

/// Returns whether a grid finds all boxes that count as overlapping. With a threshold below 0, even
/// boxes that share nothing do.
inline bool may_use_grid(const NmsOptions& options) {
  return options.iou_threshold >= 0 && options.eta >= 0;
}

}  // namespace dvnn::kernels
