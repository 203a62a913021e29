// SPDX-License-Identifier: Apache-2.0
/**
 * SECTION:element-dvrecall
 * @title: dvrecall
 * @short_description: gives frames of a recorded clip the objects that were found in them
 *
 * dvrecall takes the video of a clip that dvrecord has written, decoded, on its pad `video`, and
 * the clip's documents on its pad `text`. A frame leaves with the document of its time: the objects
 * and the networks that have seen it, as dvdecode and dvtrack had attached them
 * (#GstDvObjectsMeta), scaled to the frame's size. So dvoverlay draws them again, dvpublish
 * publishes them, and dvzones finds what happened at other lines.
 *
 * A document belongs to a frame if it is the last one that had begun by the middle of the frame,
 * and has not ended by then; so it is the frame's own, or the last one before it where detections
 * had a lower rate. Frames without a document pass as they are. A document that cannot be read is
 * left out; there is one warning until the next stream.
 *
 * The text may come before the video or after it. A frame waits for it for at most
 * #GstDvRecall:max-wait-ms; a text that never comes is waited for once. Where one thread brings
 * both, such as a demuxer's, up to three frames are held back instead. 64 MiB of documents may wait
 * for their frames; what comes beyond is left out, with the same warning.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 filesrc location=clip.mkv ! matroskademux name=d  d. ! decodebin ! dvrecall name=r
 * ! dvoverlay ! videoconvert ! autovideosink  d.subtitle_0 ! r.text
 * ]| Plays a clip with its boxes.
 * |[
 * gst-launch-1.0 filesrc location=clip.mp4 ! decodebin ! dvrecall name=r ! dvoverlay ! videoconvert
 * ! autovideosink  filesrc location=clip.vtt ! subparse ! r.text
 * ]| The same of an MP4 file, whose documents are in a file beside it.
 *
 * Since: 0.1.0
 */
#include "elements/elements.h"

#include <gst/video/video.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "base/format.h"
#include "elements/dvrecall/framedocument.h"
#include "elements/dvrecall/textside.h"
#include "elements/objectclass.h"
#include "errors.h"
#include "frames/caps.h"
#include "log.h"
#include "publish/document_reader.h"
#include "refs.h"
#include "times.h"

DVNN_LOG_CATEGORY(recall_category, "dvrecall", "Documents of recorded clips")
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT recall_category()

