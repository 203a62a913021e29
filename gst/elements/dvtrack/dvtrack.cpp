// SPDX-License-Identifier: Apache-2.0
/**
 * SECTION:element-dvtrack
 * @title: dvtrack
 * @short_description: follows objects from frame to frame
 *
 * dvtrack gives the objects of a frame's #GstDvObjectsMeta the `track_id` of the thing that they
 * show, the same in every frame. It counts in milliseconds, not in frames, so it works alike at any
 * frame rate, and if only some frames are inferred. To the other frames it adds the objects where
 * they are expected (`predicted`), so that overlays, zones and applications have them in every
 * frame.
 *
 * A track is confirmed once its detections are evidence enough (#GstDvTrack:min-evidence). It is
 * lost if an inferred frame does not show it, and ends after #GstDvTrack:max-lost-ms milliseconds
 * without being found again, or when it leaves the frame. Ids count from 1 in each stream, in the
 * order in which tracks are confirmed, and are never reused. If the stream jumps, all tracks end.
 *
 * Objects of less confidence than #GstDvTrack:min-confidence-find keep a track that was just seen,
 * which helps where things hide each other: let dvdecode pass them (`threshold=0.1`). Objects that
 * carry embeddings are also told apart by these.
 *
 * Tracks are also written to the objects' #GstVideoRegionOfInterestMeta (`track-id`, and `id` in a
 * structure `object_id`) and, with GStreamer 1.24 or newer, to #GstAnalyticsRelationMeta.
 *
 * If the camera moves (#GstDvTrack:camera), tracks move with it. Its motion is that of the frame's
 * #GstDvCameraMeta; if there is none, dvtrack estimates the motion and attaches one.
 *
 * ## Messages
 *
 * `dvnn-track-started` is posted when a track is confirmed, `dvnn-track-ended` when it ends. Both
 * have `timestamp`, `stream-time`, `running-time` (guint64) of the frame at which this was found
 * out, `track-id` (guint64), `network`, `label` (string), `class-id` (int), `first` and `last`
 * (guint64), the timestamps of its first and last detection. `dvnn-track-started` also has
 * `confidence` and `x0`, `y0`, `x1`, `y1` (double); `dvnn-track-ended` has `detections` (uint),
 * `path` (an array of doubles: x and y of the
 * middle, at most 64 points evenly in time), `path-times` (an array of guint64) and `best-view`, a
 * structure with `timestamp`, `confidence`, `x0`, `y0`, `x1` and `y1` of the detection that shows
 * it best. The same structures are sent downstream as serialised custom events.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 -m videotestsrc num-buffers=100 ! dvconvert ! dvinfer interval-frames=5 ! dvdecode
 * threshold=0.1 ! dvtrack ! dvoverlay color-by=track ! videoconvert ! autovideosink
 * ]| Infers every fifth frame, shows boxes on all of them, and prints when tracks start and end.
 *
 * Since: 0.1.0
 */
#include "elements/elements.h"

#include <gst/video/video.h>

#include <optional>

#include "elements/dvtrack/streamtracks.h"
#include "elements/dvtrack/tracksettings.h"
#include "elements/neighbours.h"
#include "frames/camerasteps.h"
#include "frames/caps.h"
#include "frames/frameluma.h"
#include "gst/dvnn/gstdvcamerameta.h"
#include "log.h"
#include "motion/camera_motion.h"
#include "refs.h"
#include "times.h"

DVNN_LOG_CATEGORY(track_category, "dvtrack", "Tracking of objects")
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT track_category()

namespace dvnn::gst {
namespace {

// Finds out how a stream's camera moves: from the metas of frames, or from their pixels.
class FrameCamera {
 public:
  void configure(motion::Camera camera) { watch_.configure(camera); }
  void set_caps(const GstCaps* caps);
  /// Returns the motion since the last frame, from the frame's meta or else from its pixels;
  /// nothing if unknown. Once the camera has moved, the frame gets a meta with this motion and the
  /// motion since the epoch began.
  std::optional<motion::Affine> follow(GstBuffer* frame, GstClockTime time);
  void reset();

