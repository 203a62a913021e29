// SPDX-License-Identifier: Apache-2.0
/**
 * SECTION:element-dvdecode
 * @title: dvdecode
 * @short_description: turns a network's outputs into detections
 *
 * dvdecode reads the outputs that dvinfer attached to a frame, applies the decoder that the network
 * file names, maps the boxes back to the frame and attaches each as a
 * #GstVideoRegionOfInterestMeta: its type is the label, and a `detection` parameter structure holds
 * `label` (string), `confidence` (double, 0..1), `class-id` (int) and the exact box `x0`, `y0`,
 * `x1`, `y1` (double, frame pixels, clipped to the frame). A classification is a region of the
 * whole frame with a `classification` structure of the same fields.
 *
 * The outputs are then let go, so that dvinfer can use their memory again.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 -m videotestsrc num-buffers=100 ! dvconvert ! dvinfer ! dvdecode message=true !
 * fakesink
 * ]| Prints an element message for each frame with detections.
 */
#include "elements/dvdecode.h"

#include <gst/video/video.h>

#include <algorithm>
#include <cmath>

#include "decode/decoder.h"
#include "errors.h"
#include "frames/frameconverter.h"
#include "meta/tensordesc.h"

GST_DEBUG_CATEGORY_STATIC(dv_decode_debug);
#define GST_CAT_DEFAULT dv_decode_debug

#define DEFAULT_THRESHOLD 0.5f
#define DEFAULT_MAX_DETECTIONS 200
#define DEFAULT_MESSAGE FALSE

enum { PROP_0, PROP_THRESHOLD, PROP_MAX_DETECTIONS, PROP_MESSAGE };

namespace {

struct DecodeState {
  // Properties, under the object lock.
  gfloat threshold = DEFAULT_THRESHOLD;
  guint max_detections = DEFAULT_MAX_DETECTIONS;
  gboolean message = DEFAULT_MESSAGE;
  // Streaming thread only.
  GstVideoInfo video;
  std::unique_ptr<dvnn::decode::Decoder> decoder;
  GstDvNetworkInfo* network = nullptr;  // what decoder was made for
  std::vector<dvnn::decode::Detection> found;
  gint next_id = 0;
};

}  // namespace

struct _GstDvDecode {
  GstBaseTransform parent;
  DecodeState* state;
};

G_DEFINE_TYPE(GstDvDecode, gst_dv_decode, GST_TYPE_BASE_TRANSFORM)
GST_ELEMENT_REGISTER_DEFINE(dvdecode, "dvdecode", GST_RANK_NONE, GST_TYPE_DV_DECODE)

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE(
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS("video/x-raw(ANY)"));
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE(
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS("video/x-raw(ANY)"));

static void gst_dv_decode_forget(GstDvDecode* self) {
  self->state->decoder.reset();
  g_clear_pointer(&self->state->network, gst_dv_network_info_unref);
}

static dvnn::Status gst_dv_decode_prepare(GstDvDecode* self, const GstDvTensorMeta* meta) {
  DecodeState& state = *self->state;
  gst_dv_decode_forget(self);
  const gchar* name = gst_dv_network_info_get_decoder(meta->network);
  if (!*name) {
    return dvnn::Error{dvnn::ErrorCode::kUnsupported,
                       std::string("network '") + gst_dv_network_info_get_name(meta->network) +
                           "' names no decoder: convert it with --decoder"};
  }
  std::vector<dvnn::decode::NamedOutput> outputs;
  for (gsize i = 0; i < meta->num_tensors; ++i) {
    DVNN_ASSIGN(const dvnn::TensorDesc desc, dvnn::gst::tensor_desc(meta->tensors[i]));
    outputs.push_back({g_quark_to_string(meta->tensors[i].id), desc});
  }
  const auto params =
      nlohmann::json::parse(gst_dv_network_info_get_decoder_params(meta->network), nullptr, false);
  DVNN_ASSIGN(state.decoder, dvnn::decode::create_decoder(name, params, outputs));
  state.network = gst_dv_network_info_ref(meta->network);
  return {};
}

static dvnn::Status gst_dv_decode_outputs(GstDvDecode* self, const GstDvTensorMeta* meta,
                                          gfloat threshold) {
  DecodeState& state = *self->state;
  if (meta->network != state.network) DVNN_TRY(gst_dv_decode_prepare(self, meta));
  std::vector<dvnn::ConstTensorView> views;
  std::vector<GstMapInfo> maps(meta->num_tensors);
  dvnn::Status status;
  for (gsize i = 0; i < meta->num_tensors && status.ok(); ++i) {
    auto desc = dvnn::gst::tensor_desc(meta->tensors[i]);
    if (!desc.ok()) {
      status = desc.error();
    } else if (!gst_buffer_map(meta->tensors[i].data, &maps[i], GST_MAP_READ)) {
      status = dvnn::Error{dvnn::ErrorCode::kDevice, "an output's memory cannot be mapped"};
    } else {
      views.push_back({desc.value(), maps[i].data});
    }
  }
  state.found.clear();
  if (status.ok()) status = state.decoder->decode(views, threshold, &state.found);
  for (gsize i = 0; i < views.size(); ++i) gst_buffer_unmap(meta->tensors[i].data, &maps[i]);
  return status;
}