namespace dvnn::gst {

G_DECLARE_FINAL_TYPE(GstDvRecall, gst_dv_recall, GST, DV_RECALL, GstElement)

namespace {

struct RecallSettings {
  guint max_wait_ms = 1000;
};

Properties<RecallSettings> recall_properties() {
  constexpr guint kLongestWait = 60000;
  Properties<RecallSettings> table;
  table.number(&RecallSettings::max_wait_ms, When::kPlaying, 0, kLongestWait,
               {"max-wait-ms", "Longest wait",
                "Milliseconds for which a frame waits for the text to come as far; 0: never"});
  return table;
}

// The document of the current cue, as it was read.
struct ReadCue {
  CuePtr cue;
  std::optional<publish::Document> document;
};

// A frame that may wait for its document: its running time, and half its duration.
struct HeldFrame {
  BufferPtr frame;
  int64_t start = 0, half = 0;
};
// No more frames are held than a decoder's pool can do without.
constexpr size_t kMostHeld = 3;

}  // namespace

struct GstDvRecallPrivate {
  RecallSettings settings;  // under the object lock
  GstPad *video = nullptr, *text = nullptr, *src = nullptr;
  TextSide cues;
  std::atomic<bool> warned{false};  // of this stream's documents
  // Of the video's thread.
  GstSegment segment;
  image::Size size;
  GstClockTime interval = 0;  // of frames without a duration
  ReadCue read;
  std::deque<HeldFrame> held;
  GstFlowReturn flow = GST_FLOW_OK;  // of what was pushed last
};

struct _GstDvRecall {
  GstElement parent;
  GstDvRecallPrivate* priv;
};

G_DEFINE_TYPE(GstDvRecall, gst_dv_recall, GST_TYPE_ELEMENT)
GST_ELEMENT_REGISTER_DEFINE(dvrecall, "dvrecall", GST_RANK_NONE, gst_dv_recall_get_type())

static GstStaticPadTemplate dv_recall_video_template = GST_STATIC_PAD_TEMPLATE(
    "video", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS("video/x-raw(ANY)"));
static GstStaticPadTemplate dv_recall_text_template = GST_STATIC_PAD_TEMPLATE(
    "text", GST_PAD_SINK, GST_PAD_ALWAYS,
    GST_STATIC_CAPS("text/x-raw, format = (string) { utf8, pango-markup }"));
static GstStaticPadTemplate dv_recall_src_template = GST_STATIC_PAD_TEMPLATE(
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS("video/x-raw(ANY)"));

static void gst_dv_recall_warn(GstDvRecall* self, const Error& error) {
  GST_INFO_OBJECT(self, "%s", error.message.c_str());
  if (self->priv->warned.exchange(true)) return;
  post_warning(GST_ELEMENT(self), Topic::kData, error.within("a document is left out"));
}

// --- video -------------------------------------------------------------------------------------

// Returns the frame's document among the lines of a cue; nothing if it has none.
static std::optional<publish::Document> gst_dv_recall_read(GstDvRecall* self,
                                                           const std::string& text) {
  constexpr int kMostLines = 20000;  // more than dvrecord writes
  int lines = 0;
  for (size_t at = 0; at < text.size() && lines < kMostLines; ++lines) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    auto read = publish::read_line(line);
    if (!read.ok()) {
      gst_dv_recall_warn(self, read.error());
      continue;
    }
    if (std::holds_alternative<publish::FrameFacts>(read.value().document.facts)) {
      return std::move(read.value().document);
    }
  }
  return std::nullopt;
}

// Gives a frame its objects, as far as its document is known now.
static BufferPtr gst_dv_recall_recall(GstDvRecall* self, HeldFrame held) {
  GstDvRecallPrivate* priv = self->priv;
  BufferPtr frame = std::move(held.frame);
  const CuePtr cue = priv->cues.take(held.start, held.half);
  GST_LOG_OBJECT(self, "frame at %" GST_STIME_FORMAT ": %zu bytes of documents",
                 GST_STIME_ARGS(held.start), cue ? cue->text.size() : 0);
  if (!cue) return frame;
  if (cue != priv->read.cue) priv->read = {cue, gst_dv_recall_read(self, cue->text)};
  if (!priv->read.document) return frame;
  frame.reset(gst_buffer_make_writable(frame.release()));
  attach_facts(*priv->read.document, frame_size(frame.get(), priv->size), frame.get());
  return frame;
}

// Lets the held frames go that need not wait for the text: all, those whose documents are known, or
// the first ones, if there are too many.
static void gst_dv_recall_release(GstDvRecall* self, bool all) {
  GstDvRecallPrivate* priv = self->priv;
  while (!priv->held.empty()) {
    HeldFrame& first = priv->held.front();
    const bool known = all || priv->cues.is_known(first.start, first.half);
    if (!known && priv->held.size() <= kMostHeld) return;
    if (!known) priv->cues.give_up();
    HeldFrame held = std::move(first);
    priv->held.pop_front();
    priv->flow = gst_pad_push(priv->src, gst_dv_recall_recall(self, std::move(held)).release());
  }
}

