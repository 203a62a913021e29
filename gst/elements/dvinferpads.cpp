// SPDX-License-Identifier: Apache-2.0
// dvinfer's pads: frames in, frames with outputs out, in order; events and queries around them.
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "elements/dvinferprivate.h"
#include "errors.h"
#include "meta/tensordesc.h"
#include "infer/slotpool.h"
#include "frames/tensorcaps.h"
#include "infer/tensorrequest.h"

GST_DEBUG_CATEGORY_EXTERN(gst_dv_infer_debug);
#define GST_CAT_DEFAULT gst_dv_infer_debug

using dvnn::gst::InferItem;

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE(
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS(DVNN_VIDEO_CAPS "; " DVNN_TENSORS_CAPS));
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE(
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS(DVNN_VIDEO_CAPS "; " DVNN_TENSORS_CAPS));

// --- the source side ---------------------------------------------------------------------------

// Attaches the outputs: views of the slot, each keeping it from the pool.
static void gst_dv_infer_attach(GstDvInfer* self, GstBuffer* frame, GstBuffer* slot_buffer) {
  const dvnn::network::Slot* slot = dvnn::gst::slot_of(slot_buffer);
  const dvnn::network::Model& model = slot->network()->model();
  GstDvTensorMeta* input = gst_buffer_get_dv_tensor_meta(frame, GST_DV_TENSOR_ROLE_INPUT);
  GstDvTensorMeta* meta =
      gst_buffer_add_dv_tensor_meta(frame, GST_DV_TENSOR_ROLE_OUTPUT, model.outputs.size());
  for (size_t i = 0; i < model.outputs.size(); ++i) {
    dvnn::gst::describe_tensor(slot->output(i).desc, model.outputs[i].name.c_str(),
                               &meta->tensors[i]);
    meta->tensors[i].data = gst_buffer_new();
    gst_buffer_append_memory(meta->tensors[i].data, gst_dv_infer_output_memory(slot_buffer, i));
  }
  meta->network = gst_dv_network_info_ref(self->state->info);
  meta->transform = input->transform;
  meta->input_width = input->input_width;
  meta->input_height = input->input_height;
  // The input's memory is used up: nobody may run it again.
  gst_buffer_remove_meta(frame, GST_META_CAST(input));
}

static void gst_dv_infer_check_latency(GstDvInfer* self) {
  GstDvInferState& state = *self->state;
  const int64_t now = state.latency_us, reported = state.reported_us;
  constexpr int64_t kWorthTelling = 2000;  // microseconds
  if (std::abs(now - reported) <= std::max(kWorthTelling, reported / 4)) return;
  state.reported_us = now;
  gst_element_post_message(GST_ELEMENT(self), gst_message_new_latency(GST_OBJECT(self)));
}

static void gst_dv_infer_push_frame(GstDvInfer* self, InferItem* item) {
  GstDvInferState& state = *self->state;
  GstBuffer* frame = GST_BUFFER(std::exchange(item->object, nullptr));
  if (!item->status.ok()) {
    GST_OBJECT_LOCK(self);
    const bool drop = state.on_error == GST_DV_INFER_ON_ERROR_DROP;
    GST_OBJECT_UNLOCK(self);
    gst_buffer_unref(frame);
    if (drop) {
      ++state.dropped;
      GST_WARNING_OBJECT(self, "frame dropped: %s", item->status.error().message.c_str());
      return;
    }
    dvnn::gst::post_error(GST_ELEMENT(self), dvnn::gst::Topic::kData, item->status.error());
    state.flow = GST_FLOW_ERROR;
    return;
  }
  if (item->slot) {
    if (item->as_tensors) {
      GstBuffer* tensors = gst_dv_infer_make_tensors(item->slot, frame);
      gst_buffer_unref(frame);
      frame = tensors;
    } else {
      gst_dv_infer_attach(self, frame, item->slot);
    }
    gst_clear_buffer(&item->slot);
    ++state.inferred;
    gst_dv_infer_check_latency(self);
  }
  state.flow = gst_pad_push(self->srcpad, frame);
}

