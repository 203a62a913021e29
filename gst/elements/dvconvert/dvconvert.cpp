// SPDX-License-Identifier: Apache-2.0
/**
 * SECTION:element-dvconvert
 * @title: dvconvert
 * @short_description: makes the tensor that a network wants of each frame
 *
 * dvconvert resizes, colour-converts, normalises and transposes each video frame in one pass and
 * writes the finished tensor into the device memory of the dvinfer downstream. The frame itself is
 * passed on as it came; the tensor travels with it.
 *
 * dvinfer says in the ALLOCATION query which tensor its network wants, so no property needs to be
 * set. Properties choose the part of the frame to look at (#GstDvConvert:roi), and how it is turned
 * (#GstVideoDirection:video-direction), fitted (#GstDvConvert:resize) and resampled
 * (#GstDvConvert:method). If a frame carries a #GstVideoCropMeta, the tensor shows that part alone.
 * Boxes come back in the coordinates of the whole frame, however it was turned.
 *
 * The network may be shown several regions of a frame (#GstDvConvert:regions): areas of a list,
 * regions of interest of other elements, objects of an earlier network, or tiles. Each region is
 * converted straight from the frame, and is one run of the network.
 *
 * A board's device that takes 8-bit pixels through a table gets pixels, half the bytes, if the
 * result is the same; #GstDvConvert:active-backend says whether it does.
 *
 * The settings travel with each frame. If no tensor can be made here (one branch of a tee takes
 * none, the frame was doubled, no slot is free), dvinfer makes it by the same settings, with the
 * same result.
 *
 * Frames that are not going to be inferred (see #GstDvInfer:when-busy, #GstDvInfer:interval-ms and
 * #GstDvInfer:max-rate) are not converted.
 *
 * ## Streams of tensors
 *
 * If downstream asks for `other/tensors` caps, the buffer is the tensor. Its layout and numbers are
 * those of the network if a dvinfer is downstream, else those that the properties choose.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 videotestsrc num-buffers=100 ! dvconvert ! dvinfer ! dvdecode ! dvoverlay !
 * videoconvert ! autovideosink
 * ]| Runs the default network on a test picture.
 * |[
 * gst-launch-1.0 videotestsrc num-buffers=100 ! dvconvert regions=tiles tiles=2x2,1x1 ! dvinfer !
 * dvdecode ! dvoverlay ! videoconvert ! autovideosink
 * ]| Shows the network four quarters of each frame, and the whole.
 * |[
 * gst-launch-1.0 videotestsrc num-buffers=1 ! dvconvert layout=dlhdl conv-threads=9
 * scale="<0.00392>" ! "other/tensors,dimensions=(string)4:224:224:1,types=(string)float32" !
 * filesink location=input.bin
 * ]| Writes the input buffer of MathWorks' deep learning processor for a 224x224 picture.
 *
 * Since: 0.1.0
 */
#include "elements/elements.h"

#include <gst/video/video.h>

#include <atomic>
#include <utility>

#include "base/format.h"
#include "elements/dvconvert/convertjob.h"
#include "elements/dvconvert/convertsettings.h"
#include "elements/dvconvert/regionchooser.h"
#include "elements/dvconvert/taggeddirection.h"
#include "elements/neighbours.h"
#include "elements/objectclass.h"
#include "errors.h"
#include "frames/caps.h"
#include "frames/frameconverter.h"
#include "infer/knowntracks.h"
#include "infer/slotmeta.h"
#include "infer/tensorrequest.h"
#include "meta/movedmeta.h"
#include "meta/viewmeta.h"
#include "refs.h"
#include "times.h"

GST_DEBUG_CATEGORY(dv_convert_debug);
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT dv_convert_debug