static GstFlowReturn gst_dv_recall_take(GstDvRecall* self, BufferPtr frame) {
  GstDvRecallPrivate* priv = self->priv;
  const GstClockTime duration =
      GST_BUFFER_DURATION_IS_VALID(frame.get()) ? GST_BUFFER_DURATION(frame.get()) : priv->interval;
  HeldFrame held;
  if (!signed_running_time(priv->segment, GST_BUFFER_PTS(frame.get()), &held.start)) {
    gst_dv_recall_release(self, true);
    return gst_pad_push(priv->src, frame.release());
  }
  const double rate = std::max(std::fabs(priv->segment.rate), 1e-3);
  held.half = static_cast<int64_t>(
      static_cast<double>(std::min<GstClockTime>(duration, GST_SECOND)) / rate / 2);
  held.frame = std::move(frame);
  const guint wait = [&] {
    const ObjectLock lock(self);
    return priv->settings.max_wait_ms;
  }();
  const bool waits = wait > 0 && gst_pad_is_linked(priv->text), here = priv->cues.frames_come();
  priv->flow = GST_FLOW_OK;
  if (waits && !here) {
    priv->cues.wait_for(held.start, held.half, std::chrono::milliseconds(wait));
  }
  priv->held.push_back(std::move(held));
  gst_dv_recall_release(self, !waits || !here);
  return priv->flow;
}

static GstFlowReturn gst_dv_recall_chain_video(GstPad*, GstObject* parent, GstBuffer* buffer) {
  BufferPtr owner(buffer);
  return guard(parent, "a frame cannot get its objects", GST_FLOW_ERROR,
               [&] { return gst_dv_recall_take(GST_DV_RECALL(parent), std::move(owner)); });
}

// What the text has told may be what frames are held for, if they come on this thread, too. Else
// their thread may wait for the text, and has the lock.
static void gst_dv_recall_go_on(GstDvRecall* self) {
  GstDvRecallPrivate* priv = self->priv;
  if (!priv->cues.frames_are_here()) return;
  GST_PAD_STREAM_LOCK(priv->video);
  gst_dv_recall_release(self, false);
  GST_PAD_STREAM_UNLOCK(priv->video);
}

static void gst_dv_recall_set_caps(GstDvRecall* self, const GstCaps* caps) {
  GstDvRecallPrivate* priv = self->priv;
  gint n = 0, d = 1;
  const GstStructure* fields = gst_caps_get_structure(caps, 0);
  const bool rated = gst_structure_get_fraction(fields, "framerate", &n, &d) && n > 0 && d > 0;
  priv->interval = rated ? gst_util_uint64_scale_int(GST_SECOND, d, n) : 2 * GST_MSECOND;
  priv->size = frame_size(caps);
}

static void gst_dv_recall_see_video_event(GstDvRecall* self, GstEvent* event) {
  GstDvRecallPrivate* priv = self->priv;
  // What comes after frames leaves after them.
  if (GST_EVENT_IS_SERIALIZED(event) && GST_EVENT_TYPE(event) != GST_EVENT_FLUSH_STOP) {
    gst_dv_recall_release(self, true);
  }
  switch (GST_EVENT_TYPE(event)) {
    case GST_EVENT_CAPS: {
      GstCaps* caps = nullptr;
      gst_event_parse_caps(event, &caps);
      gst_dv_recall_set_caps(self, caps);
      break;
    }
    case GST_EVENT_SEGMENT:
      gst_event_copy_segment(event, &priv->segment);
      break;
    case GST_EVENT_FLUSH_START:
      priv->cues.set_flushing(true);
      break;
    case GST_EVENT_FLUSH_STOP:
      priv->cues.set_flushing(false);
      gst_segment_init(&priv->segment, GST_FORMAT_UNDEFINED);
      priv->read = {};
      priv->held.clear();
      break;
    default:
      break;
  }
}

static gboolean gst_dv_recall_video_event(GstPad* pad, GstObject* parent, GstEvent* event) {
  guard(parent, "an event cannot be handled",
        [&] { gst_dv_recall_see_video_event(GST_DV_RECALL(parent), event); });
  return gst_pad_event_default(pad, parent, event);
}

