// SPDX-License-Identifier: Apache-2.0
#include "elements/dvinfer/latencyreport.h"

#include <algorithm>

#include "elements/neighbours.h"
#include "frames/caps.h"
#include "refs.h"

#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT dv_infer_debug

namespace dvnn::gst {
namespace {

// Frames that are done and are about to be pushed, beside those that wait out the latency: with
// them, workers need not wait for the source pad's task.
constexpr guint64 kJustDone = 2;
// Frames that the queue does not count: one that waits for room in it, and one that is pushed.
constexpr guint64 kAtPads = 2;

}  // namespace

// Returns the number of frames that arrive during the time for which frames stay. With fewer, a
// sink that shows frames that much later would hold up inference; with more, a slow sink would not
// slow down upstream.
guint64 LatencyReport::most_queued(const InferRules& rules) const {
  const GstClockTime latency = rules.latency_ms >= 0
                                   ? static_cast<GstClockTime>(rules.latency_ms) * GST_MSECOND
                                   : context_.intake()->latency.reported();
  const guint64 frames =
      gst_util_uint64_scale_ceil(latency, fps_n_.load(), GST_SECOND * fps_d_.load());
  constexpr guint64 kMost = 300;
  return std::min(frames, kMost) + rules.max_in_flight + kJustDone;
}

guint64 LatencyReport::most_held(const InferRules& rules) const {
  if (!rules.active) return 1;
  const guint64 all = most_queued(rules) + kAtPads;
  return rules.max_held > 0 ? std::min<guint64>(all, rules.max_held) : all;
}

void LatencyReport::limit_frames(const InferRules& rules) const {
  if (const auto queue = context_.queue()) {
    queue->set_frame_limits(most_queued(rules), rules.max_held);
  }
}

void LatencyReport::estimate(const GstVideoInfo* video) {
  LatencyMeter& meter = context_.intake()->latency;
  const InferRules rules = context_.rules();
  int64_t period = G_MAXINT64;
  if (video && GST_VIDEO_INFO_FPS_N(video) > 0) {
    fps_n_ =
        static_cast<guint>(GST_VIDEO_INFO_FPS_N(video)) * static_cast<guint>(lines_per_row(*video));
    fps_d_ = static_cast<guint>(GST_VIDEO_INFO_FPS_D(video));
    period = gst_util_uint64_scale(G_USEC_PER_SEC, fps_d_, fps_n_);
  }
  // Number of frames before each new one if the network is slower than the stream: beside those in
  // flight, one waits before dvinfer, one before dvconvert, and one in a queue before that.
  constexpr int64_t kAtDoors = 3;
  const bool waits = rules.when_busy == WhenBusy::kWait;
  const LoadedPtr loaded = networks_.loaded();
  const int64_t first_run_us = loaded ? loaded->first_run_us : 0;
  const int64_t runs = first_run_us <= period ? 1 : rules.max_in_flight + (waits ? kAtDoors : 0);
  // Frames with tracked objects leave before their results.
  const bool leaves =
      rules.results_may_be_late() && ask_upstream(context_.sinkpad(), kTrackedQuery);
  meter.set_capacity(rules.max_in_flight + kAtDoors);
  meter.estimate(leaves ? int64_t{rules.late_after_ms} * 1000 : runs * first_run_us);
  limit_frames(rules);
}

void LatencyReport::report(const InferRules& rules) const {
  if (!context_.intake()->latency.take_change()) return;
  limit_frames(rules);
  if (rules.latency_ms >= 0 || !context_.intake()->live) return;
  GST_DEBUG_OBJECT(context_.element(), "latency is %" GST_TIME_FORMAT " now",
                   GST_TIME_ARGS(context_.intake()->latency.reported()));
  context_.post(gst_message_new_latency(GST_OBJECT(context_.element())));
}

void LatencyReport::answer(GstQuery* query) {
  gboolean live = FALSE;
  GstClockTime min = 0, max = 0;
  gst_query_parse_latency(query, &live, &min, &max);
  const InferRules rules = context_.rules();
  const GstClockTime fixed = static_cast<GstClockTime>(std::max(rules.latency_ms, 0)) * GST_MSECOND;
  const bool measured = rules.latency_ms < 0 && rules.active;
  const GstClockTime ours = measured ? context_.intake()->latency.answer() : fixed;
  limit_frames(rules);
  upstream_ = min;
  context_.intake()->live = live;
  min += ours;
  if (GST_CLOCK_TIME_IS_VALID(max)) max += ours;
  gst_query_set_latency(query, live, min, max);
}

int64_t LatencyReport::upstream_wait(GstClockTime running_time) const {
  if (!GST_CLOCK_TIME_IS_VALID(running_time)) return 0;
  {
    const ObjectLock lock(context_.element());
    if (!context_.intake()->live || GST_STATE(context_.element()) != GST_STATE_PLAYING) return 0;
  }
  const GstClockTime upstream = upstream_;
  const GstClockTime now = gst_element_get_current_running_time(context_.element());
  if (!GST_CLOCK_TIME_IS_VALID(now) || now <= running_time + upstream) return 0;
  return static_cast<int64_t>((now - running_time - upstream) / GST_USECOND);
}

}  // namespace dvnn::gst