static void gst_dv_infer_src_loop(gpointer user_data) {
  GstDvInfer* self = GST_DV_INFER(user_data);
  GstDvInferState& state = *self->state;
  std::unique_ptr<InferItem> item = state.queue->pop();
  if (!item) {
    gst_pad_pause_task(self->srcpad);
    return;
  }
  if (GST_IS_EVENT(item->object)) {
    GstEvent* event = GST_EVENT(std::exchange(item->object, nullptr));
    // A new segment may follow an end of stream.
    if (GST_EVENT_TYPE(event) == GST_EVENT_SEGMENT && state.flow == GST_FLOW_EOS) {
      state.flow = GST_FLOW_OK;
    }
    gst_pad_push_event(self->srcpad, event);
  } else if (state.flow != GST_FLOW_EOS) {
    gst_dv_infer_push_frame(self, item.get());
  }
  item.reset();
  state.queue->released();
  const GstFlowReturn flow = state.flow;
  // Downstream wants no more frames: upstream is told so, but events, EOS above all, go on.
  if (flow == GST_FLOW_OK || flow == GST_FLOW_EOS) return;
  GST_DEBUG_OBJECT(self, "source pad stops: %s", gst_flow_get_name(flow));
  if (flow == GST_FLOW_NOT_LINKED || flow < GST_FLOW_EOS) {
    if (flow != GST_FLOW_ERROR) GST_ELEMENT_FLOW_ERROR(self, flow);
    gst_pad_push_event(self->srcpad, gst_event_new_eos());
  }
  state.queue->set_flushing(true);
  gst_pad_pause_task(self->srcpad);
}

// --- the sink side -----------------------------------------------------------------------------

// A slot with the frame's tensor: dvconvert's, or one filled here.
static dvnn::Status gst_dv_infer_take_slot(GstDvInfer* self, GstBuffer** frame, GstBuffer** slot) {
  GstDvInferState& state = *self->state;
  *slot = nullptr;
  if (auto* meta = gst_buffer_get_dv_tensor_meta(*frame, GST_DV_TENSOR_ROLE_INPUT)) {
    GstBuffer* made = meta->num_tensors == 1 ? meta->tensors[0].data : nullptr;
    dvnn::network::Slot* owner = made ? dvnn::gst::slot_of(made) : nullptr;
    if (owner && owner->network() == state.network && dvnn::gst::slot_take_input(made)) {
      *slot = gst_buffer_ref(made);
      *frame = gst_buffer_make_writable(*frame);
      return {};
    }
  }
  *frame = gst_buffer_make_writable(*frame);
  while (auto* stale = gst_buffer_get_dv_tensor_meta(*frame, GST_DV_TENSOR_ROLE_INPUT)) {
    gst_buffer_remove_meta(*frame, GST_META_CAST(stale));  // another network's, or used up
  }
  if (!state.converter) {
    DVNN_ASSIGN(state.converter,
                dvnn::gst::FrameConverter::create(state.video, {state.network->input_desc(), {}},
                                                  state.network->model().input.picture));
  }
  GstBuffer* fresh = nullptr;
  if (gst_buffer_pool_acquire_buffer(state.pool, &fresh, nullptr) != GST_FLOW_OK) return {};
  DVNN_TRY(state.converter->convert_to_slot(*frame, fresh, dvnn::gst::InputKind::kTensor));
  dvnn::gst::slot_take_input(fresh);
  *slot = fresh;
  return {};
}

static bool gst_dv_infer_is_late(GstDvInfer* self, GstBuffer* frame) {
  GstDvInferState& state = *self->state;
  const GstClockTime earliest = state.earliest;
  if (!state.qos || !GST_CLOCK_TIME_IS_VALID(earliest) || !GST_BUFFER_PTS_IS_VALID(frame) ||
      state.segment.format != GST_FORMAT_TIME) {
    return false;
  }
  const guint64 time =
      gst_segment_to_running_time(&state.segment, GST_FORMAT_TIME, GST_BUFFER_PTS(frame));
  return GST_CLOCK_TIME_IS_VALID(time) && time <= earliest;
}