static std::string gst_dv_decode_label(const GstDvNetworkInfo* network, int class_id) {
  const gchar* const* labels = gst_dv_network_info_get_labels(network);
  const guint count = labels ? g_strv_length(const_cast<gchar**>(labels)) : 0;
  if (class_id >= 0 && static_cast<guint>(class_id) < count) return labels[class_id];
  return "class " + std::to_string(class_id);
}

// Attaches one detection; false if nothing of its box lies in the frame.
static bool gst_dv_decode_attach(GstDvDecode* self, GstBuffer* frame, const GstDvTensorMeta* meta,
                                 const dvnn::decode::Detection& d, bool whole_frame,
                                 GValue* message) {
  DecodeState& state = *self->state;
  const double width = GST_VIDEO_INFO_WIDTH(&state.video);
  const double height = GST_VIDEO_INFO_HEIGHT(&state.video);
  double x0 = 0, y0 = 0, x1 = width, y1 = height;
  if (!whole_frame) {
    const GstDvTransform& m = meta->transform;
    const dvnn::image::Transform t{m.scale_x, m.offset_x, m.scale_y, m.offset_y,
                                   m.swap_xy != FALSE};
    const double w = meta->input_width, h = meta->input_height;
    const dvnn::image::Corners c =
        t.invert({d.box.x0 * w, d.box.y0 * h, d.box.x1 * w, d.box.y1 * h});
    x0 = std::clamp(c.x0, 0.0, width), x1 = std::clamp(c.x1, 0.0, width);
    y0 = std::clamp(c.y0, 0.0, height), y1 = std::clamp(c.y1, 0.0, height);
  }
  if (!(x1 > x0 && y1 > y0)) return false;
  const std::string label = gst_dv_decode_label(meta->network, d.class_id);
  const guint left = static_cast<guint>(std::floor(x0)), top = static_cast<guint>(std::floor(y0));
  GstVideoRegionOfInterestMeta* roi = gst_buffer_add_video_region_of_interest_meta(
      frame, label.c_str(), left, top, static_cast<guint>(std::ceil(x1)) - left,
      static_cast<guint>(std::ceil(y1)) - top);
  roi->id = ++state.next_id;
  GstStructure* detection = gst_structure_new(
      whole_frame ? "classification" : "detection", "label", G_TYPE_STRING, label.c_str(),
      "confidence", G_TYPE_DOUBLE, static_cast<double>(d.confidence), "class-id", G_TYPE_INT,
      d.class_id, "x0", G_TYPE_DOUBLE, x0, "y0", G_TYPE_DOUBLE, y0, "x1", G_TYPE_DOUBLE, x1, "y1",
      G_TYPE_DOUBLE, y1, nullptr);
  if (message) {
    GValue item = G_VALUE_INIT;
    g_value_init(&item, GST_TYPE_STRUCTURE);
    gst_value_set_structure(&item, detection);
    gst_value_list_append_and_take_value(message, &item);
  }
  gst_video_region_of_interest_meta_add_param(roi, detection);
  return true;
}

static void gst_dv_decode_post(GstDvDecode* self, GstBuffer* frame, GValue* list) {
  GstStructure* s =
      gst_structure_new("dvnn-detections", "pts", G_TYPE_UINT64, GST_BUFFER_PTS(frame), nullptr);
  gst_structure_take_value(s, "detections", list);
  gst_element_post_message(GST_ELEMENT(self), gst_message_new_element(GST_OBJECT(self), s));
}

static void gst_dv_decode_attach_all(GstDvDecode* self, GstBuffer* frame,
                                     const GstDvTensorMeta* meta, guint limit, bool message) {
  DecodeState& state = *self->state;
  const bool classes = state.decoder->kind() == dvnn::decode::ResultKind::kClassification;
  GValue list = G_VALUE_INIT;
  g_value_init(&list, GST_TYPE_LIST);
  guint attached = 0;
  for (const dvnn::decode::Detection& d : state.found) {
    if (attached == limit) break;
    attached += gst_dv_decode_attach(self, frame, meta, d, classes, message ? &list : nullptr);
  }
  GST_LOG_OBJECT(self, "%u detections at %" GST_TIME_FORMAT, attached,
                 GST_TIME_ARGS(GST_BUFFER_PTS(frame)));
  if (message && attached > 0) {
    gst_dv_decode_post(self, frame, &list);
  } else {
    g_value_unset(&list);
  }
}

static gboolean gst_dv_decode_set_caps(GstBaseTransform* trans, GstCaps* incaps, GstCaps*) {
  return gst_video_info_from_caps(&GST_DV_DECODE(trans)->state->video, incaps);
}

