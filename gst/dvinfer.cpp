// SPDX-License-Identifier: Apache-2.0
/**
 * SECTION:element-dvinfer
 * @title: dvinfer
 * @short_description: runs a convolutional network on each frame
 *
 * dvinfer runs a converted network (a .dvn file, see `dvnet convert`) on the tensor that dvconvert
 * made of each frame, on the DV FPGA or on the software device, and attaches the outputs to the
 * frame as a #GstDvTensorMeta. Frames that come without a tensor, or with one made for another
 * network, are converted here.
 *
 * Up to #GstDvInfer:max-in-flight frames are worked on at once; their order does not change.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 videotestsrc num-buffers=100 ! dvconvert ! dvinfer device=soft ! dvdecode !
 * dvoverlay ! videoconvert ! autovideosink
 * ]| Runs the default network on the software device.
 */
#include "dvinfer.h"

#include <gst/video/video.h>

#include <atomic>
#include <cstdlib>
#include <mutex>

#include "frameconverter.h"
#include "gstutils.h"
#include "inferqueue.h"
#include "slotpool.h"
#include "tensorrequest.h"

GST_DEBUG_CATEGORY_STATIC(dv_infer_debug);
#define GST_CAT_DEFAULT dv_infer_debug

#define DEFAULT_MAX_IN_FLIGHT 2
#define MAX_MAX_IN_FLIGHT 16
#define DEFAULT_ON_ERROR GST_DV_INFER_ON_ERROR_ERROR
#define DEFAULT_QOS TRUE
// Slots beyond those in flight: one that dvconvert fills, and one that a sink's last sample may
// keep.
#define SPARE_SLOTS 2

enum {
  PROP_0,
  PROP_NETWORK,
  PROP_DEVICE,
  PROP_MAX_IN_FLIGHT,
  PROP_ON_ERROR,
  PROP_QOS,
  PROP_INFERRED,
  PROP_DROPPED,
  PROP_LATE,
};

typedef enum { GST_DV_INFER_ON_ERROR_ERROR, GST_DV_INFER_ON_ERROR_DROP } GstDvInferOnError;

#define GST_TYPE_DV_INFER_ON_ERROR (gst_dv_infer_on_error_get_type())
static GType gst_dv_infer_on_error_get_type() {
  static GType type = 0;
  static const GEnumValue values[] = {
      {GST_DV_INFER_ON_ERROR_ERROR, "Stop the pipeline with an error", "error"},
      {GST_DV_INFER_ON_ERROR_DROP, "Drop the frame, count it and go on", "drop"},
      {0, nullptr, nullptr}};
  if (g_once_init_enter(&type)) {
    g_once_init_leave(&type, g_enum_register_static("GstDvInferOnError", values));
  }
  return type;
}

namespace {

using dvnn::gst::InferItem;
using dvnn::gst::InferQueue;
using dvnn::network::Network;

struct InferState {
  // Properties, under the object lock.
  std::string network_path, device;
  guint max_in_flight = DEFAULT_MAX_IN_FLIGHT;
  GstDvInferOnError on_error = DEFAULT_ON_ERROR;
  gboolean qos = DEFAULT_QOS;
  // From READY on.
  std::shared_ptr<Network> network;
  GstDvNetworkInfo* info = nullptr;
  // From PAUSED on.
  GstBufferPool* pool = nullptr;
  std::unique_ptr<InferQueue> queue;
  // Sink streaming thread only.
  GstVideoInfo video;
  bool have_video = false;
  std::unique_ptr<dvnn::gst::FrameConverter> converter;  // for frames without our tensor
  GstSegment segment;
  // Any thread.
  std::atomic<guint64> inferred{0}, dropped{0}, late{0};
  std::atomic<int64_t> latency_us{0};                       // of one run, smoothed
  std::atomic<int64_t> reported_us{0};                      // what the LATENCY query last said
  std::atomic<GstFlowReturn> flow{GST_FLOW_OK};             // of the source pad's last push
  std::atomic<GstClockTime> earliest{GST_CLOCK_TIME_NONE};  // QoS: running time not worth less
};

}  // namespace

struct _GstDvInfer {
  GstElement parent;
  GstPad* sinkpad;
  GstPad* srcpad;
  InferState* state;
};

