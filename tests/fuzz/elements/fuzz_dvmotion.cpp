// SPDX-License-Identifier: Apache-2.0
// dvmotion before dvtrack: a scene in which blocks come, go, tremble and flicker, in frames of any
// format, at any times, under any rules and masks. Areas lie within the frame, and are few.
#include <algorithm>
#include <cstring>

#include "gst/dvnn/gstdvobjectsmeta.h"
#include "hostile_objects.h"
#include "hostile_stream.h"
#include "target.h"

namespace dvnn::fuzz::dvmotion_target {

using fuzz::expect;
using fuzz::FuzzedData;

namespace {

constexpr const char* kNetworks[] = {"net", "other"};

// Brightness is a byte of the first plane in most, and is converted in the others.
gst::CapsPtr any_caps(FuzzedData* in, GstVideoInfo* info) {
  static const char* const kFormats[] = {"GRAY8", "NV12", "I420",      "RGB",
                                         "YUY2",  "BGRx", "P010_10LE", "GRAY16_LE"};
  if (in->rarely()) return fuzz::any_video_caps(in, info);
  gst::CapsPtr caps(gst_caps_new_simple(
      "video/x-raw", "format", G_TYPE_STRING, in->one_of(kFormats), "width", G_TYPE_INT,
      static_cast<gint>(in->in(60, 100)), "height", G_TYPE_INT, static_cast<gint>(in->in(60, 90)),
      "framerate", GST_TYPE_FRACTION, 25, 1, nullptr));
  if (!gst_video_info_from_caps(info, caps.get())) std::abort();
  return caps;
}

// What is seen in all frames of a stream.
struct Scene {
  struct Block {
    uint8_t x, y, width, height, brightness;
  };
  static constexpr size_t kMostBlocks = 6;
  uint8_t ground = 0;
  Block blocks[kMostBlocks] = {};

  void change(FuzzedData* in) {
    const uint8_t how = in->byte();
    if (how & 1) in->fill(&blocks[how / 2 % kMostBlocks], sizeof(Block));
    if (how >= 240) ground = in->byte();
    if (how >= 252) in->fill(blocks, sizeof blocks);
  }
  void draw(const GstVideoInfo& info, GstBuffer* frame) const {
    GstMapInfo map;
    if (!gst_buffer_map(frame, &map, GST_MAP_WRITE)) return;
    if (map.size > 0) std::memset(map.data, ground, map.size);
    const auto stride = static_cast<size_t>(GST_VIDEO_INFO_PLANE_STRIDE(&info, 0));
    for (const Block& block : blocks) {
      for (size_t y = block.y % 64; y < block.y % 64 + block.height % 40u; ++y) {
        const size_t at = y * stride + block.x;
        if (at < map.size) {
          std::memset(map.data + at, block.brightness,
                      std::min<size_t>(block.width, map.size - at));
        }
      }
    }
    gst_buffer_unmap(frame, &map);
  }
};

// Areas that leave the element are within the frame; (0, 0, 0, 0) would be none.
GstPadProbeReturn check_areas(GstPad* pad, GstPadProbeInfo* probe, gpointer) {
  constexpr int kMostAreas = 16;
  GstBuffer* frame = GST_PAD_PROBE_INFO_BUFFER(probe);
  const gst::CapsPtr caps(gst_pad_get_current_caps(pad));
  GstVideoInfo info;
  if (!caps || !gst_video_info_from_caps(&info, caps.get())) return GST_PAD_PROBE_OK;
  gpointer state = nullptr;
  int areas = 0;
  while (GstMeta* meta = gst_buffer_iterate_meta_filtered(
             frame, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
    const auto* area = reinterpret_cast<GstVideoRegionOfInterestMeta*>(meta);
    const guint width = static_cast<guint>(GST_VIDEO_INFO_WIDTH(&info)),
                height = static_cast<guint>(GST_VIDEO_INFO_HEIGHT(&info));
    expect(area->w > 0 && area->h > 0 && area->x < width && area->y < height &&
               area->w <= width - area->x && area->h <= height - area->y,
           "an area is not within the frame");
    ++areas;
  }
  expect(areas <= kMostAreas, "more areas than there may be");
  return GST_PAD_PROBE_OK;
}

void set_rules(FuzzedData* in, GstElement* motion) {
  static const char* const kZones[] = {
      "", R"({"masks":[{"name":"a","points":[[0,0],[0.5,0],[0.5,1],[0,1]]}]})",
      R"({"masks":[{"name":"a","unit":"pixels","points":[[10,10],[90,10],[10,90],[90,90]]},)"
      R"({"name":"b","points":[[-9,-9],[9,-9],[9,9]]}]})",
      R"({"masks":[],"areas":[],"lines":[]})", R"({"masks":5})"};
  const uint8_t which = in->byte();
  if (which & 1) g_object_set(motion, "zones", in->one_of(kZones), nullptr);
  if (which & 2) g_object_set(motion, "contrast", 1 + in->byte() / 2.0, nullptr);
  if (which & 4) g_object_set(motion, "min-size", in->byte() / 255.0, nullptr);
  if (which & 8) g_object_set(motion, "margin", in->byte() / 255.0, nullptr);
  if (which & 16) g_object_set(motion, "hold-ms", in->extent(2000), nullptr);
  if (which & 32) g_object_set(motion, "verify-ms", in->extent(5000), nullptr);
}

fuzz::Harness* make_line() {
  auto* harness = new fuzz::Harness(gst_harness_new_parse("dvmotion name=motion ! dvtrack"));
  GstElement* motion = gst_bin_get_by_name(GST_BIN(harness->element()), "motion");
  GstPad* pad = gst_element_get_static_pad(motion, "src");
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, check_areas, nullptr, nullptr);
  gst_object_unref(pad);
  gst_object_unref(motion);  // the bin keeps it
  return harness;
}

}  // namespace

static void prepare() {
  fuzz::start_gstreamer();
}

static void try_input(const uint8_t* data, size_t size) {
  constexpr int kMostFrames = 24;
  static fuzz::Harness* const harness = make_line();
  static GstElement* const motion = gst_bin_get_by_name(GST_BIN(harness->element()), "motion");
  FuzzedData in(data, size);
  harness->begin_anew();
  set_rules(&in, motion);
  for (int streams = 0; streams < 2 && (streams == 0 || in.left() > 0); ++streams) {
    GstVideoInfo info;
    const gst::CapsPtr caps = any_caps(&in, &info);
    const bool taken = harness->begin(caps.get());
    Scene scene;
    GstClockTime time = in.byte() * GST_SECOND;
    // The background is learned for half a second: that much is as it should be, at little cost.
    for (int i = 0; i < kMostFrames && (i < 4 || in.left() > 0); ++i) {
      const uint8_t how = in.byte();
      GstBuffer* frame = nullptr;
      if (how >= 248) {
        frame = fuzz::any_frame(&in, info);
      } else {
        frame = fuzz::any_buffer(&in, info.size);
        scene.change(&in);
        scene.draw(info, frame);
      }
      if (how & 1 && how >= 200) set_rules(&in, motion);
      if (how & 2 && how >= 200) fuzz::add_objects(&in, kNetworks, 3, 90, frame);
      time += i < 4 ? 200 * GST_MSECOND : how % 64 * 4 * GST_MSECOND;
      if (how == 247) time = in.any<uint64_t>();
      GST_BUFFER_PTS(frame) = time;
      if (harness->push(frame) == GST_FLOW_OK && taken) ++accepted;
    }
  }
}

DVNN_FUZZ_TARGET(dvmotion)

}  // namespace dvnn::fuzz::dvmotion_target
