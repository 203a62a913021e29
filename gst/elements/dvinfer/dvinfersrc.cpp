// SPDX-License-Identifier: Apache-2.0
#include "elements/dvinfer/dvinfersrc.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "elements/dvinfer/dvinfercaps.h"
#include "elements/dvinfer/dvinferlate.h"
#include "elements/dvinfer/dvinferlatency.h"
#include "elements/surroundings.h"
#include "errors.h"
#include "frames/videocaps.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst/dvnn/gstdvtensormeta.h"
#include "guard.h"
#include "meta/tensordesc.h"
#ifdef DVNN_HAVE_TENSORS
#include "meta/exchange/tensorgroups.h"
#endif
#include "times.h"

#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT gst_dv_infer_debug

using dvnn::Error;
using dvnn::Status;
using dvnn::gst::BufferPtr;
using dvnn::gst::InferItem;
using dvnn::gst::InferRules;
using dvnn::gst::InferStats;
using dvnn::gst::ItemPtr;
using dvnn::gst::MemoryPtr;
using dvnn::gst::ObjectLock;
using dvnn::gst::OnError;
using dvnn::gst::Region;
using dvnn::gst::Topic;

static GstStaticPadTemplate dv_infer_src_template = GST_STATIC_PAD_TEMPLATE(
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS(DVNN_VIDEO_CAPS "; " DVNN_TENSORS_CAPS));

// --- outputs -----------------------------------------------------------------------------------

static void gst_dv_infer_attach_region(InferItem* item, guint index, GstBuffer* frame) {
  Region& region = item->regions[index];
  const dvnn::network::Model& model = item->network->network->model();
  const dvnn::Shape& input = item->network->network->input_desc().shape;
  GstDvTensorMeta* meta = gst_buffer_add_dv_tensor_meta(frame, region.outputs.size());
  for (size_t i = 0; i < region.outputs.size(); ++i) {
    const auto& output = model.outputs[i];
    dvnn::gst::describe_tensor(model.tensor(output.tensor).desc, output.name.c_str(),
                               &meta->tensors[i]);
    meta->tensors[i].data = gst_buffer_new();
    gst_buffer_append_memory(meta->tensors[i].data, region.outputs[i].release());
  }
  meta->network = gst_dv_network_info_ref(item->network->info.get());
  meta->transform = dvnn::gst::to_public(region.shown.transform);
  meta->input_width = static_cast<guint>(input.w());
  meta->input_height = static_cast<guint>(input.h());
  meta->region = index;
  meta->region_kind = region.tag.kind;
  meta->region_name = region.tag.name;
  meta->object = region.tag.object;
  meta->predicted = region.predicted;
  const dvnn::image::Corners& part = region.shown.part;
  meta->x0 = part.x0, meta->y0 = part.y0, meta->x1 = part.x1, meta->y1 = part.y1;
}

#ifdef DVNN_HAVE_TENSORS
// Writes the outputs for other elements' decoders, too. An error there does not stop ours.
static void gst_dv_infer_export(GstDvInfer* self, const InferRules& rules, const InferItem& item,
                                GstBuffer* frame) {
  GstDvInferPrivate& priv = *self->priv;
  using dvnn::gst::TensorExport;
  const bool asked = priv.groups_asked && rules.tensor_meta == TensorExport::kAuto;
  const TensorExport which = asked ? TensorExport::kAlways : rules.tensor_meta;
  const Status status = priv.exporter.run(which, item.network->info.get(), priv.out_size, frame);
  if (status.ok() || priv.export_failed) return;
  priv.export_failed = true;
  dvnn::gst::post_warning(GST_ELEMENT(self), Topic::kData,
                          status.error().within("outputs are not attached as GstTensorMeta"));
}
#endif

// Says on the frame whether the network has seen it.
static void gst_dv_infer_mark(const InferItem& item, GstBuffer* frame) {
  const auto own = std::count_if(item.regions.begin(), item.regions.end(),
                                 [](const Region& region) { return !region.predicted; });
  const bool inferred = own > 0 || item.nothing_to_see;
  GstDvObjectsMeta* meta = gst_buffer_add_dv_objects_meta(frame);
  const guint index =
      gst_dv_objects_meta_add_pass(meta, gst_dv_network_info_get_name(item.network->info.get()),
                                   inferred ? GST_DV_PASS_INFERRED : GST_DV_PASS_SKIPPED);
  gst_dv_objects_meta_get_pass(meta, index)->regions = static_cast<guint>(own);
}