static GstFlowReturn gst_dv_infer_chain(GstPad*, GstObject* parent, GstBuffer* frame) {
  GstDvInfer* self = GST_DV_INFER(parent);
  GstDvInferState& state = *self->state;
  const bool negotiated = state.have_video || state.tensors_in;
  if (!negotiated || state.flow == GST_FLOW_EOS) {
    gst_buffer_unref(frame);
    return negotiated ? GST_FLOW_EOS : GST_FLOW_NOT_NEGOTIATED;
  }
  auto item = std::make_unique<InferItem>();
  dvnn::Status status;
  item->as_tensors = state.tensors_out;
  if (gst_dv_infer_is_late(self, frame)) {
    ++state.late;
    if (state.tensors_out) {  // there is nothing to pass in its place
      gst_buffer_unref(frame);
      return GST_FLOW_OK;
    }
  } else if (state.tensors_in) {
    status = gst_dv_infer_take_tensor(self, frame, &item->slot);
  } else {
    status = gst_dv_infer_take_slot(self, &frame, &item->slot);
  }
  item->object = GST_MINI_OBJECT_CAST(frame);
  if (!status.ok()) {
    dvnn::gst::post_error(GST_ELEMENT(self), dvnn::gst::Topic::kData, status.error());
    return GST_FLOW_ERROR;
  }
  if (state.queue->push(std::move(item))) return GST_FLOW_OK;
  const GstFlowReturn flow = state.flow;
  return flow == GST_FLOW_OK ? GST_FLOW_FLUSHING : flow;
}

static void gst_dv_infer_flush_stop(GstDvInfer* self, GstEvent* event) {
  GstDvInferState& state = *self->state;
  gst_pad_push_event(self->srcpad, event);
  gst_buffer_pool_set_flushing(state.pool, FALSE);
  state.queue->set_flushing(false);
  state.flow = GST_FLOW_OK;
  state.earliest = GST_CLOCK_TIME_NONE;
  gst_segment_init(&state.segment, GST_FORMAT_UNDEFINED);
  gst_pad_start_task(self->srcpad, gst_dv_infer_src_loop, self, nullptr);
}

static gboolean gst_dv_infer_sink_event(GstPad* pad, GstObject* parent, GstEvent* event) {
  GstDvInfer* self = GST_DV_INFER(parent);
  GstDvInferState& state = *self->state;
  switch (GST_EVENT_TYPE(event)) {
    case GST_EVENT_FLUSH_START: {
      const gboolean result = gst_pad_push_event(self->srcpad, event);
      state.queue->set_flushing(true);
      gst_buffer_pool_set_flushing(state.pool, TRUE);
      gst_pad_pause_task(self->srcpad);
      return result;
    }
    case GST_EVENT_FLUSH_STOP:
      gst_dv_infer_flush_stop(self, event);
      return TRUE;
    case GST_EVENT_CAPS: {
      GstCaps* caps = nullptr;
      gst_event_parse_caps(event, &caps);
      GstCaps* out = nullptr;
      const dvnn::Status status = gst_dv_infer_take_caps(self, caps, &out);
      gst_event_unref(event);
      if (!status.ok()) {
        dvnn::gst::post_error(GST_ELEMENT(self), dvnn::gst::Topic::kData, status.error());
        return FALSE;
      }
      event = gst_event_new_caps(out);
      gst_caps_unref(out);
      break;
    }
    case GST_EVENT_SEGMENT:
      gst_event_copy_segment(event, &state.segment);
      break;
    default:
      break;
  }
  if (!GST_EVENT_IS_SERIALIZED(event)) return gst_pad_event_default(pad, parent, event);
  auto item = std::make_unique<InferItem>();
  item->object = GST_MINI_OBJECT_CAST(event);
  return state.queue->push(std::move(item));
}

static gboolean gst_dv_infer_answer_caps(GstDvInfer* self, GstQuery* query, bool sink) {
  GstCaps* filter = nullptr;
  gst_query_parse_caps(query, &filter);
  GstCaps* caps = gst_dv_infer_get_caps(self, sink);
  if (filter) {
    GstCaps* filtered = gst_caps_intersect_full(filter, caps, GST_CAPS_INTERSECT_FIRST);
    gst_caps_unref(caps);
    caps = filtered;
  }
  gst_query_set_caps_result(query, caps);
  gst_caps_unref(caps);
  return TRUE;
}

