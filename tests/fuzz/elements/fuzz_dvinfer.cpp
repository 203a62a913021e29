// SPDX-License-Identifier: Apache-2.0
// dvinfer: frames without conversion, frames through dvconvert, streams of tensors, and a network
// with a state and a live input, whose values frames bring as tensors of anybody. The
// pipelines stay from input to input, as loading a network takes longer than all else; each begins
// with a flush.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>

#include "../../network/leaky_network.h"
#include "gst/dvnn/gstdvtensormeta.h"
#include "hostile_stream.h"
#include "network/dvn_file.h"
#include "target.h"

namespace dvnn::fuzz::dvinfer_target {

using fuzz::FuzzedData;

namespace {

std::string network_path, live_path;

// Each frame brings `before`, and the network adds half of it to its input of 1x3x8x8.
std::string write_live_network() {
  network::Model model = test::leaky_network();
  model.extra_inputs[0].next = -1;
  const std::string path = fuzz::write_network();
  if (!network::write_dvn(model, path).ok()) std::abort();
  return path;
}

void attach_tensor(FuzzedData* in, GstBuffer* frame) {
  static const char* const kNames[] = {"before", "sum", "else"};
  static constexpr gsize kDims[][4] = {{1, 3, 8, 8}, {192, 1, 1, 1}, {3, 64, 1, 1}, {1, 8, 8, 3}};
  constexpr gsize kBytes = 1 * 3 * 8 * 8 * 4;
  GstDvTensor& tensor = gst_buffer_add_dv_tensor_meta(frame, 1)->tensors[0];
  const uint8_t lies = in->byte();
  const guint layout = lies & 1 ? in->extent(5) - 1 : 0;
  const guint type = lies & 2 ? in->extent(4) - 1 : guint{GST_DV_TENSOR_DATA_TYPE_FLOAT32};
  std::memcpy(&tensor.layout, &layout, sizeof layout);  // numbers that are none of it, too
  std::memcpy(&tensor.data_type, &type, sizeof type);
  tensor.id = g_quark_from_string(in->one_of(kNames));
  const auto& dims = in->one_of(kDims);
  tensor.num_dims = lies >= 248 ? in->extent(6) : 4;
  std::copy(std::begin(dims), std::end(dims), tensor.dims);
  if (lies >= 232) tensor.dims[in->byte() % GST_DV_TENSOR_MAX_DIMS] = in->any<uint64_t>();
  if (lies % 64 == 20) return;
  tensor.data = fuzz::any_buffer(in, lies % 32 == 19 ? in->extent(1000) : kBytes);
}

GstHarness* pipeline(const char* line, const std::string& path = network_path) {
  char text[512];
  std::snprintf(text, sizeof text, line, path.c_str());
  GstHarness* harness = gst_harness_new_parse(text);
  gst_harness_set_drop_buffers(harness, FALSE);
  return harness;
}

GstElement* find_infer(GstElement* element) {
  if (!GST_IS_BIN(element)) return element;
  GstElement* found = gst_bin_get_by_name(GST_BIN(element), "infer");
  gst_object_unref(found);  // the bin has one more
  return found;
}

gst::CapsPtr tensor_caps(FuzzedData* in) {
  static const char* const kCaps[] = {
      "other/tensors,num_tensors=1,types=float16,dimensions=(string)16:16:3:1",
      "other/tensors,num_tensors=1,types=float16,dimensions=(string)3:16:16:1",
      "other/tensors,num_tensors=1,types=float16,dimensions=(string)768",
      "other/tensors,num_tensors=1,types=uint8,dimensions=(string)1536",
      "other/tensors,num_tensors=2,types=float16,dimensions=(string)3:16:16:1",
      "other/tensors,num_tensors=1,types=float16,dimensions=(string)0:16:16:1",
      "other/tensors,types=float16",
      "other/tensors,format=flexible",
      "other/tensors,num_tensors=1,types=uint8,dimensions=(string)3:16:16",
      "other/tensors,num_tensors=2,types=(string)\"int32,float32\","
      "dimensions=(string)\"4,16:16:3:1:1\"",
      "other/tensors,num_tensors=17,types=(string)\"uint8,int8,int8,int8,int8,int8,int8,int8,int8,"
      "int8,int8,int8,int8,int8,int8,int8,int8\","
      "dimensions=(string)\"3:16:16:1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1\""};
  GstCaps* caps = gst_caps_from_string(in->one_of(kCaps));
  gst_caps_set_simple(caps, "framerate", GST_TYPE_FRACTION, static_cast<gint>(in->in(0, 30)), 1,
                      nullptr);
  return gst::CapsPtr(caps);
}

bool is_flexible(const GstCaps* caps) {
  const GstStructure* s = gst_caps_get_structure(caps, 0);
  return g_strcmp0(gst_structure_get_string(s, "format"), "flexible") == 0;
}

// Tensors behind their headers (tests/gst/fixtures/nnstreamer_rules.h), some of which lie.
GstBuffer* any_flexible_buffer(FuzzedData* in) {
  static const struct {
    uint32_t type, dimensions[3];
    size_t bytes;
  } kTensors[] = {{7, {3, 16, 16}, 3072},
                  {5, {3, 16, 16}, 768},
                  {10, {3, 16, 16}, 1536},
                  {7, {16, 16, 3}, 3072},
                  {0, {4}, 16}};
  constexpr int kMostTensors = 18, kFields = 22;
  GstBuffer* buffer = gst_buffer_new();
  for (int left = in->rarely() ? static_cast<int>(in->in(0, kMostTensors)) : 1; left > 0; --left) {
    const auto& tensor = in->one_of(kTensors);
    uint32_t header[32] = {0xfeedcced, 0xde001000, tensor.type};
    std::copy(std::begin(tensor.dimensions), std::end(tensor.dimensions), header + 3);
    header[19] = 1;
    header[20] = 4;
    if (in->byte() >= 128) header[in->byte() % kFields] = in->extent(300);
    const size_t bytes = in->rarely() ? static_cast<size_t>(in->in(0, 4000)) : tensor.bytes;
    GstBuffer* part = fuzz::any_buffer(in, sizeof header + bytes);
    gst_buffer_fill(part, 0, header, sizeof header);
    buffer = gst_buffer_append(buffer, part);
  }
  return buffer;
}

GstBuffer* any_tensors(FuzzedData* in, const GstCaps* caps) {
  constexpr size_t kTensorBytes = 16 * 16 * 3 * 2;
  if (is_flexible(caps)) return any_flexible_buffer(in);
  return fuzz::any_buffer(in, in->rarely() ? static_cast<size_t>(in->in(0, 24000)) : kTensorBytes);
}

void run_stream(FuzzedData* in, fuzz::Harness* harness, bool tensors, bool live) {
  constexpr int kMostFrames = 4;
  GstVideoInfo info;
  gst::CapsPtr caps = tensors ? tensor_caps(in) : fuzz::any_video_caps(in, &info);
  const bool taken = harness->begin(caps.get());
  for (int i = 0; i < kMostFrames && (i == 0 || in->left() > 0); ++i) {
    GstBuffer* buffer = tensors ? any_tensors(in, caps.get()) : fuzz::any_frame(in, info);
    for (int left = tensors || !live ? 0 : in->byte() % 3; left > 0; --left) {
      attach_tensor(in, buffer);
    }
    const GstFlowReturn flow = harness->push(buffer);
    if (taken && flow == GST_FLOW_OK) ++fuzz::accepted;
  }
}

}  // namespace

static void prepare() {
  fuzz::set_small_budgets();
  fuzz::start_gstreamer();
  network_path = fuzz::write_network();
  live_path = write_live_network();
}

static void try_input(const uint8_t* data, size_t size) {
  static fuzz::Harness* const harnesses[] = {
      new fuzz::Harness(
          pipeline("dvconvert ! dvinfer name=infer device=soft network=%s ! dvdecode")),
      new fuzz::Harness(pipeline("dvinfer name=infer device=soft network=%s")),
      new fuzz::Harness(pipeline("dvinfer name=infer device=soft network=%s")),
      new fuzz::Harness(pipeline("dvinfer name=infer device=soft network=%s", live_path)),
      new fuzz::Harness(
          pipeline("dvconvert ! dvinfer name=infer device=soft network=%s", live_path))};
  static GstElement* const tensor_stream = harnesses[2]->element();
  static const char* const kNumbers[] = {"before=1", "before=-7.5", "other=1", "before=1,"};
  FuzzedData in(data, size);
  fuzz::Harness* harness = in.one_of(harnesses);
  GstElement* infer = find_infer(harness->element());
  harness->flush();
  harness->drop_output();
  g_object_set(infer, "on-error", static_cast<gint>(in.byte() % 3), "interval-frames",
               static_cast<guint>(in.rarely() ? in.in(1, 4) : 1), nullptr);
  const bool live = harness == harnesses[3] || harness == harnesses[4];
  if (live && in.flag()) g_object_set(infer, "live-inputs", in.one_of(kNumbers), nullptr);
  for (int streams = 0; streams < 2 && (streams == 0 || in.left() > 0); ++streams) {
    run_stream(&in, harness, harness->element() == tensor_stream, live);
  }
  harness->drain();
  harness->drop_output();
  fuzz::reuse_memory();
}

DVNN_FUZZ_TARGET(dvinfer)

}  // namespace dvnn::fuzz::dvinfer_target