namespace dvnn::gst {

G_DECLARE_FINAL_TYPE(GstDvConvert, gst_dv_convert, GST, DV_CONVERT, GstBaseTransform)

struct GstDvConvertPrivate {
  // Under the object lock.
  ConvertSettings settings;
  TaggedDirection tagged;
  std::vector<SettledTrack> settled;  // told by dvdecode since the last frame
  // Asks for a negotiation of the tensor before the next frame. Any thread.
  std::atomic<bool> renegotiate{false};
  // Streaming thread only.
  bool have_info = false;
  GstVideoInfo info;
  bool stream = false;                   // tensors leave instead of frames
  std::optional<TensorRequest> request;  // what a dvinfer downstream wants
  std::optional<ConvertJob> job;         // the tensor to make
  RegionConverters converters;
  RegionChooser chooser;
  SlotTaker slots;
};

struct _GstDvConvert {
  GstBaseTransform parent;
  GstDvConvertPrivate* priv;
};

G_DEFINE_TYPE_WITH_CODE(GstDvConvert, gst_dv_convert, GST_TYPE_BASE_TRANSFORM,
                        G_IMPLEMENT_INTERFACE(GST_TYPE_VIDEO_DIRECTION, nullptr))
GST_ELEMENT_REGISTER_DEFINE(dvconvert, "dvconvert", GST_RANK_NONE, gst_dv_convert_get_type())

static GstStaticPadTemplate dv_convert_sink_template =
    GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS(DVNN_VIDEO_CAPS));
static GstStaticPadTemplate dv_convert_src_template =
    GST_STATIC_PAD_TEMPLATE("src", GST_PAD_SRC, GST_PAD_ALWAYS,
                            GST_STATIC_CAPS(DVNN_VIDEO_CAPS "; " DVNN_STATIC_TENSORS_CAPS));

// --- Negotiation -------------------------------------------------------------------------------

static void gst_dv_convert_reset(GstDvConvert* self) {
  GstDvConvertPrivate& priv = *self->priv;
  priv.request.reset();
  priv.job.reset();
  priv.converters.reset();
  const ObjectLock lock(self);
  priv.settings.active_backend = "none";
}

static Status gst_dv_convert_plan(GstDvConvert* self, const GstCaps* caps) {
  GstDvConvertPrivate& priv = *self->priv;
  ConvertSettings settings;
  {
    const ObjectLock lock(self);
    settings = priv.settings;
  }
  DVNN_ASSIGN(priv.job, plan_job(settings, priv.request, priv.stream ? caps : nullptr));
  if (!priv.job) {
    GST_INFO_OBJECT(self, "no dvinfer wants tensors from here: frames carry their view alone");
    return {};
  }
  const TensorDesc& desc = priv.job->target.desc;
  {
    const ObjectLock lock(self);
    priv.settings.active_backend = priv.job->kind == network::InputKind::kPixels ? "device" : "cpu";
  }
  GST_INFO_OBJECT(self, "making tensors %s %s %s, backend %s", desc.shape.to_string().c_str(),
                  to_string(desc.type), priv.job->target.dlhdl ? "dlhdl" : to_string(desc.layout),
                  priv.job->kind == network::InputKind::kPixels ? "device" : "cpu");
  g_object_notify(G_OBJECT(self), "active-backend");
  return {};
}

// GstBaseTransform negotiates no allocation for in-place transforms, so this function does.
static gboolean gst_dv_convert_renegotiate(GstDvConvert* self) {
  GstDvConvertPrivate& priv = *self->priv;
  gst_dv_convert_reset(self);
  const CapsPtr caps(gst_pad_get_current_caps(GST_BASE_TRANSFORM_SRC_PAD(self)));
  if (!caps) return TRUE;
  const QueryPtr query(gst_query_new_allocation(caps.get(), FALSE));
  if (gst_pad_peer_query(GST_BASE_TRANSFORM_SRC_PAD(self), query.get())) {
    priv.request = get_tensor_request(query.get());
  }
  const Status status = gst_dv_convert_plan(self, caps.get());
  if (status.ok()) return TRUE;
  const bool caps_differ = status.error().code == ErrorCode::kMalformed;
  post_error(GST_ELEMENT(self), caps_differ ? Topic::kData : Topic::kSettings, status.error());
  return FALSE;
}

// --- caps --------------------------------------------------------------------------------------

static GstCaps* gst_dv_convert_transform_caps(GstBaseTransform*, GstPadDirection direction,
                                              GstCaps* caps, GstCaps* filter) {
  CapsPtr result = convert_caps(direction, caps);
  return filter ? gst_caps_intersect_full(filter, result.get(), GST_CAPS_INTERSECT_FIRST)
                : result.release();
}

