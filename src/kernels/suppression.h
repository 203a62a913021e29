// SPDX-License-Identifier: Apache-2.0
// Non-maximum suppression: of boxes that overlap, the best remains.
#pragma once

#include <vector>

#include "base/span.h"

namespace dvnn::kernels {

/// A rectangle in fractions of the network's input: (0, 0) is its top left corner, (1, 1) its
/// bottom right one. Not clipped. Decoders compute in single precision, as the networks were
/// trained.
struct Box {
  float x0 = 0, y0 = 0, x1 = 0, y1 = 0;
};

/// Area of the intersection over area of the union; 0 for empty boxes.
float intersection_over_union(const Box& a, const Box& b);

/// A candidate of non-maximum suppression: index into the caller's boxes.
struct Candidate {
  float score = 0;
  int index = 0;
};

struct NmsOptions {
  float iou_threshold = 0.45f;  // a box that overlaps a better one by more than this goes
  int top_k = -1;               // candidates looked at, best first; -1: all
  int max_kept = -1;            // stops once so many are kept; -1: never
  float eta = 1.0f;             // < 1: the threshold shrinks as boxes are kept (Caffe-SSD)
};

/// The boxes kept so far, field by field, as vectors read them. Who keeps it allocates once.
struct KeptBoxes {
  std::vector<float> x0, y0, x1, y1, area;
};

/// Greedy non-maximum suppression: sorts `candidates` by score (stable) and leaves the kept ones.
/// `kept` is memory to work in.
void suppress_non_maxima(Span<const Box> boxes, const NmsOptions& options,
                         std::vector<Candidate>* candidates, KeptBoxes* kept);

namespace plain {
/// The plain form of suppress_non_maxima(): it finds the same boxes one by one.
void suppress_non_maxima(Span<const Box> boxes, const NmsOptions& options,
                         std::vector<Candidate>* candidates);
}  // namespace plain

}  // namespace dvnn::kernels