// The frame with its outputs, or a buffer of tensors.
static dvnn::Result<BufferPtr> gst_dv_infer_finish_frame(InferItem* item) {
  BufferPtr frame(GST_BUFFER_CAST(item->object.release()));
  if (!item->tensors) {
    // One that was given up may still be read, for regions that nobody wants any more.
    frame.reset(gst_buffer_make_writable(frame.release()));
    for (guint i = 0; i < item->regions.size(); ++i) {
      gst_dv_infer_attach_region(item, i, frame.get());
    }
    gst_dv_infer_mark(*item, frame.get());
    return frame;
  }
  std::vector<MemoryPtr> outputs;
  for (Region& region : item->regions) {
    for (auto& output : region.outputs) outputs.push_back(std::move(output));
  }
  DVNN_ASSIGN(BufferPtr tensors,
              dvnn::gst::stream_buffer(std::move(outputs), item->tensors->stream()));
  dvnn::gst::copy_times(frame.get(), tensors.get());
  return tensors;
}

// --- the task ----------------------------------------------------------------------------------

static void gst_dv_infer_report_stats(GstDvInfer* self, const InferRules& rules) {
  const gint64 now = g_get_monotonic_time();
  if (rules.stats_interval_ms == 0 ||
      now - self->priv->stats_posted_us < gint64{rules.stats_interval_ms} * 1000) {
    return;
  }
  self->priv->stats_posted_us = now;
  gst_dv_infer_post_stats(self);
}

// Handles a frame that has failed, as on-error says. Returns whether it goes on, without results.
static bool gst_dv_infer_handle_failure(GstDvInfer* self, const InferRules& rules,
                                        InferItem* item) {
  const Error& error = item->status.error();
  GST_DEBUG_OBJECT(self, "the frame has failed: %s", error.message.c_str());
  item->regions.clear();
  if (rules.on_error == OnError::kError) {
    gst_dv_infer_post_error(self, Topic::kData, error);
    return false;
  }
  const bool drop = rules.on_error == OnError::kDrop;
  dvnn::gst::post_warning(
      GST_ELEMENT(self), Topic::kData,
      error.within(drop ? "a frame is dropped" : "a frame passes without results"));
  self->priv->intake->stats.count(drop ? InferStats::Count::kDropped : InferStats::Count::kPassed);
  // If tensors leave, nothing can pass in place of results.
  return !drop && !item->tensors;
}

// Checks once whether anybody reads the outputs. After so many frames the pipeline is complete.
static void gst_dv_infer_look_for_readers(GstDvInfer* self) {
  self->priv->outputs_pushed = G_MAXUINT;
  const LoadedPtr loaded = gst_dv_infer_loaded(self);
  if (!loaded || dvnn::gst::has_reader_of_outputs(self->srcpad)) return;
  dvnn::gst::post_warning(
      GST_ELEMENT(self), Topic::kSettings,
      Error{dvnn::ErrorCode::kInvalidArgument,
            dvnn::format(
                "nothing downstream reads the outputs of network '%s': is a dvdecode missing?",
                loaded->network->model().name.c_str())},
      "an appsink or a pad probe would do as well: docs/metadata.md has the outputs' meta");
}

static void gst_dv_infer_count_outputs(GstDvInfer* self) {
  constexpr guint kFramesBeforeLook = 30;
  guint& pushed = self->priv->outputs_pushed;
  if (pushed != G_MAXUINT && ++pushed == kFramesBeforeLook) gst_dv_infer_look_for_readers(self);
}

// Late work that has failed; its frame has left.
static GstFlowReturn gst_dv_infer_tell_of_late(GstDvInfer* self, InferItem* work) {
  const Error error = work->status.error().within("a result that was late");
  if (gst_dv_infer_rules(self).on_error == OnError::kError) {
    gst_dv_infer_post_error(self, Topic::kData, error);
    return GST_FLOW_ERROR;
  }
  dvnn::gst::post_warning(GST_ELEMENT(self), Topic::kData, error);
  return GST_FLOW_OK;
}

