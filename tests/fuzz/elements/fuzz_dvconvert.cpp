// SPDX-License-Identifier: Apache-2.0
// dvconvert: frames, caps and metas of anybody, into streams of tensors. With a dvinfer downstream
// it is a part of fuzz_dvinfer.
#include <string>
#include <vector>

#include "hostile_stream.h"
#include "target.h"

namespace dvnn::fuzz::dvconvert_target {

using fuzz::FuzzedData;
using fuzz::set_choice;
using fuzz::set_numbers;

namespace {

void set_properties(FuzzedData* in, GstElement* element) {
  static const char* const kChoices[] = {"layout", "resize", "method", "color-order", "backend"};
  GObject* object = G_OBJECT(element);
  for (const char* name : kChoices) set_choice(in, object, name);
  g_object_set(object, "video-direction", static_cast<gint>(in->byte() % 8), nullptr);
  const uint8_t more = in->byte();
  if (more & 1) set_numbers(object, "roi", {in->real(1), in->real(1), in->real(1), in->real(1)});
  if (more & 2) set_numbers(object, "mean", {in->real(255), in->real(255), in->real(255)});
  if (more & 4) set_numbers(object, "scale", {in->real(1)});
  if (more & 8) g_object_set(object, "conv-threads", static_cast<gint>(in->in(1, 64)), nullptr);
}

gst::CapsPtr tensor_caps(FuzzedData* in) {
  static const char* const kTypes[] = {"float32", "float16", "uint8", "int8", "nothing"};
  const int extents[] = {static_cast<int>(in->in(1, 24)), static_cast<int>(in->in(1, 24))};
  std::string dimensions;
  for (int i = 0; i < 4; ++i) {
    const uint8_t kind = in->byte();
    // Channels stand first or second to last, by the layout.
    int extent = i == 3 ? 1 : kind & 1 ? 3 : extents[kind >> 1 & 1];
    if (kind >= 248) extent = static_cast<int>(in->extent(4096));
    dimensions += (i ? ":" : "") + std::to_string(extent);
  }
  GstCaps* caps = gst_caps_new_simple("other/tensors", "num_tensors", G_TYPE_INT, 1, "types",
                                      G_TYPE_STRING, in->one_of(kTypes), nullptr);
  // Without dimensions the element chooses.
  if (in->byte() < 128) {
    gst_caps_set_simple(caps, "dimensions", G_TYPE_STRING, dimensions.c_str(), nullptr);
  }
  return gst::CapsPtr(caps);
}

}  // namespace

static void prepare() {
  fuzz::set_small_budgets();
  fuzz::start_gstreamer();
}

static void try_input(const uint8_t* data, size_t size) {
  constexpr int kMostFrames = 4;
  static auto* const harness = new fuzz::Harness(gst_harness_new("dvconvert"));
  FuzzedData in(data, size);
  harness->begin_anew();
  set_properties(&in, harness->element());
  // Without caps, anything is taken.
  gst::CapsPtr wanted(gst_caps_new_any());
  if (in.byte() < 224) wanted = tensor_caps(&in);
  gst_harness_set_sink_caps(harness->get(), wanted.release());
  for (int streams = 0; streams < 2 && (streams == 0 || in.left() > 0); ++streams) {
    fuzz::play_video(&in, kMostFrames, harness, [&](const GstVideoInfo& info) {
      if (in.rarely()) set_properties(&in, harness->element());
      return fuzz::any_frame(&in, info);
    });
  }
}

DVNN_FUZZ_TARGET(dvconvert)

}  // namespace dvnn::fuzz::dvconvert_target