G_DEFINE_TYPE(GstDvInfer, gst_dv_infer, GST_TYPE_ELEMENT)
GST_ELEMENT_REGISTER_DEFINE(dvinfer, "dvinfer", GST_RANK_NONE, GST_TYPE_DV_INFER)

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE(
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS(GST_VIDEO_CAPS_MAKE(DVNN_VIDEO_FORMATS)));
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE(
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS(GST_VIDEO_CAPS_MAKE(DVNN_VIDEO_FORMATS)));

// --- network and slots -------------------------------------------------------------------------

static std::string gst_dv_infer_default_network() {
  const char* path = g_getenv("DVNN_DEFAULT_NETWORK");
  return path && *path ? path : DVNN_DEFAULT_NETWORK;
}

static gboolean gst_dv_infer_open(GstDvInfer* self) {
  InferState& state = *self->state;
  GST_OBJECT_LOCK(self);
  std::string path = state.network_path;
  const std::string device = state.device;
  GST_OBJECT_UNLOCK(self);
  if (path.empty()) path = gst_dv_infer_default_network();
  auto network = Network::load(path, device);
  if (!network.ok()) {
    dvnn::gst::post_error(GST_ELEMENT(self), network.error());
    return FALSE;
  }
  state.network = std::move(network.value());
  const dvnn::network::Model& model = state.network->model();
  std::vector<const gchar*> labels;
  for (const std::string& label : model.labels) labels.push_back(label.c_str());
  labels.push_back(nullptr);
  state.info = gst_dv_network_info_new(model.name.c_str(), model.decoder.name.c_str(),
                                       model.decoder.params.dump().c_str(), labels.data());
  GST_INFO_OBJECT(self, "network '%s' on %s (%s)", model.name.c_str(),
                  state.network->device().library_path().c_str(),
                  state.network->device().info().description.c_str());
  return TRUE;
}

static void gst_dv_infer_close(GstDvInfer* self) {
  self->state->network.reset();
  g_clear_pointer(&self->state->info, gst_dv_network_info_unref);
}

static dvnn::Status gst_dv_infer_run(GstDvInfer* self, GstBuffer* slot) {
  InferState& state = *self->state;
  const gint64 start = g_get_monotonic_time();
  dvnn::Status status = dvnn::gst::slot_of(slot)->run();
  const gint64 spent = g_get_monotonic_time() - start;
  const int64_t known = state.latency_us;
  state.latency_us = known == 0 ? spent : (7 * known + spent) / 8;
  return status;
}

static gboolean gst_dv_infer_start(GstDvInfer* self) {
  InferState& state = *self->state;
  GST_OBJECT_LOCK(self);
  const guint in_flight = state.max_in_flight;
  GST_OBJECT_UNLOCK(self);
  state.pool = dvnn::gst::slot_pool_new(state.network, in_flight + SPARE_SLOTS);
  if (!gst_buffer_pool_set_active(state.pool, TRUE)) {
    // Its slots are made when it is activated; the reason is what making one says.
    auto slot = state.network->create_slot();
    dvnn::gst::post_error(GST_ELEMENT(self),
                          slot.ok() ? dvnn::Error{dvnn::ErrorCode::kNoMemory,
                                                  "not enough device memory for all slots: lower "
                                                  "max-in-flight"}
                                    : slot.error());
    return FALSE;
  }
  state.queue = std::make_unique<InferQueue>(
      in_flight, [self](GstBuffer* slot) { return gst_dv_infer_run(self, slot); });
  state.queue->start("dvinfer");
  gst_segment_init(&state.segment, GST_FORMAT_UNDEFINED);
  state.have_video = false;
  state.flow = GST_FLOW_OK;
  state.earliest = GST_CLOCK_TIME_NONE;
  state.inferred = state.dropped = state.late = 0;
  return TRUE;
}

static void gst_dv_infer_stop(GstDvInfer* self) {
  InferState& state = *self->state;
  state.queue.reset();
  state.converter.reset();
  if (state.pool) gst_buffer_pool_set_active(state.pool, FALSE);
  gst_clear_object(&state.pool);
}

// --- the source side ---------------------------------------------------------------------------

