// SPDX-License-Identifier: Apache-2.0
/**
 * SECTION:element-dvmotion
 * @title: dvmotion
 * @short_description: tells where something moves, so that still frames cost no inference
 *
 * dvmotion watches the picture of a camera that stands. A frame in which nothing moves passes
 * dvconvert and dvinfer without inference, its #GstDvPassState `SKIPPED`; dvtrack keeps the tracks
 * of objects where they are, and dvzones counts them as seen. What has moved is looked at for
 * #GstDvMotion:hold-ms more, and the whole frame every #GstDvMotion:verify-ms.
 *
 * Each place's noise is learned. Light that changes everywhere is no motion, nor is a camera that
 * shakes a little. Another scene, or a camera that turns, is motion everywhere. A thing that stops
 * belongs to the background a second later.
 *
 * Frames carry a #GstVideoRegionOfInterestMeta of the type `motion` for each area in which
 * something moves: `dvconvert regions=list region-metas=motion` shows the network these areas
 * alone. Objects elsewhere keep their tracks.
 *
 * #GstDvMotion:zones may have `masks`: areas in which motion does not count (docs/motion.md).
 *
 * ## Messages
 *
 * The element messages `dvnn-motion-started` and `dvnn-motion-ended` are posted when something
 * begins to move, and when nothing has moved for #GstDvMotion:hold-ms. They have `timestamp`,
 * `stream-time` and `running-time` (guint64). The same structures are sent downstream as serialised
 * custom events.
 *
 * ## Counts
 *
 * #GstDvMotion:counts has the frames so far: `frames`, and of these `still`, `moving`, `held`,
 * `verify` and `everywhere` (guint64).
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 -m videotestsrc pattern=ball num-buffers=100 ! dvmotion ! dvconvert ! dvinfer !
 * dvdecode threshold=0.1 ! dvtrack ! fakesink
 * ]| Prints when the ball begins to move.
 *
 * Since: 0.1.0
 */
#include "elements/elements.h"

#include <gst/video/video.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "elements/neighbours.h"
#include "elements/zonesource.h"
#include "errors.h"
#include "frames/caps.h"
#include "frames/frameluma.h"
#include "log.h"
#include "meta/movedmeta.h"
#include "motion/motion_watch.h"
#include "times.h"
#include "zones/geometry.h"

DVNN_LOG_CATEGORY(motion_category, "dvmotion", "Motion in frames")
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT motion_category()

namespace dvnn::gst {
namespace {

struct MotionSettings : ZoneSource {
  gfloat contrast = 8;                      // levels of 255
  gfloat min_size = 0.02f, margin = 0.03f;  // of the frame's height
  guint hold_ms = 1000, verify_ms = 10000;
  bool post_messages = true;

  motion::MotionRules rules() const;
};

motion::MotionRules MotionSettings::rules() const {
  motion::MotionRules rules;
  rules.contrast = static_cast<double>(contrast);
  rules.least = static_cast<double>(min_size);
  rules.margin = static_cast<double>(margin);
  rules.hold = static_cast<int64_t>(hold_ms) * GST_MSECOND;
  rules.verify = static_cast<int64_t>(verify_ms) * GST_MSECOND;
  return rules;
}

Properties<MotionSettings> motion_properties() {
  Properties<MotionSettings> table;
  table.number(&MotionSettings::contrast, When::kPlaying, 1.0f, 255.0f,
               {"contrast", "Contrast",
                "Least difference from the background that is motion, in levels of brightness of "
                "255; noise raises it by itself"});
  table.number(&MotionSettings::min_size, When::kPlaying, 0.0f, 1.0f,
               {"min-size", "Least size",
                "Least width or height of what moves, as a fraction of the frame's height"});
  table.number(
      &MotionSettings::margin, When::kPlaying, 0.0f, 1.0f,
      {"margin", "Margin", "Margin around what moves, as a fraction of the frame's height"});
  table.number(&MotionSettings::hold_ms, When::kPlaying, 0, kMostMilliseconds,
               {"hold-ms", "Hold", "Milliseconds for which a place is looked at after motion"});
  table.number(&MotionSettings::verify_ms, When::kPlaying, 0, kMostMilliseconds,
               {"verify-ms", "Verify",
                "Milliseconds from one look at the whole frame to the next, even if nothing moves; "
                "0 for none"});
  add_zone_source(
      "Masks, where motion does not count, as JSON (docs/motion.md), instead of those "
      "of zones-file",
      "File with masks as JSON; it may be that of dvzones", &table);
  table.boolean(&MotionSettings::post_messages, When::kPlaying,
                {"post-messages", "Post messages",
                 "Post element messages 'dvnn-motion-started' and 'dvnn-motion-ended'"});
  table.see_every_frame();
  return table;
}

constexpr int kReasons = static_cast<int>(motion::Reason::kVerify) + 1;

class MotionElement final : public ElementWithSettings<MotionSettings> {
 public:
  explicit MotionElement(GstBaseTransform* element)
      : ElementWithSettings(element), found_(GST_BASE_TRANSFORM_SRC_PAD(element)) {}

