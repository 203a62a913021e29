// SPDX-License-Identifier: Apache-2.0
// Non-maximum suppression: of boxes that overlap, the best remains.
#pragma once

#include <vector>

#include "base/span.h"
#include "kernels/boxes/box.h"
#include "kernels/boxes/box_grid.h"

namespace dvnn::kernels {

/// Area of the intersection over area of the union; 0 for empty boxes.
float intersection_over_union(const Box& a, const Box& b);

struct NmsOptions {
  float iou_threshold = 0.45f;  // a box that overlaps a better one by more than this goes
  int top_k = -1;               // candidates looked at, best first; -1: all
  int max_kept = -1;            // stops once so many are kept; -1: never
  float eta = 1.0f;             // < 1: the threshold shrinks as boxes are kept (Caffe-SSD)
};

/// The boxes kept so far, field by field, as vectors read them, and where they are. Who keeps it
/// allocates once.
struct KeptBoxes {
  std::vector<float> x0, y0, x1, y1, area;
  BoxGrid grid;
  std::vector<Box> around;  // of boxes that are turned
};

/// Greedy non-maximum suppression: sorts `candidates` by score (stable) and leaves the kept ones.
/// `kept` is memory to work in. Boxes that are spread out are compared with their neighbours alone:
/// of n boxes it takes n log n steps.
void suppress_non_maxima(Span<const Box> boxes, const NmsOptions& options,
                         std::vector<Candidate>* candidates, KeptBoxes* kept);

/// A rectangle that is turned about its centre, clockwise in the picture, by `angle` (radians).
/// Angles are true where x and y have the same unit: pixels.
struct TurnedBox {
  float x = 0, y = 0, width = 0, height = 0, angle = 0;
};

/// Area of the intersection of the very rectangles over area of the union; 0 for empty ones.
float turned_overlap(const TurnedBox& a, const TurnedBox& b);

/// The same suppression for rectangles that are turned.
void suppress_turned(Span<const TurnedBox> boxes, const NmsOptions& options,
                     std::vector<Candidate>* candidates, KeptBoxes* kept);

namespace plain {
/// The plain form of suppress_non_maxima(): it finds the same boxes one by one.
void suppress_non_maxima(Span<const Box> boxes, const NmsOptions& options,
                         std::vector<Candidate>* candidates);
void suppress_turned(Span<const TurnedBox> boxes, const NmsOptions& options,
                     std::vector<Candidate>* candidates);
}  // namespace plain

}  // namespace dvnn::kernels