static GstCaps* gst_dv_convert_fixate_caps(GstBaseTransform* trans, GstPadDirection direction,
                                           GstCaps* caps, GstCaps* other) {
  if (direction == GST_PAD_SINK && is_tensors_caps(other)) {
    GstCaps* const none = nullptr;
    other = guard(trans, "no caps of tensors can be made", none, [&] {
      const ObjectLock lock(trans);
      return complete_tensor_caps(GST_DV_CONVERT(trans)->priv->settings, caps, CapsPtr(other))
          .release();
    });
    if (!other) return gst_caps_new_empty();  // the negotiation then fails
  }
  return GST_BASE_TRANSFORM_CLASS(gst_dv_convert_parent_class)
      ->fixate_caps(trans, direction, caps, other);
}

static gboolean gst_dv_convert_set_caps(GstBaseTransform* trans, GstCaps* incaps,
                                        GstCaps* outcaps) {
  GstDvConvert* self = GST_DV_CONVERT(trans);
  GstDvConvertPrivate& priv = *self->priv;
  priv.have_info = video_info_from_caps(incaps, &priv.info);
  if (!priv.have_info) {
    GST_ERROR_OBJECT(self, "not a raw video format: %" GST_PTR_FORMAT, incaps);
    return FALSE;
  }
  priv.stream = is_tensors_caps(outcaps);
  gst_base_transform_set_in_place(trans, !priv.stream);
  // The first frame triggers negotiation, because by then downstream has seen the caps.
  priv.renegotiate = true;
  return TRUE;
}

// --- data flow ---------------------------------------------------------------------------------

// Sets the controlled properties to their values at the frame's time.
static void gst_dv_convert_before_transform(GstBaseTransform* trans, GstBuffer* frame) {
  sync_properties(trans, trans->segment, frame);
}

static image::View gst_dv_convert_view(GstDvConvert* self) {
  const ObjectLock lock(self);
  return self->priv->settings.view(self->priv->tagged.get());
}

// Chooses what the network is shown of this frame.
static FrameView gst_dv_convert_choose(GstDvConvert* self, GstBuffer* frame) {
  GstDvConvertPrivate& priv = *self->priv;
  FrameView view;
  view.view = gst_dv_convert_view(self);
  if (is_still(frame)) {
    view.verdict = Verdict::kPass;
    return view;
  }
  {
    const ObjectLock lock(self);
    priv.chooser.configure(priv.settings);
    priv.chooser.settle(priv.settled);
    priv.settled.clear();
  }
  const image::Size size = {static_cast<double>(GST_VIDEO_INFO_WIDTH(&priv.info)),
                            static_cast<double>(GST_VIDEO_INFO_HEIGHT(&priv.info))};
  const GstClockTime time = running_time(GST_BASE_TRANSFORM(self)->segment, frame);
  priv.chooser.set_room(priv.request ? room_for_objects(*priv.request) : 0);
  view.regions = priv.chooser.choose(frame, time, size, view.view);
  // If an earlier network has not seen the frame, its objects are unknown, and nothing can be
  // chosen.
  if (priv.chooser.is_unknown()) view.verdict = Verdict::kPass;
  return view;
}

// Returns the converter of a region, or of the frame if it has no list of regions.
static Result<FrameConverter*> gst_dv_convert_prepare(GstDvConvert* self, size_t region,
                                                      const image::View& view) {
  GstDvConvertPrivate& priv = *self->priv;
  return priv.converters.get(region, priv.info, priv.job->target, priv.job->input, view);
}

