// SPDX-License-Identifier: Apache-2.0
#include "elements/dvinfer/negotiation.h"

#include <utility>

#include "errors.h"
#include "frames/caps.h"
#ifdef DVNN_HAVE_TENSORS
#include "meta/exchange/tensorexport.h"
#endif

#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT dv_infer_debug

namespace dvnn::gst {
namespace {

// Returns the caps of a network's input or outputs at any frame rate, or those of any tensors if no
// network is loaded.
CapsPtr network_caps(const LoadedNetwork* loaded, bool input, const GstCaps* filter) {
  if (!loaded) return CapsPtr(gst_caps_from_string(DVNN_TENSORS_CAPS));
  const network::Model& model = loaded->network->model();
  return CapsPtr(input
                     ? tensor_input_caps(loaded->network->input_desc(), model.input.picture, filter)
                     : tensor_output_caps(model, filter));
}

// Returns whether downstream takes a stream of the network's outputs.
bool can_leave_as_tensors(const LoadedNetwork* loaded, const GstCaps* beyond) {
  if (loaded) return choose_output(loaded->network->model(), beyond, nullptr).has_value();
  const CapsPtr any(gst_caps_from_string(DVNN_TENSORS_CAPS));
  return gst_caps_can_intersect(beyond, any.get());
}

// Caps are not merged, because a subset that comes first has a meaning of its own (tensorinput.h).
CapsPtr append_caps(CapsPtr a, CapsPtr b) {
  GstCaps* both = gst_caps_make_writable(a.release());
  gst_caps_append(both, b.release());
  return CapsPtr(both);
}

Result<std::unique_ptr<TensorInput>> create_tensor_input(const LoadedNetwork& loaded,
                                                         const GstCaps* caps) {
  if (!is_windows_caps(caps)) return TensorInput::create(caps, loaded.network->model());
  auto input = TensorInput::of_windows(loaded.network->input_desc());
  if (!input.ok()) return input.error().within("network '" + loaded.network->model().name + "'");
  return input;
}

}  // namespace

// --- announced tensors -------------------------------------------------------------------------

// A decoder may name the tensors that it reads in the caps of frames. Lists the groups that this
// network has; other elements need not be asked for them.
std::vector<CapsPtr> Negotiation::attachable([[maybe_unused]] const LoadedNetwork& loaded) const {
#ifdef DVNN_HAVE_TENSORS
  if (context_.rules().tensor_meta != TensorExport::kNone) {
    return attachable_tensors(loaded.network->model());
  }
#endif
  return {};
}

CapsPtr Negotiation::announce([[maybe_unused]] const LoadedNetwork& loaded,
                              [[maybe_unused]] const GstCaps* beyond, CapsPtr caps) const {
#ifdef DVNN_HAVE_TENSORS
  if (has_tensor_groups(beyond)) {
    return announce_tensor_groups(std::move(caps), beyond, attachable(loaded));
  }
#endif
  return caps;
}

// Returns the caps that the peer of the opposite pad allows.
CapsPtr Negotiation::peer_caps(bool sink, [[maybe_unused]] const LoadedNetwork* loaded) const {
  CapsPtr beyond(gst_pad_peer_query_caps(sink ? context_.srcpad() : context_.sinkpad(), nullptr));
#ifdef DVNN_HAVE_TENSORS
  if (sink && loaded && has_tensor_groups(beyond.get())) {
    return without_tensor_groups(std::move(beyond), attachable(*loaded));
  }
#endif
  return beyond;
}

// --- queries -----------------------------------------------------------------------------------

// Returns the caps of a pad that the opposite side and the network allow. The spelling of
// dimensions follows `filter`, which may be null.
CapsPtr Negotiation::possible_caps(bool sink, const GstCaps* filter,
                                   const LoadedNetwork* loaded) const {
  GstPad* pad = sink ? context_.sinkpad() : context_.srcpad();
  const CapsPtr possible(gst_pad_get_pad_template_caps(pad));
  const CapsPtr frames(gst_caps_from_string(DVNN_VIDEO_CAPS "; " DVNN_WINDOWS_CAPS));
  const CapsPtr beyond = peer_caps(sink, loaded);
  // Frames pass as they are. Either side may carry tensors if the other side allows more than
  // frames.
  CapsPtr result(gst_caps_intersect_full(beyond.get(), frames.get(), GST_CAPS_INTERSECT_FIRST));
  const bool as_tensors = sink && can_leave_as_tensors(loaded, beyond.get());
  if (as_tensors) result = append_caps(std::move(result), ref(frames.get()));
  // Results lie on frames.
  if ((as_tensors && !takes_results()) || !sink) {
    result = append_caps(std::move(result), network_caps(loaded, sink, filter));
  }
  return CapsPtr(gst_caps_intersect_full(result.get(), possible.get(), GST_CAPS_INTERSECT_FIRST));
}

gboolean Negotiation::answer_caps(GstQuery* query, bool sink, const LoadedNetwork* loaded) const {
  GstCaps* filter = nullptr;
  gst_query_parse_caps(query, &filter);
  return guard(context_.element(), "the caps cannot be told", FALSE, [&]() -> gboolean {
    CapsPtr caps = possible_caps(sink, filter, loaded);
    if (filter) {
      caps.reset(gst_caps_intersect_full(filter, caps.get(), GST_CAPS_INTERSECT_FIRST));
    }
    gst_query_set_caps_result(query, caps.get());
    return TRUE;
  });
}

gboolean Negotiation::answer_accept_caps(GstQuery* query, const LoadedNetwork* loaded) const {
  GstCaps* caps = nullptr;
  gst_query_parse_accept_caps(query, &caps);
  return guard(context_.element(), "the caps cannot be judged", FALSE, [&]() -> gboolean {
    const CapsPtr possible = possible_caps(true, caps, loaded);
    gboolean good = gst_caps_is_subset(caps, possible.get());
    // Streams of tensors are compared by what their caps mean, and errors are reported with the
    // caps.
    if (!good && loaded && is_tensors_caps(caps)) {
      const CapsPtr any(gst_caps_from_string(DVNN_TENSORS_CAPS));
      good = gst_caps_can_intersect(caps, any.get()) &&
             gst_caps_can_intersect(possible.get(), any.get());
    }
    gst_query_set_accept_caps_result(query, good);
    return TRUE;
  });
}

// --- what comes and leaves ---------------------------------------------------------------------

void Negotiation::reset() {
  have_video_ = have_sound_ = announced_ = false;
  tensor_input_.reset();
  output_.reset();
}

Result<CapsPtr> Negotiation::take(GstCaps* caps, const LoadedNetwork& loaded) {
  reset();
  have_sound_ = is_windows_caps(caps);
  const bool of_results = takes_results();
  if (of_results && is_tensors_caps(caps)) {
    return unsupported(
        "property input-from takes results off frames or windows of sound, and a stream of tensors "
        "comes: the dvinfer before must pass its frames");
  }
  if ((have_sound_ && !of_results) || is_tensors_caps(caps)) {
    DVNN_ASSIGN(tensor_input_, create_tensor_input(loaded, caps));
  } else if (!have_sound_) {
    have_video_ = video_info_from_caps(caps, &video_);
    if (!have_video_)
      return malformed("the stream is neither raw video nor tensors nor windows of sound");
  }
  const CapsPtr beyond(gst_pad_peer_query_caps(context_.srcpad(), nullptr));
  const bool are_frames = have_video_ || have_sound_;
  if (are_frames && gst_caps_can_intersect(beyond.get(), caps)) {
    CapsPtr out = announce(loaded, beyond.get(), ref(caps));
    announced_ = out.get() != caps;
    return out;
  }
  const network::Model& model = loaded.network->model();
  const GstStructure* rate = gst_caps_get_structure(caps, 0);
  auto chosen = choose_output(model, beyond.get(), rate);
  // If downstream takes none of the possible forms, choose from all of them: downstream then
  // refuses caps that name what the network offers.
  if (!chosen) chosen = choose_output(model, CapsPtr(gst_caps_new_any()).get(), rate);
  output_ = std::move(chosen->form);
  return std::move(chosen->caps);
}

Result<CapsPtr> Negotiation::take_network(const LoadedNetwork& to) {
  const CapsPtr caps(gst_pad_get_current_caps(context_.sinkpad()));
  if (!caps) return CapsPtr();
  std::unique_ptr<TensorInput> input;
  if (tensor_input_) {
    DVNN_ASSIGN(input, create_tensor_input(to, caps.get()));
  }
  const CapsPtr beyond(gst_pad_peer_query_caps(context_.srcpad(), nullptr));
  CapsPtr out;
  if (output_) {
    auto chosen =
        choose_output(to.network->model(), beyond.get(), gst_caps_get_structure(caps.get(), 0));
    if (!chosen) {
      return malformed("its outputs are not what downstream takes as a stream of tensors");
    }
    output_ = std::move(chosen->form);
    out = std::move(chosen->caps);
  } else {
    CapsPtr announced = announce(to, beyond.get(), ref(caps.get()));
    const bool had = std::exchange(announced_, announced.get() != caps.get());
    if (had || announced_) out = std::move(announced);
  }
  tensor_input_ = std::move(input);
  return out;
}

}  // namespace dvnn::gst
