// SPDX-License-Identifier: Apache-2.0
// What dvrecord tells of a clip: the structure "dvnn-clip" of messages and of events that go
// upstream, to a dvpublish.
#pragma once

#include <gst/gst.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "publish/document.h"

namespace dvnn::gst {

struct ClipReport {
  const char* state = "ended";  // or started, recovered
  guint64 clip = 0;             // the same for all files of a clip, from 1
  std::string stream, location;
  publish::Times times;  // of its first frame
  GstClockTime running_time = GST_CLOCK_TIME_NONE;
  guint64 duration = 0, bytes = 0;
  guint64 before = 0;  // from its first frame to its first event
  guint64 lost = 0;    // frames
  bool complete = true;
  std::string problem;
  /// What was told, and where in the file it is, in nanoseconds.
  std::vector<std::pair<const GstStructure*, guint64>> events;
  std::optional<publish::Picture> picture;
};

GstStructure* clip_structure(const ClipReport& report);

}  // namespace dvnn::gst
