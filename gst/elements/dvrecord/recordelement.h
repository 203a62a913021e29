// SPDX-License-Identifier: Apache-2.0
// dvrecord's object. dvrecord.cpp has its states, properties and signals, recordstreams.cpp what
// comes on its pads.
#pragma once

#include <gst/gst.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "elements/dvrecord/clipwriter.h"
#include "elements/dvrecord/detections.h"
#include "elements/dvrecord/packet.h"
#include "elements/dvrecord/recordsettings.h"
#include "record/clip_folder.h"
#include "record/recorder.h"

namespace dvnn::gst {

/// Tracks of the recorder.
constexpr size_t kDocumentTrack = 1, kFirstAudioTrack = 2, kMostAudio = 8;
constexpr size_t kTrackCount = kFirstAudioTrack + kMostAudio;

/// What dvrecord keeps for each of its pads: for the pad's streaming thread.
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

G_DECLARE_FINAL_TYPE(GstDvRecord, gst_dv_record, GST, DV_RECORD, GstElement)

struct GstDvRecordPrivate {
  RecordSettings settings;  // under the object lock
  // Set on the way to READY and to PAUSED; the pads' threads run in between.
  std::shared_ptr<record::ClipFolder> folder;
  std::shared_ptr<record::Memory> memory;
  std::shared_ptr<record::Recorder> recorder;
  std::shared_ptr<ClipWriters> writers;
  std::string stream;
  SharedCaps documents;        // of the text track; null: there is none
  record::Losses last_losses;  // of the last recorder
  // The pads, under the object lock; a pad's own part is its streaming thread's.
  std::vector<std::unique_ptr<RecordPad>> pads;
  Detections detections;  // of the streaming thread of `detections`
  std::atomic<bool> changed{true};
  std::atomic<bool> prerolls{false};  // a stream has brought no data since the change to PAUSED
  std::mutex preroll_mutex;           // held while the completed change is told
};

struct _GstDvRecord {
  GstElement parent;
  GstDvRecordPrivate* priv;
};

/// Returns the settings as they are now. Any thread.
RecordSettings record_settings_of(GstDvRecord* self);
/// Data has come on a pad, or none will. When it has on all, the change to PAUSED is complete.
void gst_dv_record_preroll(GstDvRecord* self, RecordPad* pad);
/// Tells the recorder and the writers what a pad will bring, before it does.
void gst_dv_record_expect(const RecordPad& pad, const SharedCaps& documents,
                          record::Recorder* recorder, ClipWriters* writers);
/// Returns whether an event asks for a clip, which is then begun.
bool gst_dv_record_take_request(GstDvRecord* self, GstEvent* event);

/// Adds the pad templates to the class, and the pads' vmethods.
void gst_dv_record_install_pads(GstElementClass* klass);
/// Adds the pad `video`.
void gst_dv_record_add_video_pad(GstDvRecord* self);

}  // namespace dvnn::gst
