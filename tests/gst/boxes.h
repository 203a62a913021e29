// SPDX-License-Identifier: Apache-2.0
// What was found on a frame, as the tests compare it.
//
// detections() and passes() are the one place that reads it off a buffer.
#pragma once

#include <gst/gst.h>

#include <string>
#include <vector>

namespace dvnn::test {

struct Found {
  std::string label;
  double confidence = -1, x0 = 0, y0 = 0, x1 = 0, y1 = 0;
  int class_id = -1;
};

/// The detections on a frame whose places are known.
std::vector<Found> detections(GstBuffer* buffer);

/// How many dvinfers have seen a frame, and what they did with it.
struct Passes {
  int inferred = 0, skipped = 0;
};
Passes passes(GstBuffer* buffer);

/// Why two lists are not the same, however they are ordered; empty if they are. Corners may differ
/// by `pixels`, and a confidence by `confidence`; classes and labels may not.
std::string difference(std::vector<Found> have, std::vector<Found> want, double pixels = 0,
                       double confidence = 0);

/// The list in words, for messages.
std::string describe(const std::vector<Found>& list);

}  // namespace dvnn::test