 private:
  std::optional<motion::Affine> see(GstBuffer* frame, GstClockTime time);
  void tell(const motion::Affine& motion, GstBuffer* frame);

  motion::CameraWatch watch_;
  CameraSteps told_;
  guint64 epoch_ = 0;     // 0: the camera has not moved yet
  motion::Affine since_;  // motion since the epoch's first frame
  FrameLuma luma_;
};

void FrameCamera::reset() {
  watch_.reset();
  told_.reset();
  epoch_ = 0;
  since_ = {};
}

// Attaches the motion to the frame. When nothing of the epoch's first frame is left in view, a new
// epoch begins.
void FrameCamera::tell(const motion::Affine& motion, GstBuffer* frame) {
  const motion::Affine since = since_.then(motion);
  const bool known = epoch_ != 0 && since.is_plausible();
  if (!known) epoch_ = gst_dv_camera_meta_new_epoch();
  since_ = known ? since : motion;
  GstDvCameraMeta* meta = gst_buffer_add_dv_camera_meta(frame, motion.xx, motion.xy, motion.x0,
                                                        motion.yx, motion.yy, motion.y0);
  gst_dv_camera_meta_set_since(meta, epoch_, since_.xx, since_.xy, since_.x0, since_.yx, since_.yy,
                               since_.y0);
}

// Prefers a meta that the frame already has to the motion seen in its pixels. Once the camera has
// moved, every frame carries the sum since the epoch began, so that lost frames do no harm.
std::optional<motion::Affine> FrameCamera::follow(GstBuffer* frame, GstClockTime time) {
  auto motion = told_.next(frame);
  if (!motion) motion = see(frame, time);
  if (motion || epoch_ != 0) tell(motion.value_or(motion::Affine()), frame);
  return motion;
}

void FrameCamera::set_caps(const GstCaps* caps) {
  reset();
  luma_.set_bytes(caps);
}

std::optional<motion::Affine> FrameCamera::see(GstBuffer* frame, GstClockTime time) {
  const auto at = static_cast<int64_t>(time);
  if (!luma_.is_direct() || !watch_.wants(at)) return {};
  motion::Affine motion;
  bool known = false;
  const Status seen =
      luma_.look(frame, [&](const motion::Luma& luma) { known = watch_.see(at, luma, &motion); });
  if (!seen.ok() || !known) return {};
  return motion;
}

// Interval of frames without times in streams without a rate.
constexpr GstClockTime kUsualInterval = 40 * GST_MSECOND;

class TrackElement final : public ElementWithSettings<TrackSettings> {
 public:
  explicit TrackElement(GstBaseTransform* element)
      : ElementWithSettings(element),
        tracks_([this](StreamTracks::Change change, const track::Track& track,
                       const TrackNames& names) { tell(change, track, names); }),
        found_(GST_BASE_TRANSFORM_SRC_PAD(element)) {}

  void stop() override;
  bool set_caps(GstCaps* in, GstCaps* out) override;
  void event(GstEvent* event) override;
  void event_passed() override { found_.release(); }
  bool answer(GstPadDirection direction, GstQuery* query) override {
    return direction == GST_PAD_SRC && asks(query, kTrackedQuery);
  }
  GstFlowReturn frame(GstBuffer* frame) override;

 private:
  void tell(StreamTracks::Change change, const track::Track& track, const TrackNames& names);
  GstClockTime time_of(GstBuffer* frame);
  void follow_camera(GstBuffer* frame, GstClockTime time);