// Who asks for what is left to come, or for memory, gets the held frames first.
static gboolean gst_dv_recall_video_query(GstPad* pad, GstObject* parent, GstQuery* query) {
  if (GST_QUERY_IS_SERIALIZED(query)) {
    guard(parent, "frames cannot be passed on",
          [&] { gst_dv_recall_release(GST_DV_RECALL(parent), true); });
  }
  return gst_pad_query_default(pad, parent, query);
}

// A seek goes to both streams: they may be of different files. A demuxer that has both takes one.
static gboolean gst_dv_recall_src_event(GstPad* pad, GstObject* parent, GstEvent* event) {
  GstDvRecallPrivate* priv = GST_DV_RECALL(parent)->priv;
  if (GST_EVENT_TYPE(event) != GST_EVENT_SEEK || !gst_pad_is_linked(priv->text)) {
    return gst_pad_event_default(pad, parent, event);
  }
  const gboolean taken = gst_pad_push_event(priv->video, gst_event_ref(event));
  (void)gst_pad_push_event(priv->text, event);
  return taken;
}

// --- text --------------------------------------------------------------------------------------

static GstFlowReturn gst_dv_recall_chain_text(GstPad*, GstObject* parent, GstBuffer* buffer) {
  const BufferPtr owner(buffer);
  return guard(parent, "a document cannot be taken", GST_FLOW_ERROR, [&] {
    GstDvRecall* self = GST_DV_RECALL(parent);
    const BufferMap map(buffer, GST_MAP_READ);
    if (!map.ok()) return GST_FLOW_OK;
    constexpr const char* kTooMany = "more than 64 MiB of documents come before their frames";
    std::string text;
    // Escapes may make a line six times as long.
    if (map.size() <= 6 * publish::kMostLineBytes) {
      text = without_markup({reinterpret_cast<const char*>(map.data()), map.size()});
    }
    GST_LOG_OBJECT(self, "%zu bytes of documents at %" GST_TIME_FORMAT, text.size(),
                   GST_TIME_ARGS(GST_BUFFER_PTS(buffer)));
    if (!self->priv->cues.add(buffer, std::move(text))) {
      gst_dv_recall_warn(self, too_large(kTooMany));
    }
    gst_dv_recall_go_on(self);
    return GST_FLOW_OK;
  });
}

static void gst_dv_recall_take_text_event(GstDvRecall* self, GstEvent* event) {
  TextSide& cues = self->priv->cues;
  switch (GST_EVENT_TYPE(event)) {
    case GST_EVENT_STREAM_START:
      self->priv->warned = false;
      cues.begin_stream();
      break;
    case GST_EVENT_SEGMENT: {
      const GstSegment* segment = nullptr;
      gst_event_parse_segment(event, &segment);
      cues.set_segment(*segment);
      break;
    }
    case GST_EVENT_GAP: {
      GstClockTime time = GST_CLOCK_TIME_NONE, duration = GST_CLOCK_TIME_NONE;
      gst_event_parse_gap(event, &time, &duration);
      cues.gap(time, duration);
      break;
    }
    case GST_EVENT_FLUSH_STOP:
      cues.flush();
      break;
    case GST_EVENT_EOS:
      cues.end();
      break;
    default:
      break;
  }
}

// The text ends here, and so do its events.
static gboolean gst_dv_recall_text_event(GstPad*, GstObject* parent, GstEvent* event) {
  const EventPtr owner(event);
  guard(parent, "an event cannot be handled", [&] {
    GstDvRecall* self = GST_DV_RECALL(parent);
    gst_dv_recall_take_text_event(self, event);
    const GstEventType type = GST_EVENT_TYPE(event);
    if (type == GST_EVENT_GAP || type == GST_EVENT_EOS) gst_dv_recall_go_on(self);
  });
  return TRUE;
}

// --- the element -------------------------------------------------------------------------------

