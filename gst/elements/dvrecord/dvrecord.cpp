// SPDX-License-Identifier: Apache-2.0
/**
 * SECTION:element-dvrecord
 * @title: dvrecord
 * @short_description: records clips of events, with what came before
 *
 * dvrecord keeps the last seconds of an encoded stream in memory. When something happens it writes
 * a clip: from the key frame at or before #GstDvRecord:before-ms before the first event to
 * #GstDvRecord:after-ms after the last one. Nothing is encoded again. The pad `video` takes the
 * camera's own encoding (H.264, H.265, AV1, VP8, VP9, JPEG), the pads `audio_%u` take what goes
 * along, and the pad `detections` takes the end of the branch in which dvdecode, dvtrack, dvzones
 * and dvmotion work, on frames of any size. The branches meet by their running times.
 *
 * #GstDvRecord:trigger, #GstDvRecord:labels and #GstDvRecord:zone choose the events. The action
 * signal #GstDvRecord::record, the property #GstDvRecord:recording and a custom event `dvnn-record`
 * (sent to the pipeline, or coming with a stream, with the fields `text` (string) and
 * `running-time` (guint64), which may be absent) begin clips, too.
 *
 * Each clip is written by a thread of its own. A disk that is full, slow or dead does not stop the
 * stream: what could not be written is counted in #GstDvRecord:counts and told by a warning. A clip
 * can be played up to its last second also if the process is killed; its name ends in .part.mkv
 * then, until the next start.
 *
 * ## Messages
 *
 * An element message `dvnn-clip` when a file begins (`state`, a string: `started`), when it ends
 * (`ended`), and for each file that an earlier process has left (`recovered`): with `clip`
 * (guint64, its number), `stream`, `location` (string, the file), `timestamp`, `stream-time`,
 * `running-time` (guint64) and `utc` (string) of its first frame, `duration` and `before` (guint64,
 * nanoseconds, the latter up to the first event), `bytes`, `lost` (guint64, frames), `complete`
 * (boolean), `problem` (string), `events` (a list of structures as they were told, each with `at`,
 * a guint64, its place in the file) and `picture` (a structure with `location`, `width`, `height`
 * and `timestamp`). The same structure goes upstream from the pad `detections` as a custom event,
 * which a dvpublish there publishes (mode=clips).
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 -m videotestsrc num-buffers=300 ! tee name=t ! queue ! jpegenc ! dvrecord name=r
 * location=/tmp trigger=object t. ! queue ! dvconvert ! dvinfer ! dvdecode ! r.detections
 * ]| Records a clip of each object.
 *
 * Since: 0.1.0
 */
#include "elements/elements.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/format.h"
#include "elements/dvrecord/recordelement.h"
#include "elements/objectclass.h"
#include "errors.h"
#include "log.h"

DVNN_LOG_CATEGORY(record_category, "dvrecord", "Recording of clips")
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT record_category()

