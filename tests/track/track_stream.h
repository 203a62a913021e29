// SPDX-License-Identifier: Apache-2.0
// A tracker and its stream, for tests: boxes of 40 x 80 in frames of 640 x 480, times in
// milliseconds.
#pragma once

#include <vector>

#include "track/tracker.h"

namespace dvnn::track {

constexpr image::Size kFrame{640, 480};

inline Detection at(double x, double y, float confidence = 0.9f, int class_id = 0) {
  Detection detection;
  detection.box = {x, y, x + 40, y + 80};
  detection.class_id = class_id;
  detection.confidence = confidence;
  return detection;
}

struct Stream {
  TrackIds ids;
  Tracker tracker{&ids};
  Settings settings;

  explicit Stream(Settings chosen = {}) : settings(chosen) { tracker.configure(settings); }
  void see(double ms, const std::vector<Detection>& detections) {
    tracker.update(static_cast<Time>(ms * kMillisecond), kFrame, detections);
  }
  void skip(double ms) { tracker.predict(static_cast<Time>(ms * kMillisecond), kFrame); }
  uint64_t id(size_t detection) const {
    const Track* track = tracker.track_of(detection);
    return track ? track->id : 0;
  }
};

constexpr float kNever = 1e6f;  // evidence that no track reaches

/// Settings with which the first detection confirms a track, unless more evidence is asked for.
inline Settings times(double probation, double lost, float evidence = 0) {
  Settings settings;
  settings.evidence = evidence;
  settings.probation = static_cast<Time>(probation * kMillisecond);
  settings.lost = static_cast<Time>(lost * kMillisecond);
  return settings;
}

}  // namespace dvnn::track