static gboolean gst_dv_infer_sink_query(GstPad* pad, GstObject* parent, GstQuery* query) {
  GstDvInfer* self = GST_DV_INFER(parent);
  GstDvInferState& state = *self->state;
  if (GST_QUERY_TYPE(query) == GST_QUERY_ALLOCATION && state.network && state.queue) {
    // Serialized: what came before must have left before downstream is asked.
    if (!state.queue->drain()) return FALSE;
    // Downstream can say something of frames alone: tensors are made here.
    if (!state.tensors_out) gst_pad_peer_query(self->srcpad, query);
    dvnn::gst::TensorRequest request{state.network->input_desc(),
                                     state.network->model().input.picture,
                                     state.network->takes_pixels(), state.pool};
    dvnn::gst::add_tensor_request(query, request);
    return TRUE;
  }
  if (GST_QUERY_TYPE(query) == GST_QUERY_CAPS) return gst_dv_infer_answer_caps(self, query, true);
  if (GST_QUERY_IS_SERIALIZED(query)) {
    return state.queue && state.queue->drain() && gst_pad_peer_query(self->srcpad, query);
  }
  return gst_pad_query_default(pad, parent, query);
}

// --- upstream events, queries ------------------------------------------------------------------

static gboolean gst_dv_infer_src_event(GstPad* pad, GstObject* parent, GstEvent* event) {
  GstDvInfer* self = GST_DV_INFER(parent);
  if (GST_EVENT_TYPE(event) == GST_EVENT_QOS) {
    GstQOSType type;
    GstClockTimeDiff diff;
    GstClockTime timestamp;
    gst_event_parse_qos(event, &type, nullptr, &diff, &timestamp);
    if (GST_CLOCK_TIME_IS_VALID(timestamp)) {
      // Twice the lateness beyond the timestamp, as GstVideoDecoder does, to catch up.
      self->state->earliest =
          diff > 0 ? timestamp + 2 * static_cast<GstClockTime>(diff) : GST_CLOCK_TIME_NONE;
    }
  }
  return gst_pad_event_default(pad, parent, event);
}

static gboolean gst_dv_infer_src_query(GstPad* pad, GstObject* parent, GstQuery* query) {
  GstDvInfer* self = GST_DV_INFER(parent);
  if (GST_QUERY_TYPE(query) == GST_QUERY_CAPS) return gst_dv_infer_answer_caps(self, query, false);
  if (!gst_pad_query_default(pad, parent, query)) return FALSE;
  if (GST_QUERY_TYPE(query) == GST_QUERY_LATENCY) {
    gboolean live = FALSE;
    GstClockTime min = 0, max = 0;
    gst_query_parse_latency(query, &live, &min, &max);
    const GstClockTime ours =
        static_cast<GstClockTime>(self->state->latency_us.load()) * GST_USECOND;
    min += ours;
    if (GST_CLOCK_TIME_IS_VALID(max)) max += ours;
    gst_query_set_latency(query, live, min, max);
  }
  return TRUE;
}

static gboolean gst_dv_infer_src_activate_mode(GstPad* pad, GstObject* parent, GstPadMode mode,
                                               gboolean active) {
  GstDvInfer* self = GST_DV_INFER(parent);
  if (mode != GST_PAD_MODE_PUSH) return FALSE;
  if (active) return gst_pad_start_task(pad, gst_dv_infer_src_loop, self, nullptr);
  self->state->queue->set_flushing(true);
  if (self->state->pool) gst_buffer_pool_set_flushing(self->state->pool, TRUE);
  return gst_pad_stop_task(pad);
}

// --- set-up ------------------------------------------------------------------------------------

void gst_dv_infer_init_pads(GstDvInfer* self) {
  self->sinkpad = gst_pad_new_from_static_template(&sink_template, "sink");
  gst_pad_set_chain_function(self->sinkpad, gst_dv_infer_chain);
  gst_pad_set_event_function(self->sinkpad, gst_dv_infer_sink_event);
  gst_pad_set_query_function(self->sinkpad, gst_dv_infer_sink_query);
  gst_element_add_pad(GST_ELEMENT(self), self->sinkpad);
  self->srcpad = gst_pad_new_from_static_template(&src_template, "src");
  gst_pad_set_event_function(self->srcpad, gst_dv_infer_src_event);
  gst_pad_set_query_function(self->srcpad, gst_dv_infer_src_query);
  gst_pad_set_activatemode_function(self->srcpad, gst_dv_infer_src_activate_mode);
  gst_element_add_pad(GST_ELEMENT(self), self->srcpad);
}

void gst_dv_infer_add_pad_templates(GstElementClass* klass) {
  gst_element_class_add_static_pad_template(klass, &sink_template);
  gst_element_class_add_static_pad_template(klass, &src_template);
}
