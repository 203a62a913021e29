// SPDX-License-Identifier: Apache-2.0
// Recorded sequences in the MOT challenge's form, and what may befall their detections.
#pragma once

#include <string>
#include <vector>

#include "track/figures.h"

namespace dvnn::test {

struct Seen {
  Box box;
  double confidence = 1;
  int class_id = 0;
  std::vector<float> look;  // an embedding, if there is one
};

/// A folder with det.txt and gt.txt and, where there are, seqinfo.ini, ignore.txt, dontcare.txt and
/// camera_motion.txt. Frames count from 0.
struct Sequence {
  std::string name;
  double fps = 25, width = 0, height = 0;
  std::vector<std::vector<Seen>> detections;
  Frames truth;
  Ignored ignored;
  std::vector<std::vector<double>> camera;  // six numbers a frame: an affine matrix from the last
};

/// The numbers of a file's lines, between commas or blanks.
std::vector<std::vector<double>> read_numbers(const std::string& path);
std::vector<std::vector<Seen>> read_detections(const std::string& path);
Sequence read_sequence(const std::string& folder);

/// What a sequence is measured under.
struct Conditions {
  size_t every = 1;   // frames of which one is inferred, and counts
  double drop = 0;    // share of detections that are dropped
  double jitter = 0;  // deviation of each edge, in widths and heights
  bool cut = false;   // boxes end at the frame's edge
  unsigned seed = 5;  // of what is dropped, and how edges tremble
};

/// Returns the sequence under the conditions: frames that are left out are taken away, so that the
/// rate falls.
Sequence under(const Conditions& conditions, Sequence sequence);

}  // namespace dvnn::test