// Converts a region into a slot and attaches the slot to the frame; false if no slot is free. An
// error is only logged: it will recur in dvinfer, whose property on-error decides what follows.
static bool gst_dv_convert_fill_slot(GstDvConvert* self, GstBuffer* frame, size_t region,
                                     const image::View& view) {
  GstDvConvertPrivate& priv = *self->priv;
  SlotPtr slot =
      priv.slots.take(GST_OBJECT(self), *priv.request, !priv.request->intake->live, region == 0);
  if (!slot) return false;
  const gint64 start = g_get_monotonic_time();
  auto converter = gst_dv_convert_prepare(self, region, view);
  const Status status = converter.ok()
                            ? converter.value()->convert(frame, slot->slot.get(), priv.job->kind)
                            : Status(converter.error());
  if (!status.ok()) {
    GST_DEBUG_OBJECT(self, "not converted: %s", status.error().message.c_str());
    return false;
  }
  priv.request->intake->stats.time(InferStats::Time::kConversion, g_get_monotonic_time() - start);
  GST_LOG_OBJECT(self, "region %zu is converted in %lld us", region,
                 static_cast<long long>(g_get_monotonic_time() - start));
  attach_slot(frame, {std::move(slot), converter.value()->shown(), region});
  return true;
}

// Fills slots for the frame's regions while there are free ones; dvinfer fills the others later.
static void gst_dv_convert_fill_slots(GstDvConvert* self, GstBuffer* frame, const FrameView& view) {
  if (!view.regions) {
    gst_dv_convert_fill_slot(self, frame, 0, view.view);
    return;
  }
  for (size_t i = 0; i < view.regions->size(); ++i) {
    if (!gst_dv_convert_fill_slot(self, frame, i, (*view.regions)[i].view)) return;
  }
}

static GstFlowReturn gst_dv_convert_look_at(GstDvConvert* self, GstBuffer* frame) {
  GstDvConvertPrivate& priv = *self->priv;
  if (!priv.have_info) return GST_FLOW_NOT_NEGOTIATED;
  FrameView view = gst_dv_convert_choose(self, frame);
  strip_slots(frame);  // left by an earlier dvconvert
  // A frame with an empty list does not count as inferred.
  if (priv.request && !view.verdict && !(view.regions && view.regions->empty())) {
    const gint64 start = g_get_monotonic_time();
    view.verdict = priv.request->decide(running_time(GST_BASE_TRANSFORM(self)->segment, frame));
    GST_LOG_OBJECT(self, "frame at %" GST_TIME_FORMAT ": %zu regions, %s",
                   GST_TIME_ARGS(GST_BUFFER_PTS(frame)), view.regions ? view.regions->size() : 1,
                   view.verdict == Verdict::kInfer  ? "to be inferred"
                   : view.verdict == Verdict::kLate ? "too late to be inferred"
                                                    : "left out");
    if (view.verdict == Verdict::kInfer) gst_dv_convert_fill_slots(self, frame, view);
    if (view.verdict != Verdict::kInfer) priv.chooser.withdraw();
    priv.request->intake->latency.occupied(start, g_get_monotonic_time());
  }
  set_frame_view(frame, view);
  return GST_FLOW_OK;
}

static GstFlowReturn gst_dv_convert_transform_ip(GstBaseTransform* trans, GstBuffer* frame) {
  return guard(trans, "the frame cannot be converted", GST_FLOW_ERROR,
               [&] { return gst_dv_convert_look_at(GST_DV_CONVERT(trans), frame); });
}

// Returns a buffer of a stream: a slot, if a dvinfer has one to spare, else plain memory.
static BufferPtr gst_dv_convert_new_tensor(GstDvConvert* self) {
  GstDvConvertPrivate& priv = *self->priv;
  if (priv.request && priv.job->in_slot) {
    if (SlotPtr slot = priv.slots.take(GST_OBJECT(self), *priv.request, true, true)) {
      return slot_buffer(std::move(slot));
    }
  }
  return allocate_buffer(priv.job->target.bytes());
}

