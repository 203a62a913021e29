// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "base/format.h"
#include "elements/dvpublish/framefacts.h"
#include "elements/dvrecord/clippipeline.h"
#include "elements/dvrecord/clipwriter.h"
#include "elements/dvrecord/packet.h"
#include "elements/dvrecord/recordelement.h"
#include "errors.h"
#include "record/recorder.h"
#include "refs.h"
#include "times.h"

namespace dvnn::gst {

#define DVNN_RECORDED_VIDEO                                                                  \
  "video/x-h264, stream-format = (string) { avc, avc3 }, alignment = (string) au; "          \
  "video/x-h265, stream-format = (string) { hvc1, hev1 }, alignment = (string) au; "         \
  "video/x-av1, stream-format = (string) obu-stream, alignment = (string) tu; video/x-vp8; " \
  "video/x-vp9; image/jpeg; video/mpeg, mpegversion = (int) { 1, 2, 4 }, "                   \
  "systemstream = (boolean) false"
#define DVNN_RECORDED_AUDIO                                                             \
  "audio/mpeg, mpegversion = (int) 4, stream-format = (string) raw; audio/mpeg, "       \
  "mpegversion = (int) 1, layer = (int) { 1, 2, 3 }; audio/x-opus; audio/x-vorbis; "    \
  "audio/x-flac; audio/x-ac3; audio/x-eac3; audio/x-alaw; audio/x-mulaw; audio/x-raw, " \
  "format = (string) { U8, S16LE, S24LE, S32LE, F32LE }, layout = (string) interleaved"

static GstStaticPadTemplate dv_record_video_template = GST_STATIC_PAD_TEMPLATE(
    "video", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS(DVNN_RECORDED_VIDEO));
static GstStaticPadTemplate dv_record_audio_template = GST_STATIC_PAD_TEMPLATE(
    "audio_%u", GST_PAD_SINK, GST_PAD_REQUEST, GST_STATIC_CAPS(DVNN_RECORDED_AUDIO));
static GstStaticPadTemplate dv_record_detections_template = GST_STATIC_PAD_TEMPLATE(
    "detections", GST_PAD_SINK, GST_PAD_REQUEST, GST_STATIC_CAPS("video/x-raw(ANY)"));

static RecordPad* pad_of(GstPad* pad) {
  return static_cast<RecordPad*>(gst_pad_get_element_private(pad));
}

// --- a pad's part -------------------------------------------------------------------------------

namespace {

GstClockTime interval_of(const GstCaps* caps) {
  gint n = 0, d = 1;
  const GstStructure* fields = gst_caps_get_structure(caps, 0);
  const bool rated = gst_structure_get_fraction(fields, "framerate", &n, &d) && n > 0 && d > 0;
  return rated ? gst_util_uint64_scale_int(GST_SECOND, d, n) : 40 * GST_MSECOND;
}

// The buffer with memory of its own; null if there is none.
BufferPtr copy_of(GstBuffer* buffer) {
  const gsize size = gst_buffer_get_size(buffer);
  BufferPtr copy = allocate_buffer(size);
  if (!copy) return nullptr;
  const BufferMap map(copy.get(), GST_MAP_WRITE);
  if (!map.ok() || gst_buffer_extract(buffer, 0, map.data(), size) != size) return nullptr;
  copy_times(buffer, copy.get());
  return copy;
}

}  // namespace

void RecordPad::reset() {
  gst_segment_init(&segment, GST_FORMAT_UNDEFINED);
  caps.reset();
  flushes = 0;
  prerolled = ended = false;
  last = 0;
}

bool RecordPad::set_caps(GstCaps* taken) {
  interval = interval_of(taken);
  if (caps && gst_caps_is_strictly_equal(caps->get(), taken)) return false;
  caps = std::make_shared<const CapsPtr>(gst_caps_ref(taken));
  return true;
}

record::Unit RecordPad::unit_of(GstBuffer* buffer) {
  record::Unit unit;
  // Frames before a segment are needed to decode those within.
  const bool shown = signed_running_time(segment, GST_BUFFER_PTS(buffer), &unit.time);
  const bool decoded = signed_running_time(segment, GST_BUFFER_DTS(buffer), &unit.decode);
  if (!decoded) unit.decode = shown ? unit.time : last + static_cast<record::Time>(interval);
  if (!shown) unit.time = unit.decode;
  last = unit.decode;
  if (GST_BUFFER_DURATION_IS_VALID(buffer)) {
    unit.duration = static_cast<record::Time>(
        std::min<GstClockTime>(GST_BUFFER_DURATION(buffer), 3600 * GST_SECOND));
  }
  unit.key = !GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_DELTA_UNIT);
  auto packet = std::make_shared<Packet>();
  packet->buffer = copy_of(buffer);
  if (!packet->buffer) return unit;
  if (kind == TrackKind::kVideo) packet->times = frame_times(buffer, segment);
  packet->running_time = unit.time >= 0 ? static_cast<GstClockTime>(unit.time) : 0;
  unit.bytes = gst_buffer_get_size(buffer);
  unit.format = caps;
  unit.data = std::move(packet);
  return unit;
}