// Attaches the outputs: views of the slot, each keeping it from the pool.
static void gst_dv_infer_attach(GstDvInfer* self, GstBuffer* frame, GstBuffer* slot_buffer) {
  const dvnn::network::Slot* slot = dvnn::gst::slot_of(slot_buffer);
  const dvnn::network::Model& model = slot->network()->model();
  GstDvTensorMeta* input = gst_buffer_get_dv_tensor_meta(frame, GST_DV_TENSOR_ROLE_INPUT);
  GstDvTensorMeta* meta =
      gst_buffer_add_dv_tensor_meta(frame, GST_DV_TENSOR_ROLE_OUTPUT, model.outputs.size());
  for (size_t i = 0; i < model.outputs.size(); ++i) {
    const dvnn::ConstTensorView view = slot->output(i);
    const gsize size = static_cast<gsize>(view.desc.bytes());
    dvnn::gst::describe_tensor(view.desc, model.outputs[i].name.c_str(), &meta->tensors[i]);
    meta->tensors[i].data = gst_buffer_new_wrapped_full(
        GST_MEMORY_FLAG_READONLY, const_cast<uint8_t*>(view.data), size, 0, size,
        gst_buffer_ref(slot_buffer), reinterpret_cast<GDestroyNotify>(gst_buffer_unref));
  }
  meta->network = gst_dv_network_info_ref(self->state->info);
  meta->scale_x = input->scale_x;
  meta->offset_x = input->offset_x;
  meta->scale_y = input->scale_y;
  meta->offset_y = input->offset_y;
  meta->input_width = input->input_width;
  meta->input_height = input->input_height;
  // The input's memory is used up: nobody may run it again.
  gst_buffer_remove_meta(frame, GST_META_CAST(input));
}

static void gst_dv_infer_check_latency(GstDvInfer* self) {
  InferState& state = *self->state;
  const int64_t now = state.latency_us, reported = state.reported_us;
  constexpr int64_t kWorthTelling = 2000;  // microseconds
  if (std::abs(now - reported) <= std::max(kWorthTelling, reported / 4)) return;
  state.reported_us = now;
  gst_element_post_message(GST_ELEMENT(self), gst_message_new_latency(GST_OBJECT(self)));
}

static void gst_dv_infer_push_frame(GstDvInfer* self, InferItem* item) {
  InferState& state = *self->state;
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
    dvnn::gst::post_error(GST_ELEMENT(self), item->status.error());
    state.flow = GST_FLOW_ERROR;
    return;
  }
  if (item->slot) {
    gst_dv_infer_attach(self, frame, item->slot);
    gst_clear_buffer(&item->slot);
    ++state.inferred;
    gst_dv_infer_check_latency(self);
  }
  state.flow = gst_pad_push(self->srcpad, frame);
}

static void gst_dv_infer_src_loop(gpointer user_data) {
  GstDvInfer* self = GST_DV_INFER(user_data);
  InferState& state = *self->state;
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
  InferState& state = *self->state;
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
                dvnn::gst::FrameConverter::create(state.video, state.network->input_desc(),
                                                  state.network->model().input.picture));
  }
  GstBuffer* fresh = nullptr;
  if (gst_buffer_pool_acquire_buffer(state.pool, &fresh, nullptr) != GST_FLOW_OK) return {};
  DVNN_TRY(state.converter->convert(*frame, fresh));
  dvnn::gst::slot_take_input(fresh);
  *slot = fresh;
  return {};
}

static bool gst_dv_infer_is_late(GstDvInfer* self, GstBuffer* frame) {
  InferState& state = *self->state;
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
  InferState& state = *self->state;
  if (!state.have_video || state.flow == GST_FLOW_EOS) {
    gst_buffer_unref(frame);
    return state.have_video ? GST_FLOW_EOS : GST_FLOW_NOT_NEGOTIATED;
  }
  auto item = std::make_unique<InferItem>();
  dvnn::Status status;
  if (gst_dv_infer_is_late(self, frame)) {
    ++state.late;
  } else {
    status = gst_dv_infer_take_slot(self, &frame, &item->slot);
  }
  item->object = GST_MINI_OBJECT_CAST(frame);
  if (!status.ok()) {
    dvnn::gst::post_error(GST_ELEMENT(self), status.error());
    return GST_FLOW_ERROR;
  }
  if (state.queue->push(std::move(item))) return GST_FLOW_OK;
  const GstFlowReturn flow = state.flow;
  return flow == GST_FLOW_OK ? GST_FLOW_FLUSHING : flow;
}

