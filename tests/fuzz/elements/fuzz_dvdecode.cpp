// SPDX-License-Identifier: Apache-2.0
// dvdecode, twice in a row: tensor metas that anybody may have written, of networks of every
// decoder, of whole frames and of regions of them, on frames of any size with objects of anybody.
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst/dvnn/gstdvtensormeta.h"
#include "hostile_objects.h"
#include "hostile_stream.h"
#include "target.h"
#include "tensor/half.h"

namespace dvnn::fuzz::dvdecode_target {

using fuzz::FuzzedData;

namespace {

struct DecodedOutput {
  const char* name;
  std::vector<int> dims;
};

struct DecodedNetwork {
  const char *decoder, *params;
  std::vector<DecodedOutput> outputs;
};

// Networks for every decoder with small outputs that fit, and some that name no existing decoder.
const std::vector<DecodedNetwork>& decoded_networks() {
  static const auto* const list = new std::vector<DecodedNetwork>{
      {"ssd",
       R"({"loc": "loc", "conf": "conf", "num_classes": 2, "anchors": {"rule": "min-boxes",
           "image": [16, 16], "strides": [4], "min_boxes": [[4]]}})",
       {{"loc", {1, 64}}, {"conf", {1, 16, 2}}}},
      {"ssd",
       R"({"loc": "loc", "conf": "conf", "num_classes": 3, "score": "softmax", "nms_top_k": 5,
           "keep_top_k": 3, "class_agnostic": true, "anchors": {"rule": "min-boxes",
           "image": [8, 8], "strides": [4], "min_boxes": [[4, 8]]}})",
       {{"loc", {1, 8, 4}}, {"conf", {1, 24}}}},
      {"classification", R"({"softmax": true, "top_k": 3})", {{"o", {1, 10}}}},
      {"classification", R"({"heads": true, "multi_label": true})", {{"a", {1, 3}}, {"b", {1, 2}}}},
      {"detection-output", "{}", {{"o", {1, 1, 5, 7}}}},
      {"grid",
       R"({"image": [16, 16], "strides": [4, 8], "num_classes": 2,
           "parts": ["boxes+objectness+scores"]})",
       {{"o", {1, 20, 7}}}},
      {"grid",
       R"({"image": [16, 16], "strides": [8], "box": "distribution", "bins": 4, "num_classes": 2,
           "parts": ["boxes", "scores", "points"], "score": "sigmoid", "unit": "pixels",
           "point_count": 5, "skeleton": "face-5"})",
       {{"b", {1, 16, 2, 2}}, {"s", {1, 2, 2, 2}}, {"p", {1, 10, 2, 2}}}},
      {"anchors",
       R"({"image": [16, 16], "strides": [8], "anchors": [[4, 4, 8, 2]], "num_classes": 1,
           "parts": ["boxes+objectness+scores"]})",
       {{"o", {1, 12, 2, 2}}}},
      {"boxes",
       R"({"image": [16, 16], "parts": ["boxes+scores+points"], "num_classes": 1,
           "point_count": 17, "point_size": 3, "skeleton": "coco-17"})",
       {{"o", {1, 56, 60}}}},
      {"boxes",
       R"({"image": [16, 16], "parts": ["boxes+scores+masks"], "num_classes": 1, "mask_count": 2})",
       {{"o", {1, 7, 9}}, {"maps", {1, 2, 4, 4}}}},
      {"boxes",
       R"({"image": [16, 16], "parts": ["boxes+scores+angle"], "num_classes": 2})",
       {{"o", {1, 7, 9}}}},
      {"boxes",
       R"({"image": [16, 16], "parts": ["boxes+scores+class"], "num_classes": 1, "box": "corners",
           "unit": "fractions", "nms_threshold": 1})",
       {{"o", {1, 4, 6}}}},
      {"heatmap-centres",
       R"({"image": [32, 16], "stride": 8, "num_classes": 1})",
       {{"hm", {1, 1, 2, 4}}, {"wh", {1, 2, 2, 4}}, {"off", {1, 2, 2, 4}}}},
      {"segmentation", "{}", {{"o", {1, 3, 4, 6}}}},
      {"segmentation", R"({"score": "sigmoid", "threshold": 0.6})", {{"o", {1, 1, 4, 6}}}},
      {"segmentation", R"({"indices": true})", {{"o", {1, 4, 6}}}},
      {"segmentation", R"({"channel": 0, "channels": "last"})", {{"o", {1, 4, 6, 2}}}},
      {"keypoints",
       R"({"unit": "pixels", "image": [16, 16], "skeleton": "face-5", "point_size": 3,
           "point_confidence": true, "score_output": "sure"})",
       {{"p", {1, 15}}, {"sure", {1, 1}}}},
      {"keypoints", R"({"form": "heatmaps"})", {{"o", {1, 5, 4, 4}}}},
      {"keypoints",
       R"({"form": "simcc", "skeleton": "coco-17", "outputs": ["x", "y"]})",
       {{"x", {1, 17, 8}}, {"y", {1, 17, 6}}}},
      {"db", R"({"least_side": 1})", {{"o", {1, 1, 16, 16}}}},
      {"db", R"({"bound": 0.5, "unclip": 8, "max_regions": 2})", {{"o", {1, 1, 12, 20}}}},
      {"ctc", R"({"alphabet": "a\u00e4\n", "score": "softmax"})", {{"o", {1, 6, 4}}}},
      {"ctc", R"({"alphabet": ["one", "", "\u001b[2J"], "blank": -1})", {{"o", {1, 6, 4}}}},
      {"embedding", "{}", {{"o", {1, 2, 1, 3}}}},
      {"number", R"({"names": ["age", "mood"], "scale": 100, "offset": 1})", {{"o", {1, 2}}}},
      {"number", R"({"names": ["age"], "expectation": true})", {{"o", {1, 7}}}},
      {"none", "{}", {{"o", {1, 2}}}},
      {"", "{}", {{"o", {1, 2}}}},
      {"nothing", "{}", {{"o", {1, 2}}}},
      {"ssd", "[[[", {{"o", {1, 2}}}},
  };
  return *list;
}