static GstFlowReturn gst_dv_decode_transform_ip(GstBaseTransform* trans, GstBuffer* frame) {
  GstDvDecode* self = GST_DV_DECODE(trans);
  GstDvTensorMeta* meta = gst_buffer_get_dv_tensor_meta(frame, GST_DV_TENSOR_ROLE_OUTPUT);
  if (!meta || !meta->network) return GST_FLOW_OK;  // a frame that was too late, say
  GST_OBJECT_LOCK(self);
  const gfloat threshold = self->state->threshold;
  const guint limit = self->state->max_detections;
  const bool message = self->state->message;
  GST_OBJECT_UNLOCK(self);
  const dvnn::Status status = gst_dv_decode_outputs(self, meta, threshold);
  if (!status.ok()) {
    dvnn::gst::post_error(GST_ELEMENT(self), dvnn::gst::Topic::kData, status.error());
    return GST_FLOW_ERROR;
  }
  gst_dv_decode_attach_all(self, frame, meta, limit, message);
  gst_buffer_remove_meta(frame, GST_META_CAST(meta));
  return GST_FLOW_OK;
}

static gboolean gst_dv_decode_stop(GstBaseTransform* trans) {
  gst_dv_decode_forget(GST_DV_DECODE(trans));
  return TRUE;
}

static void gst_dv_decode_set_property(GObject* object, guint id, const GValue* value,
                                       GParamSpec* pspec) {
  DecodeState& state = *GST_DV_DECODE(object)->state;
  GST_OBJECT_LOCK(object);
  switch (id) {
    case PROP_THRESHOLD:
      state.threshold = g_value_get_float(value);
      break;
    case PROP_MAX_DETECTIONS:
      state.max_detections = g_value_get_uint(value);
      break;
    case PROP_MESSAGE:
      state.message = g_value_get_boolean(value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
      break;
  }
  GST_OBJECT_UNLOCK(object);
}

static void gst_dv_decode_get_property(GObject* object, guint id, GValue* value,
                                       GParamSpec* pspec) {
  const DecodeState& state = *GST_DV_DECODE(object)->state;
  GST_OBJECT_LOCK(object);
  switch (id) {
    case PROP_THRESHOLD:
      g_value_set_float(value, state.threshold);
      break;
    case PROP_MAX_DETECTIONS:
      g_value_set_uint(value, state.max_detections);
      break;
    case PROP_MESSAGE:
      g_value_set_boolean(value, state.message);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
      break;
  }
  GST_OBJECT_UNLOCK(object);
}

static void gst_dv_decode_finalize(GObject* object) {
  gst_dv_decode_forget(GST_DV_DECODE(object));
  delete GST_DV_DECODE(object)->state;
  G_OBJECT_CLASS(gst_dv_decode_parent_class)->finalize(object);
}

static void gst_dv_decode_init(GstDvDecode* self) {
  self->state = new DecodeState();
  gst_base_transform_set_in_place(GST_BASE_TRANSFORM(self), TRUE);
}

static void gst_dv_decode_class_init(GstDvDecodeClass* klass) {
  GObjectClass* object_class = G_OBJECT_CLASS(klass);
  GstElementClass* element_class = GST_ELEMENT_CLASS(klass);
  GstBaseTransformClass* trans_class = GST_BASE_TRANSFORM_CLASS(klass);
  const auto flags = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                              GST_PARAM_MUTABLE_PLAYING);
  GST_DEBUG_CATEGORY_INIT(dv_decode_debug, "dvdecode", 0, "Decoding of network outputs");
  object_class->set_property = gst_dv_decode_set_property;
  object_class->get_property = gst_dv_decode_get_property;
  object_class->finalize = gst_dv_decode_finalize;
  g_object_class_install_property(
      object_class, PROP_THRESHOLD,
      g_param_spec_float("threshold", "Threshold",
                         "Least confidence of a detection that is attached", 0.0f, 1.0f,
                         DEFAULT_THRESHOLD, flags));
  g_object_class_install_property(
      object_class, PROP_MAX_DETECTIONS,
      g_param_spec_uint("max-detections", "Most detections",
                        "How many detections of a frame are attached, best first", 1, G_MAXUINT,
                        DEFAULT_MAX_DETECTIONS, flags));
  g_object_class_install_property(
      object_class, PROP_MESSAGE,
      g_param_spec_boolean("message", "Post messages",
                           "Post an element message 'dvnn-detections' with the pts and the list of "
                           "detections of each frame that has any",
                           DEFAULT_MESSAGE, flags));
  gst_element_class_set_static_metadata(
      element_class, "DV network output decoder", "Filter/Analyzer/Video",
      "Turns the outputs that dvinfer attached into detections or classes, attached to the frame "
      "as regions of interest",
      "gst-dvnn developers");
  gst_element_class_add_static_pad_template(element_class, &sink_template);
  gst_element_class_add_static_pad_template(element_class, &src_template);
  trans_class->set_caps = gst_dv_decode_set_caps;
  trans_class->transform_ip = gst_dv_decode_transform_ip;
  trans_class->stop = gst_dv_decode_stop;
}
