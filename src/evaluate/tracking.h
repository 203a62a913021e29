// SPDX-License-Identifier: Apache-2.0
// Judges tracks on sequences, class by class.
#pragma once

#include <vector>

#include "evaluate/data_set.h"
#include "evaluate/track_figures.h"

namespace dvnn::evaluate {

/// Figures of one class in one sequence.
struct SequenceFigures {
  size_t sequence = 0;  // index into DataSet::sequences
  int class_id = 0;
  tracks::Figures figures;
};

/// Compares tracks with the truth, for each class that `known` has and each sequence. Tracks that
/// match an ignored object do not count, by the MOT challenge's rules.
std::vector<SequenceFigures> judge_tracks(const DataSet& data, const FollowedByPicture& followed,
                                          const std::vector<bool>& known);

}  // namespace dvnn::evaluate
