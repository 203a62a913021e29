// SPDX-License-Identifier: Apache-2.0
#include "elements/dvinfer/dvinfercaps.h"

#include <utility>

#include "elements/dvinfer/dvinferlatency.h"
#include "frames/tensorinput.h"
#include "frames/tensoroutput.h"
#include "frames/videocaps.h"
#include "guard.h"
#ifdef DVNN_HAVE_TENSORS
#include "meta/exchange/tensorgroups.h"
#endif
#include "refs.h"

#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT gst_dv_infer_debug

using dvnn::Error;
using dvnn::ErrorCode;
using dvnn::Status;
using dvnn::gst::CapsPtr;
using dvnn::gst::ChosenOutput;
using dvnn::gst::LoadedNetwork;
using dvnn::gst::TensorInput;

// Caps of a network's input or outputs at any frame rate; any tensors before there is a network.
static CapsPtr gst_dv_infer_network_caps(const LoadedNetwork* loaded, bool input,
                                         const GstCaps* filter) {
  if (!loaded) return CapsPtr(gst_caps_from_string(DVNN_TENSORS_CAPS));
  const dvnn::network::Model& model = loaded->network->model();
  return CapsPtr(input ? dvnn::gst::tensor_input_caps(loaded->network->input_desc(),
                                                      model.input.picture, filter)
                       : dvnn::gst::tensor_output_caps(model, filter));
}

// Returns whether downstream takes a stream of the network's outputs.
static bool gst_dv_infer_can_leave(const LoadedNetwork* loaded, const GstCaps* beyond) {
  if (loaded)
    return dvnn::gst::choose_output(loaded->network->model(), beyond, nullptr).has_value();
  const CapsPtr any(gst_caps_from_string(DVNN_TENSORS_CAPS));
  return gst_caps_can_intersect(beyond, any.get());
}

// Decoders may ask for tensors in the caps of frames. A network that has them says so, and asks no
// one else for them.
#ifdef DVNN_HAVE_TENSORS
static std::vector<CapsPtr> gst_dv_infer_attachable(GstDvInfer* self, const LoadedNetwork& loaded) {
  if (gst_dv_infer_rules(self).tensor_meta == dvnn::gst::TensorExport::kNone) return {};
  return dvnn::gst::attachable_tensors(loaded.network->model());
}
#endif

static CapsPtr gst_dv_infer_announce([[maybe_unused]] GstDvInfer* self,
                                     [[maybe_unused]] const LoadedNetwork& loaded,
                                     [[maybe_unused]] const GstCaps* beyond, CapsPtr caps) {
#ifdef DVNN_HAVE_TENSORS
  if (!dvnn::gst::has_tensor_groups(beyond)) return caps;
  return dvnn::gst::announce_tensor_groups(std::move(caps), beyond,
                                           gst_dv_infer_attachable(self, loaded));
#else
  return caps;
#endif
}

// The caps that the peer on the other side of `self` allows.
static CapsPtr gst_dv_infer_peer_caps(GstDvInfer* self, bool sink,
                                      [[maybe_unused]] const LoadedNetwork* loaded) {
  CapsPtr beyond(gst_pad_peer_query_caps(sink ? self->srcpad : self->sinkpad, nullptr));
#ifdef DVNN_HAVE_TENSORS
  if (sink && loaded && dvnn::gst::has_tensor_groups(beyond.get())) {
    return dvnn::gst::without_tensor_groups(std::move(beyond),
                                            gst_dv_infer_attachable(self, *loaded));
  }
#endif
  return beyond;
}

static CapsPtr merge(CapsPtr a, CapsPtr b) {
  // The caps are not merged, because a subset that comes first has a meaning of its own
  // (tensorinput.h).
  GstCaps* both = gst_caps_make_writable(a.release());
  gst_caps_append(both, b.release());
  return CapsPtr(both);
}

GstCaps* gst_dv_infer_get_caps(GstDvInfer* self, bool sink, const GstCaps* filter) {
  const LoadedPtr loaded = gst_dv_infer_loaded(self);
  GstPad* pad = sink ? self->sinkpad : self->srcpad;
  const CapsPtr possible(gst_pad_get_pad_template_caps(pad));
  const CapsPtr video(gst_caps_from_string(DVNN_VIDEO_CAPS));
  const CapsPtr beyond = gst_dv_infer_peer_caps(self, sink, loaded.get());
  // Frames pass as they are. Either side may carry tensors if the other side allows more than
  // frames.
  CapsPtr result(gst_caps_intersect_full(beyond.get(), video.get(), GST_CAPS_INTERSECT_FIRST));
  const bool as_tensors = sink && gst_dv_infer_can_leave(loaded.get(), beyond.get());
  if (as_tensors) result = merge(std::move(result), dvnn::gst::ref(video.get()));
  if (as_tensors || !sink) {
    result = merge(std::move(result), gst_dv_infer_network_caps(loaded.get(), sink, filter));
  }
  return gst_caps_intersect_full(result.get(), possible.get(), GST_CAPS_INTERSECT_FIRST);
}

gboolean gst_dv_infer_answer_caps(GstDvInfer* self, GstQuery* query, bool sink) {
  GstCaps* filter = nullptr;
  gst_query_parse_caps(query, &filter);
  return dvnn::gst::guard(self, "the caps cannot be told", FALSE, [&]() -> gboolean {
    CapsPtr caps(gst_dv_infer_get_caps(self, sink, filter));
    if (filter) {
      caps.reset(gst_caps_intersect_full(filter, caps.get(), GST_CAPS_INTERSECT_FIRST));
    }
    gst_query_set_caps_result(query, caps.get());
    return TRUE;
  });
}