// Some have the same name, which is all that dvdecode remembers networks by.
constexpr const char* kNames[] = {"net", "other", "third"};
std::string labels_path;

const std::vector<GstDvNetworkInfo*>& networks() {
  static const auto* const list = [] {
    static const gchar* const labels[] = {"one", "two\n\x1b[2J", "background", nullptr};
    auto* made = new std::vector<GstDvNetworkInfo*>();
    for (const DecodedNetwork& n : decoded_networks()) {
      made->push_back(gst_dv_network_info_new(kNames[made->size() % 3], n.decoder, n.params,
                                              made->size() % 5 == 4 ? nullptr : labels));
    }
    return made;
  }();
  return *list;
}

// Numbers as networks write them, mostly, again and again.
std::vector<uint8_t> any_numbers(FuzzedData* in, guint type) {
  static constexpr float kOdd[] = {std::numeric_limits<float>::quiet_NaN(),
                                   std::numeric_limits<float>::infinity(),
                                   -std::numeric_limits<float>::infinity(),
                                   1e30f,
                                   -1e30f,
                                   65504,
                                   1e-40f,
                                   0};
  static constexpr float kSteps[] = {1 / 16.0f, 1 / 128.0f, 1, 1 / 4.0f};
  constexpr uint8_t kFirstOdd = 248, kMiddle = 64;
  const float step = in->one_of(kSteps);
  std::vector<uint8_t> bytes;
  for (int64_t left = in->in(1, 48); left > 0; --left) {
    const uint8_t code = in->byte();
    const float number =
        code >= kFirstOdd ? kOdd[code - kFirstOdd] : static_cast<float>(code - kMiddle) * step;
    const half_t half = float_to_half(number);
    const auto* from = reinterpret_cast<const uint8_t*>(&number);
    size_t size = sizeof number;
    if (type == GST_DV_TENSOR_DATA_TYPE_FLOAT16) {
      from = reinterpret_cast<const uint8_t*>(&half), size = sizeof half;
    } else if (type != GST_DV_TENSOR_DATA_TYPE_FLOAT32) {
      from = &code, size = 1;
    }
    bytes.insert(bytes.end(), from, from + size);
  }
  return bytes;
}

void write_numbers(const std::vector<uint8_t>& numbers, GstBuffer* buffer) {
  size_t at = 0;
  for (guint i = 0; i < gst_buffer_n_memory(buffer); ++i) {
    GstMapInfo map;
    if (!gst_memory_map(gst_buffer_peek_memory(buffer, i), &map, GST_MAP_WRITE)) continue;
    for (gsize k = 0; k < map.size; ++k) map.data[k] = numbers[at++ % numbers.size()];
    gst_memory_unmap(map.memory, &map);
  }
}