// Frames pass from `video` to `src`; nothing passes from `text`.
static GstIterator* gst_dv_recall_links(GstPad* pad, GstObject* parent) {
  GstDvRecallPrivate* priv = GST_DV_RECALL(parent)->priv;
  GstPad* other = pad == priv->video ? priv->src : pad == priv->src ? priv->video : nullptr;
  if (!other) return nullptr;
  Value value(GST_TYPE_PAD);
  g_value_set_object(value.get(), other);
  return gst_iterator_new_single(GST_TYPE_PAD, value.get());
}

static GstStateChangeReturn gst_dv_recall_change_state(GstElement* element,
                                                       GstStateChange transition) {
  GstDvRecallPrivate* priv = GST_DV_RECALL(element)->priv;
  if (transition == GST_STATE_CHANGE_READY_TO_PAUSED) {
    priv->cues.start();
    priv->warned = false;
    priv->read = {};
    priv->held.clear();
    gst_segment_init(&priv->segment, GST_FORMAT_UNDEFINED);
  }
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY) priv->cues.stop();
  const GstStateChangeReturn result = change_state_if_right(element, transition);
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY) priv->held.clear();
  return result;
}

static GstPad* gst_dv_recall_add_pad(GstDvRecall* self, GstStaticPadTemplate* from) {
  GstPad* pad = gst_pad_new_from_static_template(from, from->name_template);
  gst_pad_set_iterate_internal_links_function(pad, GST_DEBUG_FUNCPTR(gst_dv_recall_links));
  gst_element_add_pad(GST_ELEMENT(self), pad);
  return pad;
}

static void gst_dv_recall_init(GstDvRecall* self) {
  GstDvRecallPrivate* priv = self->priv = new GstDvRecallPrivate();
  gst_segment_init(&priv->segment, GST_FORMAT_UNDEFINED);
  priv->video = gst_dv_recall_add_pad(self, &dv_recall_video_template);
  gst_pad_set_chain_function(priv->video, GST_DEBUG_FUNCPTR(gst_dv_recall_chain_video));
  gst_pad_set_event_function(priv->video, GST_DEBUG_FUNCPTR(gst_dv_recall_video_event));
  gst_pad_set_query_function(priv->video, GST_DEBUG_FUNCPTR(gst_dv_recall_video_query));
  priv->text = gst_dv_recall_add_pad(self, &dv_recall_text_template);
  gst_pad_set_chain_function(priv->text, GST_DEBUG_FUNCPTR(gst_dv_recall_chain_text));
  gst_pad_set_event_function(priv->text, GST_DEBUG_FUNCPTR(gst_dv_recall_text_event));
  priv->src = gst_dv_recall_add_pad(self, &dv_recall_src_template);
  gst_pad_set_event_function(priv->src, GST_DEBUG_FUNCPTR(gst_dv_recall_src_event));
  for (GstPad* pad : {priv->video, priv->src}) {
    GST_PAD_SET_PROXY_CAPS(pad);
    GST_PAD_SET_PROXY_ALLOCATION(pad);
    GST_PAD_SET_PROXY_SCHEDULING(pad);
  }
}

static void gst_dv_recall_class_init(GstDvRecallClass* klass) {
  GObjectClass* object_class = G_OBJECT_CLASS(klass);
  GstElementClass* element_class = GST_ELEMENT_CLASS(klass);
  own_private<GstDvRecall>(object_class);
  own_properties<GstDvRecall, made_once<recall_properties>>(object_class);
  element_class->change_state = GST_DEBUG_FUNCPTR(gst_dv_recall_change_state);
  gst_element_class_add_static_pad_template(element_class, &dv_recall_video_template);
  gst_element_class_add_static_pad_template(element_class, &dv_recall_text_template);
  gst_element_class_add_static_pad_template(element_class, &dv_recall_src_template);
  gst_element_class_set_static_metadata(
      element_class, "DV clip's objects", "Filter/Analyzer/Video",
      "Gives frames of a recorded clip the objects that were found in them", "gst-dvnn developers");
}

}  // namespace dvnn::gst
