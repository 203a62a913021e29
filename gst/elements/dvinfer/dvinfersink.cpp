// SPDX-License-Identifier: Apache-2.0
#include "elements/dvinfer/dvinfersink.h"

#include <utility>

#include "base/format.h"
#include "elements/dvinfer/dvinfercaps.h"
#include "elements/dvinfer/dvinferlate.h"
#include "elements/dvinfer/dvinferlatency.h"
#include "elements/dvinfer/dvinferslots.h"
#include "elements/dvinfer/dvinfersrc.h"
#include "errors.h"
#include "frames/videocaps.h"
#include "guard.h"
#include "infer/slotmeta.h"
#include "infer/tensorrequest.h"
#include "meta/viewmeta.h"
#include "times.h"

#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT gst_dv_infer_debug

using dvnn::Error;
using dvnn::ErrorCode;
using dvnn::Status;
using dvnn::gst::EventPtr;
using dvnn::gst::FrameView;
using dvnn::gst::InferItem;
using dvnn::gst::InferStats;
using dvnn::gst::ItemPtr;
using dvnn::gst::ObjectLock;
using dvnn::gst::Region;
using dvnn::gst::SlotPool;
using dvnn::gst::SlotPtr;
using dvnn::gst::Topic;
using dvnn::gst::Verdict;

static GstStaticPadTemplate dv_infer_sink_template = GST_STATIC_PAD_TEMPLATE(
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS(DVNN_VIDEO_CAPS "; " DVNN_TENSORS_CAPS));

// --- another network ---------------------------------------------------------------------------

static void gst_dv_infer_post_swap(GstDvInfer* self, const dvnn::gst::LoadedNetwork& now) {
  GstStructure* s = gst_structure_new("network-changed", "network", G_TYPE_STRING,
                                      dvnn::printable(now.settings.path).c_str(), "name",
                                      G_TYPE_STRING, now.network->model().name.c_str(), nullptr);
  gst_element_post_message(GST_ELEMENT(self), gst_message_new_element(GST_OBJECT(self), s));
}

// Between two frames: takes over the network that was loaded meanwhile, if it fits the caps.
static void gst_dv_infer_swap(GstDvInfer* self) {
  auto& shared = self->priv->shared;
  LoadedPtr next, old;
  {
    const ObjectLock lock(self);
    if (!shared.next) return;
    next = std::exchange(shared.next, nullptr);
    old = shared.loaded;
  }
  dvnn::gst::CapsPtr caps;
  const Status fits = gst_dv_infer_take_swap(self, *next, &caps);
  if (!fits.ok()) {
    {
      const ObjectLock lock(self);
      shared.settings.restore_network(old->settings);
    }
    dvnn::gst::post_warning(GST_ELEMENT(self), Topic::kSettings,
                            fits.error().within("the network stays as it was"));
    return;
  }
  {
    const ObjectLock lock(self);
    shared.loaded = next;
  }
  // dvconvert learns of the new slots; those of the old network lead nowhere from now on. The caps
  // of frames do not depend on the network, those of tensors do.
  old->pool->set_flushing(true);
  if (caps) {
    self->priv->queue->push_event(dvnn::gst::EventPtr(gst_event_new_caps(caps.get())));
  }
  gst_pad_push_event(self->sinkpad, self->priv->sink.tensors_in
                                        ? gst_event_new_reconfigure()
                                        : dvnn::gst::new_request_changed_event());
  if (next->network->device().name() != old->network->device().name()) {
    g_object_notify(G_OBJECT(self), "active-device");
  }
  GST_INFO_OBJECT(self, "network '%s' takes over", next->network->model().name.c_str());
  gst_dv_infer_post_swap(self, *next);
}

// --- frames ------------------------------------------------------------------------------------

static GstClockTime gst_dv_infer_running_time(GstDvInfer* self, GstBuffer* frame) {
  return dvnn::gst::running_time(self->priv->sink.segment, frame);
}

