// SPDX-License-Identifier: Apache-2.0
#include "elements/dvconvert/convertjob.h"

#include <algorithm>
#include <utility>

#include "frames/caps.h"
#include "frames/tensorinput.h"

GST_DEBUG_CATEGORY_EXTERN(dv_convert_debug);
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT dv_convert_debug

namespace dvnn::gst {

// Plans a tensor for a stream that dvinfer takes, in the form that the stream's caps describe.
static Result<ConvertJob> plan_tensor(const TensorRequest& request, const GstCaps* caps) {
  DVNN_ASSIGN(const auto input, TensorInput::create(caps, request.desc, request.input));
  ConvertJob job;
  job.target.desc = input->form()->desc;
  job.input = request.input;
  job.in_slot = input->is_own();
  if (input->form()->pixels) {
    // Pixels leave as they are, because dvinfer normalises them.
    const bool gray = request.input.order == ChannelOrder::kGray;
    job.input.order = gray ? ChannelOrder::kGray : ChannelOrder::kRgb;
    job.input.mean = {{0, 0, 0}};
    job.input.scale = {{1, 1, 1}};
    job.input.quant_scale = 1;
    job.input.zero_point = 0;
  }
  return job;
}

static Result<ConvertJob> plan_request(const ConvertSettings& settings,
                                       const TensorRequest& request, const GstCaps* stream) {
  ConvertJob job;
  job.target.desc = request.desc;
  job.input = request.input;
  if (stream) {
    DVNN_ASSIGN(job, plan_tensor(request, stream));
  }
  const bool device = settings.backend == Backend::kDevice;
  const bool chosen = device || (settings.backend == Backend::kAuto && request.prefers_pixels);
  if (chosen && request.takes_pixels && !stream) {
    // The device's table applies mean and scale.
    job.kind = network::InputKind::kPixels;
    job.target.desc.type = ElementType::kUint8;
    job.input.mean = {{0, 0, 0}};
    job.input.scale = {{1, 1, 1}};
  } else if (device) {
    return unsupported(
        "backend=device: this device, or this network's first layer, takes no 8-bit pixels; use "
        "backend=auto or cpu");
  }
  return job;
}

static Result<ConvertJob> plan_stream(const ConvertSettings& settings, const GstCaps* caps) {
  ConvertJob job;
  DVNN_ASSIGN(const CapsTensor tensor, parse_tensor_caps(caps));
  // If an element between does not forward dvinfer's query, the caps still name the layout that
  // dvinfer wants.
  ConvertSettings as_asked = settings;
  if (!tensor.layout.empty()) {
    DVNN_ASSIGN(const Layout layout, parse_layout(tensor.layout));
    as_asked.layout = static_cast<int>(layout);
  }
  DVNN_ASSIGN(job.target, as_asked.stream_target(caps));
  job.input = settings.stream_input();
  if (settings.backend == Backend::kDevice) {
    return unsupported(
        "backend=device: a stream of tensors is made by the CPU; use backend=auto or cpu");
  }
  return job;
}

Result<std::optional<ConvertJob>> plan_job(const ConvertSettings& settings,
                                           const std::optional<TensorRequest>& request,
                                           const GstCaps* stream) {
  if (stream && settings.regions != RegionMode::kFrame) {
    return unsupported(
        "a buffer of other/tensors is of one region: property regions is for frames");
  }
  if (!request && !stream) return std::optional<ConvertJob>();
  DVNN_ASSIGN(ConvertJob job,
              request ? plan_request(settings, *request, stream) : plan_stream(settings, stream));
  return std::optional<ConvertJob>(std::move(job));
}

CapsPtr convert_caps(GstPadDirection direction, const GstCaps* caps) {
  GstCaps* result = gst_caps_new_empty();
  const char* other = direction == GST_PAD_SINK ? DVNN_STATIC_TENSORS_CAPS : DVNN_VIDEO_CAPS;
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
  return CapsPtr(result);
}

// Returns the index of the caps whose buffers can be a dvinfer's device memory, if downstream
// offers any; else that of downstream's first choice.
static guint choose_form(const GstCaps* tensors) {
  for (guint i = 0; i < gst_caps_get_size(tensors); ++i) {
    const gchar* layout = gst_structure_get_string(gst_caps_get_structure(tensors, i), "layout");
    const std::string name = layout ? layout : "";
    if (name == "nwhc" || name == "whc8" || name == "hwc8") return i;
  }
  return 0;
}

CapsPtr complete_tensor_caps(const ConvertSettings& settings, const GstCaps* video,
                             CapsPtr tensors) {
  CapsPtr caps(gst_caps_copy_nth(tensors.get(), choose_form(tensors.get())));
  GstStructure* s = gst_caps_get_structure(caps.get(), 0);
  GstVideoInfo info;
  if (!gst_structure_has_field(s, "dimensions") && video_info_from_caps(video, &info)) {
    const std::vector<int> dimensions =
        settings.stream_dimensions(GST_VIDEO_INFO_WIDTH(&info), GST_VIDEO_INFO_HEIGHT(&info));
    gst_structure_set(s, "dimensions", G_TYPE_STRING, format_dimensions(dimensions).c_str(),
                      nullptr);
  }
  if (!gst_structure_has_field(s, "types")) {
    gst_structure_set(s, "types", G_TYPE_STRING, "float32", nullptr);
  }
  gst_structure_set(s, "num_tensors", G_TYPE_INT, 1, nullptr);
  return caps;
}

SlotPtr SlotTaker::take(GstObject* element, const TensorRequest& request, bool may_wait,
                        bool first) {
  const bool waits = may_wait && first && !waited_in_vain_;
  const auto patience = waits ? SlotPool::kPatience : std::chrono::milliseconds(0);
  auto taken = request.pool->take(SlotPool::Taker::kUpstream, patience);
  if (!taken.ok()) {
    GST_WARNING_OBJECT(element, "%s", taken.error().message.c_str());
    return nullptr;
  }
  const bool in_vain = taken.value().outcome == SlotPool::Outcome::kNoneFree;
  if (first) waited_in_vain_ = in_vain;
  if (in_vain) {
    GST_DEBUG_OBJECT(element, "no slot of %zu was free within %lld ms: dvinfer is to convert",
                     request.pool->size(), static_cast<long long>(patience.count()));
  }
  request.intake->stats.time(InferStats::Time::kWaiting,
                             static_cast<int64_t>(taken.value().waited.count()));
  return std::move(taken.value().slot);
}

size_t room_for_objects(const TensorRequest& request) {
  if (!request.intake->admission.rules().results_may_be_late) return 0;
  return std::max<size_t>(1, request.pool->free_upstream());
}

}  // namespace dvnn::gst
