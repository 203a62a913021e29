// SPDX-License-Identifier: Apache-2.0
/**
 * SECTION:element-dvtrack
 * @title: dvtrack
 * @short_description: follows objects from frame to frame
 *
 * dvtrack gives the objects of a frame's #GstDvObjectsMeta the `track_id` of the thing that they
 * show, the same in every frame. It counts in milliseconds, not in frames: it does the same at any
 * frame rate, and where only some frames are inferred. To those that are not, it adds the objects
 * where they are expected (`predicted`), so that overlays, zones and applications see every frame.
 *
 * Something is a track once its detections are evidence enough (#GstDvTrack:min-evidence); it is
 * lost where an inferred frame does not show it, and ends after #GstDvTrack:max-lost-ms
 * milliseconds without being found again, or when it leaves the frame. Ids count from 1 in each
 * stream, in the order in which tracks are confirmed, and are not given twice. Where the stream
 * jumps, all tracks end.
 *
 * Objects of less confidence than #GstDvTrack:min-confidence-find keep a track that was just seen,
 * which helps where things hide each other: let dvdecode pass them (`threshold=0.1`). Objects that
 * carry embeddings are also told apart by these.
 *
 * Tracks are also written to the objects' #GstVideoRegionOfInterestMeta (`track-id`, and `id` in a
 * structure `object_id`) and, with GStreamer 1.24 or newer, to #GstAnalyticsRelationMeta.
 *
 * Where the camera moves (#GstDvTrack:camera), tracks move with it. A #GstDvCameraMeta that a frame
 * has says how; else dvtrack estimates it and attaches one.
 *
 * ## Messages
 *
 * `dvnn-track-started` when a track is confirmed, `dvnn-track-ended` when it ends: `timestamp`,
 * `stream-time`, `running-time` (guint64) of the frame at which this was found out, `track-id`
 * (guint64), `network`, `label` (string), `class-id` (int), `first` and `last` (guint64), the
 * timestamps of its first and last detection. When it starts, `confidence` and `x0`, `y0`, `x1`,
 * `y1` (double). When it ends, `detections` (uint), `path` (an array of doubles: x and y of the
 * middle, at most 64 points evenly in time), `path-times` (an array of guint64) and `best-view`, a
 * structure with `timestamp`, `confidence`, `x0`, `y0`, `x1` and `y1` of the detection that shows
 * it best. The same structures are sent downstream as serialised custom events.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 -m videotestsrc num-buffers=100 ! dvconvert ! dvinfer interval-frames=5 ! dvdecode
 * threshold=0.1 ! dvtrack ! dvoverlay color-by=track ! videoconvert ! autovideosink
 * ]| Infers every fifth frame, shows boxes on all of them, and prints when tracks start and end.
 */
#include "elements/dvtrack/dvtrack.h"

#include <gst/video/video.h>

#include "elements/dvtrack/framecamera.h"
#include "elements/dvtrack/streamtracks.h"
#include "elements/dvtrack/tracksettings.h"
#include "elements/foundevents.h"
#include "elements/objectclass.h"
#include "frames/videocaps.h"
#include "guard.h"
#include "properties.h"
#include "refs.h"
#include "times.h"

GST_DEBUG_CATEGORY_STATIC(dv_track_debug);
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT dv_track_debug

using dvnn::gst::made_once;
using dvnn::gst::ObjectLock;
using dvnn::gst::own_private;
using dvnn::gst::own_properties;
using dvnn::gst::StreamTracks;
using dvnn::gst::track_properties;
using dvnn::gst::TrackMoment;
using dvnn::gst::TrackNames;
using dvnn::gst::TrackSettings;

namespace {

// The interval of frames without a time, in streams without a rate.
constexpr GstClockTime kUsualInterval = 40 * GST_MSECOND;

}  // namespace

struct GstDvTrackPrivate {
  explicit GstDvTrackPrivate(GstDvTrack* self);

  // Under the object lock.
  TrackSettings settings;
  // Streaming thread only.
  TrackSettings current;  // for this frame
  dvnn::image::Size size;
  GstClockTime interval = kUsualInterval, last = GST_CLOCK_TIME_NONE;
  TrackMoment moment;  // of this frame
  dvnn::gst::FrameCamera camera;
  StreamTracks tracks;
  dvnn::gst::FoundEvents found;
};