// Returns how long a live frame has travelled before it arrived here, beyond the upstream latency.
static int64_t gst_dv_infer_upstream_wait(GstDvInfer* self, GstClockTime running_time) {
  if (!GST_CLOCK_TIME_IS_VALID(running_time)) return 0;
  GstClockTime upstream = 0;
  {
    const ObjectLock lock(self);
    if (!self->priv->intake->live || GST_STATE(self) != GST_STATE_PLAYING) return 0;
    upstream = self->priv->shared.upstream;
  }
  const GstClockTime now = gst_element_get_current_running_time(GST_ELEMENT(self));
  if (!GST_CLOCK_TIME_IS_VALID(now) || now <= running_time + upstream) return 0;
  return static_cast<int64_t>((now - running_time - upstream) / GST_USECOND);
}

// Decides whether to infer a frame that brings no tensor.
static Verdict gst_dv_infer_decide(GstDvInfer* self, GstBuffer* frame, const FrameView& view,
                                   SlotPool* pool) {
  if (view.verdict && *view.verdict != Verdict::kInfer) return *view.verdict;
  return self->priv->intake->admission.decide(gst_dv_infer_running_time(self, frame),
                                              pool->busy() || !self->priv->queue->has_room(),
                                              view.verdict.has_value());
}

static void gst_dv_infer_count_passed(GstDvInfer* self, Verdict verdict) {
  GST_LOG_OBJECT(self, "the frame passes: %s",
                 verdict == Verdict::kLate ? "the sink would drop its results as late"
                                           : "the rules, or a busy network, leave it out");
  self->priv->intake->stats.count(verdict == Verdict::kLate ? InferStats::Count::kLate
                                                            : InferStats::Count::kPassed);
}

// Posts the message as GstBaseTransform does: this frame was skipped, because the sink would drop
// the result.
static void gst_dv_infer_post_qos(GstDvInfer* self, GstBuffer* frame) {
  const InferStats& stats = self->priv->intake->stats;
  const GstClockTime running = gst_dv_infer_running_time(self, frame);
  const GstClockTime stream = dvnn::gst::stream_time(self->priv->sink.segment, frame);
  GstMessage* message = gst_message_new_qos(GST_OBJECT(self), FALSE, running, stream,
                                            GST_BUFFER_PTS(frame), GST_BUFFER_DURATION(frame));
  const GstClockTime earliest = self->priv->intake->admission.earliest();
  const gint64 jitter =
      GST_CLOCK_TIME_IS_VALID(earliest) ? GST_CLOCK_DIFF(running, earliest) : gint64{0};
  gst_message_set_qos_values(message, jitter, self->priv->intake->admission.proportion(), 1000000);
  gst_message_set_qos_stats(message, GST_FORMAT_BUFFERS, stats.get(InferStats::Count::kInferred),
                            stats.get(InferStats::Count::kLate));
  gst_element_post_message(GST_ELEMENT(self), message);
}

static size_t gst_dv_infer_count_regions(const FrameView& view) {
  return view.regions ? view.regions->size() : 1;
}

// Makes the item's regions, with the slots that dvconvert has filled for them; false if there is no
// such slot.
static bool gst_dv_infer_take_slots(GstBuffer* frame, const FrameView& view, InferItem* item) {
  bool any = false;
  item->regions.resize(gst_dv_infer_count_regions(view));
  while (auto filled = dvnn::gst::take_slot(frame, item->network->network.get())) {
    const bool ours = filled->slot->pool == item->network->pool.get();
    if (!ours || filled->region >= item->regions.size()) continue;
    Region& region = item->regions[filled->region];
    region.shown = filled->shown;
    region.slot = std::move(filled->slot);
    any = true;
  }
  // No slot leaves with the frame, whether it was used, belongs to another network, or is not
  // wanted.
  dvnn::gst::strip_slots(frame);
  for (size_t i = 0; view.regions && i < item->regions.size(); ++i) {
    item->regions[i].tag = (*view.regions)[i].tag;
  }
  return any;
}