static void gst_dv_infer_flush_stop(GstDvInfer* self, GstEvent* event) {
  InferState& state = *self->state;
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
  InferState& state = *self->state;
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
      state.have_video = gst_video_info_from_caps(&state.video, caps);
      state.converter.reset();
      if (!state.have_video) {
        GST_ERROR_OBJECT(self, "not raw video: %" GST_PTR_FORMAT, caps);
        gst_event_unref(event);
        return FALSE;
      }
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

static gboolean gst_dv_infer_sink_query(GstPad* pad, GstObject* parent, GstQuery* query) {
  GstDvInfer* self = GST_DV_INFER(parent);
  InferState& state = *self->state;
  if (GST_QUERY_TYPE(query) == GST_QUERY_ALLOCATION && state.network && state.queue) {
    // Serialized: what came before must have left before downstream is asked.
    if (!state.queue->drain()) return FALSE;
    gst_pad_peer_query(self->srcpad, query);
    dvnn::gst::TensorRequest request{state.network->input_desc(),
                                     state.network->model().input.picture, state.pool};
    dvnn::gst::add_tensor_request(query, request);
    return TRUE;
  }
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

// --- element -----------------------------------------------------------------------------------

static GstStateChangeReturn gst_dv_infer_change_state(GstElement* element,
                                                      GstStateChange transition) {
  GstDvInfer* self = GST_DV_INFER(element);
  if (transition == GST_STATE_CHANGE_NULL_TO_READY && !gst_dv_infer_open(self)) {
    return GST_STATE_CHANGE_FAILURE;
  }
  if (transition == GST_STATE_CHANGE_READY_TO_PAUSED && !gst_dv_infer_start(self)) {
    gst_dv_infer_stop(self);
    return GST_STATE_CHANGE_FAILURE;
  }
  const GstStateChangeReturn result =
      GST_ELEMENT_CLASS(gst_dv_infer_parent_class)->change_state(element, transition);
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY) gst_dv_infer_stop(self);
  if (transition == GST_STATE_CHANGE_READY_TO_NULL) gst_dv_infer_close(self);
  return result;
}

static void gst_dv_infer_set_property(GObject* object, guint id, const GValue* value,
                                      GParamSpec* pspec) {
  InferState& state = *GST_DV_INFER(object)->state;
  GST_OBJECT_LOCK(object);
  switch (id) {
    case PROP_NETWORK:
      state.network_path = g_value_get_string(value) ? g_value_get_string(value) : "";
      break;
    case PROP_DEVICE:
      state.device = g_value_get_string(value) ? g_value_get_string(value) : "";
      break;
    case PROP_MAX_IN_FLIGHT:
      state.max_in_flight = g_value_get_uint(value);
      break;
    case PROP_ON_ERROR:
      state.on_error = static_cast<GstDvInferOnError>(g_value_get_enum(value));
      break;
    case PROP_QOS:
      state.qos = g_value_get_boolean(value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
      break;
  }
  GST_OBJECT_UNLOCK(object);
}

static void gst_dv_infer_get_property(GObject* object, guint id, GValue* value, GParamSpec* pspec) {
  const InferState& state = *GST_DV_INFER(object)->state;
  GST_OBJECT_LOCK(object);
  switch (id) {
    case PROP_NETWORK:
      g_value_set_string(value, state.network_path.c_str());
      break;
    case PROP_DEVICE:
      g_value_set_string(value, state.device.c_str());
      break;
    case PROP_MAX_IN_FLIGHT:
      g_value_set_uint(value, state.max_in_flight);
      break;
    case PROP_ON_ERROR:
      g_value_set_enum(value, state.on_error);
      break;
    case PROP_QOS:
      g_value_set_boolean(value, state.qos);
      break;
    case PROP_INFERRED:
      g_value_set_uint64(value, state.inferred);
      break;
    case PROP_DROPPED:
      g_value_set_uint64(value, state.dropped);
      break;
    case PROP_LATE:
      g_value_set_uint64(value, state.late);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
      break;
  }
  GST_OBJECT_UNLOCK(object);
}

static void gst_dv_infer_finalize(GObject* object) {
  delete GST_DV_INFER(object)->state;
  G_OBJECT_CLASS(gst_dv_infer_parent_class)->finalize(object);
}

static void gst_dv_infer_init(GstDvInfer* self) {
  self->state = new InferState();
  self->sinkpad = gst_pad_new_from_static_template(&sink_template, "sink");
  gst_pad_set_chain_function(self->sinkpad, gst_dv_infer_chain);
  gst_pad_set_event_function(self->sinkpad, gst_dv_infer_sink_event);
  gst_pad_set_query_function(self->sinkpad, gst_dv_infer_sink_query);
  GST_PAD_SET_PROXY_CAPS(self->sinkpad);
  gst_element_add_pad(GST_ELEMENT(self), self->sinkpad);
  self->srcpad = gst_pad_new_from_static_template(&src_template, "src");
  gst_pad_set_event_function(self->srcpad, gst_dv_infer_src_event);
  gst_pad_set_query_function(self->srcpad, gst_dv_infer_src_query);
  gst_pad_set_activatemode_function(self->srcpad, gst_dv_infer_src_activate_mode);
  GST_PAD_SET_PROXY_CAPS(self->srcpad);
  gst_element_add_pad(GST_ELEMENT(self), self->srcpad);
}

static void gst_dv_infer_install_properties(GObjectClass* klass) {
  const auto settable = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                                 GST_PARAM_MUTABLE_READY);
  const auto live = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                             GST_PARAM_MUTABLE_PLAYING);
  const auto readable = static_cast<GParamFlags>(G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
  g_object_class_install_property(
      klass, PROP_NETWORK,
      g_param_spec_string("network", "Network file",
                          "The converted network, a .dvn file made by 'dvnet convert' (default: "
                          "the network that is installed with the plugin)",
                          "", settable));
  g_object_class_install_property(
      klass, PROP_DEVICE,
      g_param_spec_string("device", "Device",
                          "Where to run: auto (the FPGA if there is one, else the software "
                          "device), fpga, soft, or the path of a device library (default: the "
                          "DVNN_DEVICE environment variable, or auto)",
                          "", settable));
  g_object_class_install_property(
      klass, PROP_MAX_IN_FLIGHT,
      g_param_spec_uint("max-in-flight", "Frames in flight",
                        "How many frames are worked on at once; each takes one I/O buffer of "
                        "device memory, and two more are kept ready",
                        1, MAX_MAX_IN_FLIGHT, DEFAULT_MAX_IN_FLIGHT, settable));
  g_object_class_install_property(
      klass, PROP_ON_ERROR,
      g_param_spec_enum("on-error", "On error", "What to do when a frame's inference fails",
                        GST_TYPE_DV_INFER_ON_ERROR, DEFAULT_ON_ERROR, live));
  g_object_class_install_property(
      klass, PROP_QOS,
      g_param_spec_boolean("qos", "Quality of service",
                           "Pass frames that are late for the sink without inference", DEFAULT_QOS,
                           live));
  g_object_class_install_property(
      klass, PROP_INFERRED,
      g_param_spec_uint64("inferred", "Inferred frames",
                          "Frames that got their outputs since the stream began", 0, G_MAXUINT64, 0,
                          readable));
  g_object_class_install_property(
      klass, PROP_DROPPED,
      g_param_spec_uint64("dropped", "Dropped frames",
                          "Frames dropped because their inference failed (on-error=drop)", 0,
                          G_MAXUINT64, 0, readable));
  g_object_class_install_property(
      klass, PROP_LATE,
      g_param_spec_uint64("late", "Late frames",
                          "Frames passed without inference because they were late (qos)", 0,
                          G_MAXUINT64, 0, readable));
}

static void gst_dv_infer_class_init(GstDvInferClass* klass) {
  GObjectClass* object_class = G_OBJECT_CLASS(klass);
  GstElementClass* element_class = GST_ELEMENT_CLASS(klass);
  GST_DEBUG_CATEGORY_INIT(dv_infer_debug, "dvinfer", 0, "Network inference");
  object_class->set_property = gst_dv_infer_set_property;
  object_class->get_property = gst_dv_infer_get_property;
  object_class->finalize = gst_dv_infer_finalize;
  gst_dv_infer_install_properties(object_class);
  gst_element_class_set_static_metadata(
      element_class, "DV network inference", "Filter/Analyzer/Video",
      "Runs a convolutional network on each frame, on the DMP DV FPGA or on the software device, "
      "and attaches its outputs to the frame",
      "gst-dvnn developers");
  gst_element_class_add_static_pad_template(element_class, &sink_template);
  gst_element_class_add_static_pad_template(element_class, &src_template);
  element_class->change_state = gst_dv_infer_change_state;
  gst_type_mark_as_plugin_api(GST_TYPE_DV_INFER_ON_ERROR, static_cast<GstPluginAPIFlags>(0));
}
