// SPDX-License-Identifier: Apache-2.0
// Box arithmetic: overlap, prior decoding, non-maximum suppression. The only place for it.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/span.h"
#include "image/view.h"

namespace dvnn::decode {

/// A rectangle in fractions of the network's input: (0, 0) is its top left corner, (1, 1) its
/// bottom right one. Not clipped. Decoders compute in single precision, as the networks were
/// trained.
struct Box {
  float x0 = 0, y0 = 0, x1 = 0, y1 = 0;
};

/// A box of one class with its score, as suppression leaves them.
struct ScoredBox {
  Box box;
  float score = 0;
  int class_id = 0;
};

/// A default box and the variances that scale its regression targets.
struct Prior {
  Box box;
  std::array<float, 4> variance{{0.1f, 0.1f, 0.2f, 0.2f}};
};

/// How a location prediction (4 numbers) relates to its prior. Source: Liu et al., "SSD: Single
/// Shot MultiBox Detector" (2016), and Caffe-SSD's PriorBoxParameter.CodeType.
enum class CodeType : uint8_t {
  kCorner,      // corner = prior corner + variance * delta
  kCenterSize,  // centre = prior centre + variance * delta * size; size = prior size * exp(...)
  kCornerSize,  // corner = prior corner + variance * delta * prior size
};
Result<CodeType> parse_code_type(std::string_view text);  // "corner", "center_size", "corner_size"

/// The box that `delta` (4 floats) predicts for `prior`.
Box decode_box(CodeType type, const Prior& prior, const float* delta);

/// The box in double precision, as objects have it.
inline image::Corners to_corners(const Box& box) {
  return {double{box.x0}, double{box.y0}, double{box.x1}, double{box.y1}};
}

/// Whether all corners are numbers: networks may give NaN and infinities.
bool is_finite(const Box& box);

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

/// Greedy non-maximum suppression: sorts `candidates` by score (stable) and leaves the kept ones.
void suppress_non_maxima(Span<const Box> boxes, const NmsOptions& options,
                         std::vector<Candidate>* candidates);

}  // namespace dvnn::decode
