// SPDX-License-Identifier: Apache-2.0
// Feeds elements: GStreamer with our plugin and no other, caps and frames that may lie, and memory
// whose end is a page that faults.
#pragma once

#include <gst/check/gstharness.h>
#include <gst/video/video.h>

#include <functional>

#include "fuzzed_data.h"
#include "refs.h"

namespace dvnn::fuzz {

/// Starts GStreamer without a registry and loads the plugin. GLib's criticals crash from then on.
void start_gstreamer();

/// A buffer of `size` bytes (at most kMostBytes), in one or several memories. Valid until the next
/// call of reuse_memory(), which ends an input.
constexpr size_t kMostBytes = 128 * 1024;
GstBuffer* any_buffer(FuzzedData* in, size_t size);
void reuse_memory();

/// Raw video, mostly small. `info` is what the caps say, or something small if nobody could read
/// them.
gst::CapsPtr any_video_caps(FuzzedData* in, GstVideoInfo* info);

/// A frame of that kind, with its times. Now and then it is too short, has a GstVideoMeta or a
/// GstVideoCropMeta that lie, or is none at all.
GstBuffer* any_frame(FuzzedData* in, const GstVideoInfo& info);

/// A harness that is taken down with the object.
class Harness {
 public:
  explicit Harness(GstHarness* harness) : harness_(harness) {}
  ~Harness() { gst_harness_teardown(harness_); }
  Harness(const Harness&) = delete;
  Harness& operator=(const Harness&) = delete;
  GstHarness* get() const { return harness_; }
  GstElement* element() const { return harness_->element; }
  /// Pushes stream-start, caps and a segment. False if the caps are refused.
  bool begin(const GstCaps* caps);
  /// Pushes a buffer and lets go of what comes out.
  GstFlowReturn push(GstBuffer* buffer);
  void drop_output();
  void flush();
  /// Waits until all that was pushed has left.
  void drain();

 private:
  GstHarness* harness_;
};

/// Plays a stream of raw video: any caps, and while there is input, at most `most` frames that
/// `make` makes of what the caps say. Counts the frames that are taken.
void play_video(FuzzedData* in, int most, Harness* harness,
                const std::function<GstBuffer*(const GstVideoInfo& info)>& make);

}  // namespace dvnn::fuzz