void fill_tensor(FuzzedData* in, const DecodedOutput& output, GstDvTensor* tensor) {
  static const gsize kBytes[] = {2, 4, 1, 1};
  const uint8_t lies = in->byte(), kind = in->byte();
  tensor->id = lies >= 254 ? 0 : g_quark_from_static_string(lies >= 248 ? "else" : output.name);
  const guint layout = kind & 4 ? in->extent(5) - 1 : 0;
  const guint type = kind >= 240   ? in->any<uint32_t>()
                     : kind >= 128 ? kind & 3u
                                   : static_cast<guint>(GST_DV_TENSOR_DATA_TYPE_FLOAT32);
  // Not by assignment: numbers that are none of the enumeration's.
  std::memcpy(&tensor->layout, &layout, sizeof layout);
  std::memcpy(&tensor->data_type, &type, sizeof type);
  tensor->num_dims = output.dims.size();
  gsize elements = 1;
  for (size_t i = 0; i < output.dims.size(); ++i) {
    tensor->dims[i] = static_cast<gsize>(output.dims[i]);
    elements *= tensor->dims[i];
  }
  if (lies >= 232) tensor->dims[in->byte() % GST_DV_TENSOR_MAX_DIMS] = in->any<uint64_t>();
  if (lies % 32 == 17) tensor->dims[in->byte() % 4] = in->extent(64);
  if (lies % 64 == 18) tensor->num_dims = in->extent(6);
  gsize bytes = elements * kBytes[type & 3];
  if (lies % 64 == 19) bytes = static_cast<gsize>(in->in(0, 400));
  if (lies % 128 == 20) return;
  tensor->data = fuzz::any_buffer(in, bytes);
  write_numbers(any_numbers(in, type), tensor->data);
}

// Which part of the frame, and how its pixels went into the network's input.
void place_region(FuzzedData* in, const GstVideoInfo& info, GstDvTensorMeta* meta) {
  constexpr double kCells = 16;
  const double cell_x = GST_VIDEO_INFO_WIDTH(&info) / kCells,
               cell_y = GST_VIDEO_INFO_HEIGHT(&info) / kCells;
  const uint8_t corner = in->byte(), size = in->byte(), how = in->byte();
  meta->x0 = (corner & 15) * cell_x, meta->y0 = (corner >> 4) * cell_y;
  meta->x1 = meta->x0 + (1 + (size & 15)) * cell_x,
  meta->y1 = meta->y0 + (1 + (size >> 4)) * cell_y;
  if (how >= 224) meta->x0 = in->real(64), meta->y0 = in->real(64);
  if (how >= 240) meta->x1 = in->real(64), meta->y1 = in->real(64);
  meta->input_width = how & 1 ? in->extent(32) : 16;
  meta->input_height = how & 1 ? in->extent(32) : 16;
  const double width = meta->x1 - meta->x0, height = meta->y1 - meta->y0;
  GstDvTransform& t = meta->transform;
  t.scale_x = meta->input_width / (width > 0 ? width : 1), t.offset_x = -meta->x0 * t.scale_x;
  t.scale_y = meta->input_height / (height > 0 ? height : 1), t.offset_y = -meta->y0 * t.scale_y;
  t.swap_xy = how & 2;
  if (how & 4) t.scale_x = -t.scale_x;
  if (how & 8) t.shear_x = in->real(1), t.shear_y = in->real(1);
  if ((how & 0x30) == 0x30) {
    t.scale_x = in->real(2), t.offset_x = in->real(64);
    t.scale_y = in->real(2), t.offset_y = in->real(64);
  }
}

// What a network with that number has said of one region.
GstDvTensorMeta* add_outputs(FuzzedData* in, const GstVideoInfo& info, size_t number,
                             GstBuffer* frame) {
  constexpr gsize kMostTensors = 3;
  const std::vector<DecodedOutput>& outputs = decoded_networks()[number].outputs;
  const gsize count = in->rarely() ? static_cast<gsize>(in->in(0, kMostTensors)) : outputs.size();
  GstDvTensorMeta* meta = gst_buffer_add_dv_tensor_meta(frame, count);
  for (gsize i = 0; i < count; ++i) {
    fill_tensor(in, outputs[i % outputs.size()], &meta->tensors[i]);
  }
  place_region(in, info, meta);
  const uint8_t more = in->byte();
  if (more < 252) meta->network = gst_dv_network_info_ref(networks()[number]);
  if (more == 255) {
    for (gsize i = 0; i < count; ++i) gst_clear_buffer(&meta->tensors[i].data);
    g_clear_pointer(&meta->tensors, g_free);
  }
  return meta;
}