struct _GstDvTrack {
  GstBaseTransform parent;
  GstDvTrackPrivate* priv;
};

G_DEFINE_TYPE(GstDvTrack, gst_dv_track, GST_TYPE_BASE_TRANSFORM)
GST_ELEMENT_REGISTER_DEFINE(dvtrack, "dvtrack", GST_RANK_NONE, GST_TYPE_DV_TRACK)

static GstStaticPadTemplate dv_track_sink_template = GST_STATIC_PAD_TEMPLATE(
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS("video/x-raw(ANY)"));
static GstStaticPadTemplate dv_track_src_template = GST_STATIC_PAD_TEMPLATE(
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS("video/x-raw(ANY)"));

static void gst_dv_track_tell(GstDvTrack* self, StreamTracks::Change change,
                              const dvnn::track::Track& track, const TrackNames& names) {
  const bool started = change == StreamTracks::Change::kStarted;
  GST_DEBUG_OBJECT(self, "track %" G_GUINT64_FORMAT ", '%s', %s", track.id, names.label.c_str(),
                   started ? "starts" : "ends");
  const auto create = started ? dvnn::gst::track_started_message : dvnn::gst::track_ended_message;
  dvnn::gst::MessagePtr message(create(GST_ELEMENT(self), track, names, self->priv->moment));
  self->priv->found.tell(gst_message_get_structure(message.get()));
  if (!self->priv->current.post_messages) return;
  gst_element_post_message(GST_ELEMENT(self), message.release());
}

GstDvTrackPrivate::GstDvTrackPrivate(GstDvTrack* self)
    : tracks([self](StreamTracks::Change change, const dvnn::track::Track& track,
                    const TrackNames& names) { gst_dv_track_tell(self, change, track, names); }),
      found(GST_BASE_TRANSFORM_SRC_PAD(self)) {}

// --- frames ------------------------------------------------------------------------------------

// Frames without a time follow each other at the stream's rate.
static GstClockTime gst_dv_track_time_of(GstDvTrack* self, GstBuffer* frame) {
  GstDvTrackPrivate& priv = *self->priv;
  GstClockTime time = GST_BUFFER_PTS(frame);
  if (!GST_CLOCK_TIME_IS_VALID(time) || time > G_MAXINT64) {
    time = GST_CLOCK_TIME_IS_VALID(priv.last) ? priv.last + priv.interval : 0;
    if (time > G_MAXINT64) time = 0;  // in streams of a frame in centuries
  }
  priv.last = time;
  return time;
}

static void gst_dv_track_follow_camera(GstDvTrackPrivate* priv, GstBuffer* frame,
                                       GstClockTime time) {
  priv->camera.configure(priv->current.camera);
  if (priv->current.camera == dvnn::motion::Camera::kStatic) return;
  const auto motion = priv->camera.follow(frame, time);
  if (motion) priv->tracks.move(*motion);
}

static GstFlowReturn gst_dv_track_transform_ip(GstBaseTransform* trans, GstBuffer* frame) {
  return dvnn::gst::guard(
      trans, "the frame's objects cannot be followed", GST_FLOW_ERROR, [&]() -> GstFlowReturn {
        GstDvTrack* self = GST_DV_TRACK(trans);
        GstDvTrackPrivate& priv = *self->priv;
        {
          const ObjectLock lock(self);
          priv.current = priv.settings;
        }
        priv.tracks.configure(priv.current);
        priv.moment = {GST_BUFFER_PTS(frame), dvnn::gst::stream_time(trans->segment, frame),
                       dvnn::gst::running_time(trans->segment, frame)};
        const GstClockTime time = gst_dv_track_time_of(self, frame);
        gst_dv_track_follow_camera(&priv, frame, time);
        priv.tracks.follow(frame, time, dvnn::gst::frame_size(frame, self->priv->size));
        if (const GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame)) {
          GST_LOG_OBJECT(self, "frame at %" GST_TIME_FORMAT ": %u objects", GST_TIME_ARGS(time),
                         gst_dv_objects_meta_get_n_objects(meta));
        }
        return GST_FLOW_OK;
      });
}

static void gst_dv_track_before_transform(GstBaseTransform* trans, GstBuffer* frame) {
  dvnn::gst::sync_properties(trans, trans->segment, frame);
}