// Chooses what to run for a video frame: the regions that `view` receives, in dvconvert's slots or
// in slots that are filled here, or nothing.
static Status gst_dv_infer_take_frame(GstDvInfer* self, InferItem* item, FrameView* view) {
  GstBuffer* frame = gst_buffer_make_writable(GST_BUFFER_CAST(item->object.release()));
  item->object.reset(GST_MINI_OBJECT_CAST(frame));
  *view = dvnn::gst::get_frame_view(frame).value_or(FrameView{});
  dvnn::gst::remove_frame_view(frame);
  if (view->regions && item->tensors) {
    return Error{ErrorCode::kUnsupported,
                 "a buffer of other/tensors is of one region: lists of regions (dvconvert's "
                 "property regions) need frames downstream of dvinfer"};
  }
  if (gst_dv_infer_take_slots(frame, *view, item)) {
    GST_LOG_OBJECT(self, "the frame comes with tensors: %zu regions", item->regions.size());
    return {};
  }
  item->nothing_to_see = item->regions.empty() && !view->verdict;
  if (item->nothing_to_see) {
    GST_LOG_OBJECT(self, "the frame passes: it has no regions to look at");
    return {};
  }
  const Verdict verdict = gst_dv_infer_decide(self, frame, *view, item->network->pool.get());
  if (verdict == Verdict::kInfer) {
    GST_LOG_OBJECT(self, "the frame is to be inferred: %zu regions are converted here",
                   item->regions.size());
    return {};
  }
  item->regions.clear();
  gst_dv_infer_count_passed(self, verdict);
  if (verdict == Verdict::kLate) gst_dv_infer_post_qos(self, frame);
  return {};
}

// While the element is not active, frames and events pass in the thread that brings them, once what
// was queued before has left. Returns false where it has to be queued: it is active, or stops.
static bool gst_dv_infer_stands_aside(GstDvInfer* self) {
  return !gst_dv_infer_rules(self).active && self->priv->queue->stand_aside();
}

static GstFlowReturn gst_dv_infer_pass(GstDvInfer* self, InferItem* item) {
  GstBuffer* frame = gst_buffer_make_writable(GST_BUFFER_CAST(item->object.release()));
  item->object.reset(GST_MINI_OBJECT_CAST(frame));
  dvnn::gst::remove_frame_view(frame);
  dvnn::gst::strip_slots(frame);
  gst_dv_infer_count_passed(self, Verdict::kPass);
  return gst_dv_infer_push_item(self, item);
}

// Fills the regions of a frame that is in the queue but for the first, while workers run the ones
// before.
static void gst_dv_infer_fill_others(GstDvInfer* self, dvnn::gst::BufferPtr frame,
                                     const FrameView& view, const ItemPtr& item) {
  dvnn::gst::InferQueue& queue = *self->priv->queue;
  const size_t count = item->regions.size();
  for (size_t i = 1; i < count; ++i) {
    Status status = gst_dv_infer_fill(self, frame.get(), view, item.get(), i);
    // The frame is the source pad's alone when the last region is done.
    if (i + 1 == count || !status.ok()) frame.reset();
    if (!status.ok()) return queue.fail_regions(item, std::move(status));
    if (!item->regions[i].slot) return queue.abandon(item);
    if (!queue.push_region(item)) return;
  }
}

static void gst_dv_infer_add_region(SlotPtr slot, InferItem* item) {
  item->regions.emplace_back();
  item->regions.back().slot = std::move(slot);
}

