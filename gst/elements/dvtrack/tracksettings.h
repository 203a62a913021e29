// SPDX-License-Identifier: Apache-2.0
// dvtrack's settings.
#pragma once

#include <string>

#include "elements/exports.h"
#include "motion/camera_motion.h"
#include "properties.h"
#include "track/tracker.h"

namespace dvnn::gst {

struct TrackSettings {
  gfloat min_confidence_start = 0.6f, min_confidence_find = 0.5f, min_confidence_keep = 0.1f;
  gfloat min_evidence = 4;
  guint max_lost_ms = 2000, max_coast_ms = 0;  // milliseconds
  motion::Camera camera = motion::Camera::kAuto;
  gfloat appearance = 0.5f;
  std::string labels;
  bool predict = true;
  bool smooth = true;
  bool post_messages = true;
  guint exports = kDefaultExports;

  track::Settings tracker() const;
};

/// Returns the rows of all properties.
Properties<TrackSettings> track_properties();

}  // namespace dvnn::gst