  void stop() override;
  bool set_caps(GstCaps* in, GstCaps* out) override;
  void event(GstEvent* event) override;
  void event_passed() override { found_.release(); }
  GstFlowReturn frame(GstBuffer* frame) override;
  StructurePtr counts() override;

 private:
  void configure(const image::Size& picture);
  motion::Reason watch(GstBuffer* frame);
  void attach(GstBuffer* frame);
  void tell(motion::Reason reason, GstBuffer* frame);
  void end();

  guint64 counts_[kReasons] = {};  // under the object lock
  // Streaming thread only.
  FrameLuma luma_;
  motion::MotionWatch watch_;
  SharedZones zones_now_;
  image::Size size_;     // of frames
  image::Size picture_;  // of what is watched
  image::Size masked_;   // the picture for which masks were made
  bool moving_ = false;
  FoundEvents found_;
};

// --- frames ------------------------------------------------------------------------------------

// Takes over new settings. `picture`: the size of what the watch sees.
void MotionElement::configure(const image::Size& picture) {
  const MotionSettings& settings = take_settings();
  watch_.configure(settings.rules());
  const bool resized = picture.width != masked_.width || picture.height != masked_.height;
  if (settings.chosen() == zones_now_ && !resized) return;
  zones_now_ = settings.chosen();
  masked_ = picture;
  if (!zones_now_ || zones_now_->masks.empty()) return watch_.set_mask(nullptr);
  std::vector<std::vector<zones::Point>> masks;
  for (const zones::Mask& mask : zones_now_->masks) masks.push_back(places_of(mask, size_));
  const double scale_x = size_.width / picture.width, scale_y = size_.height / picture.height;
  watch_.set_mask([masks = std::move(masks), scale_x, scale_y](double x, double y) {
    const zones::Point place = zones::place(x * scale_x, y * scale_y);
    return std::any_of(masks.begin(), masks.end(),
                       [&](const auto& mask) { return zones::contains(mask, place); });
  });
}

// Returns why the frame is looked at.
motion::Reason MotionElement::watch(GstBuffer* frame) {
  motion::Reason reason = motion::Reason::kEverywhere;
  const auto time = static_cast<int64_t>(GST_BUFFER_PTS(frame));
  const Status seen = luma_.look(frame, [&](const motion::Luma& luma) {
    picture_ = {static_cast<double>(luma.width), static_cast<double>(luma.height)};
    configure(picture_);
    reason = watch_.see(time, luma);
  });
  if (seen.ok()) return reason;
  // The error will recur in dvinfer, whose property on-error decides what follows.
  GST_DEBUG_OBJECT(element(), "the frame is not watched: %s", seen.error().message.c_str());
  watch_.reset();
  return motion::Reason::kEverywhere;
}

void MotionElement::attach(GstBuffer* frame) {
  auto areas = std::make_shared<std::vector<image::Corners>>();
  const double scale_x = size_.width / picture_.width, scale_y = size_.height / picture_.height;
  for (const image::Corners& area : watch_.areas()) {
    areas->push_back({area.x0 * scale_x, area.y0 * scale_y, area.x1 * scale_x, area.y1 * scale_y});
    const image::Corners& box = areas->back();
    const auto x = static_cast<guint>(box.x0), y = static_cast<guint>(box.y0);
    gst_buffer_add_video_region_of_interest_meta(frame, "motion", x, y,
                                                 static_cast<guint>(std::ceil(box.x1)) - x,
                                                 static_cast<guint>(std::ceil(box.y1)) - y);
  }
  set_moved_areas(frame, areas);
}

// Posts when motion starts and ends. A look to verify is neither.
void MotionElement::tell(motion::Reason reason, GstBuffer* frame) {
  {
    const ObjectLock lock(transform());
    ++counts_[static_cast<int>(reason)];
  }
  const bool starts = reason == motion::Reason::kMoving && !moving_;
  const bool ends = reason == motion::Reason::kStill && moving_;
  if (!starts && !ends) return;
  moving_ = starts;
  StructurePtr fields(gst_structure_new(
      starts ? "dvnn-motion-started" : "dvnn-motion-ended", "timestamp", G_TYPE_UINT64,
      GST_BUFFER_PTS(frame), "stream-time", G_TYPE_UINT64, stream_time(segment(), frame),
      "running-time", G_TYPE_UINT64, running_time(segment(), frame), nullptr));
  GST_DEBUG_OBJECT(element(), "%" GST_PTR_FORMAT, fields.get());
  found_.tell(fields.get());
  if (current().post_messages) post(fields.release());
}

GstFlowReturn MotionElement::frame(GstBuffer* frame) {
  const GstClockTime time = GST_BUFFER_PTS(frame);
  // Without a time, nothing is known about how long anything stands.
  if (!GST_CLOCK_TIME_IS_VALID(time) || time > G_MAXINT64 / 2) return GST_FLOW_OK;
  const motion::Reason reason = watch(frame);
  GST_LOG_OBJECT(element(), "frame at %" GST_TIME_FORMAT ": %s, %zu areas", GST_TIME_ARGS(time),
                 motion::to_string(reason), watch_.areas().size());
  tell(reason, frame);
  // A frame that cannot be read carries no areas: it is as any other.
  if (reason == motion::Reason::kStill || !watch_.areas().empty()) attach(frame);
  return GST_FLOW_OK;
}

// --- stream ------------------------------------------------------------------------------------

void MotionElement::end() {
  watch_.reset();
  moving_ = false;
}

bool MotionElement::set_caps(GstCaps* in, GstCaps*) {
  size_ = frame_size(in);
  end();
  masked_ = {};
  const Status taken = luma_.set_caps(in);
  if (taken.ok()) return size_.width > 0 && size_.height > 0;
  post_error(element(), Topic::kData, taken.error());
  return false;
}

void MotionElement::event(GstEvent* event) {
  const GstEventType type = GST_EVENT_TYPE(event);
  if (type == GST_EVENT_FLUSH_STOP) found_.hold();
  if (type == GST_EVENT_EOS || type == GST_EVENT_FLUSH_STOP || type == GST_EVENT_STREAM_START) {
    end();
  }
}

void MotionElement::stop() {
  end();
  zones_now_.reset();
  masked_ = size_ = {};
  const ObjectLock lock(transform());
  std::fill(std::begin(counts_), std::end(counts_), guint64{0});
}

StructurePtr MotionElement::counts() {
  StructurePtr counts(gst_structure_new_empty("dvnn-motion-counts"));
  const ObjectLock lock(transform());
  guint64 all = 0;
  for (guint64 count : counts_) all += count;
  gst_structure_set(counts.get(), "frames", G_TYPE_UINT64, all, nullptr);
  for (int i = 0; i < kReasons; ++i) {
    gst_structure_set(counts.get(), motion::to_string(static_cast<motion::Reason>(i)),
                      G_TYPE_UINT64, counts_[i], nullptr);
  }
  return counts;
}

}  // namespace

static gboolean register_dvmotion(GstPlugin* plugin) {
  static const ElementClass element = {
      {"GstDvMotion", "dvmotion", "DV motion detector", "Filter/Analyzer/Video",
       "Tells where something moves, so that still frames cost no inference",
       "the frame cannot be watched", DVNN_VIDEO_CAPS, DVNN_VIDEO_CAPS,
       "How many frames were still, and why others were looked at"},
      properties_of<motion_properties>,
      create_element<MotionElement>};
  return register_element(plugin, element);
}

GST_ELEMENT_REGISTER_DEFINE_CUSTOM(dvmotion, register_dvmotion)

}  // namespace dvnn::gst