// One network's outputs of several regions of the frame.
void add_pass(FuzzedData* in, const GstVideoInfo& info, GstDvObjectsMeta* objects,
              GstBuffer* frame) {
  static const char* const kRegions[] = {"door", "", "\xff\xfe", "two\nlines"};
  const size_t number = in->byte() % networks().size();
  const uint8_t how = in->byte();
  const guint regions = how & 4 ? 1 + in->byte() % 4u : 1;
  for (guint region = 0; region < regions; ++region) {
    GstDvTensorMeta* meta = add_outputs(in, info, number, frame);
    meta->region_kind = static_cast<GstDvRegionKind>(how & 3);
    meta->region = region;
    if (how & 8) meta->region_name = g_quark_from_static_string(in->one_of(kRegions));
    const guint known = objects ? gst_dv_objects_meta_get_n_objects(objects) : 0;
    if (known > 0 && meta->region_kind == GST_DV_REGION_OBJECT) {
      meta->object = gst_dv_objects_meta_get_object(objects, in->byte() % known)->id;
      meta->predicted = in->byte() >= 192;
    }
    if (!in->rarely()) continue;
    meta->region = in->byte(), meta->object = in->any<uint64_t>();
    const guint kind = in->any<uint32_t>();
    std::memcpy(&meta->region_kind, &kind, sizeof kind);
  }
}

GstBuffer* any_decoded_frame(FuzzedData* in, const GstVideoInfo& info) {
  constexpr int64_t kMostObjects = 5;
  constexpr double kExtent = 64;
  GstBuffer* frame = fuzz::any_frame(in, info);
  const uint8_t what = in->byte();
  GstDvObjectsMeta* objects = nullptr;
  if (what & 1) objects = fuzz::add_objects(in, kNames, kMostObjects, kExtent, frame);
  for (int left = what >= 224 ? 0 : 1 + (what >> 1 & 1); left > 0; --left) {
    add_pass(in, info, objects, frame);
  }
  return what & 4 && in->flag() ? fuzz::through_another_element(in, frame) : frame;
}

void set_properties(FuzzedData* in, GstElement* element) {
  static const char* const kThresholds[] = {"",      "one:0.9,two:0", "a:b:0.5",
                                            "one:2", "one:nan",       ":"};
  static const char* const kLabels[] = {"", "one", "two, one", ",,", "\xff\xfe"};
  const uint8_t which = in->byte(), more = in->byte();
  g_object_set(element, "threshold", (which & 3) * 0.25, "post-messages", which >> 2 & 1,
               "post-empty", which >> 3 & 1, "max-detections",
               static_cast<guint>(which & 16 ? 2 : 200), "refine", which >> 5 & 1, "exports",
               which & 64 ? 0u : 1u, nullptr);
  if (which & 128) {
    g_object_set(element, "thresholds", in->one_of(kThresholds), "labels", in->one_of(kLabels),
                 "exclude", in->one_of(kLabels), nullptr);
  }
  g_object_set(element, "labels-file", more & 1 ? labels_path.c_str() : "", nullptr);
  if (more & 2) g_object_set(element, "min-size", in->real(8), "max-size", in->real(64), nullptr);
  if (more & 4) g_object_set(element, "nms-threshold", in->real(1), nullptr);
  if (more & 8) g_object_set(element, "merge-threshold", in->real(1), nullptr);
}

void set_properties(FuzzedData* in, GstElement* bin, const char* name) {
  GstElement* element = gst_bin_get_by_name(GST_BIN(bin), name);
  set_properties(in, element);
  gst_object_unref(element);
}

}  // namespace

static void prepare() {
  fuzz::set_small_budgets();
  fuzz::start_gstreamer();
  static auto* const labels = new fuzz::MemoryFile();
  labels_path = labels->with("first\nsecond\xff\n\n");
}

static void try_input(const uint8_t* data, size_t size) {
  constexpr int kMostFrames = 6;
  static auto* const harness =
      new fuzz::Harness(gst_harness_new_parse("dvdecode name=one ! dvdecode name=two"));
  FuzzedData in(data, size);
  harness->begin_anew();
  set_properties(&in, harness->element(), "one");
  set_properties(&in, harness->element(), "two");
  GstClockTime time = 0;
  fuzz::play_video(&in, kMostFrames, harness, [&](const GstVideoInfo& info) {
    if (in.rarely()) set_properties(&in, harness->element(), "one");
    GstBuffer* frame = any_decoded_frame(&in, info);
    // Mostly as streams are.
    if (!in.rarely()) GST_BUFFER_PTS(frame) = time += in.byte() * 40 * GST_MSECOND;
    return frame;
  });
  if (in.flag()) gst_harness_push_event(harness->get(), gst_event_new_eos());
}

DVNN_FUZZ_TARGET(dvdecode)

}  // namespace dvnn::fuzz::dvdecode_target
