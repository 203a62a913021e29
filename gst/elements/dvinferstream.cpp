// SPDX-License-Identifier: Apache-2.0
// dvinfer with streams of tensors instead of frames, on either side; see tensorcaps.h.
#include <cstring>

#include "base/format.h"
#include "elements/dvinferprivate.h"
#include "infer/slotpool.h"
#include "frames/tensorcaps.h"

GST_DEBUG_CATEGORY_EXTERN(gst_dv_infer_debug);
#define GST_CAT_DEFAULT gst_dv_infer_debug

// Caps of the network's input or outputs; any tensors before there is a network.
static GstCaps* gst_dv_infer_network_caps(GstDvInfer* self, bool input) {
  const auto& network = self->state->network;
  GstCaps* any = gst_caps_from_string(DVNN_TENSORS_CAPS);
  if (!network) return any;
  std::vector<dvnn::TensorDesc> tensors;
  const dvnn::network::Model& model = network->model();
  if (input) {
    tensors.push_back(network->input_desc());
  } else {
    for (const auto& output : model.outputs) {
      tensors.push_back(model.tensors[static_cast<size_t>(output.tensor)].desc);
    }
  }
  GstCaps* exact = dvnn::gst::tensors_caps(tensors);
  GstCaps* caps = gst_caps_intersect(any, exact);  // any frame rate
  gst_caps_unref(exact);
  gst_caps_unref(any);
  return caps;
}

GstCaps* gst_dv_infer_get_caps(GstDvInfer* self, bool sink) {
  GstPad* pad = sink ? self->sinkpad : self->srcpad;
  GstPad* other = sink ? self->srcpad : self->sinkpad;
  GstCaps* caps = gst_pad_get_pad_template_caps(pad);
  GstCaps* video = gst_caps_from_string(DVNN_VIDEO_CAPS);
  GstCaps* beyond = gst_pad_peer_query_caps(other, nullptr);
  // Frames pass as they are, and either side may be tensors where the other is not frames alone.
  GstCaps* result = gst_caps_intersect_full(beyond, video, GST_CAPS_INTERSECT_FIRST);
  GstCaps* tensors = gst_dv_infer_network_caps(self, !sink);
  if (gst_caps_can_intersect(beyond, tensors)) {
    if (sink) result = gst_caps_merge(result, gst_caps_ref(video));
    result = gst_caps_merge(result, gst_dv_infer_network_caps(self, sink));
  } else if (!sink) {
    result = gst_caps_merge(result, gst_dv_infer_network_caps(self, false));
  }
  GstCaps* allowed = gst_caps_intersect_full(result, caps, GST_CAPS_INTERSECT_FIRST);
  for (GstCaps* done : {caps, video, beyond, tensors, result}) gst_caps_unref(done);
  return allowed;
}

dvnn::Status gst_dv_infer_take_caps(GstDvInfer* self, GstCaps* caps, GstCaps** out) {
  GstDvInferState& state = *self->state;
  state.converter.reset();
  state.tensors_in = dvnn::gst::is_tensors_caps(caps);
  state.have_video = !state.tensors_in && gst_video_info_from_caps(&state.video, caps);
  if (!state.tensors_in && !state.have_video) {
    return dvnn::Error{dvnn::ErrorCode::kMalformed, "the stream is neither raw video nor tensors"};
  }
  if (state.tensors_in) {
    DVNN_ASSIGN(const dvnn::gst::CapsTensor tensor, dvnn::gst::parse_tensor_caps(caps));
    const dvnn::TensorDesc& desc = state.network->input_desc();
    if (tensor.type != desc.type || tensor.bytes() != desc.bytes()) {
      return dvnn::Error{
          dvnn::ErrorCode::kMalformed,
          dvnn::format("a stream of %s, dimensions %s, is not the network's input, which is %s, "
                       "dimensions %s",
                       dvnn::to_string(tensor.type),
                       dvnn::gst::format_dimensions(tensor.dimensions).c_str(),
                       dvnn::to_string(desc.type),
                       dvnn::gst::format_dimensions(dvnn::gst::caps_dimensions(desc)).c_str())};
    }
  }
  GstCaps* beyond = gst_pad_peer_query_caps(self->srcpad, nullptr);
  state.tensors_out = state.tensors_in || !gst_caps_can_intersect(beyond, caps);
  gst_caps_unref(beyond);
  if (!state.tensors_out) {
    *out = gst_caps_ref(caps);
    return {};
  }
  *out = gst_caps_make_writable(gst_dv_infer_network_caps(self, false));
  const GValue* rate = gst_structure_get_value(gst_caps_get_structure(caps, 0), "framerate");
  gst_caps_set_simple(*out, "framerate", GST_TYPE_FRACTION,
                      rate ? gst_value_get_fraction_numerator(rate) : 0,
                      rate ? gst_value_get_fraction_denominator(rate) : 1, nullptr);
  return {};
}

dvnn::Status gst_dv_infer_take_tensor(GstDvInfer* self, GstBuffer* tensor, GstBuffer** slot) {
  GstDvInferState& state = *self->state;
  dvnn::network::Slot* owner = dvnn::gst::slot_of(tensor);
  if (owner && owner->network() == state.network && dvnn::gst::slot_take_input(tensor)) {
    *slot = gst_buffer_ref(tensor);
    return {};
  }
  const gsize have = gst_buffer_get_size(tensor);
  const auto want = static_cast<gsize>(state.network->input_desc().bytes());
  if (have != want) {
    return dvnn::Error{
        dvnn::ErrorCode::kMalformed,
        dvnn::format("a tensor of %zu bytes came; the network's input has %zu", have, want)};
  }
  GstBuffer* fresh = nullptr;
  if (gst_buffer_pool_acquire_buffer(state.pool, &fresh, nullptr) != GST_FLOW_OK) return {};
  GstMapInfo map;
  gst_buffer_map(fresh, &map, GST_MAP_WRITE);
  gst_buffer_extract(tensor, 0, map.data, have);
  gst_buffer_unmap(fresh, &map);
  dvnn::gst::slot_mark_written(fresh, dvnn::gst::InputKind::kTensor);
  dvnn::gst::slot_take_input(fresh);
  *slot = fresh;
  return {};
}

GstMemory* gst_dv_infer_output_memory(GstBuffer* slot, size_t i) {
  const dvnn::ConstTensorView view = dvnn::gst::slot_of(slot)->output(i);
  const auto size = static_cast<gsize>(view.desc.bytes());
  return gst_memory_new_wrapped(GST_MEMORY_FLAG_READONLY, const_cast<uint8_t*>(view.data), size, 0,
                                size, gst_buffer_ref(slot),
                                reinterpret_cast<GDestroyNotify>(gst_buffer_unref));
}

GstBuffer* gst_dv_infer_make_tensors(GstBuffer* slot, GstBuffer* from) {
  GstBuffer* buffer = gst_buffer_new();
  const size_t count = dvnn::gst::slot_of(slot)->network()->model().outputs.size();
  for (size_t i = 0; i < count; ++i) {
    gst_buffer_append_memory(buffer, gst_dv_infer_output_memory(slot, i));
  }
  gst_buffer_copy_into(
      buffer, from,
      static_cast<GstBufferCopyFlags>(GST_BUFFER_COPY_FLAGS | GST_BUFFER_COPY_TIMESTAMPS), 0,
      static_cast<gsize>(-1));
  return buffer;
}
