// SPDX-License-Identifier: Apache-2.0
// Non-maximum suppression: keeps the best of the boxes that overlap.
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
  int max_kept = -1;            // stops at this number of kept boxes; -1: never
  float eta = 1.0f;             // < 1: the threshold shrinks as boxes are kept (Caffe-SSD)
};

/// Working memory of suppression: the kept boxes field by field, as vectors read them, and their
/// grid. It is allocated once if it is kept between calls.
struct KeptBoxes {
  std::vector<float> x0, y0, x1, y1, area;
  BoxGrid grid;
  std::vector<Box> around;  // upright bounds of rotated boxes
};

/// Greedy non-maximum suppression: sorts `candidates` by score (stable) and leaves the kept ones.
/// `kept` is working memory. If boxes are spread out, they are compared with their neighbours
/// alone: n boxes take n log n steps.
void suppress_non_maxima(Span<const Box> boxes, const NmsOptions& options,
                         std::vector<Candidate>* candidates, KeptBoxes* kept);

/// A rectangle rotated about its centre, clockwise in the picture, by `angle` (radians). x and y
/// need the same unit, pixels, for angles to be true.
struct TurnedBox {
  float x = 0, y = 0, width = 0, height = 0, angle = 0;
};

/// Area of the exact intersection over area of the union; 0 for empty rectangles.
float turned_overlap(const TurnedBox& a, const TurnedBox& b);

/// Greedy non-maximum suppression of rotated rectangles.
void suppress_turned(Span<const TurnedBox> boxes, const NmsOptions& options,
                     std::vector<Candidate>* candidates, KeptBoxes* kept);

namespace plain {
/// The plain form of suppress_non_maxima(): the same boxes, found one by one.
void suppress_non_maxima(Span<const Box> boxes, const NmsOptions& options,
                         std::vector<Candidate>* candidates);
void suppress_turned(Span<const TurnedBox> boxes, const NmsOptions& options,
                     std::vector<Candidate>* candidates);
}  // namespace plain

}  // namespace dvnn::kernels
