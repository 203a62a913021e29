// SPDX-License-Identifier: Apache-2.0
// dvdecode: tensor metas that anybody may have written, of several networks, on frames of any size.
#include <cstring>
#include <vector>

#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst/dvnn/gstdvtensormeta.h"
#include "hostile_stream.h"
#include "target.h"

using namespace dvnn;
using fuzz::FuzzedData;

namespace {

struct Network {
  const char *decoder, *params;
};

constexpr Network kNetworks[] = {
    {"ssd",
     "{\"loc\": \"loc\", \"conf\": \"conf\", \"num_classes\": 2, \"anchors\": {\"rule\": "
     "\"min-boxes\", \"image\": [16, 16], \"strides\": [4], \"min_boxes\": [[4]]}}"},
    {"ssd",
     "{\"loc\": \"loc\", \"conf\": \"conf\", \"num_classes\": 3, \"score\": \"softmax\", "
     "\"nms_top_k\": 5, \"keep_top_k\": 3, \"class_agnostic\": true, \"anchors\": {\"rule\": "
     "\"min-boxes\", \"image\": [8, 8], \"strides\": [4], \"min_boxes\": [[4, 8]]}}"},
    {"classification", "{\"softmax\": true, \"top_k\": 3}"},
    {"classification", "{}"},
    {"detection-output", "{}"},
    {"", "{}"},
    {"nothing", "{}"},
    {"ssd", "[[["},
};

// The shapes that go with them, and others.
constexpr int kShapes[][5] = {  // rank first
    {2, 1, 64}, {2, 1, 32},      {3, 1, 16, 2},   {3, 1, 8, 4},     {2, 1, 24}, {4, 1, 1, 5, 7},
    {2, 1, 10}, {4, 1, 2, 4, 4}, {4, 1, 4, 4, 4}, {4, 1, 10, 1, 1}, {1, 7}};

const std::vector<GstDvNetworkInfo*>& networks() {
  static const auto* const list = [] {
    static const gchar* const labels[] = {"background", "one", "two\n\x1b[2J", nullptr};
    auto* made = new std::vector<GstDvNetworkInfo*>();
    for (const Network& n : kNetworks) {
      made->push_back(gst_dv_network_info_new("net", n.decoder, n.params, labels));
    }
    return made;
  }();
  return *list;
}

void fill_tensor(FuzzedData* in, gsize index, GstDvTensor* tensor) {
  static const char* const kNames[] = {"loc", "conf", "other"};
  static const gsize kBytes[] = {2, 4, 1, 1};
  const uint8_t lies = in->byte();
  tensor->id = lies >= 248 ? in->any<uint32_t>()
                           : g_quark_from_static_string(kNames[lies & 3 ? index % 3 : lies % 3]);
  if (lies == 255) tensor->id = 0;
  // A number that is no quark has no text: GLib itself reads beyond its table.
  if (tensor->id != 0 && lies >= 248) tensor->id = g_quark_from_static_string("other");
  const uint8_t kind = in->byte();
  const guint layout = lies & 4 ? in->extent(5) - 1 : 0;
  const guint type = kind >= 240   ? in->any<uint32_t>()
                     : kind >= 128 ? kind & 3u
                                   : static_cast<guint>(GST_DV_TENSOR_DATA_TYPE_FLOAT32);
  // Not by assignment: numbers that are none of the enumeration's.
  std::memcpy(&tensor->layout, &layout, sizeof layout);
  std::memcpy(&tensor->data_type, &type, sizeof type);
  const auto& shape = in->one_of(kShapes);
  tensor->num_dims = static_cast<gsize>(shape[0]);
  gsize elements = 1;
  for (int i = 0; i < shape[0]; ++i) {
    tensor->dims[i] = static_cast<gsize>(shape[i + 1]);
    elements *= tensor->dims[i];
  }
  if (lies >= 224) tensor->dims[in->byte() % GST_DV_TENSOR_MAX_DIMS] = in->any<uint64_t>();
  if (lies % 32 == 17) tensor->dims[in->byte() % 4] = in->extent(64);
  if (lies % 64 == 18) tensor->num_dims = in->extent(6);
  gsize bytes = elements * kBytes[type & 3];
  if (lies % 32 == 19) bytes = static_cast<gsize>(in->in(0, 400));
  if (lies % 128 != 20) tensor->data = fuzz::any_buffer(in, bytes);
}

void add_outputs(FuzzedData* in, GstBuffer* frame) {
  constexpr gsize kMostTensors = 3;
  const gsize count = in->rarely() ? static_cast<gsize>(in->in(0, kMostTensors)) : 1 + in->flag();
  GstDvTensorMeta* meta = gst_buffer_add_dv_tensor_meta(frame, count);
  for (gsize i = 0; i < count; ++i) fill_tensor(in, i, &meta->tensors[i]);
  const uint8_t more = in->byte();
  meta->transform = {1, 0, 1, 0, more & 1, (more & 2) / 4.0, (more & 4) / 2.0};
  if (more & 2) {
    meta->transform.scale_x = in->real(2), meta->transform.offset_x = in->real(64);
    meta->transform.scale_y = in->real(2), meta->transform.offset_y = in->real(64);
  }
  meta->input_width = in->extent(32);
  meta->input_height = in->extent(32);
  meta->region = in->byte();
  if (more < 248) meta->network = gst_dv_network_info_ref(in->one_of(networks()));
  if (more == 255) {
    for (gsize i = 0; i < count; ++i) gst_clear_buffer(&meta->tensors[i].data);
    g_clear_pointer(&meta->tensors, g_free);
  }
}

void add_passes(FuzzedData* in, GstBuffer* frame) {
  GstDvObjectsMeta* meta = gst_buffer_add_dv_objects_meta(frame);
  for (int64_t left = in->in(0, 3); left > 0; --left) {
    gst_dv_objects_meta_add_pass(meta, in->flag() ? "net" : "other",
                                 static_cast<GstDvPassState>(in->byte() % 3));
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  fuzz::set_small_budgets();
  fuzz::start_gstreamer();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr int kMostFrames = 4;
  FuzzedData in(data, size);
  {
    fuzz::Harness harness(gst_harness_new("dvdecode"));
    const uint8_t settings = in.byte();
    g_object_set(harness.element(), "threshold", (settings & 3) * 0.25, "post-messages",
                 settings >> 2 & 1, "post-empty", settings >> 3 & 1, "max-detections",
                 static_cast<guint>(settings & 16 ? 2 : 200), nullptr);
    fuzz::play_video(&in, kMostFrames, &harness, [&](const GstVideoInfo& info) {
      GstBuffer* frame = fuzz::any_frame(&in, info);
      for (uint8_t left = 1 + in.byte() % 3; left > 0; --left) add_outputs(&in, frame);
      if (in.rarely()) add_passes(&in, frame);
      return frame;
    });
  }
  fuzz::reuse_memory();
  return 0;
}
