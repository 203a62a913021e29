// SPDX-License-Identifier: Apache-2.0
// Recorded sequences in the MOT challenge's form, and disturbances of their detections.
#pragma once

#include <string>
#include <vector>

#include "evaluate/track_figures.h"

namespace dvnn::test {

using namespace evaluate::tracks;

struct Seen {
  Box box;
  double confidence = 1;
  int class_id = 0;
  std::vector<float> look;  // embedding, if any
};

/// A folder with det.txt and gt.txt and, if they exist, seqinfo.ini, ignore.txt, dontcare.txt and
/// camera_motion.txt. Frames count from 0.
struct Sequence {
  std::string name;
  double fps = 25, width = 0, height = 0;
  std::vector<std::vector<Seen>> detections;
  Frames truth;
  Ignored ignored;
  std::vector<std::vector<double>>
      camera;  // six numbers a frame: an affine matrix from the last frame
};

/// The numbers of a file's lines, between commas or blanks.
std::vector<std::vector<double>> read_numbers(const std::string& path);
std::vector<std::vector<Seen>> read_detections(const std::string& path);
Sequence read_sequence(const std::string& folder);

/// The conditions of a measurement.
struct Conditions {
  size_t every = 1;   // one in this number of frames is inferred, and counts
  double drop = 0;    // share of detections that are dropped
  double jitter = 0;  // standard deviation of each edge, in widths and heights
  bool cut = false;   // whether boxes end at the frame's edge
  unsigned seed = 5;  // of drops and jitter
};

/// Returns the sequence under the conditions. Frames that are left out are removed, so that the
/// rate falls.
Sequence under(const Conditions& conditions, Sequence sequence);

}  // namespace dvnn::test
