// SPDX-License-Identifier: Apache-2.0
// What dvrecord tells of a clip beside its video: a structure for applications, and the documents
// of an MP4 clip.
#pragma once

#include <gst/gst.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "publish/document.h"
#include "record/clip_folder.h"
#include "record/ring.h"

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

/// Returns the structure "dvnn-clip" of messages and of events that go upstream, to a dvpublish.
GstStructure* clip_structure(const ClipReport& report);

/// Creates the file of a clip's documents beside the clip, which is being written. It is WebVTT,
/// whole after each cue: MP4's text samples have at most 64 KiB, and documents may be longer.
Status begin_cue_file(record::ClipFolder& folder, record::ClipFile* clip);
/// Appends a unit of documents; `base` is the time at which the clip begins.
Status append_cue(const record::ClipFile& clip, const record::Unit& unit, record::Time base);

}  // namespace dvnn::gst
