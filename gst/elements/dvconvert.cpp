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
 * dvinfer says in the ALLOCATION query which tensor its network wants, so nothing needs to be set.
 * What can be: the part of the frame to look at (#GstDvConvert:roi), how it is turned
 * (#GstVideoDirection:video-direction), fitted (#GstDvConvert:resize) and resampled
 * (#GstDvConvert:method). Where a frame carries a #GstVideoCropMeta, the tensor is made of that
 * part alone. Boxes come back in the coordinates of the whole frame, however it was turned.
 *
 * A device that takes 8-bit pixels through a table gets those, half the bytes, where the result is
 * the same; #GstDvConvert:active-backend tells.
 *
 * Without a dvinfer behind it, dvconvert passes frames on and says so once.
 *
 * ## Streams of tensors
 *
 * Where `other/tensors` caps are asked for, the tensor is the buffer. Its layout and numbers are
 * those of the network if a dvinfer is behind, else those of the properties.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 videotestsrc num-buffers=100 ! dvconvert ! dvinfer ! dvdecode ! dvoverlay !
 * videoconvert ! autovideosink
 * ]| Runs the default network on a test picture.
 * |[
 * gst-launch-1.0 videotestsrc num-buffers=1 ! dvconvert layout=dlhdl conv-threads=9
 * scale="<0.00392>" ! "other/tensors,dimensions=(string)4:224:224:1,types=(string)float32" !
 * filesink location=input.bin
 * ]| Writes the input buffer of MathWorks' deep learning processor for a 224x224 picture.
 */
#include "elements/dvconvert.h"

#include <gst/video/video.h>

#include <atomic>
#include <utility>

#include "base/format.h"
#include "elements/convertsettings.h"
#include "frames/frameconverter.h"
#include "errors.h"
#include "meta/tensordesc.h"
#include "infer/slotpool.h"
#include "infer/tensorrequest.h"

GST_DEBUG_CATEGORY_STATIC(dv_convert_debug);
#define GST_CAT_DEFAULT dv_convert_debug

// Beside those of convertsettings.h.
#define PROP_ACTIVE_BACKEND (dvnn::gst::kFirstFreeProperty)

namespace {

// What was agreed with the element downstream, and what follows from it. Streaming thread only, but
// for what the object lock guards.
struct ConvertState {
  dvnn::gst::ConvertSettings settings;  // object lock
  const char* active_backend = "none";  // object lock
  GstBufferPool* pool = nullptr;        // object lock: flushes and state changes touch it
  std::atomic<bool> ask{false};         // the tensor is to be asked for (again)
  bool have_info = false;
  GstVideoInfo info;
  bool stream = false;  // tensors leave as buffers
  bool wanted = false;  // somebody downstream wants a tensor
  bool warned = false;
  bool own_pool = false;
  dvnn::gst::InputKind kind = dvnn::gst::InputKind::kTensor;
  std::unique_ptr<dvnn::gst::FrameConverter> converter;
};

// A tensor to make, and where.
struct Job {
  dvnn::gst::TensorTarget target;
  dvnn::InputSpec picture;
  dvnn::gst::InputKind kind = dvnn::gst::InputKind::kTensor;
  GstBufferPool* pool = nullptr;  // not owned; null: one of our own
};

}  // namespace

struct _GstDvConvert {
  GstBaseTransform parent;
  ConvertState* state;
};

G_DEFINE_TYPE_WITH_CODE(GstDvConvert, gst_dv_convert, GST_TYPE_BASE_TRANSFORM,
                        G_IMPLEMENT_INTERFACE(GST_TYPE_VIDEO_DIRECTION, nullptr))
GST_ELEMENT_REGISTER_DEFINE(dvconvert, "dvconvert", GST_RANK_NONE, GST_TYPE_DV_CONVERT)

static GstStaticPadTemplate sink_template =
    GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS(DVNN_VIDEO_CAPS));
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE(
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS(DVNN_VIDEO_CAPS "; " DVNN_TENSORS_CAPS));

// --- what is agreed ----------------------------------------------------------------------------

static void gst_dv_convert_forget(GstDvConvert* self) {
  ConvertState& state = *self->state;
  state.wanted = false;
  state.converter.reset();
  GST_OBJECT_LOCK(self);
  GstBufferPool* pool = std::exchange(state.pool, nullptr);
  state.active_backend = "none";
  GST_OBJECT_UNLOCK(self);
  if (!pool) return;
  if (state.own_pool) gst_buffer_pool_set_active(pool, FALSE);
  gst_object_unref(pool);
}

// A network's tensor: made here, or by a device that takes the pixels.
static dvnn::Result<Job> gst_dv_convert_plan_request(const dvnn::gst::ConvertSettings& settings,
                                                     const dvnn::gst::TensorRequest& request,
                                                     bool stream) {
  using dvnn::gst::Backend;
  Job job;
  job.target.desc = request.desc;
  job.picture = settings.apply(request.picture);
  job.pool = request.pool;
  const bool can = request.takes_pixels && !stream;
  if (can && settings.backend != Backend::kCpu) {
    // The device's table has the mean and the scale.
    job.kind = dvnn::gst::InputKind::kPixels;
    job.target.desc.type = dvnn::ElementType::kUint8;
    job.picture.mean = {{0, 0, 0}};
    job.picture.scale = {{1, 1, 1}};
  } else if (settings.backend == Backend::kDevice) {
    return dvnn::Error{dvnn::ErrorCode::kUnsupported,
                       "backend=device: this device, or this network's first layer, takes no 8-bit "
                       "pixels; use backend=auto or cpu"};
  }
  return job;
}

static dvnn::Result<Job> gst_dv_convert_plan_stream(const dvnn::gst::ConvertSettings& settings,
                                                    const GstCaps* caps) {
  Job job;
  DVNN_ASSIGN(job.target, settings.stream_target(caps));
  DVNN_ASSIGN(job.picture, settings.stream_picture());
  if (settings.backend == dvnn::gst::Backend::kDevice) {
    return dvnn::Error{dvnn::ErrorCode::kUnsupported,
                       "backend=device: a stream of tensors is made by the CPU"};
  }
  return job;
}

static GstBufferPool* gst_dv_convert_make_pool(guint size) {
  GstBufferPool* pool = gst_buffer_pool_new();
  GstStructure* config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_set_params(config, nullptr, size, 2, 0);
  gst_buffer_pool_set_config(pool, config);
  if (gst_buffer_pool_set_active(pool, TRUE)) return pool;
  gst_object_unref(pool);
  return nullptr;
}

static dvnn::Status gst_dv_convert_take_job(GstDvConvert* self, const Job& job) {
  ConvertState& state = *self->state;
  DVNN_ASSIGN(state.converter,
              dvnn::gst::FrameConverter::create(state.info, job.target, job.picture));
  state.kind = job.kind;
  state.own_pool = job.pool == nullptr;
  GstBufferPool* pool = job.pool ? GST_BUFFER_POOL(gst_object_ref(job.pool))
                                 : gst_dv_convert_make_pool(static_cast<guint>(job.target.bytes()));
  if (!pool) {
    return dvnn::Error{dvnn::ErrorCode::kNoMemory,
                       dvnn::format("no memory for tensors of %lld bytes",
                                    static_cast<long long>(job.target.bytes()))};
  }
  GST_OBJECT_LOCK(self);
  state.pool = pool;
  state.active_backend = job.kind == dvnn::gst::InputKind::kPixels ? "device" : "cpu";
  GST_OBJECT_UNLOCK(self);
  state.wanted = true;
  const dvnn::TensorDesc& desc = job.target.desc;
  GST_INFO_OBJECT(self, "making tensors %s %s %s, backend %s", desc.shape.to_string().c_str(),
                  dvnn::to_string(desc.type),
                  job.target.dlhdl ? "dlhdl" : dvnn::to_string(desc.layout), state.active_backend);
  g_object_notify(G_OBJECT(self), "active-backend");
  return {};
}

// Whether the caps' buffers are what dvinfer wants.
static dvnn::Status gst_dv_convert_check_caps(const GstCaps* caps,
                                              const dvnn::gst::TensorRequest& request) {
  DVNN_ASSIGN(const dvnn::gst::CapsTensor tensor, dvnn::gst::parse_tensor_caps(caps));
  if (tensor.type == request.desc.type && tensor.bytes() == request.desc.bytes()) return {};
  const std::string wanted = dvnn::gst::format_dimensions(dvnn::gst::caps_dimensions(request.desc));
  return dvnn::Error{dvnn::ErrorCode::kMalformed,
                     dvnn::format("the stream's caps do not fit the network's input, which is "
                                  "dimensions=%s,types=%s",
                                  wanted.c_str(), dvnn::to_string(request.desc.type))};
}

static dvnn::Status gst_dv_convert_agree(GstDvConvert* self, const GstCaps* caps, GstQuery* query) {
  ConvertState& state = *self->state;
  GST_OBJECT_LOCK(self);
  const dvnn::gst::ConvertSettings settings = state.settings;
  GST_OBJECT_UNLOCK(self);
  dvnn::gst::TensorRequest request;
  const bool asked = gst_pad_peer_query(GST_BASE_TRANSFORM_SRC_PAD(self), query) &&
                     dvnn::gst::get_tensor_request(query, &request);
  Job job;
  if (asked) {
    if (state.stream) DVNN_TRY(gst_dv_convert_check_caps(caps, request));
    DVNN_ASSIGN(job, gst_dv_convert_plan_request(settings, request, state.stream));
  } else if (state.stream) {
    DVNN_ASSIGN(job, gst_dv_convert_plan_stream(settings, caps));
  } else {
    if (!std::exchange(state.warned, true)) {
      GST_WARNING_OBJECT(self, "nobody downstream wants a tensor: frames pass as they are");
    }
    return {};
  }
  return gst_dv_convert_take_job(self, job);
}

// GstBaseTransform negotiates no allocation for in-place transforms, so this asks by itself.
static gboolean gst_dv_convert_negotiate(GstDvConvert* self) {
  gst_dv_convert_forget(self);
  GstCaps* caps = gst_pad_get_current_caps(GST_BASE_TRANSFORM_SRC_PAD(self));
  if (!caps) return TRUE;
  GstQuery* query = gst_query_new_allocation(caps, FALSE);
  const dvnn::Status status = gst_dv_convert_agree(self, caps, query);
  gst_query_unref(query);
  gst_caps_unref(caps);
  if (status.ok()) return TRUE;
  dvnn::gst::post_error(GST_ELEMENT(self), dvnn::gst::Topic::kData, status.error());
  return FALSE;
}

// --- caps --------------------------------------------------------------------------------------

// Frames pass as they are, or become tensors of the same rate.
static GstCaps* gst_dv_convert_transform_caps(GstBaseTransform*, GstPadDirection direction,
                                              GstCaps* caps, GstCaps* filter) {
  GstCaps* result = gst_caps_new_empty();
  const char* other = direction == GST_PAD_SINK ? DVNN_TENSORS_CAPS : DVNN_VIDEO_CAPS;
  for (guint i = 0; i < gst_caps_get_size(caps); ++i) {
    const GstStructure* structure = gst_caps_get_structure(caps, i);
    const bool tensors = gst_structure_has_name(structure, "other/tensors");
    if (!tensors) gst_caps_append(result, gst_caps_copy_nth(caps, i));
    if (tensors != (direction == GST_PAD_SRC)) continue;
    GstCaps* turned = gst_caps_from_string(other);
    if (const GValue* rate = gst_structure_get_value(structure, "framerate")) {
      gst_caps_set_value(turned, "framerate", rate);
    }
    gst_caps_append(result, turned);
  }
  if (!filter) return result;
  GstCaps* filtered = gst_caps_intersect_full(filter, result, GST_CAPS_INTERSECT_FIRST);
  gst_caps_unref(result);
  return filtered;
}

// What downstream leaves open of a tensor is that of the frame.
static GstCaps* gst_dv_convert_fixate_caps(GstBaseTransform* trans, GstPadDirection direction,
                                           GstCaps* caps, GstCaps* other) {
  if (direction == GST_PAD_SINK && dvnn::gst::is_tensors_caps(other)) {
    GstDvConvert* self = GST_DV_CONVERT(trans);
    other = gst_caps_make_writable(gst_caps_truncate(other));
    GstStructure* s = gst_caps_get_structure(other, 0);
    GstVideoInfo info;
    if (!gst_structure_has_field(s, "dimensions") && gst_video_info_from_caps(&info, caps)) {
      GST_OBJECT_LOCK(self);
      const std::vector<int> dimensions = self->state->settings.stream_dimensions(
          GST_VIDEO_INFO_WIDTH(&info), GST_VIDEO_INFO_HEIGHT(&info));
      GST_OBJECT_UNLOCK(self);
      gst_structure_set(s, "dimensions", G_TYPE_STRING,
                        dvnn::gst::format_dimensions(dimensions).c_str(), nullptr);
    }
    if (!gst_structure_has_field(s, "types")) {
      gst_structure_set(s, "types", G_TYPE_STRING, "float32", nullptr);
    }
    gst_structure_set(s, "num_tensors", G_TYPE_INT, 1, nullptr);
  }
  return GST_BASE_TRANSFORM_CLASS(gst_dv_convert_parent_class)
      ->fixate_caps(trans, direction, caps, other);
}

static gboolean gst_dv_convert_set_caps(GstBaseTransform* trans, GstCaps* incaps,
                                        GstCaps* outcaps) {
  GstDvConvert* self = GST_DV_CONVERT(trans);
  ConvertState& state = *self->state;
  state.have_info = gst_video_info_from_caps(&state.info, incaps);
  if (!state.have_info) {
    GST_ERROR_OBJECT(self, "not a raw video format: %" GST_PTR_FORMAT, incaps);
    return FALSE;
  }
  state.stream = dvnn::gst::is_tensors_caps(outcaps);
  gst_base_transform_set_in_place(trans, !state.stream);
  // The tensor is asked for with the first frame: by then downstream has seen the caps.
  state.ask = true;
  return TRUE;
}

// --- data flow ---------------------------------------------------------------------------------

static GstFlowReturn gst_dv_convert_acquire(GstDvConvert* self, GstBuffer** buffer) {
  return gst_buffer_pool_acquire_buffer(self->state->pool, buffer, nullptr);
}

static GstFlowReturn gst_dv_convert_fail(GstDvConvert* self, const dvnn::Status& status) {
  dvnn::gst::post_error(GST_ELEMENT(self), dvnn::gst::Topic::kData, status.error());
  return GST_FLOW_ERROR;
}

static GstFlowReturn gst_dv_convert_transform_ip(GstBaseTransform* trans, GstBuffer* frame) {
  GstDvConvert* self = GST_DV_CONVERT(trans);
  ConvertState& state = *self->state;
  if (!state.have_info) return GST_FLOW_NOT_NEGOTIATED;
  if (!state.wanted) return GST_FLOW_OK;
  GstBuffer* slot = nullptr;
  const GstFlowReturn flow = gst_dv_convert_acquire(self, &slot);
  if (flow == GST_FLOW_FLUSHING) {
    // dvinfer took its pool down: it stops, or it flushes. Its own answer will tell.
    GST_DEBUG_OBJECT(self, "no slot: the pool is flushing");
    return GST_FLOW_OK;
  }
  if (flow != GST_FLOW_OK) return flow;
  const dvnn::Status status = state.converter->convert_to_slot(frame, slot, state.kind);
  gst_buffer_unref(slot);
  return status.ok() ? GST_FLOW_OK : gst_dv_convert_fail(self, status);
}

// A stream's buffers are tensors, slots if a dvinfer gave any.
static GstFlowReturn gst_dv_convert_prepare_output_buffer(GstBaseTransform* trans, GstBuffer* frame,
                                                          GstBuffer** out) {
  GstDvConvert* self = GST_DV_CONVERT(trans);
  if (self->state->have_info && self->state->ask.exchange(false) &&
      !gst_dv_convert_negotiate(self)) {
    return GST_FLOW_ERROR;
  }
  if (!self->state->stream) {
    return GST_BASE_TRANSFORM_CLASS(gst_dv_convert_parent_class)
        ->prepare_output_buffer(trans, frame, out);
  }
  if (!self->state->wanted) return GST_FLOW_NOT_NEGOTIATED;
  const GstFlowReturn flow = gst_dv_convert_acquire(self, out);
  if (flow != GST_FLOW_OK) return flow;
  gst_buffer_copy_into(
      *out, frame,
      static_cast<GstBufferCopyFlags>(GST_BUFFER_COPY_FLAGS | GST_BUFFER_COPY_TIMESTAMPS), 0,
      static_cast<gsize>(-1));
  return GST_FLOW_OK;
}

static GstFlowReturn gst_dv_convert_transform(GstBaseTransform* trans, GstBuffer* frame,
                                              GstBuffer* tensor) {
  GstDvConvert* self = GST_DV_CONVERT(trans);
  const dvnn::Status status = self->state->converter->convert(frame, tensor);
  return status.ok() ? GST_FLOW_OK : gst_dv_convert_fail(self, status);
}

// Streams have pools of their own: see gst_dv_convert_negotiate().
static gboolean gst_dv_convert_decide_allocation(GstBaseTransform*, GstQuery*) {
  return TRUE;
}

static gboolean gst_dv_convert_sink_event(GstBaseTransform* trans, GstEvent* event) {
  GstDvConvert* self = GST_DV_CONVERT(trans);
  if (GST_EVENT_TYPE(event) == GST_EVENT_TAG) {
    GstTagList* tags = nullptr;
    GstVideoOrientationMethod method = GST_VIDEO_ORIENTATION_IDENTITY;
    gst_event_parse_tag(event, &tags);
    if (gst_video_orientation_from_tag(tags, &method)) {
      GST_OBJECT_LOCK(self);
      self->state->settings.tagged_direction = method;
      GST_OBJECT_UNLOCK(self);
      self->state->ask = true;
    }
  }
  return GST_BASE_TRANSFORM_CLASS(gst_dv_convert_parent_class)->sink_event(trans, event);
}

// Downstream asks for it (an element was linked, a network changed).
static gboolean gst_dv_convert_src_event(GstBaseTransform* trans, GstEvent* event) {
  if (GST_EVENT_TYPE(event) == GST_EVENT_RECONFIGURE) GST_DV_CONVERT(trans)->state->ask = true;
  return GST_BASE_TRANSFORM_CLASS(gst_dv_convert_parent_class)->src_event(trans, event);
}

static gboolean gst_dv_convert_stop(GstBaseTransform* trans) {
  GstDvConvert* self = GST_DV_CONVERT(trans);
  gst_dv_convert_forget(self);
  self->state->have_info = self->state->warned = false;
  GST_OBJECT_LOCK(self);
  self->state->settings.tagged_direction = GST_VIDEO_ORIENTATION_IDENTITY;
  GST_OBJECT_UNLOCK(self);
  return TRUE;
}

// --- set-up ------------------------------------------------------------------------------------

static void gst_dv_convert_set_property(GObject* object, guint id, const GValue* value,
                                        GParamSpec* pspec) {
  ConvertState& state = *GST_DV_CONVERT(object)->state;
  GST_OBJECT_LOCK(object);
  const bool known = dvnn::gst::set_convert_property(&state.settings, id, value);
  GST_OBJECT_UNLOCK(object);
  if (!known) G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
  state.ask = true;
}

static void gst_dv_convert_get_property(GObject* object, guint id, GValue* value,
                                        GParamSpec* pspec) {
  const ConvertState& state = *GST_DV_CONVERT(object)->state;
  GST_OBJECT_LOCK(object);
  if (id == PROP_ACTIVE_BACKEND) {
    g_value_set_string(value, state.active_backend);
  } else if (!dvnn::gst::get_convert_property(state.settings, id, value)) {
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
  }
  GST_OBJECT_UNLOCK(object);
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
  GObjectClass* object_class = G_OBJECT_CLASS(klass);
  GstElementClass* element_class = GST_ELEMENT_CLASS(klass);
  GstBaseTransformClass* trans_class = GST_BASE_TRANSFORM_CLASS(klass);
  GST_DEBUG_CATEGORY_INIT(dv_convert_debug, "dvconvert", 0, "Frame to tensor conversion");
  object_class->set_property = gst_dv_convert_set_property;
  object_class->get_property = gst_dv_convert_get_property;
  object_class->finalize = gst_dv_convert_finalize;
  dvnn::gst::install_convert_properties(object_class);
  g_object_class_install_property(
      object_class, PROP_ACTIVE_BACKEND,
      g_param_spec_string(
          "active-backend", "Active backend",
          "Who makes the tensors: cpu, device (it takes 8-bit pixels) or none (yet)", "none",
          static_cast<GParamFlags>(G_PARAM_READABLE | G_PARAM_STATIC_STRINGS)));
  gst_element_class_set_static_metadata(
      element_class, "DV frame to tensor converter", "Filter/Converter/Video",
      "Resizes, normalises and transposes video frames into the tensor that dvinfer wants, in one "
      "pass and straight into device memory; the frame itself passes untouched",
      "gst-dvnn developers");
  gst_element_class_add_static_pad_template(element_class, &sink_template);
  gst_element_class_add_static_pad_template(element_class, &src_template);
  trans_class->transform_caps = gst_dv_convert_transform_caps;
  trans_class->fixate_caps = gst_dv_convert_fixate_caps;
  trans_class->set_caps = gst_dv_convert_set_caps;
  trans_class->sink_event = gst_dv_convert_sink_event;
  trans_class->src_event = gst_dv_convert_src_event;
  trans_class->prepare_output_buffer = gst_dv_convert_prepare_output_buffer;
  trans_class->decide_allocation = gst_dv_convert_decide_allocation;
  trans_class->transform = gst_dv_convert_transform;
  trans_class->transform_ip = gst_dv_convert_transform_ip;
  trans_class->stop = gst_dv_convert_stop;
}