namespace dvnn::gst {

G_DEFINE_TYPE(GstDvRecord, gst_dv_record, GST_TYPE_ELEMENT)
GST_ELEMENT_REGISTER_DEFINE(dvrecord, "dvrecord", GST_RANK_NONE, gst_dv_record_get_type())

static guint prop_counts;  // the row after those of the settings

RecordSettings record_settings_of(GstDvRecord* self) {
  const ObjectLock lock(self);
  return self->priv->settings;
}

static SharedCaps document_caps() {
  return std::make_shared<const CapsPtr>(
      gst_caps_new_simple("text/x-raw", "format", G_TYPE_STRING, "utf8", nullptr));
}

// --- events of applications --------------------------------------------------------------------

// Begins a clip, or keeps one going, at a running time or now. Returns whether clips are recorded.
static bool gst_dv_record_trigger(GstDvRecord* self, const char* text, GstClockTime time) {
  std::shared_ptr<record::Recorder> recorder;
  {
    const ObjectLock lock(self);
    recorder = self->priv->recorder;
  }
  if (!recorder) return false;
  StructurePtr fields(gst_structure_new("dvnn-record", "event", G_TYPE_STRING, "record", "label",
                                        G_TYPE_STRING, text ? text : "", nullptr));
  const bool timed = GST_CLOCK_TIME_IS_VALID(time) && time <= G_MAXINT64 / 8;
  if (timed) gst_structure_set(fields.get(), "running-time", G_TYPE_UINT64, time, nullptr);
  recorder->add_event(timed ? static_cast<record::Time>(time) : record::kNoTime,
                      shared_structure(std::move(fields)));
  return true;
}

static gboolean gst_dv_record_record(GstDvRecord* self, const gchar* text) {
  return guard(self, "a clip cannot be begun", FALSE, [&]() -> gboolean {
    return gst_dv_record_trigger(self, text, GST_CLOCK_TIME_NONE);
  });
}

// Returns whether the event asks for a clip.
bool gst_dv_record_take_request(GstDvRecord* self, GstEvent* event) {
  const GstStructure* fields = gst_event_get_structure(event);
  if (!fields || !gst_structure_has_name(fields, "dvnn-record")) return false;
  guint64 time = GST_CLOCK_TIME_NONE;
  gst_structure_get_uint64(fields, "running-time", &time);
  (void)gst_dv_record_trigger(self, gst_structure_get_string(fields, "text"), time);
  return true;
}

static gboolean gst_dv_record_send_event(GstElement* element, GstEvent* event) {
  EventPtr owner(event);
  const bool asks = guard(element, "the event cannot be handled", false, [&] {
    return GST_EVENT_TYPE(event) == GST_EVENT_CUSTOM_UPSTREAM &&
           gst_dv_record_take_request(GST_DV_RECORD(element), event);
  });
  if (asks) return TRUE;
  return GST_ELEMENT_CLASS(gst_dv_record_parent_class)->send_event(element, owner.release());
}

// --- states ------------------------------------------------------------------------------------

// The memory that all elements of the process share.
static std::shared_ptr<record::Memory> shared_memory(guint mib) {
  static std::mutex mutex;
  static auto* const known = new std::weak_ptr<record::Memory>();
  const guint64 bytes = guint64{mib} << 20;
  const std::lock_guard<std::mutex> lock(mutex);
  std::shared_ptr<record::Memory> memory = known->lock();
  if (!memory) {
    memory = std::make_shared<record::Memory>(bytes);
    *known = memory;
  }
  memory->raise(bytes);
  return memory;
}

static Status gst_dv_record_open(GstDvRecord* self) {
  GstDvRecordPrivate* priv = self->priv;
  const RecordSettings settings = record_settings_of(self);
  if (settings.location.empty()) {
    return invalid_argument("location names no folder for the clips: location=/var/clips");
  }
  DVNN_TRY(check_muxer(settings.container));
  DVNN_ASSIGN(priv->folder, record::ClipFolder::open(settings.location));
  priv->memory = shared_memory(settings.memory_mib);
  priv->stream = settings.stream.empty() ? GST_OBJECT_NAME(self) : settings.stream;
  return {};
}

void gst_dv_record_expect(const RecordPad& pad, const SharedCaps& documents,
                          record::Recorder* recorder, ClipWriters* writers) {
  if (pad.kind == TrackKind::kVideo) return;
  recorder->expect(pad.track, true);
  const bool text = pad.kind == TrackKind::kText;
  if (text) writers->set_upstream(pad.pad);
  writers->set_track(pad.track, {pad.kind, text ? documents : nullptr});
}

static void gst_dv_record_start(GstDvRecord* self) {
  GstDvRecordPrivate* priv = self->priv;
  const RecordSettings settings = record_settings_of(self);
  auto recorder = std::make_shared<record::Recorder>(priv->memory, kTrackCount);
  auto writers = std::make_shared<ClipWriters>(GST_ELEMENT(self), recorder, priv->folder, settings,
                                               priv->stream);
  recorder->set_rules(settings.rules());
  // The threads hold the writers, and these the recorder.
  recorder->begun = [weak = std::weak_ptr<ClipWriters>(writers)](const record::ClipPtr& clip) {
    const auto shared = weak.lock();
    return shared && shared->begin(clip);
  };
  writers->set_track(record::Ring::kVideo, {TrackKind::kVideo, nullptr});
  const SharedCaps documents = settings.documents ? document_caps() : nullptr;
  priv->documents = documents;
  priv->detections.begin(recorder, kDocumentTrack, documents, priv->stream, settings.documents);
  {
    const ObjectLock lock(self);
    for (const auto& pad : priv->pads) {
      pad->reset();
      gst_dv_record_expect(*pad, documents, recorder.get(), writers.get());
    }
    priv->recorder = recorder;
    priv->writers = writers;
  }
  priv->changed = true;
  GST_DEBUG_OBJECT(self, "keeps clips of '%s' in '%s'", priv->stream.c_str(),
                   settings.location.c_str());
  recorder->hold(settings.recording, nullptr);
  for (const std::string& path : priv->folder->recover(g_get_real_time() * 1000)) {
    ClipReport report;
    report.state = "recovered";
    report.stream = priv->stream;
    report.location = path;
    report.complete = false;
    writers->tell(report);
  }
  priv->folder->tidy(settings.quota(), g_get_real_time() * 1000);
}

static void gst_dv_record_stop(GstDvRecord* self) {
  GstDvRecordPrivate* priv = self->priv;
  if (!priv->recorder) return;
  priv->detections.end();
  priv->recorder->finish();
  if (!priv->writers->wait(record_settings_of(self).flush_timeout_ms, false)) {
    priv->recorder->abandon();
    post_warning(GST_ELEMENT(self), Topic::kFile,
                 {ErrorCode::kIo,
                  format("%s: clips could not be written within flush-timeout-ms, because the disk "
                         "is slow or dead",
                         GST_OBJECT_NAME(self))});
  }
  priv->writers->set_upstream(nullptr);
  const ObjectLock lock(self);
  priv->last_losses = priv->recorder->losses();
  priv->recorder.reset();
}

static bool gst_dv_record_prepare(GstDvRecord* self, GstStateChange transition) {
  if (!prepares(transition)) return true;
  if (!settings_are_right(GST_ELEMENT(self))) return false;
  return guard(self, "it cannot be prepared", false, [&] {
    const Status status = gst_dv_record_open(self);
    if (status.ok()) {
      if (transition == GST_STATE_CHANGE_READY_TO_PAUSED) gst_dv_record_start(self);
      return true;
    }
    post_error(GST_ELEMENT(self), Topic::kSettings,
               status.error().within(named_settings(
                   GST_ELEMENT(self), {{"location", record_settings_of(self).location}})));
    return false;
  });
}

// Completes the change to PAUSED, and to PLAYING if that was asked for meanwhile, as GstBaseSink
// does with its first buffer. The state lock is not taken: who holds it may wait for this thread.
void gst_dv_record_preroll(GstDvRecord* self, RecordPad* pad) {
  if (!self->priv->prerolls) return;
  const std::lock_guard<std::mutex> completing(self->priv->preroll_mutex);
  GstElement* element = GST_ELEMENT(self);
  GstState current, next, pending;
  {
    const ObjectLock lock(self);
    pad->prerolled = true;
    const auto& pads = self->priv->pads;
    const bool all = std::all_of(pads.begin(), pads.end(), [](const auto& one) {
      return one->prerolled || !GST_PAD_PEER(one->pad);
    });
    if (!all || !self->priv->prerolls.exchange(false)) return;
    current = GST_STATE(element);
    next = GST_STATE_NEXT(element);
    pending = GST_STATE_PENDING(element);
    if (pending != GST_STATE_PAUSED && pending != GST_STATE_PLAYING) return;
    GST_STATE(element) = pending;
    GST_STATE_NEXT(element) = GST_STATE_PENDING(element) = GST_STATE_VOID_PENDING;
    GST_STATE_RETURN(element) = GST_STATE_CHANGE_SUCCESS;
  }
  const auto tell = [element](GstState from, GstState to, GstState then) {
    gst_element_post_message(element,
                             gst_message_new_state_changed(GST_OBJECT(element), from, to, then));
  };
  const bool plays = pending == GST_STATE_PLAYING;
  if (current == GST_STATE_READY) tell(current, next, plays ? pending : GST_STATE_VOID_PENDING);
  gst_element_post_message(element,
                           gst_message_new_async_done(GST_OBJECT(element), GST_CLOCK_TIME_NONE));
  if (plays) tell(GST_STATE_PAUSED, pending, GST_STATE_VOID_PENDING);
  GST_STATE_BROADCAST(element);
}

static GstStateChangeReturn gst_dv_record_change_state(GstElement* element,
                                                       GstStateChange transition) {
  GstDvRecord* self = GST_DV_RECORD(element);
  if (!gst_dv_record_prepare(self, transition)) return GST_STATE_CHANGE_FAILURE;
  // As long as a stream has brought no data, the change to PAUSED is not complete, as that of other
  // sinks. A pipeline whose sinks are ready before decodebin may never play (GStreamer 1.22).
  const bool prerolls = transition == GST_STATE_CHANGE_READY_TO_PAUSED;
  if (prerolls) {
    self->priv->prerolls = true;
    gst_element_post_message(element, gst_message_new_async_start(GST_OBJECT(element)));
  }
  // A bin that plays before it is done with telling of its pause never tells of an end (GstBin,
  // posted_playing), so that nothing plays before that has been told.
  if (transition == GST_STATE_CHANGE_PAUSED_TO_PLAYING) {
    const std::lock_guard<std::mutex> completed(self->priv->preroll_mutex);
  }
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY) self->priv->prerolls = false;
  // A stream's end may wait for clips to be written.
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY) self->priv->writers->cancel_wait();
  const GstStateChangeReturn result =
      GST_ELEMENT_CLASS(gst_dv_record_parent_class)->change_state(element, transition);
  const bool failed =
      transition == GST_STATE_CHANGE_READY_TO_PAUSED && result == GST_STATE_CHANGE_FAILURE;
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY || failed) {
    guard(element, "it cannot be stopped", [&] { gst_dv_record_stop(self); });
  }
  if (transition == GST_STATE_CHANGE_READY_TO_NULL) {
    self->priv->folder.reset();
    self->priv->memory.reset();
  }
  return prerolls && !failed ? GST_STATE_CHANGE_ASYNC : result;
}

