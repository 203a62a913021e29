// SPDX-License-Identifier: Apache-2.0
// Decides which detection is which track: rounds of optimal assignment, each among those that the
// rounds before have left.
#pragma once

#include <algorithm>
#include <vector>

#include "base/nth.h"
#include "track/assignment.h"
#include "track/track.h"

namespace dvnn::track {

/// The part of their union that two boxes share.
inline double overlap(const image::Corners& a, const image::Corners& b) {
  const double width = std::min(a.x1, b.x1) - std::max(a.x0, b.x0);
  const double height = std::min(a.y1, b.y1) - std::max(a.y0, b.y0);
  if (!(width > 0 && height > 0)) return 0;
  const double shared = width * height;
  return shared / ((a.x1 - a.x0) * (a.y1 - a.y0) + (b.x1 - b.x0) * (b.y1 - b.y0) - shared);
}
/// Returns the factor that makes an embedding's length 1; 0 if there is none.
float unit_scale(Span<const float> embedding);
/// The sum of the products; 0 unless both are of as many numbers.
double likeness(Span<const float> a, Span<const float> b);

/// One side of a round: boxes with what decides beside their places.
struct Candidate {
  int index = 0;  // of the track or the detection
  int class_id = 0;
  image::Corners box;
  double confidence = 1;            // detections
  double slack_x = 0, slack_y = 0;  // tracks: how far off the box may be
  double from_x = 0, from_y = 0;    // tracks: where it was seen last
  double way_x = 0, way_y = 0;      // and the direction in which it went, of length 1, or 0
  // Which edge of the box is that of the frame: -1 the lower one, 1 the higher one.
  int cut_x = 0, cut_y = 0;
  // Tracks: of how far off a detection may be there. 0: overlaps alone tell.
  double variance_x = 0, variance_y = 0;
  double width = 0, height = 0;              // of what the frame shows
  double whole_width = 0, whole_height = 0;  // tracks: with what the frame's edge hides
  // The logarithm of the height: a detection's, or how high a track mostly was; and the variance of
  // detections around that. 0: not known.
  double usual_height = 0, usual_variance = 0;
  double recent = 0;  // tracks: share of the last looks that showed it
  Span<const float> embedding;
  float scale = 1;  // of the embedding
};

/// Rules of a round: how much pairs must overlap, and what looks count.
struct Round {
  double least_overlap;
  // Weight of the looks: embeddings that are alike add up to half of it, those that are not take as
  // much away.
  double appearance = 0;
  double alike = 0.5;        // likenesses below this are those of another thing
  double other_class = 0.5;  // factor of a pair whose classes differ: labels flip
  // Above 0, looks alone tell, which must be so much alike, as far around a track as its slack.
  double least_likeness = 0;
};

class Association {
 public:
  /// Calls `found(track, detection)`, by their indices, for each pair of the optimum, and takes the
  /// pairs out of the two lists, which keep their order.
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

  // Where a detection is: all that most pairs need.
  struct Place {
    double x0, x1, y0, y1;
    size_t index;  // in the list
  };

  Assignment assignment_;
  std::vector<Place> places_;
  std::vector<size_t> met_;  // detections that touch a track
};

}  // namespace dvnn::track
