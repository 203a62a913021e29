// SPDX-License-Identifier: Apache-2.0
/**
 * SECTION:element-dvconvert
 * @title: dvconvert
 * @short_description: makes the tensor that a network wants of each frame
 *
 * dvconvert resizes, colour-converts, normalises and transposes each video frame in one pass and
 * writes the finished tensor into the device memory of the dvinfer behind it. The frame itself is
 * passed on as it came; the tensor travels with it as a #GstDvTensorMeta.
 *
 * Where a frame carries a #GstVideoCropMeta, the tensor is made of that part alone; boxes come back
 * in the coordinates of the whole frame.
 *
 * There is nothing to set: dvinfer says in the ALLOCATION query which tensor its network wants.
 * Without a dvinfer behind it, dvconvert passes frames on and says so once.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 videotestsrc num-buffers=100 ! dvconvert ! dvinfer ! dvdecode ! dvoverlay !
 * videoconvert ! autovideosink
 * ]| Runs the default network on a test picture.
 */
#include "dvconvert.h"

#include <gst/video/video.h>

#include <atomic>

#include "frameconverter.h"
#include "gstutils.h"
#include "slotpool.h"
#include "tensorrequest.h"

GST_DEBUG_CATEGORY_STATIC(dv_convert_debug);
#define GST_CAT_DEFAULT dv_convert_debug

namespace {

// What was agreed with the element downstream, and what follows from it. Streaming thread only, but
// for `pool`, which flushes and state changes touch under the object lock.
struct ConvertState {
  std::atomic<bool> ask{false};  // the tensor is to be asked for (again)
  bool have_info = false;
  GstVideoInfo info;
  bool wanted = false;  // somebody downstream wants a tensor
  bool warned = false;
  dvnn::gst::TensorRequest request;
  GstBufferPool* pool = nullptr;
  std::unique_ptr<dvnn::gst::FrameConverter> converter;
};

}  // namespace

struct _GstDvConvert {
  GstBaseTransform parent;
  ConvertState* state;
};

G_DEFINE_TYPE(GstDvConvert, gst_dv_convert, GST_TYPE_BASE_TRANSFORM)
GST_ELEMENT_REGISTER_DEFINE(dvconvert, "dvconvert", GST_RANK_NONE, GST_TYPE_DV_CONVERT)

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE(
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS(GST_VIDEO_CAPS_MAKE(DVNN_VIDEO_FORMATS)));
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE(
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS(GST_VIDEO_CAPS_MAKE(DVNN_VIDEO_FORMATS)));

static void gst_dv_convert_forget(GstDvConvert* self) {
  self->state->wanted = false;
  self->state->converter.reset();
  GST_OBJECT_LOCK(self);
  GstBufferPool* pool = self->state->pool;
  self->state->pool = nullptr;
  GST_OBJECT_UNLOCK(self);
  if (pool) gst_object_unref(pool);
}

// GstBaseTransform negotiates no allocation for in-place transforms, so this asks by itself.
static gboolean gst_dv_convert_negotiate(GstDvConvert* self) {
  ConvertState& state = *self->state;
  GstBaseTransform* trans = GST_BASE_TRANSFORM(self);
  gst_dv_convert_forget(self);
  GstCaps* caps = gst_pad_get_current_caps(GST_BASE_TRANSFORM_SRC_PAD(trans));
  if (!caps) return TRUE;
  GstQuery* query = gst_query_new_allocation(caps, FALSE);
  gst_caps_unref(caps);
  gboolean good = TRUE;
  if (gst_pad_peer_query(GST_BASE_TRANSFORM_SRC_PAD(trans), query) &&
      dvnn::gst::get_tensor_request(query, &state.request)) {
    auto converter =
        dvnn::gst::FrameConverter::create(state.info, state.request.desc, state.request.picture);
    if (converter.ok()) {
      state.converter = std::move(converter.value());
      state.wanted = true;
      GST_OBJECT_LOCK(self);
      state.pool = GST_BUFFER_POOL(gst_object_ref(state.request.pool));
      GST_OBJECT_UNLOCK(self);
      GST_INFO_OBJECT(self, "making tensors %s %s %s", state.request.desc.shape.to_string().c_str(),
                      dvnn::to_string(state.request.desc.type),
                      dvnn::to_string(state.request.desc.layout));
    } else {
      dvnn::gst::post_error(GST_ELEMENT(self), converter.error());
      good = FALSE;
    }
  } else if (!state.warned) {
    state.warned = true;
    GST_WARNING_OBJECT(self, "nobody downstream wants a tensor: frames pass as they are");
  }
  gst_query_unref(query);
  return good;
}