// --- properties --------------------------------------------------------------------------------

static void gst_dv_record_set_property(GObject* object, guint id, const GValue* value,
                                       GParamSpec*) {
  GstDvRecord* self = GST_DV_RECORD(object);
  GstDvRecordPrivate* priv = self->priv;
  const auto& properties = made_once<record_properties>();
  if (!properties.rows.set(GST_ELEMENT(object), &priv->settings, id, value)) return;
  priv->changed = true;
  std::shared_ptr<record::Recorder> recorder;
  std::shared_ptr<ClipWriters> writers;
  {
    const ObjectLock lock(self);
    recorder = priv->recorder;
    writers = priv->writers;
  }
  if (!recorder) return;
  guard(object, "a setting cannot be taken over", [&] {
    const RecordSettings settings = record_settings_of(self);
    recorder->set_rules(settings.rules());
    writers->set_quota(settings.quota());
    writers->set_posting(settings.post_messages);
    if (id == properties.recording) recorder->hold(settings.recording, nullptr);
  });
}

static GstStructure* gst_dv_record_counts(GstDvRecord* self) {
  GstDvRecordPrivate* priv = self->priv;
  std::shared_ptr<record::Recorder> recorder;
  std::shared_ptr<ClipWriters> writers;
  std::shared_ptr<record::ClipFolder> folder;
  record::Losses losses;
  {
    const ObjectLock lock(self);
    recorder = priv->recorder;
    writers = priv->writers;
    folder = priv->folder;
    losses = priv->last_losses;
  }
  if (recorder) losses = recorder->losses();
  const auto count = [&](auto member) -> guint64 {
    return writers ? (writers->counts().*member).load() : 0;
  };
  return gst_structure_new(
      "dvnn-record-counts", "clips", G_TYPE_UINT64, count(&ClipCounts::clips), "files",
      G_TYPE_UINT64, count(&ClipCounts::files), "failed", G_TYPE_UINT64, count(&ClipCounts::failed),
      "bytes", G_TYPE_UINT64, count(&ClipCounts::bytes), "removed", G_TYPE_UINT64,
      folder ? guint64{folder->removed()} : 0, "open", G_TYPE_UINT64,
      recorder ? guint64{recorder->clips()} : 0, "memory", G_TYPE_UINT64,
      recorder ? guint64{recorder->bytes()} : 0, "unwritten", G_TYPE_UINT64,
      guint64{losses.unwritten}, "undecodable", G_TYPE_UINT64, guint64{losses.undecodable},
      "refused", G_TYPE_UINT64, guint64{losses.refused}, "missed", G_TYPE_UINT64,
      guint64{losses.missed}, nullptr);
}

