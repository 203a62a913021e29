// SPDX-License-Identifier: Apache-2.0
// Decides which detection belongs to which track, in rounds of optimal assignment. Each round works
// on what the earlier ones have left.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/nth.h"
#include "track/track.h"

namespace dvnn::track {

/// Linear assignment: from pairs of a row and a column with a gain each, chooses those with the
/// highest sum in which no row and no column occurs twice.
/// A problem is begin(), offer() for each pair, solve(). Memory is kept from one problem to the
/// next.
class Assignment {
 public:
  static constexpr int kNone = -1;

  /// Begins a problem with `rows` rows and `columns` columns.
  void begin(size_t rows, size_t columns);
  /// Adds a possible pair. A gain of 0 or less, or NaN, is ignored.
  void offer(size_t row, size_t column, double gain);
  /// Returns the optimum: each row's column, or kNone. A pair that shares its row and column with
  /// no other is taken at once; each larger connected group is solved by Jonker and Volgenant's
  /// shortest augmenting paths.
  const std::vector<int>& solve();

 private:
  struct Pair {
    int row, column;
    double gain;
    int next;  // the next pair of the same group, or kNone
  };

  int root_of(int node);
  void solve_group(int first);
  void solve_dense(int rows, int columns);

  std::vector<Pair> pairs_;
  std::vector<int> columns_of_, parent_, first_, local_, rows_, members_;
  size_t row_count_ = 0;
  // State while one group is solved; its rows are the smaller of the two sides.
  std::vector<double> cost_, row_price_, column_price_, distance_;
  std::vector<int> row_of_, way_;
  std::vector<uint8_t> done_;
};

/// Intersection over union of two boxes, from 0 to 1.
inline double overlap(const image::Corners& a, const image::Corners& b) {
  const double width = std::min(a.x1, b.x1) - std::max(a.x0, b.x0);
  const double height = std::min(a.y1, b.y1) - std::max(a.y0, b.y0);
  if (!(width > 0 && height > 0)) return 0;
  const double shared = width * height;
  return shared / ((a.x1 - a.x0) * (a.y1 - a.y0) + (b.x1 - b.x0) * (b.y1 - b.y0) - shared);
}
/// Returns the factor that scales an embedding to length 1, or 0 if there is none.
float unit_scale(Span<const float> embedding);
/// Returns the dot product of two embeddings, or 0 if their sizes differ.
double likeness(Span<const float> a, Span<const float> b);

/// A track or a detection as one side of a round, with everything that a pair's gain depends on.
struct Candidate {
  int index = 0;  // in the caller's list of tracks or detections
  int class_id = 0;
  image::Corners box;
  double confidence = 1;            // of a detection
  double slack_x = 0, slack_y = 0;  // of a track: how far off the box may be, pixels
  double from_x = 0, from_y = 0;    // of a track: the centre where it was last seen
  double way_x = 0, way_y = 0;      // of a track: the unit vector of its direction, or 0
  // Which edge of the box is the frame's: -1 the lower one, 1 the higher one, 0 neither.
  int cut_x = 0, cut_y = 0;
  // Of a track: variance of a detection's distance from the box. 0: only the overlap counts.
  double variance_x = 0, variance_y = 0;
  double width = 0, height = 0;              // of the visible part
  double whole_width = 0, whole_height = 0;  // of a track: with the part beyond the frame's edge
  // Logarithm of a detection's height, or of a track's usual height, and of the latter the variance
  // of its detections. Variance 0: unknown.
  double usual_height = 0, usual_variance = 0;
  double recent = 0;  // of a track: share of the last looks that showed it
  Span<const float> embedding;
  float scale = 1;  // factor that makes the embedding's length 1
};

/// Rules of a round: how much boxes must overlap, and how much appearance counts.
struct Round {
  double least_overlap;
  // Weight of appearance: with `alike` at 0.5, identical embeddings add half of it to the gain, and
  // unrelated ones subtract half.
  double appearance = 0;
  double alike = 0.5;        // similarity at which appearance neither adds nor subtracts
  double other_class = 0.5;  // factor of the gain if classes differ: labels flip
  // Above 0: pair by appearance alone, with at least this similarity, within the slack around the
  // box.
  double least_likeness = 0;
};

class Association {
 public:
  /// Calls `found(track, detection)`, by their indices, for each pair of the optimum, and removes
  /// the pairs from both lists, which keep their order.
  template <typename Found>
  void run(const Round& round, std::vector<Candidate>* tracks, std::vector<Candidate>* detections,
           Found found) {
    if (tracks->empty() || detections->empty()) return;
    const std::vector<int>& columns = solve(round, *tracks, *detections);
    for (size_t row = 0; row < columns.size(); ++row) {
      if (columns[row] == Assignment::kNone) continue;
      Candidate& detection = nth((*detections), columns[row]);
      found((*tracks)[row].index, detection.index);
      (*tracks)[row].index = detection.index = kTaken;
    }
    drop_taken(tracks);
    drop_taken(detections);
  }

 private:
  static constexpr int kTaken = -1;

  const std::vector<int>& solve(const Round& round, const std::vector<Candidate>& tracks,
                                const std::vector<Candidate>& detections);
  static void drop_taken(std::vector<Candidate>* list);

  // The part of a detection that the search for touching boxes reads, kept small for the cache.
  struct Place {
    double x0, x1, y0, y1;
    size_t index;  // in the list of detections
  };

  Assignment assignment_;
  std::vector<Place> places_;
  std::vector<size_t> met_;  // detections that touch a track
};

}  // namespace dvnn::track