// --- streams -----------------------------------------------------------------------------------

// Takes over settings of the detection branch.
static Detections& gst_dv_record_detections(GstDvRecord* self) {
  GstDvRecordPrivate* priv = self->priv;
  if (priv->changed.exchange(false)) priv->detections.configure(record_settings_of(self));
  return priv->detections;
}

static void gst_dv_record_take_detections(GstDvRecord* self, RecordPad* pad, GstBuffer* frame) {
  GstDvRecordPrivate* priv = self->priv;
  priv->recorder->flush(kDocumentTrack, std::exchange(pad->flushes, 0));
  gst_dv_record_detections(self).frame(frame, pad->segment);
}

static void gst_dv_record_take_packet(GstDvRecord* self, RecordPad* pad, GstBuffer* buffer) {
  record::Recorder& recorder = *self->priv->recorder;
  const guint64 flushes = std::exchange(pad->flushes, 0);
  record::Unit unit = pad->unit_of(buffer);
  if (pad->kind == TrackKind::kVideo) {
    recorder.video(std::move(unit), flushes);
    return;
  }
  recorder.flush(pad->track, flushes);
  // The muxer takes the headers from the caps.
  if (GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_HEADER)) unit.data.reset();
  recorder.follow(pad->track, std::move(unit));
}

static GstFlowReturn gst_dv_record_chain(GstPad* at, GstObject* parent, GstBuffer* buffer) {
  const BufferPtr owner(buffer);
  return guard(parent, "a buffer cannot be taken", GST_FLOW_ERROR, [&] {
    GstDvRecord* self = GST_DV_RECORD(parent);
    RecordPad* pad = pad_of(at);
    if (!self->priv->recorder || !pad) return GST_FLOW_FLUSHING;
    gst_dv_record_preroll(self, pad);
    if (pad->segment.format != GST_FORMAT_TIME) {
      post_error(GST_ELEMENT(self), Topic::kData,
                 invalid_argument(format("pad '%s': the stream has no times; a parser or a demuxer "
                                         "before dvrecord gives it some",
                                         GST_PAD_NAME(at))));
      return GST_FLOW_ERROR;
    }
    if (pad->kind == TrackKind::kText) {
      gst_dv_record_take_detections(self, pad, buffer);
    } else {
      gst_dv_record_take_packet(self, pad, buffer);
    }
    return GST_FLOW_OK;
  });
}

static bool gst_dv_record_set_caps(GstDvRecord* self, RecordPad* pad, GstCaps* caps) {
  GstDvRecordPrivate* priv = self->priv;
  if (pad->kind == TrackKind::kText) return priv->detections.set_format(caps);
  const Status status = check_track(record_settings_of(self).container, pad->kind, caps);
  if (!status.ok()) {
    post_error(GST_ELEMENT(self), Topic::kSettings,
               status.error().within(format("pad '%s'", GST_PAD_NAME(pad->pad))));
    return false;
  }
  if (pad->set_caps(caps) && priv->writers) {
    priv->writers->set_track(pad->track, {pad->kind, pad->caps});
  }
  return true;
}

// Returns whether all streams that come have ended, this one as the last.
static bool gst_dv_record_end(GstDvRecord* self, RecordPad* ended) {
  const ObjectLock lock(self);
  ended->ended = true;
  const auto& pads = self->priv->pads;
  return std::all_of(pads.begin(), pads.end(),
                     [](const auto& pad) { return pad->ended || !GST_PAD_PEER(pad->pad); });
}

// Writes the clips that are open, for a bounded time, before the end is told.
static void gst_dv_record_finish(GstDvRecord* self) {
  GstDvRecordPrivate* priv = self->priv;
  priv->recorder->finish();
  (void)priv->writers->wait(record_settings_of(self).flush_timeout_ms, true);
}

