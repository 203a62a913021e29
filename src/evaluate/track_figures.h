// SPDX-License-Identifier: Apache-2.0
// How well tracks fit the truth: HOTA (Luiten et al., 2020), CLEAR MOT (Bernardin and Stiefelhagen,
// 2008) and IDF1 (Ristani et al., 2016), as the MOT challenge and KITTI count them. It shares no
// code with the tracker, which it judges. Tracks on sequences are judged class by class.
#pragma once

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "evaluate/data_set.h"

namespace dvnn::evaluate::tracks {

struct Box {
  double x0 = 0, y0 = 0, x1 = 0, y1 = 0;
};

double area_of(const Box& box);
/// The intersection of two boxes over their union.
double iou(const Box& a, const Box& b);

struct NamedBox {
  long id = 0;
  Box box;
};
using Frames = std::vector<std::vector<NamedBox>>;  // by frame

/// Returns the column of each row, or -1, so that the sum of the pairs' weights is largest. Weights
/// of 0 and below are no pairs.
std::vector<int> heaviest_pairs(size_t rows, size_t columns, const std::vector<double>& weights);

/// Boxes that count neither for nor against a tracker.
struct Ignored {
  Frames things;  // tracks that match one of these are removed, by the rules of both sets
  // KITTI's rules: unmatched tracks are removed if half of them lies in one of these areas, or if
  // they are no higher than this.
  Frames areas;
  double height = 0;
};

/// Returns the tracks without those that are ignored.
Frames counted(const Frames& truth, const Frames& tracks, const Ignored& ignored);

/// Sums over sequences, from which the figures are computed. Sequences add up as in the MOT
/// challenge: as if they were one.
struct Figures {
  static constexpr int kAlphas = 19;  // thresholds of overlap, from 0.05 to 0.95

  long truths = 0, found = 0, matches = 0, switches = 0, fragments = 0, identity_matches = 0;
  double located[kAlphas] = {}, associated[kAlphas] = {};
  long hits[kAlphas] = {};

  void add(const Figures& other);
  double mota() const;
  double idf1() const;
  double hota() const;
  double det_a() const;
  double ass_a() const;
  double loc_a() const;
};

/// Compares tracks with the truth; both have the same number of frames.
Figures figures_of(const Frames& truth, const Frames& tracks);

}  // namespace dvnn::evaluate::tracks

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
