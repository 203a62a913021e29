// SPDX-License-Identifier: Apache-2.0
// What dvrecord keeps for each of its pads: for the pad's streaming thread.
#pragma once

#include <gst/gst.h>

#include "elements/dvrecord/clipwriter.h"
#include "elements/dvrecord/packet.h"
#include "record/recorder.h"

namespace dvnn::gst {

/// Tracks of the recorder.
constexpr size_t kDocumentTrack = 1, kFirstAudioTrack = 2, kMostAudio = 8;
constexpr size_t kTrackCount = kFirstAudioTrack + kMostAudio;

struct RecordPad {
  GstPad* pad = nullptr;
  size_t track = 0;
  TrackKind kind = TrackKind::kVideo;
  GstSegment segment;
  SharedCaps caps;
  guint64 flushes = 0;     // before the next buffer
  bool prerolled = false;  // data has come, or none will; under the element's object lock
  bool ended = false;      // under the element's object lock
  GstClockTime interval = 40 * GST_MSECOND;  // of frames without times
  record::Time last = 0;                     // decode time

  /// Forgets the stream.
  void reset();
  /// Takes caps over; false if they are those that it has.
  bool set_caps(GstCaps* taken);
  /// Copies a buffer as a unit, whose times are running times. Without data if there is no memory.
  record::Unit unit_of(GstBuffer* buffer);
};

}  // namespace dvnn::gst