static void gst_dv_record_take_eos(GstDvRecord* self, RecordPad* pad, GstEvent* event) {
  GstDvRecordPrivate* priv = self->priv;
  if (!priv->recorder) return;
  if (pad->kind == TrackKind::kText) priv->detections.end();
  priv->recorder->end_track(pad->track);
  if (!gst_dv_record_end(self, pad)) return;
  gst_dv_record_finish(self);
  GstMessage* message = gst_message_new_eos(GST_OBJECT(self));
  gst_message_set_seqnum(message, gst_event_get_seqnum(event));
  gst_element_post_message(GST_ELEMENT(self), message);
}

// A stream begins, perhaps after its end.
static void gst_dv_record_begin_stream(GstDvRecord* self, RecordPad* pad) {
  {
    const ObjectLock lock(self);
    pad->ended = false;
  }
  if (pad->kind == TrackKind::kText) self->priv->detections.begin_anew();
  if (pad->kind != TrackKind::kVideo && self->priv->recorder) {
    self->priv->recorder->expect(pad->track, true);
  }
}

static void gst_dv_record_take_gap(GstDvRecord* self, RecordPad* pad, GstEvent* event) {
  GstClockTime time = GST_CLOCK_TIME_NONE;
  gst_event_parse_gap(event, &time, nullptr);
  if (pad->kind == TrackKind::kVideo || !self->priv->recorder) return;
  self->priv->recorder->flush(pad->track, std::exchange(pad->flushes, 0));
  const GstClockTime running = gst_segment_to_running_time(&pad->segment, GST_FORMAT_TIME, time);
  if (pad->kind == TrackKind::kText) {
    self->priv->detections.gap(running);
  } else if (GST_CLOCK_TIME_IS_VALID(running)) {
    record::Unit unit;
    unit.time = unit.decode = static_cast<record::Time>(running);
    self->priv->recorder->follow(pad->track, std::move(unit));
  }
}

static gboolean gst_dv_record_take_event(GstDvRecord* self, RecordPad* pad, GstEvent* event) {
  switch (GST_EVENT_TYPE(event)) {
    case GST_EVENT_STREAM_START:
      gst_dv_record_begin_stream(self, pad);
      break;
    case GST_EVENT_CAPS: {
      GstCaps* caps = nullptr;
      gst_event_parse_caps(event, &caps);
      return gst_dv_record_set_caps(self, pad, caps);
    }
    case GST_EVENT_SEGMENT:
      gst_event_copy_segment(event, &pad->segment);
      break;
    case GST_EVENT_FLUSH_STOP:
      gst_segment_init(&pad->segment, GST_FORMAT_UNDEFINED);
      ++pad->flushes;
      gst_dv_record_begin_stream(self, pad);
      break;
    case GST_EVENT_GAP:
      gst_dv_record_preroll(self, pad);
      gst_dv_record_take_gap(self, pad, event);
      break;
    case GST_EVENT_EOS:
      gst_dv_record_preroll(self, pad);
      gst_dv_record_take_eos(self, pad, event);
      break;
    case GST_EVENT_CUSTOM_DOWNSTREAM:
    case GST_EVENT_CUSTOM_DOWNSTREAM_OOB:
      if (gst_dv_record_take_request(self, event)) break;
      if (pad->kind == TrackKind::kText && gst_event_get_structure(event)) {
        gst_dv_record_detections(self).told(gst_event_get_structure(event));
      }
      break;
    default:
      break;
  }
  return TRUE;
}

static gboolean gst_dv_record_sink_event(GstPad* at, GstObject* parent, GstEvent* event) {
  const EventPtr owner(event);
  return guard(parent, "an event cannot be handled", FALSE, [&]() -> gboolean {
    RecordPad* pad = pad_of(at);
    return pad && gst_dv_record_take_event(GST_DV_RECORD(parent), pad, event);
  });
}

// --- pads --------------------------------------------------------------------------------------

