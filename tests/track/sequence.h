// SPDX-License-Identifier: Apache-2.0
// Recorded sequences in the MOT challenge's form, disturbances of their detections, and our tracker
// on them.
#pragma once

#include <string>
#include <vector>

#include "evaluate/track_figures.h"
#include "track/tracker.h"

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

/// A track's box in a frame, and the frame's detection that it comes from, counted from 1; 0:
/// predicted.
struct Followed {
  long id;
  Box box;
  size_t detection;
  double confidence;
};

/// Runs the tracker on every Nth frame, and predicts the others.
std::vector<std::vector<Followed>> follow(const Sequence& sequence, const track::Settings& settings,
                                          size_t every = 1);
/// Runs the tracker likewise; returns boxes alone.
Frames run_ours(const Sequence& sequence, const track::Settings& settings = {}, size_t every = 1);

}  // namespace dvnn::test