static GstFlowReturn gst_dv_infer_push_frame(GstDvInfer* self, InferItem* item) {
  GstDvInferPrivate& priv = *self->priv;
  const InferRules rules = gst_dv_infer_rules(self);
  priv.intake->latency.frame_ready(item->times, item->upstream_us);
  if (!item->status.ok() && !gst_dv_infer_handle_failure(self, rules, item)) {
    return rules.on_error == OnError::kError ? GST_FLOW_ERROR : GST_FLOW_OK;
  }
  if (!item->regions.empty()) priv.intake->stats.count(InferStats::Count::kInferred);
  if (!item->tensors) gst_dv_infer_join_late(self, rules, item);
  gst_dv_infer_report_latency(self, rules);
  gst_dv_infer_report_stats(self, rules);
  if (!item->regions.empty() && !item->tensors) gst_dv_infer_count_outputs(self);
  auto out = gst_dv_infer_finish_frame(item);
  if (!out.ok()) {
    item->status = out.error();
    gst_dv_infer_post_error(self, Topic::kData, out.error());
    return GST_FLOW_ERROR;
  }
#ifdef DVNN_HAVE_TENSORS
  if (!item->tensors) gst_dv_infer_export(self, rules, *item, out.value().get());
#endif
  GST_LOG_OBJECT(self, "frame %" G_GUINT64_FORMAT " is pushed, with %zu regions", item->number,
                 item->regions.size());
  const gint64 start = g_get_monotonic_time();
  const GstFlowReturn flow = gst_pad_push(self->srcpad, out.value().release());
  priv.intake->latency.blocked(start, g_get_monotonic_time());
  GST_LOG_OBJECT(self, "frame %" G_GUINT64_FORMAT ": downstream says %s after %lld us",
                 item->number, gst_flow_get_name(flow),
                 static_cast<long long>(g_get_monotonic_time() - start));
  return flow;
}

static GstFlowReturn gst_dv_infer_push_event(GstDvInfer* self, InferItem* item) {
  dvnn::gst::EventPtr event(GST_EVENT_CAST(item->object.release()));
  const bool is_eos = GST_EVENT_TYPE(event.get()) == GST_EVENT_EOS;
  const bool begins = GST_EVENT_TYPE(event.get()) == GST_EVENT_STREAM_START ||
                      GST_EVENT_TYPE(event.get()) == GST_EVENT_SEGMENT ||
                      GST_EVENT_TYPE(event.get()) == GST_EVENT_CAPS;
  if (is_eos || begins) gst_dv_infer_forget_late(self);
  const guint pushed = self->priv->outputs_pushed;
  if (is_eos && pushed > 0 && pushed != G_MAXUINT) gst_dv_infer_look_for_readers(self);
#ifdef DVNN_HAVE_TENSORS
  if (GST_EVENT_TYPE(event.get()) == GST_EVENT_CAPS) {
    GstCaps* caps = nullptr;
    gst_event_parse_caps(event.get(), &caps);
    self->priv->out_size = dvnn::gst::frame_size(caps);
    self->priv->groups_asked = dvnn::gst::has_tensor_groups(caps);
  }
#endif
  gst_pad_push_event(self->srcpad, event.release());
  return is_eos ? GST_FLOW_EOS : GST_FLOW_OK;
}

GstFlowReturn gst_dv_infer_push_item(GstDvInfer* self, InferItem* item) {
  return item->is_frame() ? gst_dv_infer_push_frame(self, item)
                          : gst_dv_infer_push_event(self, item);
}

static void gst_dv_infer_src_loop(gpointer user_data) {
  GstDvInfer* self = GST_DV_INFER(user_data);
  const std::shared_ptr<dvnn::gst::InferQueue> queue = self->priv->queue;
  const ItemPtr item = dvnn::gst::guard(self, "a frame cannot be given up", ItemPtr(), [&] {
    return queue->pop(gst_dv_infer_rules(self).watchdog_ms);
  });
  if (!item) return;
  const bool is_late = item->late;
  const bool is_event = !is_late && !item->is_frame();
  bool told = true;  // of an exception
  const GstFlowReturn flow =
      dvnn::gst::guard(self, "a frame cannot be handed on", GST_FLOW_ERROR, [&] {
        const GstFlowReturn pushed = is_late ? gst_dv_infer_tell_of_late(self, item.get())
                                             : gst_dv_infer_push_item(self, item.get());
        told = false;
        return pushed;
      });
  const bool ours = told || (flow == GST_FLOW_ERROR && !is_event && !item->status.ok());
  const auto stopped = queue->finish(is_event, flow, ours);
  if (!stopped.stopped) return;
  GST_DEBUG_OBJECT(self, "source pad stops: %s", gst_flow_get_name(stopped.flow));
  // Upstream learns of it by the next frame; where there will be none, the application must.
  if (stopped.fatal) GST_ELEMENT_FLOW_ERROR(self, stopped.flow);
  if (stopped.fatal || ours) gst_pad_push_event(self->srcpad, gst_event_new_eos());
}

void gst_dv_infer_set_task(GstDvInfer* self, bool run) {
  if (run) {
    gst_pad_start_task(self->srcpad, gst_dv_infer_src_loop, self, nullptr);
  } else {
    gst_pad_pause_task(self->srcpad);
  }
}