// --- stream ------------------------------------------------------------------------------------

// Boxes of another size are at other places.
static gboolean gst_dv_track_set_caps(GstBaseTransform* trans, GstCaps* incaps, GstCaps*) {
  return dvnn::gst::guard(trans, "the stream's tracks cannot end", FALSE, [&]() -> gboolean {
    GstDvTrackPrivate& priv = *GST_DV_TRACK(trans)->priv;
    const dvnn::image::Size size = dvnn::gst::frame_size(incaps);
    if (size.width != priv.size.width || size.height != priv.size.height) priv.tracks.end();
    priv.size = size;
    priv.camera.set_caps(incaps);
    gint n = 0, d = 1;
    const GstStructure* fields = gst_caps_get_structure(incaps, 0);
    const bool rated = gst_structure_get_fraction(fields, "framerate", &n, &d) && n > 0 && d > 0;
    priv.interval = rated ? gst_util_uint64_scale_int(GST_SECOND, d, n) : kUsualInterval;
    return size.width > 0 && size.height > 0;
  });
}

static gboolean gst_dv_track_sink_event(GstBaseTransform* trans, GstEvent* event) {
  GstDvTrackPrivate& priv = *GST_DV_TRACK(trans)->priv;
  switch (GST_EVENT_TYPE(event)) {
    case GST_EVENT_FLUSH_STOP:
      priv.found.hold();
      [[fallthrough]];
    case GST_EVENT_EOS:
      dvnn::gst::guard(trans, "the stream's tracks cannot end", [&] { priv.tracks.end(); });
      priv.camera.reset();
      priv.last = GST_CLOCK_TIME_NONE;
      break;
    case GST_EVENT_STREAM_START:
      dvnn::gst::guard(trans, "the stream's tracks cannot end", [&] {
        priv.tracks.end();
        priv.tracks.reset();
        priv.camera.reset();
      });
      priv.last = GST_CLOCK_TIME_NONE;
      break;
    default:
      break;
  }
  const gboolean taken =
      GST_BASE_TRANSFORM_CLASS(gst_dv_track_parent_class)->sink_event(trans, event);
  priv.found.release();
  return taken;
}

static gboolean gst_dv_track_stop(GstBaseTransform* trans) {
  GstDvTrackPrivate& priv = *GST_DV_TRACK(trans)->priv;
  priv.tracks.reset();
  priv.camera.reset();
  priv.size = {};
  priv.last = GST_CLOCK_TIME_NONE;
  return TRUE;
}

// --- object ------------------------------------------------------------------------------------

static void gst_dv_track_init(GstDvTrack* self) {
  self->priv = new GstDvTrackPrivate(self);
  gst_base_transform_set_in_place(GST_BASE_TRANSFORM(self), TRUE);
}

static void gst_dv_track_class_init(GstDvTrackClass* klass) {
  GObjectClass* object_class = G_OBJECT_CLASS(klass);
  GstElementClass* element_class = GST_ELEMENT_CLASS(klass);
  GstBaseTransformClass* trans_class = GST_BASE_TRANSFORM_CLASS(klass);
  GST_DEBUG_CATEGORY_INIT(dv_track_debug, "dvtrack", 0, "Tracking of objects");
  own_private<GstDvTrack>(object_class);
  own_properties<GstDvTrack, made_once<track_properties>>(object_class);
  gst_element_class_set_static_metadata(
      element_class, "DV object tracker", "Filter/Analyzer/Video",
      "Follows the objects that dvdecode attached from frame to frame", "gst-dvnn developers");
  gst_element_class_add_static_pad_template(element_class, &dv_track_sink_template);
  gst_element_class_add_static_pad_template(element_class, &dv_track_src_template);
  trans_class->stop = GST_DEBUG_FUNCPTR(gst_dv_track_stop);
  trans_class->set_caps = GST_DEBUG_FUNCPTR(gst_dv_track_set_caps);
  trans_class->sink_event = GST_DEBUG_FUNCPTR(gst_dv_track_sink_event);
  trans_class->before_transform = GST_DEBUG_FUNCPTR(gst_dv_track_before_transform);
  trans_class->transform_ip = GST_DEBUG_FUNCPTR(gst_dv_track_transform_ip);
}
