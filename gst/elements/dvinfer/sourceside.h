// SPDX-License-Identifier: Apache-2.0
// dvinfer's source pad: frames with outputs leave in order; events and queries come from
// downstream. It handles a frame from the queue on: workers run its regions and take the outputs,
// and the source pad's task pushes it with these and with the late outputs of frames that have left
// before. sinkside.h has the part up to the queue.
#pragma once

#include "elements/dvinfer/infercontext.h"
#include "elements/dvinfer/latencyreport.h"
#include "elements/dvinfer/negotiation.h"
#include "elements/dvinfer/networks.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "infer/lateresults.h"

namespace dvnn::gst {

/// Returns the object's track, class and box, by which its late result finds it again.
Followed followed_object(const GstDvObject& object);

class SourceSide {
 public:
  SourceSide(InferContext* context, const Networks* networks, LatencyReport* latency,
             const Negotiation* negotiation)
      : context_(*context), networks_(*networks), latency_(*latency), negotiation_(*negotiation) {}

  // --- changes of state ---
  void start();
  gboolean activate(bool active);

  // --- workers ---
  /// Runs a region of an item and takes its outputs.
  Status run(InferItem* item, size_t region) const;

  // --- the source pad's task ---
  /// Starts or pauses the task.
  void set_task(bool run);
  /// Pushes an item that has left the queue: a frame with its outputs, if any, or an event. While
  /// the queue stands aside, the sink side does that.
  GstFlowReturn push(InferItem* item);

  // --- any thread ---
  gboolean take_event(EventPtr event);
  gboolean answer(GstQuery* query);
  /// Returns the statistics, with those of the slots. (transfer full)
  GstStructure* stats() const;

 private:
  void push_next();
  GstFlowReturn push_frame(InferItem* item);
  GstFlowReturn push_event(InferItem* item);
  GstFlowReturn tell_of_late(const InferItem& work) const;
  bool handle_failure(const InferRules& rules, InferItem* item) const;
  void take_late(const InferRules& rules, const LoadedPtr& network);
  void join_late(const InferRules& rules, InferItem* item);
  void export_tensors(const InferRules& rules, const InferItem& item, GstBuffer* frame);
  void note_caps(GstEvent* event);
  void report_stats(const InferRules& rules);
  void take_qos(GstEvent* event) const;

  InferContext& context_;
  const Networks& networks_;
  LatencyReport& latency_;
  const Negotiation& negotiation_;
  // Used by the task alone.
  gint64 stats_posted_us_ = 0;
  LateResults late_;
  std::weak_ptr<LoadedNetwork> late_of_;  // the network of the late results
#ifdef DVNN_HAVE_TENSORS
  image::Size out_size_;       // size of the frames that leave
  bool groups_asked_ = false;  // by a decoder's caps (tensorexport.h)
  TensorExporter exporter_;
  bool export_failed_ = false;  // a failed export was reported by a warning
#endif
};

}  // namespace dvnn::gst
