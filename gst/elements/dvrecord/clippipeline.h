// SPDX-License-Identifier: Apache-2.0
// The pipeline that writes one file: a source for each track, a muxer, and an open file. It has a
// bus and threads of its own, so that what goes wrong in it ends a clip and nothing else. For one
// thread, which may have to wait for the disk in any call.
#pragma once

#include <gst/gst.h>

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "elements/dvrecord/recordsettings.h"
#include "refs.h"

namespace dvnn::gst {

enum class TrackKind { kVideo, kAudio, kText };

/// Returns an error if an element that writes such files is missing.
Status check_muxer(Container container);
/// The ending of files' names, without a dot.
const char* file_ending(Container container);
/// Returns an error if the muxer takes no stream of these caps.
Status check_track(Container container, TrackKind kind, const GstCaps* caps);

class ClipPipeline {
 public:
  struct Track {
    TrackKind kind;
    const GstCaps* caps;
  };
  /// Begins to write into an open file, which has to outlive the pipeline. `utc_ns`: of the first
  /// frame.
  static Result<std::unique_ptr<ClipPipeline>> start(Container container, int fd,
                                                     const std::vector<Track>& tracks,
                                                     int64_t utc_ns);
  ~ClipPipeline();
  ClipPipeline(const ClipPipeline&) = delete;
  ClipPipeline& operator=(const ClipPipeline&) = delete;

  /// Hands a buffer over, whose times are those of the file.
  void push(size_t track, BufferPtr buffer);
  /// A track has no more buffers: the others go on without it.
  void end_track(size_t track);
  /// Returns whether so much waits to be written that no more should be pushed.
  bool is_full() const;
  /// Returns the error that has stopped it, waiting for one up to `wait`.
  Status problem(GstClockTime wait);
  /// Writes what is left, and what belongs at a file's end. Returns the first error.
  Status finish();

 private:
  ClipPipeline() = default;
  Status add_track(Container container, const Track& track, GstElement* muxer);
  Status wait_for_caps();

  ElementPtr pipeline_;
  std::vector<GstElement*> sources_;  // of the pipeline
  std::vector<bool> ended_;
  Status failed_;
};

}  // namespace dvnn::gst