// --- events and queries ------------------------------------------------------------------------

static void gst_dv_infer_take_qos(GstDvInfer* self, GstEvent* event) {
  GstQOSType type;
  gdouble proportion;
  GstClockTimeDiff diff;
  GstClockTime timestamp;
  gst_event_parse_qos(event, &type, &proportion, &diff, &timestamp);
  // A throttled sink wants fewer frames; none of them is late.
  if (type == GST_QOS_TYPE_THROTTLE || !GST_CLOCK_TIME_IS_VALID(timestamp)) return;
  GST_LOG_OBJECT(self, "the sink says that a frame was %lld us %s",
                 static_cast<long long>(diff > 0 ? diff : -diff) / 1000,
                 diff > 0 ? "late" : "early");
  // Twice the lateness beyond the timestamp, as GstVideoDecoder does, to catch up.
  self->priv->intake->admission.set_earliest(
      diff > 0 ? timestamp + 2 * static_cast<GstClockTime>(diff) : GST_CLOCK_TIME_NONE, proportion);
}

static gboolean gst_dv_infer_src_event(GstPad* pad, GstObject* parent, GstEvent* event) {
  GstDvInfer* self = GST_DV_INFER(parent);
  if (GST_EVENT_TYPE(event) == GST_EVENT_QOS) gst_dv_infer_take_qos(self, event);
  if (GST_EVENT_TYPE(event) == GST_EVENT_RECONFIGURE) {
    if (const auto queue = gst_dv_infer_queue(self)) queue->reconfigure();
    return gst_pad_push_event(self->sinkpad, event);
  }
  return gst_pad_event_default(pad, parent, event);
}

static gboolean gst_dv_infer_answer_latency(GstDvInfer* self, GstQuery* query) {
  gboolean live = FALSE;
  GstClockTime min = 0, max = 0;
  gst_query_parse_latency(query, &live, &min, &max);
  const InferRules rules = gst_dv_infer_rules(self);
  const GstClockTime ours = gst_dv_infer_latency(self, rules);
  gst_dv_infer_limit_frames(self, rules);
  {
    const ObjectLock lock(self);
    self->priv->shared.upstream = min;
  }
  self->priv->intake->live = live;
  min += ours;
  if (GST_CLOCK_TIME_IS_VALID(max)) max += ours;
  gst_query_set_latency(query, live, min, max);
  return TRUE;
}

static gboolean gst_dv_infer_src_query(GstPad* pad, GstObject* parent, GstQuery* query) {
  GstDvInfer* self = GST_DV_INFER(parent);
  if (GST_QUERY_TYPE(query) == GST_QUERY_CAPS) return gst_dv_infer_answer_caps(self, query, false);
  if (!gst_pad_query_default(pad, parent, query)) return FALSE;
  if (GST_QUERY_TYPE(query) == GST_QUERY_LATENCY) return gst_dv_infer_answer_latency(self, query);
  return TRUE;
}

static gboolean gst_dv_infer_src_activate_mode(GstPad* pad, GstObject* parent, GstPadMode mode,
                                               gboolean active) {
  GstDvInfer* self = GST_DV_INFER(parent);
  GstDvInferPrivate& priv = *self->priv;
  if (mode != GST_PAD_MODE_PUSH) return FALSE;
  const LoadedPtr loaded = gst_dv_infer_loaded(self);
  if (loaded && loaded->pool) loaded->pool->set_flushing(!active);
  if (active) {
    priv.queue->stop_flush(true);
    return TRUE;
  }
  priv.queue->start_flush();
  return gst_pad_stop_task(pad);
}

// --- set-up ------------------------------------------------------------------------------------

void gst_dv_infer_init_src_pad(GstDvInfer* self) {
  self->srcpad = gst_pad_new_from_static_template(&dv_infer_src_template, "src");
  gst_pad_set_event_function(self->srcpad, GST_DEBUG_FUNCPTR(gst_dv_infer_src_event));
  gst_pad_set_query_function(self->srcpad, GST_DEBUG_FUNCPTR(gst_dv_infer_src_query));
  gst_pad_set_activatemode_function(self->srcpad,
                                    GST_DEBUG_FUNCPTR(gst_dv_infer_src_activate_mode));
  gst_element_add_pad(GST_ELEMENT(self), self->srcpad);
}

void gst_dv_infer_add_src_template(GstElementClass* klass) {
  gst_element_class_add_static_pad_template(klass, &dv_infer_src_template);
}
