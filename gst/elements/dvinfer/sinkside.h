// SPDX-License-Identifier: Apache-2.0
// dvinfer's sink pad: incoming frames, events and queries. It handles a frame up to the queue:
// decides whether to infer it, chooses its regions and their slots, and converts the regions that
// come without a tensor. sourceside.h has the rest.
#pragma once

#include <optional>

#include "elements/dvinfer/latencyreport.h"
#include "elements/dvinfer/negotiation.h"
#include "elements/dvinfer/networks.h"
#include "elements/dvinfer/sourceside.h"
#include "frames/frameconverter.h"
#include "infer/admission.h"
#include "infer/resultinput.h"
#include "meta/viewmeta.h"

namespace dvnn::gst {

/// For the sink pad's streaming thread, except flushes and queries that are not serialized.
class SinkSide {
 public:
  SinkSide(InferContext* context, Networks* networks, LatencyReport* latency,
           Negotiation* negotiation, SourceSide* source)
      : context_(*context),
        networks_(*networks),
        latency_(*latency),
        negotiation_(*negotiation),
        source_(*source) {}

  void start();
  void stop();
  /// Takes a frame, or a buffer of a stream of tensors.
  GstFlowReturn take(BufferPtr buffer);
  gboolean take_event(EventPtr event);
  gboolean answer(GstQuery* query);

 private:
  bool stands_aside() const;
  GstFlowReturn pass(InferItem* item);
  void interrupt();
  void continue_stream(InferItem* item);
  Status take_live_inputs(InferItem* item);
  Status choose(InferItem* item, FrameView* view);
  Status choose_of_tensors(InferItem* item);
  Status choose_of_results(InferItem* item);
  Verdict decide(GstBuffer* frame, const FrameView& view, const SlotPool& pool) const;
  void count_passed(Verdict verdict) const;
  void post_qos(GstBuffer* frame) const;
  bool may_leave(GstBuffer* frame, InferItem* item) const;
  Status fill_first(GstBuffer* frame, const FrameView& view, InferItem* item);
  void fill_others(BufferPtr frame, const FrameView& view, const ItemPtr& item);
  Status fill(GstBuffer* frame, const FrameView& view, InferItem* item, size_t index);
  Status fill_of_values(InferItem* item, size_t index);
  Status convert(GstBuffer* frame, const image::View& view, InferItem* item, size_t index);
  Result<SlotPtr> own_slot(const InferItem& item, bool waits) const;

  gboolean start_flush(EventPtr event);
  gboolean stop_flush(EventPtr event);
  bool take_caps(EventPtr* event);
  gboolean queue_event(EventPtr event);
  gboolean answer_allocation(GstQuery* query);
  void announce_held(GstQuery* query) const;

  InferContext& context_;
  Networks& networks_;
  LatencyReport& latency_;
  Negotiation& negotiation_;
  SourceSide& source_;
  GstSegment segment_;
  bool is_continued_ = false;           // the next frame that is inferred follows the last one
  std::optional<ResultInput> results_;  // where the input comes from, if not from frames
  LoadedPtr results_for_;               // the network that they are for
  // For frames that no dvconvert has converted.
  RegionConverters converters_;
  LoadedPtr converters_of_;
};

}  // namespace dvnn::gst