static gboolean gst_dv_convert_set_caps(GstBaseTransform* trans, GstCaps* incaps, GstCaps*) {
  GstDvConvert* self = GST_DV_CONVERT(trans);
  self->state->have_info = gst_video_info_from_caps(&self->state->info, incaps);
  if (!self->state->have_info) {
    GST_ERROR_OBJECT(self, "not a raw video format: %" GST_PTR_FORMAT, incaps);
    return FALSE;
  }
  // The tensor is asked for with the first frame: by then downstream has seen the caps.
  self->state->ask = true;
  return TRUE;
}

static GstFlowReturn gst_dv_convert_transform_ip(GstBaseTransform* trans, GstBuffer* frame) {
  GstDvConvert* self = GST_DV_CONVERT(trans);
  ConvertState& state = *self->state;
  if (!state.have_info) return GST_FLOW_NOT_NEGOTIATED;
  if (!state.wanted) return GST_FLOW_OK;
  GstBuffer* slot = nullptr;
  const GstFlowReturn flow = gst_buffer_pool_acquire_buffer(state.pool, &slot, nullptr);
  if (flow == GST_FLOW_FLUSHING) {
    // dvinfer took its pool down: it stops, or it flushes. Its own answer will tell.
    GST_DEBUG_OBJECT(self, "no slot: the pool is flushing");
    return GST_FLOW_OK;
  }
  if (flow != GST_FLOW_OK) return flow;
  const dvnn::Status status = state.converter->convert(frame, slot);
  gst_buffer_unref(slot);
  if (!status.ok()) {
    dvnn::gst::post_error(GST_ELEMENT(self), status.error());
    return GST_FLOW_ERROR;
  }
  return GST_FLOW_OK;
}

// Downstream asks for it (an element was linked, a network changed).
static gboolean gst_dv_convert_src_event(GstBaseTransform* trans, GstEvent* event) {
  if (GST_EVENT_TYPE(event) == GST_EVENT_RECONFIGURE) GST_DV_CONVERT(trans)->state->ask = true;
  return GST_BASE_TRANSFORM_CLASS(gst_dv_convert_parent_class)->src_event(trans, event);
}

static void gst_dv_convert_before_transform(GstBaseTransform* trans, GstBuffer*) {
  GstDvConvert* self = GST_DV_CONVERT(trans);
  if (self->state->have_info && self->state->ask.exchange(false)) gst_dv_convert_negotiate(self);
}

static gboolean gst_dv_convert_stop(GstBaseTransform* trans) {
  GstDvConvert* self = GST_DV_CONVERT(trans);
  gst_dv_convert_forget(self);
  self->state->have_info = self->state->warned = false;
  return TRUE;
}

static void gst_dv_convert_finalize(GObject* object) {
  delete GST_DV_CONVERT(object)->state;
  G_OBJECT_CLASS(gst_dv_convert_parent_class)->finalize(object);
}

static void gst_dv_convert_init(GstDvConvert* self) {
  self->state = new ConvertState();
  gst_base_transform_set_in_place(GST_BASE_TRANSFORM(self), TRUE);
}

static void gst_dv_convert_class_init(GstDvConvertClass* klass) {
  GstElementClass* element_class = GST_ELEMENT_CLASS(klass);
  GstBaseTransformClass* trans_class = GST_BASE_TRANSFORM_CLASS(klass);
  GST_DEBUG_CATEGORY_INIT(dv_convert_debug, "dvconvert", 0, "Frame to tensor conversion");
  G_OBJECT_CLASS(klass)->finalize = gst_dv_convert_finalize;
  gst_element_class_set_static_metadata(
      element_class, "DV frame to tensor converter", "Filter/Converter/Video",
      "Resizes, normalises and transposes video frames into the tensor that dvinfer wants, in one "
      "pass and straight into device memory; the frame itself passes untouched",
      "gst-dvnn developers");
  gst_element_class_add_static_pad_template(element_class, &sink_template);
  gst_element_class_add_static_pad_template(element_class, &src_template);
  trans_class->set_caps = gst_dv_convert_set_caps;
  trans_class->src_event = gst_dv_convert_src_event;
  trans_class->before_transform = gst_dv_convert_before_transform;
  trans_class->transform_ip = gst_dv_convert_transform_ip;
  trans_class->stop = gst_dv_convert_stop;
}