static void gst_dv_record_get_property(GObject* object, guint id, GValue* value, GParamSpec*) {
  GstDvRecord* self = GST_DV_RECORD(object);
  if (id == prop_counts) {
    guard(object, "its counts cannot be told",
          [&] { g_value_take_boxed(value, gst_dv_record_counts(self)); });
    return;
  }
  made_once<record_properties>().rows.get(GST_ELEMENT(object), &self->priv->settings, id, value);
}

static void gst_dv_record_init(GstDvRecord* self) {
  GST_OBJECT_FLAG_SET(self, GST_ELEMENT_FLAG_SINK);
  self->priv = new GstDvRecordPrivate();
  gst_dv_record_add_video_pad(self);
}

static void gst_dv_record_class_init(GstDvRecordClass* klass) {
  GObjectClass* object_class = G_OBJECT_CLASS(klass);
  GstElementClass* element_class = GST_ELEMENT_CLASS(klass);
  own_private<GstDvRecord>(object_class);
  object_class->set_property = gst_dv_record_set_property;
  object_class->get_property = gst_dv_record_get_property;
  prop_counts = made_once<record_properties>().rows.install(object_class) + 1;
  g_object_class_install_property(
      object_class, prop_counts,
      g_param_spec_boxed(
          "counts", "Counts",
          "Since the start: clips and files, failures, bytes, removed clips, memory, and what was "
          "not recorded (docs/record.md)",
          GST_TYPE_STRUCTURE, static_cast<GParamFlags>(G_PARAM_READABLE | G_PARAM_STATIC_STRINGS)));
  /**
   * GstDvRecord::record:
   * @text: why, for the clip's list of events
   *
   * Begins a clip with what came before, or keeps one going, as an event of this moment does.
   *
   * Returns: whether clips are recorded now
   */
  g_signal_new_class_handler("record", G_TYPE_FROM_CLASS(klass),
                             static_cast<GSignalFlags>(G_SIGNAL_RUN_LAST | G_SIGNAL_ACTION),
                             G_CALLBACK(gst_dv_record_record), nullptr, nullptr, nullptr,
                             G_TYPE_BOOLEAN, 1, G_TYPE_STRING);
  gst_element_class_set_static_metadata(
      element_class, "DV event recorder", "Sink/File/Video",
      "Records clips of events in an encoded stream, with what came before", "gst-dvnn developers");
  element_class->change_state = GST_DEBUG_FUNCPTR(gst_dv_record_change_state);
  element_class->send_event = GST_DEBUG_FUNCPTR(gst_dv_record_send_event);
  gst_dv_record_install_pads(element_class);
}

}  // namespace dvnn::gst
