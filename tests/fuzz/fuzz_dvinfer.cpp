// SPDX-License-Identifier: Apache-2.0
// dvinfer: frames without conversion, frames through dvconvert, and streams of tensors. The
// pipelines stay from input to input, as loading a network takes longer than all else; each begins
// with a flush.
#include <algorithm>
#include <iterator>
#include <string>

#include "grid_file.h"
#include "hostile_stream.h"
#include "target.h"

namespace dvnn::fuzz::dvinfer_target {

using fuzz::FuzzedData;

namespace {

std::string network_path;

GstHarness* pipeline(const char* line) {
  char text[512];
  std::snprintf(text, sizeof text, line, network_path.c_str());
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

void run_stream(FuzzedData* in, fuzz::Harness* harness, bool tensors) {
  constexpr int kMostFrames = 4;
  GstVideoInfo info;
  gst::CapsPtr caps = tensors ? tensor_caps(in) : fuzz::any_video_caps(in, &info);
  const bool taken = harness->begin(caps.get());
  for (int i = 0; i < kMostFrames && (i == 0 || in->left() > 0); ++i) {
    GstBuffer* buffer = tensors ? any_tensors(in, caps.get()) : fuzz::any_frame(in, info);
    const GstFlowReturn flow = harness->push(buffer);
    if (taken && flow == GST_FLOW_OK) ++fuzz::accepted;
  }
}

}  // namespace

static void prepare() {
  fuzz::set_small_budgets();
  fuzz::start_gstreamer();
  network_path = fuzz::write_network();
}

static void try_input(const uint8_t* data, size_t size) {
  static fuzz::Harness* const harnesses[] = {
      new fuzz::Harness(
          pipeline("dvconvert ! dvinfer name=infer device=soft network=%s ! dvdecode")),
      new fuzz::Harness(pipeline("dvinfer name=infer device=soft network=%s")),
      new fuzz::Harness(pipeline("dvinfer name=infer device=soft network=%s"))};
  static GstElement* const tensor_stream = harnesses[2]->element();
  FuzzedData in(data, size);
  fuzz::Harness* harness = in.one_of(harnesses);
  GstElement* infer = find_infer(harness->element());
  harness->flush();
  harness->drop_output();
  g_object_set(infer, "on-error", static_cast<gint>(in.byte() % 3), "interval-frames",
               static_cast<guint>(in.rarely() ? in.in(1, 4) : 1), nullptr);
  for (int streams = 0; streams < 2 && (streams == 0 || in.left() > 0); ++streams) {
    run_stream(&in, harness, harness->element() == tensor_stream);
  }
  harness->drain();
  harness->drop_output();
  fuzz::reuse_memory();
}

DVNN_FUZZ_TARGET(dvinfer)

}  // namespace dvnn::fuzz::dvinfer_target
