// SPDX-License-Identifier: Apache-2.0
// Follows what networks find in sequences, as dvtrack does in a pipeline.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "motion/camera_motion.h"
#include "tools/evaluate/subject.h"
#include "track/tracker.h"

namespace dvnn::tools {

/// Settings of dvtrack, with its defaults.
struct TrackOptions {
  track::Settings tracker;
  motion::Camera camera = motion::Camera::kAuto;
  bool smooth = true, predict = true;
};

/// Parses "NAME=VALUE" of properties of dvtrack: the tracker's numbers, camera, smooth and predict.
Result<TrackOptions> parse_track_options(const std::vector<std::string>& texts);

/// Sees how the camera of each sequence moves, in the pixels of its frames.
class SequenceCamera {
 public:
  SequenceCamera(const evaluate::DataSet& data, motion::Camera camera);
  /// Takes the pictures of the data in their order, as BGR.
  void see(size_t picture, const Bitmap& bgr);
  /// Returns the motion since the frame before, if it is known. A picture that was not seen has
  /// none.
  const std::optional<motion::Affine>& motion(size_t picture) const { return motions_[picture]; }

 private:
  const evaluate::DataSet& data_;
  const motion::Camera camera_;
  size_t sequence_ = 0;
  motion::CameraWatch watch_;
  std::vector<std::optional<motion::Affine>> motions_;
};

/// Sets `followed` of a subject to the tracks of what it has found. Objects below the tracker's
/// least confidence are left out, as dvdecode would leave them out.
void follow(const evaluate::DataSet& data, const SequenceCamera& camera,
            const TrackOptions& options, Subject* subject);

}  // namespace dvnn::tools