// The same for a buffer of a stream of tensors.
static Status gst_dv_infer_take_tensor(GstDvInfer* self, InferItem* item) {
  GstBuffer* tensor = GST_BUFFER_CAST(item->object.get());
  const dvnn::gst::LoadedNetwork& loaded = *item->network;
  std::optional<SlotPtr> slot;
  if (self->priv->sink.tensor_input->is_own()) {
    slot = dvnn::gst::take_slot_memory(tensor, loaded.network.get());
  }
  if (slot && (*slot)->pool == loaded.pool.get()) {
    gst_dv_infer_add_region(std::move(*slot), item);
    // The buffer would keep the slot beyond its run: what goes on is its times and flags.
    GstBuffer* times = gst_buffer_new();
    gst_buffer_copy_into(times, tensor, GST_BUFFER_COPY_METADATA, 0, static_cast<gsize>(-1));
    item->object.reset(GST_MINI_OBJECT_CAST(times));
    return {};
  }
  slot.reset();
  const Verdict verdict = gst_dv_infer_decide(self, tensor, {}, loaded.pool.get());
  if (verdict != Verdict::kInfer) {
    gst_dv_infer_count_passed(self, verdict);
    return {};
  }
  DVNN_ASSIGN(SlotPtr own, gst_dv_infer_own_slot(self, *item));
  if (!own) return {};
  const gint64 start = g_get_monotonic_time();
  DVNN_TRY(self->priv->sink.tensor_input->read(tensor, (*own)->input().data()));
  self->priv->intake->stats.time(InferStats::Time::kConversion, g_get_monotonic_time() - start);
  (*own)->expect_tensor();
  gst_dv_infer_add_region(std::move(own), item);
  return {};
}

static GstFlowReturn gst_dv_infer_take_buffer(GstDvInfer* self, dvnn::gst::BufferPtr buffer) {
  GstDvInferPrivate& priv = *self->priv;
  auto item = std::make_shared<InferItem>();
  const GstClockTime running_time = gst_dv_infer_running_time(self, buffer.get());
  GST_LOG_OBJECT(self, "%" GST_PTR_FORMAT " comes", buffer.get());
  item->object.reset(GST_MINI_OBJECT_CAST(buffer.release()));
  item->times.arrived = g_get_monotonic_time();
  if (!priv.sink.have_video && !priv.sink.tensors_in) return GST_FLOW_NOT_NEGOTIATED;
  if (const GstFlowReturn flow = priv.queue->flow(); flow != GST_FLOW_OK) return flow;
  gst_dv_infer_swap(self);
  item->network = gst_dv_infer_loaded(self);
  if (priv.sink.tensors_out) item->tensors = priv.sink.output;
  if (!item->tensors && gst_dv_infer_stands_aside(self)) return gst_dv_infer_pass(self, item.get());
  item->upstream_us = gst_dv_infer_upstream_wait(self, running_time);
  FrameView view;
  item->status = dvnn::guarded("the frame cannot be converted", [&] {
    return priv.sink.tensors_in ? gst_dv_infer_take_tensor(self, item.get())
                                : gst_dv_infer_take_frame(self, item.get(), &view);
  });
  GstBuffer* frame = GST_BUFFER_CAST(item->object.get());
  if (item->status.ok() && !item->regions.empty()) {
    item->status = gst_dv_infer_may_leave(self, frame, item.get())
                       ? gst_dv_infer_fill_at_once(self, frame, view, item.get())
                       : gst_dv_infer_fill(self, frame, view, item.get(), 0);
  }
  const bool first = item->status.ok() && !item->regions.empty() && item->regions[0].slot;
  if (!first) item->regions.clear();
  // If tensors leave, nothing can pass in place of results.
  const bool passes = item->regions.empty() && item->status.ok();
  if (passes && item->tensors) return priv.queue->flow();
  const int64_t arrived = item->times.arrived;
  const bool more = item->regions.size() > 1 && item->leave_by_us == 0;
  auto others = more ? dvnn::gst::ref(frame) : nullptr;
  GstFlowReturn flow =
      priv.queue->push_frame(more ? item : std::move(item), more ? 1 : dvnn::gst::InferQueue::kAll);
  if (more && flow == GST_FLOW_OK) {
    gst_dv_infer_fill_others(self, std::move(others), view, item);
    flow = priv.queue->flow();
  }
  priv.queue->wait_while_full();
  priv.intake->latency.occupied(arrived, g_get_monotonic_time());
  return flow;
}

static GstFlowReturn gst_dv_infer_chain(GstPad*, GstObject* parent, GstBuffer* buffer) {
  return dvnn::gst::guard(parent, "a frame cannot be taken", GST_FLOW_ERROR, [&] {
    return gst_dv_infer_take_buffer(GST_DV_INFER(parent), dvnn::gst::BufferPtr(buffer));
  });
}