static GstPad* gst_dv_record_add_pad(GstDvRecord* self, GstPadTemplate* from, const char* name,
                                     TrackKind kind, size_t track) {
  GstPad* pad = gst_pad_new_from_template(from, name);
  auto part = std::make_unique<RecordPad>();
  part->pad = pad;
  part->kind = kind;
  part->track = track;
  part->reset();
  gst_pad_set_element_private(pad, part.get());
  gst_pad_set_chain_function(pad, GST_DEBUG_FUNCPTR(gst_dv_record_chain));
  gst_pad_set_event_function(pad, GST_DEBUG_FUNCPTR(gst_dv_record_sink_event));
  {
    const ObjectLock lock(self);
    GstDvRecordPrivate* priv = self->priv;
    // While the element runs, as for the pads that it had before.
    if (priv->recorder) {
      gst_dv_record_expect(*part, priv->documents, priv->recorder.get(), priv->writers.get());
    }
    priv->pads.push_back(std::move(part));
  }
  if (GST_STATE(self) >= GST_STATE_PAUSED || GST_STATE_TARGET(self) >= GST_STATE_PAUSED) {
    gst_pad_set_active(pad, TRUE);
  }
  gst_element_add_pad(GST_ELEMENT(self), pad);
  return pad;
}

// Returns the track for a new audio pad, by its name if it has one; 0 if none is free.
static size_t gst_dv_record_free_track(GstDvRecord* self, const gchar* name) {
  const ObjectLock lock(self);
  const auto& pads = self->priv->pads;
  const auto is_free = [&](size_t track) {
    return std::none_of(pads.begin(), pads.end(),
                        [track](const auto& pad) { return pad->track == track; });
  };
  guint number = 0;
  if (name && sscanf(name, "audio_%u", &number) == 1) {
    const bool is_good = number < kMostAudio && is_free(kFirstAudioTrack + number);
    return is_good ? kFirstAudioTrack + number : 0;
  }
  for (size_t track = kFirstAudioTrack; track < kTrackCount; ++track) {
    if (is_free(track)) return track;
  }
  return 0;
}

static GstPad* gst_dv_record_request_pad(GstElement* element, GstPadTemplate* from,
                                         const gchar* name, const GstCaps*) {
  return guard(element, "a pad cannot be made", static_cast<GstPad*>(nullptr), [&]() -> GstPad* {
    GstDvRecord* self = GST_DV_RECORD(element);
    if (g_str_equal(GST_PAD_TEMPLATE_NAME_TEMPLATE(from), "detections")) {
      const bool there = [&] {
        const ObjectLock lock(self);
        return std::any_of(self->priv->pads.begin(), self->priv->pads.end(),
                           [](const auto& pad) { return pad->track == kDocumentTrack; });
      }();
      if (there) return nullptr;
      return gst_dv_record_add_pad(self, from, "detections", TrackKind::kText, kDocumentTrack);
    }
    const size_t track = gst_dv_record_free_track(self, name);
    if (track == 0) return nullptr;
    const std::string own = format("audio_%zu", track - kFirstAudioTrack);
    return gst_dv_record_add_pad(self, from, own.c_str(), TrackKind::kAudio, track);
  });
}

static void gst_dv_record_release_pad(GstElement* element, GstPad* pad) {
  guard(element, "a pad cannot be released", [&] {
    GstDvRecord* self = GST_DV_RECORD(element);
    GstDvRecordPrivate* priv = self->priv;
    gst_pad_set_active(pad, FALSE);
    const size_t track = pad_of(pad)->track;
    if (priv->recorder) priv->recorder->end_track(track);
    if (priv->writers) priv->writers->set_track(track, {pad_of(pad)->kind, nullptr});
    gst_pad_set_element_private(pad, nullptr);
    gst_element_remove_pad(element, pad);
    const ObjectLock lock(self);
    auto& pads = priv->pads;
    pads.erase(std::find_if(pads.begin(), pads.end(),
                            [track](const auto& one) { return one->track == track; }));
  });
}

void gst_dv_record_add_video_pad(GstDvRecord* self) {
  const PadTemplatePtr video(gst_static_pad_template_get(&dv_record_video_template));
  gst_dv_record_add_pad(self, video.get(), "video", TrackKind::kVideo, record::Ring::kVideo);
}

void gst_dv_record_install_pads(GstElementClass* klass) {
  gst_element_class_add_static_pad_template(klass, &dv_record_video_template);
  gst_element_class_add_static_pad_template(klass, &dv_record_audio_template);
  gst_element_class_add_static_pad_template(klass, &dv_record_detections_template);
  klass->request_new_pad = GST_DEBUG_FUNCPTR(gst_dv_record_request_pad);
  klass->release_pad = GST_DEBUG_FUNCPTR(gst_dv_record_release_pad);
}

}  // namespace dvnn::gst
