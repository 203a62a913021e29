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
 * The network may also be a library of C++ sources that the vendor's converter, or `dvnet convert
 * --emit-cpp`, wrote: #GstDvInfer:weights then names its packed weights. A .dvn file's network can
 * be planned for another size of input, #GstDvInfer:input-size.
 *
 * Streams of tensors (`other/tensors`, as NNStreamer's) are taken where they are the network's
 * input, and made of its outputs, one memory each, where downstream asks for them. Outputs whose
 * channels lie in several chunks of 8 have one dimension there.
 *
 * Up to #GstDvInfer:max-in-flight frames are worked on at once; their order does not change.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 videotestsrc num-buffers=100 ! dvconvert ! dvinfer device=soft ! dvdecode !
 * dvoverlay ! videoconvert ! autovideosink
 * ]| Runs the default network on the software device.
 */
#include "elements/dvinfer.h"

#include <cstdlib>

#include "elements/dvinferprivate.h"
#include "errors.h"
#include "meta/tensordesc.h"
#include "layers/module.h"
#include "plan/plan.h"
#include "infer/slotpool.h"

GST_DEBUG_CATEGORY(gst_dv_infer_debug);
#define GST_CAT_DEFAULT gst_dv_infer_debug

#define MAX_MAX_IN_FLIGHT 16
// Slots beyond those in flight: one that dvconvert fills, and one that a sink's last sample may
// keep.
#define SPARE_SLOTS 2

enum {
  PROP_0,
  PROP_NETWORK,
  PROP_WEIGHTS,
  PROP_CUSTOM_LAYERS,
  PROP_INPUT_SIZE,
  PROP_DEVICE,
  PROP_MAX_IN_FLIGHT,
  PROP_ON_ERROR,
  PROP_QOS,
  PROP_INFERRED,
  PROP_DROPPED,
  PROP_LATE,
};

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

G_DEFINE_TYPE(GstDvInfer, gst_dv_infer, GST_TYPE_ELEMENT)
GST_ELEMENT_REGISTER_DEFINE(dvinfer, "dvinfer", GST_RANK_NONE, GST_TYPE_DV_INFER)

// --- network and slots -------------------------------------------------------------------------

static std::string gst_dv_infer_default_network() {
  const char* path = g_getenv("DVNN_DEFAULT_NETWORK");
  return path && *path ? path : DVNN_DEFAULT_NETWORK;
}

static gboolean gst_dv_infer_open(GstDvInfer* self) {
  GstDvInferState& state = *self->state;
  GST_OBJECT_LOCK(self);
  dvnn::network::NetworkSource source = state.source;
  const std::string custom_layers = state.custom_layers, input_size = state.input_size;
  const std::string device = state.device;
  GST_OBJECT_UNLOCK(self);
  if (source.path.empty()) source.path = gst_dv_infer_default_network();
  if (!custom_layers.empty()) {
    if (const auto loaded = dvnn::layers::load_module(custom_layers); !loaded.ok()) {
      dvnn::gst::post_error(GST_ELEMENT(self), dvnn::gst::Topic::kData, loaded.error());
      return FALSE;
    }
  }
  if (!input_size.empty()) {
    auto size = dvnn::plan::parse_size(input_size);
    if (!size.ok()) {
      dvnn::gst::post_error(GST_ELEMENT(self), dvnn::gst::Topic::kData, size.error().within("property input-size"));
      return FALSE;
    }
    source.width = size.value().width;
    source.height = size.value().height;
    source.resize = dvnn::plan::resize;
  }
  auto network = dvnn::network::Network::load(source, device);
  if (!network.ok()) {
    dvnn::gst::post_error(GST_ELEMENT(self), dvnn::gst::Topic::kData, network.error());
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
  GstDvInferState& state = *self->state;
  const gint64 start = g_get_monotonic_time();
  dvnn::Status status = dvnn::gst::slot_of(slot)->run();
  const gint64 spent = g_get_monotonic_time() - start;
  const int64_t known = state.latency_us;
  state.latency_us = known == 0 ? spent : (7 * known + spent) / 8;
  return status;
}

static gboolean gst_dv_infer_start(GstDvInfer* self) {
  GstDvInferState& state = *self->state;
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
  state.queue = std::make_unique<dvnn::gst::InferQueue>(
      in_flight, [self](GstBuffer* slot) { return gst_dv_infer_run(self, slot); });
  state.queue->start("dvinfer");
  gst_segment_init(&state.segment, GST_FORMAT_UNDEFINED);
  state.have_video = state.tensors_in = state.tensors_out = false;
  state.flow = GST_FLOW_OK;
  state.earliest = GST_CLOCK_TIME_NONE;
  state.inferred = state.dropped = state.late = 0;
  return TRUE;
}

static void gst_dv_infer_stop(GstDvInfer* self) {
  GstDvInferState& state = *self->state;
  state.queue.reset();
  state.converter.reset();
  if (state.pool) gst_buffer_pool_set_active(state.pool, FALSE);
  gst_clear_object(&state.pool);
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
  GstDvInferState& state = *GST_DV_INFER(object)->state;
  GST_OBJECT_LOCK(object);
  switch (id) {
    case PROP_NETWORK:
      state.source.path = g_value_get_string(value) ? g_value_get_string(value) : "";
      break;
    case PROP_WEIGHTS:
      state.source.weights = g_value_get_string(value) ? g_value_get_string(value) : "";
      break;
    case PROP_INPUT_SIZE:
      state.input_size = g_value_get_string(value) ? g_value_get_string(value) : "";
      break;
    case PROP_CUSTOM_LAYERS:
      state.custom_layers = g_value_get_string(value) ? g_value_get_string(value) : "";
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
  const GstDvInferState& state = *GST_DV_INFER(object)->state;
  GST_OBJECT_LOCK(object);
  switch (id) {
    case PROP_NETWORK:
      g_value_set_string(value, state.source.path.c_str());
      break;
    case PROP_WEIGHTS:
      g_value_set_string(value, state.source.weights.c_str());
      break;
    case PROP_INPUT_SIZE:
      g_value_set_string(value, state.input_size.c_str());
      break;
    case PROP_CUSTOM_LAYERS:
      g_value_set_string(value, state.custom_layers.c_str());
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
  self->state = new GstDvInferState();
  gst_dv_infer_init_pads(self);
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
                          "The converted network, a .dvn file made by 'dvnet convert', or a "
                          "library of generated C++ sources (default: the network that is "
                          "installed with the plugin)",
                          "", settable));
  g_object_class_install_property(
      klass, PROP_WEIGHTS,
      g_param_spec_string("weights", "Weights file",
                          "The packed weights of a library of generated sources, "
                          "NAME_weights.bin; .dvn files hold their own",
                          "", settable));
  g_object_class_install_property(
      klass, PROP_INPUT_SIZE,
      g_param_spec_string("input-size", "Input size",
                          "Size of the network's input in pixels, WIDTHxHEIGHT, instead of the "
                          "file's own: the network is planned anew when it is loaded; not for "
                          "networks with a layer that is fully connected to the whole picture",
                          "", settable));
  g_object_class_install_property(
      klass, PROP_CUSTOM_LAYERS,
      g_param_spec_string("custom-layers", "Custom layers",
                          "A library of CPU layers that the network names and the plugin does not "
                          "have (see dvnn_layer.h)",
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
                        1, MAX_MAX_IN_FLIGHT, GST_DV_INFER_DEFAULT_MAX_IN_FLIGHT, settable));
  g_object_class_install_property(
      klass, PROP_ON_ERROR,
      g_param_spec_enum("on-error", "On error", "What to do when a frame's inference fails",
                        GST_TYPE_DV_INFER_ON_ERROR, GST_DV_INFER_DEFAULT_ON_ERROR, live));
  g_object_class_install_property(
      klass, PROP_QOS,
      g_param_spec_boolean("qos", "Quality of service",
                           "Pass frames that are late for the sink without inference",
                           GST_DV_INFER_DEFAULT_QOS, live));
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
  GST_DEBUG_CATEGORY_INIT(gst_dv_infer_debug, "dvinfer", 0, "Network inference");
  object_class->set_property = gst_dv_infer_set_property;
  object_class->get_property = gst_dv_infer_get_property;
  object_class->finalize = gst_dv_infer_finalize;
  gst_dv_infer_install_properties(object_class);
  gst_element_class_set_static_metadata(
      element_class, "DV network inference", "Filter/Analyzer/Video",
      "Runs a convolutional network on each frame, on the DMP DV FPGA or on the software device, "
      "and attaches its outputs to the frame",
      "gst-dvnn developers");
  gst_dv_infer_add_pad_templates(element_class);
  element_class->change_state = gst_dv_infer_change_state;
  gst_type_mark_as_plugin_api(GST_TYPE_DV_INFER_ON_ERROR, static_cast<GstPluginAPIFlags>(0));
}