// --- events ------------------------------------------------------------------------------------

static void gst_dv_infer_set_pool_flushing(GstDvInfer* self, bool flushing) {
  if (const LoadedPtr loaded = gst_dv_infer_loaded(self)) {
    if (loaded->pool) loaded->pool->set_flushing(flushing);
  }
}

static gboolean gst_dv_infer_flush_start(GstDvInfer* self, GstEvent* event) {
  const gboolean result = gst_pad_push_event(self->srcpad, event);
  self->priv->queue->start_flush();
  gst_dv_infer_set_pool_flushing(self, true);
  gst_pad_pause_task(self->srcpad);
  return result;
}

static gboolean gst_dv_infer_flush_stop(GstDvInfer* self, GstEvent* event) {
  GstDvInferPrivate& priv = *self->priv;
  const gboolean result = gst_pad_push_event(self->srcpad, event);
  gst_dv_infer_set_pool_flushing(self, false);
  priv.intake->admission.reset();
  gst_segment_init(&priv.sink.segment, GST_FORMAT_UNDEFINED);
  priv.queue->stop_flush(gst_pad_is_active(self->srcpad));
  return result;
}

static gboolean gst_dv_infer_take_caps_event(GstDvInfer* self, EventPtr* event) {
  GstCaps* caps = nullptr;
  gst_event_parse_caps(event->get(), &caps);
  dvnn::gst::CapsPtr out;
  const Status status = dvnn::guarded("the caps cannot be taken",
                                      [&] { return gst_dv_infer_take_caps(self, caps, &out); });
  if (!status.ok()) {
    gst_dv_infer_post_error(self, Topic::kData, status.error());
    return FALSE;
  }
  GST_DEBUG_OBJECT(self, "%" GST_PTR_FORMAT " comes, %" GST_PTR_FORMAT " leaves", caps, out.get());
  event->reset(gst_event_new_caps(out.get()));
  return TRUE;
}

static gboolean gst_dv_infer_queue_event(GstDvInfer* self, EventPtr event) {
  return dvnn::gst::guard(self, "an event cannot be queued", FALSE, [&]() -> gboolean {
    if (gst_dv_infer_stands_aside(self)) {
      InferItem item;
      item.object.reset(GST_MINI_OBJECT_CAST(event.release()));
      gst_dv_infer_push_item(self, &item);
      return TRUE;
    }
    const auto result = self->priv->queue->push_event(std::move(event));
    if (result.fatal) GST_ELEMENT_FLOW_ERROR(self, result.flow);
    return result.queued;
  });
}

static gboolean gst_dv_infer_sink_event(GstPad* pad, GstObject* parent, GstEvent* given) {
  GstDvInfer* self = GST_DV_INFER(parent);
  GstDvInferPrivate& priv = *self->priv;
  EventPtr event(given);
  switch (GST_EVENT_TYPE(given)) {
    case GST_EVENT_FLUSH_START:
      return gst_dv_infer_flush_start(self, event.release());
    case GST_EVENT_FLUSH_STOP:
      return gst_dv_infer_flush_stop(self, event.release());
    case GST_EVENT_CAPS:
      if (!gst_dv_infer_take_caps_event(self, &event)) return FALSE;
      break;
    case GST_EVENT_SEGMENT:
      gst_event_copy_segment(given, &priv.sink.segment);
      break;
    case GST_EVENT_STREAM_START:
      priv.intake->admission.reset();
      break;
    default:
      break;
  }
  if (!GST_EVENT_IS_SERIALIZED(event.get())) {
    return gst_pad_event_default(pad, parent, event.release());
  }
  return gst_dv_infer_queue_event(self, std::move(event));
}

// --- queries -----------------------------------------------------------------------------------