static GstFlowReturn gst_dv_convert_prepare_output(GstDvConvert* self, GstBuffer* frame,
                                                   GstBuffer** out) {
  GstBaseTransform* trans = GST_BASE_TRANSFORM(self);
  GstDvConvertPrivate& priv = *self->priv;
  if (priv.have_info && priv.renegotiate.exchange(false) && !gst_dv_convert_renegotiate(self)) {
    return GST_FLOW_ERROR;
  }
  if (!priv.stream) {
    return GST_BASE_TRANSFORM_CLASS(gst_dv_convert_parent_class)
        ->prepare_output_buffer(trans, frame, out);
  }
  if (!priv.job) return GST_FLOW_NOT_NEGOTIATED;
  // A stream has nothing to send for a frame that is not inferred.
  if (is_still(frame)) return GST_BASE_TRANSFORM_FLOW_DROPPED;
  if (priv.request &&
      priv.request->decide(running_time(trans->segment, frame)) != Verdict::kInfer) {
    return GST_BASE_TRANSFORM_FLOW_DROPPED;
  }
  BufferPtr tensor = gst_dv_convert_new_tensor(self);
  if (!tensor) {
    post_error(GST_ELEMENT(self), Topic::kData,
               {ErrorCode::kNoMemory,
                format("no memory for a tensor of %zu bytes", priv.job->target.bytes())});
    return GST_FLOW_ERROR;
  }
  copy_times(frame, tensor.get());
  *out = tensor.release();
  return GST_FLOW_OK;
}

static GstFlowReturn gst_dv_convert_prepare_output_buffer(GstBaseTransform* trans, GstBuffer* frame,
                                                          GstBuffer** out) {
  return guard(trans, "no tensor can be made of the frame", GST_FLOW_ERROR,
               [&] { return gst_dv_convert_prepare_output(GST_DV_CONVERT(trans), frame, out); });
}

static GstFlowReturn gst_dv_convert_fill(GstDvConvert* self, GstBuffer* frame, GstBuffer* tensor) {
  auto converter = gst_dv_convert_prepare(self, 0, gst_dv_convert_view(self));
  Status status = converter.ok() ? Status() : Status(converter.error());
  if (status.ok()) {
    const BufferMap map(tensor, GST_MAP_WRITE);
    status = map.ok() ? converter.value()->convert(frame, map.data(), map.size())
                      : Status(Error{ErrorCode::kDevice, "the tensor's memory cannot be mapped"});
  }
  if (!status.ok()) {
    post_error(GST_ELEMENT(self), Topic::kData, status.error());
    return GST_FLOW_ERROR;
  }
  mark_slot_written(tensor);
  return GST_FLOW_OK;
}

static GstFlowReturn gst_dv_convert_transform(GstBaseTransform* trans, GstBuffer* frame,
                                              GstBuffer* tensor) {
  return guard(trans, "the frame cannot be converted", GST_FLOW_ERROR,
               [&] { return gst_dv_convert_fill(GST_DV_CONVERT(trans), frame, tensor); });
}

// Streams allocate their own buffers: see gst_dv_convert_new_tensor().
static gboolean gst_dv_convert_decide_allocation(GstBaseTransform*, GstQuery*) {
  return TRUE;
}

// Answers for frames that end here, because tensors leave; else downstream answers.
static gboolean gst_dv_convert_propose_allocation(GstBaseTransform* trans, GstQuery* decided,
                                                  GstQuery* query) {
  if (!GST_DV_CONVERT(trans)->priv->stream) {
    return GST_BASE_TRANSFORM_CLASS(gst_dv_convert_parent_class)
        ->propose_allocation(trans, decided, query);
  }
  propose_frame_metas(query);
  return TRUE;
}

static gboolean gst_dv_convert_sink_event(GstBaseTransform* trans, GstEvent* event) {
  GstDvConvert* self = GST_DV_CONVERT(trans);
  {
    const ObjectLock lock(self);
    self->priv->tagged.take(event);
  }
  return GST_BASE_TRANSFORM_CLASS(gst_dv_convert_parent_class)->sink_event(trans, event);
}

// Any thread. The next frame obeys.
static gboolean gst_dv_convert_note_settled(GstDvConvert* self, const SettledTrack& track) {
  return guard(self, "an object cannot be noted", TRUE, [&]() -> gboolean {
    const ObjectLock lock(self);
    // A paused stream has no next frame. An older note only costs a look.
    auto& settled = self->priv->settled;
    if (settled.size() == kMostTracks) settled.clear();
    settled.push_back(track);
    return TRUE;
  });
}