  // Streaming thread only.
  image::Size size_;
  GstClockTime interval_ = kUsualInterval, last_ = GST_CLOCK_TIME_NONE;
  TrackMoment moment_;  // times of the current frame
  FrameCamera camera_;
  StreamTracks tracks_;
  FoundEvents found_;
};

void TrackElement::tell(StreamTracks::Change change, const track::Track& track,
                        const TrackNames& names) {
  const bool started = change == StreamTracks::Change::kStarted;
  GST_DEBUG_OBJECT(element(), "track %" G_GUINT64_FORMAT ", '%s', %s", track.id,
                   names.label.c_str(), started ? "starts" : "ends");
  const auto create = started ? track_started_message : track_ended_message;
  MessagePtr message(create(element(), track, names, moment_));
  found_.tell(gst_message_get_structure(message.get()));
  if (current().post_messages) gst_element_post_message(element(), message.release());
}

// --- frames ------------------------------------------------------------------------------------

// Returns the frame's time. Frames without one follow each other at the stream's rate.
GstClockTime TrackElement::time_of(GstBuffer* frame) {
  GstClockTime time = GST_BUFFER_PTS(frame);
  if (!GST_CLOCK_TIME_IS_VALID(time) || time > G_MAXINT64) {
    time = GST_CLOCK_TIME_IS_VALID(last_) ? last_ + interval_ : 0;
    if (time > G_MAXINT64) time = 0;  // overflow, at rates of a frame in centuries
  }
  last_ = time;
  return time;
}

void TrackElement::follow_camera(GstBuffer* frame, GstClockTime time) {
  camera_.configure(current().camera);
  if (current().camera == motion::Camera::kStatic) return;
  const auto motion = camera_.follow(frame, time);
  if (motion) tracks_.move(*motion);
}

GstFlowReturn TrackElement::frame(GstBuffer* frame) {
  tracks_.configure(take_settings());
  moment_ = {GST_BUFFER_PTS(frame), stream_time(segment(), frame), running_time(segment(), frame)};
  const GstClockTime time = time_of(frame);
  follow_camera(frame, time);
  tracks_.follow(frame, time, frame_size(frame, size_));
  if (const GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame)) {
    GST_LOG_OBJECT(element(), "frame at %" GST_TIME_FORMAT ": %u objects", GST_TIME_ARGS(time),
                   gst_dv_objects_meta_get_n_objects(meta));
  }
  return GST_FLOW_OK;
}

// --- stream ------------------------------------------------------------------------------------

// Ends all tracks if the size of frames changes, because boxes are in pixels.
bool TrackElement::set_caps(GstCaps* in, GstCaps*) {
  const image::Size size = frame_size(in);
  if (size.width != size_.width || size.height != size_.height) tracks_.end();
  size_ = size;
  camera_.set_caps(in);
  gint n = 0, d = 1;
  const GstStructure* fields = gst_caps_get_structure(in, 0);
  const bool rated = gst_structure_get_fraction(fields, "framerate", &n, &d) && n > 0 && d > 0;
  interval_ = rated ? gst_util_uint64_scale_int(GST_SECOND, d, n) : kUsualInterval;
  return size.width > 0 && size.height > 0;
}

void TrackElement::event(GstEvent* event) {
  const GstEventType type = GST_EVENT_TYPE(event);
  const bool ends = type == GST_EVENT_FLUSH_STOP || type == GST_EVENT_EOS;
  if (!ends && type != GST_EVENT_STREAM_START) return;
  if (type == GST_EVENT_FLUSH_STOP) found_.hold();
  last_ = GST_CLOCK_TIME_NONE;
  camera_.reset();
  tracks_.end();
  if (!ends) tracks_.reset();
}

void TrackElement::stop() {
  tracks_.reset();
  camera_.reset();
  size_ = {};
  last_ = GST_CLOCK_TIME_NONE;
}

}  // namespace

static gboolean register_dvtrack(GstPlugin* plugin) {
  static const ElementClass element = {
      {"GstDvTrack", "dvtrack", "DV object tracker", "Filter/Analyzer/Video",
       "Follows the objects that dvdecode attached from frame to frame",
       "the frame's objects cannot be followed"},
      properties_of<track_properties>,
      create_element<TrackElement>};
  return register_element(plugin, element);
}

GST_ELEMENT_REGISTER_DEFINE_CUSTOM(dvtrack, register_dvtrack)

}  // namespace dvnn::gst
