// SPDX-License-Identifier: Apache-2.0
// What dvinfer's pads may carry: frames, or on either side streams of tensors (see tensorcaps.h).
#include "base/format.h"
#include "elements/dvinferprivate.h"
#include "frames/tensorcaps.h"
#include "frames/videocaps.h"
#include "guard.h"
#include "refs.h"

#define GST_CAT_DEFAULT gst_dv_infer_debug

using dvnn::Error;
using dvnn::ErrorCode;
using dvnn::Status;
using dvnn::gst::CapsPtr;
using dvnn::gst::LoadedNetwork;

// Caps of a network's input or outputs at any frame rate; any tensors before there is a network.
static CapsPtr gst_dv_infer_network_caps(const LoadedNetwork* loaded, bool input) {
  CapsPtr any(gst_caps_from_string(DVNN_TENSORS_CAPS));
  if (!loaded) return any;
  std::vector<dvnn::TensorDesc> tensors;
  const dvnn::network::Model& model = loaded->network->model();
  if (input) {
    tensors.push_back(loaded->network->input_desc());
  } else {
    for (const auto& output : model.outputs) {
      tensors.push_back(model.tensors[static_cast<size_t>(output.tensor)].desc);
    }
  }
  const CapsPtr exact(dvnn::gst::tensors_caps(tensors));
  return CapsPtr(gst_caps_intersect(any.get(), exact.get()));
}

static CapsPtr merge(CapsPtr a, CapsPtr b) {
  return CapsPtr(gst_caps_merge(a.release(), b.release()));
}

GstCaps* gst_dv_infer_get_caps(GstDvInfer* self, bool sink) {
  const LoadedPtr loaded = gst_dv_infer_loaded(self);
  GstPad* pad = sink ? self->sinkpad : self->srcpad;
  GstPad* other = sink ? self->srcpad : self->sinkpad;
  const CapsPtr possible(gst_pad_get_pad_template_caps(pad));
  const CapsPtr video(gst_caps_from_string(DVNN_VIDEO_CAPS));
  const CapsPtr beyond(gst_pad_peer_query_caps(other, nullptr));
  // Frames pass as they are, and either side may be tensors where the other is not frames alone.
  CapsPtr result(gst_caps_intersect_full(beyond.get(), video.get(), GST_CAPS_INTERSECT_FIRST));
  const CapsPtr tensors = gst_dv_infer_network_caps(loaded.get(), !sink);
  if (gst_caps_can_intersect(beyond.get(), tensors.get())) {
    if (sink) result = merge(std::move(result), dvnn::gst::ref(video.get()));
    result = merge(std::move(result), gst_dv_infer_network_caps(loaded.get(), sink));
  } else if (!sink) {
    result = merge(std::move(result), gst_dv_infer_network_caps(loaded.get(), false));
  }
  return gst_caps_intersect_full(result.get(), possible.get(), GST_CAPS_INTERSECT_FIRST);
}

gboolean gst_dv_infer_answer_caps(GstDvInfer* self, GstQuery* query, bool sink) {
  GstCaps* filter = nullptr;
  gst_query_parse_caps(query, &filter);
  return dvnn::gst::guard(self, "the caps cannot be told", FALSE, [&]() -> gboolean {
    CapsPtr caps(gst_dv_infer_get_caps(self, sink));
    if (filter) {
      caps.reset(gst_caps_intersect_full(filter, caps.get(), GST_CAPS_INTERSECT_FIRST));
    }
    gst_query_set_caps_result(query, caps.get());
    return TRUE;
  });
}

// Whether a stream of tensors is a network's input.
static Status gst_dv_infer_check_tensor(const LoadedNetwork& loaded, const GstCaps* caps) {
  DVNN_ASSIGN(const dvnn::gst::CapsTensor tensor, dvnn::gst::parse_tensor_caps(caps));
  const dvnn::TensorDesc& desc = loaded.network->input_desc();
  if (tensor.type == desc.type && tensor.bytes() == desc.bytes()) return {};
  return Error{
      ErrorCode::kMalformed,
      dvnn::format("a stream of %s, dimensions %s, is not the network's input, which is %s, "
                   "dimensions %s",
                   dvnn::to_string(tensor.type),
                   dvnn::gst::format_dimensions(tensor.dimensions).c_str(),
                   dvnn::to_string(desc.type),
                   dvnn::gst::format_dimensions(dvnn::gst::caps_dimensions(desc)).c_str())};
}

// Caps of a stream of the network's outputs, as fast as the sink pad's `caps`.
static CapsPtr gst_dv_infer_output_caps(const LoadedNetwork& loaded, const GstCaps* caps) {
  GstCaps* out = gst_caps_make_writable(gst_dv_infer_network_caps(&loaded, false).release());
  const GValue* rate = gst_structure_get_value(gst_caps_get_structure(caps, 0), "framerate");
  gst_caps_set_simple(out, "framerate", GST_TYPE_FRACTION,
                      rate ? gst_value_get_fraction_numerator(rate) : 0,
                      rate ? gst_value_get_fraction_denominator(rate) : 1, nullptr);
  return CapsPtr(out);
}

Status gst_dv_infer_take_caps(GstDvInfer* self, GstCaps* caps, CapsPtr* out) {
  auto& sink = self->priv->sink;
  const LoadedPtr loaded = gst_dv_infer_loaded(self);
  sink.converter.reset();
  sink.tensors_in = dvnn::gst::is_tensors_caps(caps);
  sink.have_video = !sink.tensors_in && dvnn::gst::video_info_from_caps(caps, &sink.video);
  if (!sink.tensors_in && !sink.have_video) {
    return Error{ErrorCode::kMalformed, "the stream is neither raw video nor tensors"};
  }
  if (sink.tensors_in) {
    if (Status fits = gst_dv_infer_check_tensor(*loaded, caps); !fits.ok()) {
      sink.tensors_in = false;
      return fits;
    }
  }
  const CapsPtr beyond(gst_pad_peer_query_caps(self->srcpad, nullptr));
  sink.tensors_out = sink.tensors_in || !gst_caps_can_intersect(beyond.get(), caps);
  *out = sink.tensors_out ? gst_dv_infer_output_caps(*loaded, caps) : dvnn::gst::ref(caps);
  gst_dv_infer_estimate_latency(self);
  return {};
}

Status gst_dv_infer_check_swap(GstDvInfer* self, const LoadedNetwork& to, CapsPtr* out) {
  const auto& sink = self->priv->sink;
  const CapsPtr caps(gst_pad_get_current_caps(self->sinkpad));
  if (!caps) return {};
  if (sink.tensors_in) DVNN_TRY(gst_dv_infer_check_tensor(to, caps.get()));
  if (!sink.tensors_out) return {};
  *out = gst_dv_infer_output_caps(to, caps.get());
  const CapsPtr beyond(gst_pad_peer_query_caps(self->srcpad, nullptr));
  if (gst_caps_can_intersect(beyond.get(), out->get())) return {};
  return Error{ErrorCode::kMalformed,
               "its outputs are not what downstream takes as a stream of tensors"};
}