// Renegotiates if downstream asks for it: an element was linked, or dvinfer has another network or
// other slots.
static gboolean gst_dv_convert_src_event(GstBaseTransform* trans, GstEvent* event) {
  if (const auto track = read_settled_event(event)) {
    const EventPtr answered(event);
    return gst_dv_convert_note_settled(GST_DV_CONVERT(trans), *track);
  }
  const bool request_alone = is_request_changed_event(event);
  if (request_alone || GST_EVENT_TYPE(event) == GST_EVENT_RECONFIGURE)
    GST_DV_CONVERT(trans)->priv->renegotiate = true;
  if (request_alone) {
    const EventPtr answered(event);
    return TRUE;
  }
  return GST_BASE_TRANSFORM_CLASS(gst_dv_convert_parent_class)->src_event(trans, event);
}

static gboolean gst_dv_convert_stop(GstBaseTransform* trans) {
  GstDvConvert* self = GST_DV_CONVERT(trans);
  gst_dv_convert_reset(self);
  self->priv->chooser.reset();
  self->priv->have_info = false;
  const ObjectLock lock(self);
  self->priv->tagged = {};
  self->priv->settled.clear();
  return TRUE;
}

// --- set-up ------------------------------------------------------------------------------------

static void gst_dv_convert_set_property(GObject* object, guint id, const GValue* value,
                                        GParamSpec*) {
  GstDvConvertPrivate& priv = *GST_DV_CONVERT(object)->priv;
  made_once<convert_properties>().set(GST_ELEMENT(object), &priv.settings, id, value);
  // The view travels with each frame; the other settings need a new negotiation.
  if (!made_once<convert_properties>().is_controllable(id)) priv.renegotiate = true;
}

static void gst_dv_convert_init(GstDvConvert* self) {
  self->priv = new GstDvConvertPrivate();
  gst_base_transform_set_in_place(GST_BASE_TRANSFORM(self), TRUE);
}

static void gst_dv_convert_class_init(GstDvConvertClass* klass) {
  GObjectClass* object_class = G_OBJECT_CLASS(klass);
  GstElementClass* element_class = GST_ELEMENT_CLASS(klass);
  GstBaseTransformClass* trans_class = GST_BASE_TRANSFORM_CLASS(klass);
  GST_DEBUG_CATEGORY_INIT(dv_convert_debug, "dvconvert", 0, "Frame to tensor conversion");
  own_private<GstDvConvert>(object_class);
  own_properties<GstDvConvert, made_once<convert_properties>>(object_class);
  object_class->set_property = gst_dv_convert_set_property;
  gst_element_class_set_static_metadata(
      element_class, "DV frame to tensor converter", "Filter/Converter/Video",
      "Resizes, normalises and transposes video frames into the tensor that dvinfer wants, in one "
      "pass and straight into device memory; the frame itself passes untouched",
      "gst-dvnn developers");
  gst_element_class_add_static_pad_template(element_class, &dv_convert_sink_template);
  gst_element_class_add_static_pad_template(element_class, &dv_convert_src_template);
  trans_class->transform_caps = GST_DEBUG_FUNCPTR(gst_dv_convert_transform_caps);
  trans_class->fixate_caps = GST_DEBUG_FUNCPTR(gst_dv_convert_fixate_caps);
  trans_class->set_caps = GST_DEBUG_FUNCPTR(gst_dv_convert_set_caps);
  trans_class->sink_event = GST_DEBUG_FUNCPTR(gst_dv_convert_sink_event);
  trans_class->src_event = GST_DEBUG_FUNCPTR(gst_dv_convert_src_event);
  trans_class->prepare_output_buffer = GST_DEBUG_FUNCPTR(gst_dv_convert_prepare_output_buffer);
  trans_class->decide_allocation = GST_DEBUG_FUNCPTR(gst_dv_convert_decide_allocation);
  trans_class->before_transform = GST_DEBUG_FUNCPTR(gst_dv_convert_before_transform);
  trans_class->propose_allocation = GST_DEBUG_FUNCPTR(gst_dv_convert_propose_allocation);
  trans_class->transform = GST_DEBUG_FUNCPTR(gst_dv_convert_transform);
  trans_class->transform_ip = GST_DEBUG_FUNCPTR(gst_dv_convert_transform_ip);
  trans_class->stop = GST_DEBUG_FUNCPTR(gst_dv_convert_stop);
}

}  // namespace dvnn::gst
