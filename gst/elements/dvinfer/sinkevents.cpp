// SPDX-License-Identifier: Apache-2.0
// Events and queries at dvinfer's sink pad.
#include <utility>

#include "elements/dvinfer/sinkside.h"
#include "errors.h"
#include "frames/caps.h"
#include "infer/tensorrequest.h"

#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT dv_infer_debug

namespace dvnn::gst {

// --- events ------------------------------------------------------------------------------------

gboolean SinkSide::take_event(EventPtr event) {
  if (!context_.queue()) return FALSE;  // the application activated a stopped element's pad
  switch (GST_EVENT_TYPE(event.get())) {
    case GST_EVENT_FLUSH_START:
      return start_flush(std::move(event));
    case GST_EVENT_FLUSH_STOP:
      return stop_flush(std::move(event));
    case GST_EVENT_CAPS:
      if (!take_caps(&event)) return FALSE;
      break;
    case GST_EVENT_SEGMENT:
      interrupt();
      gst_event_copy_segment(event.get(), &segment_);
      break;
    case GST_EVENT_STREAM_START:
      interrupt();
      context_.intake()->admission.reset();
      break;
    default:
      break;
  }
  if (GST_EVENT_IS_SERIALIZED(event.get())) return queue_event(std::move(event));
  return gst_pad_event_default(context_.sinkpad(), GST_OBJECT(context_.element()), event.release());
}

gboolean SinkSide::start_flush(EventPtr event) {
  const gboolean result = gst_pad_push_event(context_.srcpad(), event.release());
  context_.queue()->start_flush();
  networks_.set_flushing(true);
  gst_pad_pause_task(context_.srcpad());
  return result;
}

gboolean SinkSide::stop_flush(EventPtr event) {
  const gboolean result = gst_pad_push_event(context_.srcpad(), event.release());
  networks_.set_flushing(false);
  context_.intake()->admission.reset();
  interrupt();
  gst_segment_init(&segment_, GST_FORMAT_UNDEFINED);
  context_.queue()->stop_flush(gst_pad_is_active(context_.srcpad()));
  return result;
}

// Takes new caps, and replaces the event by that of the source pad.
bool SinkSide::take_caps(EventPtr* event) {
  GstCaps* caps = nullptr;
  gst_event_parse_caps(event->get(), &caps);
  converters_.reset();
  interrupt();
  const LoadedPtr loaded = networks_.loaded();
  auto out = guarded("the caps cannot be taken", [&] { return negotiation_.take(caps, *loaded); });
  if (!out.ok()) {
    context_.post_error(Topic::kData, out.error());
    return false;
  }
  latency_.estimate(negotiation_.video());
  GST_DEBUG_OBJECT(context_.element(), "%" GST_PTR_FORMAT " comes, %" GST_PTR_FORMAT " leaves",
                   caps, out.value().get());
  event->reset(gst_event_new_caps(out.value().get()));
  return true;
}

gboolean SinkSide::queue_event(EventPtr event) {
  return guard(context_.element(), "an event cannot be queued", FALSE, [&]() -> gboolean {
    if (stands_aside()) {
      InferItem item;
      item.object.reset(GST_MINI_OBJECT_CAST(event.release()));
      source_.push(&item);
      return TRUE;
    }
    const auto result = context_.queue()->push_event(std::move(event));
    if (result.fatal) GST_ELEMENT_FLOW_ERROR(context_.element(), result.flow);
    return result.queued;
  });
}

// --- queries -----------------------------------------------------------------------------------

gboolean SinkSide::answer(GstQuery* query) {
  GstPad* const pad = context_.sinkpad();
  if (GST_QUERY_TYPE(query) == GST_QUERY_CAPS) {
    return negotiation_.answer_caps(query, true, networks_.loaded().get());
  }
  if (GST_QUERY_TYPE(query) == GST_QUERY_ACCEPT_CAPS) {
    return negotiation_.answer_accept_caps(query, networks_.loaded().get());
  }
  if (!GST_QUERY_IS_SERIALIZED(query)) {
    return gst_pad_query_default(pad, GST_OBJECT(context_.element()), query);
  }
  // Upstream may play on while this element has stopped: GStreamer does not hold queries back. The
  // stop, which takes the queue, waits for the stream lock once the pad is flushing.
  const auto queue = context_.queue();
  if (GST_PAD_IS_FLUSHING(pad) || !queue) return FALSE;
  // Everything before the query must have left before downstream is asked.
  if (!queue->drain()) return FALSE;
  if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION) {
    return gst_pad_peer_query(context_.srcpad(), query);
  }
  return guard(context_.element(), "no tensor can be asked for", FALSE,
               [&] { return answer_allocation(query); });
}

gboolean SinkSide::answer_allocation(GstQuery* query) {
  // Frames pass, so downstream says which metas it supports; or frames end here and become tensors.
  if (!negotiation_.output()) {
    gst_pad_peer_query(context_.srcpad(), query);
  } else if (negotiation_.video()) {
    propose_frame_metas(query);
  }
  announce_held(query);
  networks_.swap(&negotiation_);
  if (results_) {
    // One that came from further downstream would have its slots travel through this queue.
    remove_tensor_request(query);
    return TRUE;
  }
  const LoadedPtr loaded = networks_.loaded();
  const network::Network& network = *loaded->network;
  set_tensor_request(query,
                     {network.input_desc(), network.model().input.picture, network.takes_pixels(),
                      network.prefers_pixels(), loaded->pool, context_.intake()});
  return TRUE;
}

// Adds the number of buffers held here to what downstream asks for: a source whose pool is bounded
// allocates that many more.
void SinkSide::announce_held(GstQuery* query) const {
  if (!negotiation_.video() || negotiation_.output()) return;
  const auto held = static_cast<guint>(latency_.most_held(context_.rules()));
  const guint pools = gst_query_get_n_allocation_pools(query);
  if (pools == 0) {
    const auto size = static_cast<guint>(GST_VIDEO_INFO_SIZE(negotiation_.video()));
    return gst_query_add_allocation_pool(query, nullptr, size, held, 0);
  }
  for (guint i = 0; i < pools; ++i) {
    GstBufferPool* given = nullptr;
    guint size = 0, min = 0, max = 0;
    gst_query_parse_nth_allocation_pool(query, i, &given, &size, &min, &max);
    const BufferPoolPtr pool(given);
    // Downstream's pool need not be able to grow: upstream may then use its own.
    if (max == 0) gst_query_set_nth_allocation_pool(query, i, given, size, min + held, 0);
  }
}

}  // namespace dvnn::gst
