// SPDX-License-Identifier: Apache-2.0
#include "elements/dvinfer/dvinferlatency.h"

#include <algorithm>

#include "elements/surroundings.h"

#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT gst_dv_infer_debug

using dvnn::gst::InferRules;

// Frames that are done and wait for a moment only, beside those that wait out the latency: workers
// need not wait until the source pad's task has taken them.
static constexpr guint64 kJustDone = 2;
// Frames that the queue does not count: one that waits for room in it, and one that is pushed.
static constexpr guint64 kAtPads = 2;

GstClockTime gst_dv_infer_latency(GstDvInfer* self, const InferRules& rules) {
  if (rules.latency_ms >= 0) return static_cast<GstClockTime>(rules.latency_ms) * GST_MSECOND;
  return rules.active ? self->priv->intake->latency.answer() : 0;
}

// As many frames may wait for their turn as arrive during the time that frames stay. With fewer, a
// sink that shows frames that much later would hold up inference; with more, a slow sink would not
// be felt upstream.
static guint64 gst_dv_infer_most_queued(GstDvInfer* self, const InferRules& rules) {
  const GstClockTime latency = rules.latency_ms >= 0
                                   ? static_cast<GstClockTime>(rules.latency_ms) * GST_MSECOND
                                   : self->priv->intake->latency.reported();
  const guint64 frames = gst_util_uint64_scale_ceil(latency, self->priv->fps_n.load(),
                                                    GST_SECOND * self->priv->fps_d.load());
  constexpr guint64 kMost = 300;
  return std::min(frames, kMost) + rules.max_in_flight + kJustDone;
}

guint64 gst_dv_infer_most_held(GstDvInfer* self, const InferRules& rules) {
  if (!rules.active) return 1;
  const guint64 all = gst_dv_infer_most_queued(self, rules) + kAtPads;
  return rules.max_held > 0 ? std::min<guint64>(all, rules.max_held) : all;
}

void gst_dv_infer_limit_frames(GstDvInfer* self, const InferRules& rules) {
  const auto queue = gst_dv_infer_queue(self);
  if (queue) queue->set_frame_limits(gst_dv_infer_most_queued(self, rules), rules.max_held);
}

void gst_dv_infer_estimate_latency(GstDvInfer* self) {
  GstDvInferPrivate& priv = *self->priv;
  const InferRules rules = gst_dv_infer_rules(self);
  const GstVideoInfo& video = priv.sink.video;
  int64_t period = G_MAXINT64;
  if (priv.sink.have_video && GST_VIDEO_INFO_FPS_N(&video) > 0) {
    priv.fps_n = static_cast<guint>(GST_VIDEO_INFO_FPS_N(&video)) *
                 static_cast<guint>(dvnn::gst::lines_per_row(video));
    priv.fps_d = static_cast<guint>(GST_VIDEO_INFO_FPS_D(&video));
    period = gst_util_uint64_scale(G_USEC_PER_SEC, priv.fps_d, priv.fps_n);
  }
  // A network that is slower than the stream has as many frames before each new one as fit in:
  // those in flight, one at dvinfer's door, one at dvconvert's, and one in a queue before that.
  constexpr int64_t kAtDoors = 3;
  const bool waits = rules.when_busy == dvnn::gst::WhenBusy::kWait;
  const LoadedPtr loaded = gst_dv_infer_loaded(self);
  const int64_t first_run_us = loaded ? loaded->first_run_us : 0;
  const int64_t runs = first_run_us <= period ? 1 : rules.max_in_flight + (waits ? kAtDoors : 0);
  // Frames with tracked objects leave without it.
  const bool leaves = rules.results_may_be_late() && dvnn::gst::has_tracker(self->sinkpad);
  priv.intake->latency.set_capacity(rules.max_in_flight + kAtDoors);
  priv.intake->latency.estimate(leaves ? int64_t{rules.late_after_ms} * 1000 : runs * first_run_us);
  gst_dv_infer_limit_frames(self, rules);
}

void gst_dv_infer_report_latency(GstDvInfer* self, const InferRules& rules) {
  if (!self->priv->intake->latency.take_change()) return;
  gst_dv_infer_limit_frames(self, rules);
  if (rules.latency_ms >= 0 || !self->priv->intake->live) return;
  GST_DEBUG_OBJECT(self, "latency is %" GST_TIME_FORMAT " now",
                   GST_TIME_ARGS(self->priv->intake->latency.reported()));
  gst_element_post_message(GST_ELEMENT(self), gst_message_new_latency(GST_OBJECT(self)));
}
