// SPDX-License-Identifier: Apache-2.0
// dvinfer's latency as the pipeline knows it, and how many frames may wait because of it.
#pragma once

#include <gst/video/video.h>

#include <atomic>

#include "elements/dvinfer/infercontext.h"
#include "elements/dvinfer/networks.h"

namespace dvnn::gst {

/// Any thread may call it, except estimate().
class LatencyReport {
 public:
  LatencyReport(InferContext* context, const Networks* networks)
      : context_(*context), networks_(*networks) {}

  /// Estimates the latency before frames have shown it, from the network's first run and the rate
  /// of `video` (null: not known yet). For the sink pad's streaming thread.
  void estimate(const GstVideoInfo* video);
  /// Reports a new latency once frames have taken longer than reported, or much less for long.
  void report(const InferRules& rules) const;
  /// Adds dvinfer's latency to a query that upstream has answered.
  void answer(GstQuery* query);
  /// Returns the largest number of frames that the element holds at once, in the queue and at its
  /// pads, by the settings and the latency.
  guint64 most_held(const InferRules& rules) const;
  /// Limits the queue's frames by the settings and the latency.
  void limit_frames(const InferRules& rules) const;
  /// Returns how many microseconds longer than the upstream latency a live frame has travelled
  /// before it arrived here.
  int64_t upstream_wait(GstClockTime running_time) const;

 private:
  guint64 most_queued(const InferRules& rules) const;

  InferContext& context_;
  const Networks& networks_;
  std::atomic<guint> fps_n_{30}, fps_d_{1};  // the stream's frame rate, or a guess
  std::atomic<GstClockTime> upstream_{0};    // smallest upstream latency, as last queried
};

}  // namespace dvnn::gst