// Tells upstream how many of its buffers are kept here, beside those that downstream keeps: a
// source whose pool is bounded makes so many more.
static void gst_dv_infer_announce_held(GstDvInfer* self, GstQuery* query) {
  const auto& sink = self->priv->sink;
  if (!sink.have_video || sink.tensors_out) return;
  const auto held = static_cast<guint>(gst_dv_infer_most_held(self, gst_dv_infer_rules(self)));
  const guint pools = gst_query_get_n_allocation_pools(query);
  if (pools == 0) {
    const auto size = static_cast<guint>(GST_VIDEO_INFO_SIZE(&sink.video));
    return gst_query_add_allocation_pool(query, nullptr, size, held, 0);
  }
  for (guint i = 0; i < pools; ++i) {
    GstBufferPool* given = nullptr;
    guint size = 0, min = 0, max = 0;
    gst_query_parse_nth_allocation_pool(query, i, &given, &size, &min, &max);
    const dvnn::gst::BufferPoolPtr pool(given);
    // Downstream's pool need not be able to make more: upstream may then use its own.
    if (max == 0) gst_query_set_nth_allocation_pool(query, i, given, size, min + held, 0);
  }
}

static gboolean gst_dv_infer_answer_allocation(GstDvInfer* self, GstQuery* query) {
  GstDvInferPrivate& priv = *self->priv;
  // Serialized: what came before must have left before downstream is asked.
  if (!priv.queue->drain()) return FALSE;
  // Frames pass, and downstream says what it honours, or they end here, where tensors are made.
  if (!priv.sink.tensors_out) {
    gst_pad_peer_query(self->srcpad, query);
  } else if (priv.sink.have_video) {
    dvnn::gst::propose_frame_metas(query);
  }
  gst_dv_infer_announce_held(self, query);
  gst_dv_infer_swap(self);
  const LoadedPtr loaded = gst_dv_infer_loaded(self);
  const dvnn::network::Network& network = *loaded->network;
  dvnn::gst::set_tensor_request(query, {network.input_desc(), network.model().input.picture,
                                        network.takes_pixels(), loaded->pool, priv.intake});
  return TRUE;
}

static gboolean gst_dv_infer_sink_query(GstPad* pad, GstObject* parent, GstQuery* query) {
  GstDvInfer* self = GST_DV_INFER(parent);
  if (GST_QUERY_TYPE(query) == GST_QUERY_CAPS) return gst_dv_infer_answer_caps(self, query, true);
  if (GST_QUERY_TYPE(query) == GST_QUERY_ACCEPT_CAPS) {
    return gst_dv_infer_answer_accept_caps(self, query);
  }
  if (!GST_QUERY_IS_SERIALIZED(query)) return gst_pad_query_default(pad, parent, query);
  // Upstream may play on while this element has stopped: GStreamer does not hold queries back. The
  // stop, which takes the queue, waits for the stream lock once the pad is flushing.
  if (GST_PAD_IS_FLUSHING(pad) || !gst_dv_infer_queue(self)) return FALSE;
  if (GST_QUERY_TYPE(query) == GST_QUERY_ALLOCATION) {
    return dvnn::gst::guard(self, "no tensor can be asked for", FALSE,
                            [&] { return gst_dv_infer_answer_allocation(self, query); });
  }
  return self->priv->queue->drain() && gst_pad_peer_query(self->srcpad, query);
}

// --- set-up ------------------------------------------------------------------------------------

void gst_dv_infer_init_sink_pad(GstDvInfer* self) {
  self->sinkpad = gst_pad_new_from_static_template(&dv_infer_sink_template, "sink");
  gst_pad_set_chain_function(self->sinkpad, GST_DEBUG_FUNCPTR(gst_dv_infer_chain));
  gst_pad_set_event_function(self->sinkpad, GST_DEBUG_FUNCPTR(gst_dv_infer_sink_event));
  gst_pad_set_query_function(self->sinkpad, GST_DEBUG_FUNCPTR(gst_dv_infer_sink_query));
  gst_element_add_pad(GST_ELEMENT(self), self->sinkpad);
}

void gst_dv_infer_add_sink_template(GstElementClass* klass) {
  gst_element_class_add_static_pad_template(klass, &dv_infer_sink_template);
}