gboolean gst_dv_infer_answer_accept_caps(GstDvInfer* self, GstQuery* query) {
  GstCaps* caps = nullptr;
  gst_query_parse_accept_caps(query, &caps);
  return dvnn::gst::guard(self, "the caps cannot be judged", FALSE, [&]() -> gboolean {
    const LoadedPtr loaded = gst_dv_infer_loaded(self);
    const CapsPtr possible(gst_dv_infer_get_caps(self, true, caps));
    gboolean good = gst_caps_is_subset(caps, possible.get());
    // Streams of tensors are compared by what their caps mean, and errors are reported with the
    // caps.
    if (!good && loaded && dvnn::gst::is_tensors_caps(caps)) {
      const CapsPtr any(gst_caps_from_string(DVNN_TENSORS_CAPS));
      good = gst_caps_can_intersect(caps, any.get()) &&
             gst_caps_can_intersect(possible.get(), any.get());
    }
    gst_query_set_accept_caps_result(query, good);
    return TRUE;
  });
}

// Makes what turns a stream of tensors into a network's input.
static dvnn::Result<std::unique_ptr<TensorInput>> gst_dv_infer_tensor_input(
    const LoadedNetwork& loaded, const GstCaps* caps) {
  return TensorInput::create(caps, loaded.network->input_desc(),
                             loaded.network->model().input.picture);
}

// Chooses how a network's outputs leave, at the rate of the sink pad's `caps`. If downstream takes
// none of the possible forms, it is told what there is, and refuses that.
static ChosenOutput gst_dv_infer_choose_output(const LoadedNetwork& loaded, const GstCaps* beyond,
                                               const GstCaps* caps) {
  const GstStructure* rate = gst_caps_get_structure(caps, 0);
  const dvnn::network::Model& model = loaded.network->model();
  auto chosen = dvnn::gst::choose_output(model, beyond, rate);
  if (chosen) return std::move(*chosen);
  const CapsPtr any(gst_caps_new_any());
  return std::move(*dvnn::gst::choose_output(model, any.get(), rate));
}

Status gst_dv_infer_take_caps(GstDvInfer* self, GstCaps* caps, CapsPtr* out) {
  auto& sink = self->priv->sink;
  const LoadedPtr loaded = gst_dv_infer_loaded(self);
  sink.converters.reset();
  sink.tensors_in = dvnn::gst::is_tensors_caps(caps);
  sink.have_video = !sink.tensors_in && dvnn::gst::video_info_from_caps(caps, &sink.video);
  if (!sink.tensors_in && !sink.have_video) {
    return Error{ErrorCode::kMalformed, "the stream is neither raw video nor tensors"};
  }
  sink.tensor_input.reset();
  if (sink.tensors_in) {
    auto input = gst_dv_infer_tensor_input(*loaded, caps);
    if (!input.ok()) {
      sink.tensors_in = false;
      return input.error();
    }
    sink.tensor_input = std::move(input.value());
  }
  const CapsPtr beyond(gst_pad_peer_query_caps(self->srcpad, nullptr));
  sink.tensors_out = sink.tensors_in || !gst_caps_can_intersect(beyond.get(), caps);
  sink.output.reset();
  *out = dvnn::gst::ref(caps);
  if (sink.tensors_out) {
    ChosenOutput chosen = gst_dv_infer_choose_output(*loaded, beyond.get(), caps);
    sink.output = std::move(chosen.form);
    *out = std::move(chosen.caps);
  } else if (loaded) {
    *out = gst_dv_infer_announce(self, *loaded, beyond.get(), std::move(*out));
  }
  sink.announced = !sink.tensors_out && out->get() != caps;
  gst_dv_infer_estimate_latency(self);
  return {};
}

Status gst_dv_infer_take_swap(GstDvInfer* self, const LoadedNetwork& to, CapsPtr* out) {
  auto& sink = self->priv->sink;
  const CapsPtr caps(gst_pad_get_current_caps(self->sinkpad));
  if (!caps) return {};
  std::unique_ptr<TensorInput> input;
  if (sink.tensors_in) {
    DVNN_ASSIGN(input, gst_dv_infer_tensor_input(to, caps.get()));
  }
  if (sink.tensors_out) {
    const CapsPtr beyond(gst_pad_peer_query_caps(self->srcpad, nullptr));
    auto chosen = dvnn::gst::choose_output(to.network->model(), beyond.get(),
                                           gst_caps_get_structure(caps.get(), 0));
    if (!chosen) {
      return Error{ErrorCode::kMalformed,
                   "its outputs are not what downstream takes as a stream of tensors"};
    }
    sink.output = std::move(chosen->form);
    *out = std::move(chosen->caps);
  } else {
    const CapsPtr beyond(gst_pad_peer_query_caps(self->srcpad, nullptr));
    CapsPtr announced = gst_dv_infer_announce(self, to, beyond.get(), dvnn::gst::ref(caps.get()));
    const bool had = std::exchange(sink.announced, announced.get() != caps.get());
    if (had || sink.announced) *out = std::move(announced);
  }
  sink.tensor_input = std::move(input);
  return {};
}
