// SPDX-License-Identifier: Apache-2.0
// Regions of frames: lists, tiles and objects of anybody through dvconvert, dvinfer, dvdecode and
// dvread, alone and behind a first network whose objects are tracked. As in fuzz_dvinfer the
// pipelines stay from input to input; each begins with a flush.
#include <string>
#include <vector>

#include "gst/dvnn/gstdvobjectsmeta.h"
#include "hostile_objects.h"
#include "hostile_stream.h"
#include "target.h"

namespace dvnn::fuzz::dvregions_target {

using fuzz::FuzzedData;
using fuzz::set_choice;
using fuzz::set_numbers;

namespace {

constexpr const char* kNetworks[] = {"first", "grid", "other"};
std::string first_path, second_path;

fuzz::MemoryFile& region_file() {
  static auto* const file = new fuzz::MemoryFile();
  return *file;
}

GstHarness* pipeline(std::string line) {
  // It is there if ZBar is.
  GstElementFactory* reader = gst_element_factory_find("dvread");
  if (reader) line += " ! dvread name=read";
  if (reader) gst_object_unref(reader);
  GstHarness* harness = gst_harness_new_parse(line.c_str());
  gst_harness_set_drop_buffers(harness, FALSE);
  return harness;
}

std::string infer(const std::string& path, const std::string& name) {
  return "dvinfer name=" + name + " device=soft network=" + path;
}

// What is known to be good or nearly so, and sometimes what stands in the input.
template <typename List>
std::string any_text(FuzzedData* in, const List& known) {
  constexpr size_t kMostBytes = 60;
  const uint8_t kind = in->byte();
  if (kind >= 240) return in->text(kMostBytes);
  return std::begin(known)[kind % std::size(known)];
}

std::string any_areas(FuzzedData* in) {
  static const char* const kAreas[] = {
      R"([[0, 0, 0.5, 0.5], {"name": "door", "box": [0.25, 0.25, 0.75, 0.75]}])",
      "",
      R"([{"name": "way", "points": [[0, 0], [20, 4], [9, 31]], "unit": "pixels"}])",
      "[[0, 0, 16, 16], [8, 8, 24, 24], [0.5, 0.5, 0.5, 0.5]]",
      R"([{"box": [1e300, -1e300, 1, 1]}, [2, 2, 3, 3]])",
      R"([[0, 0, 1, 1], [0.9999999, 0, 1e-9, 1], {"box": [0, 0, 2e9, 2e9], "unit": "pixels"}])"};
  return any_text(in, kAreas);
}

void set_lists_and_tiles(FuzzedData* in, GObject* convert) {
  static const char* const kTypes[] = {"*", "", "one, two", "face,\xff\xfe"};
  static const char* const kTiles[] = {"2x2,1x1", "1x1",  "3x1",     "1.5,0.5",
                                       "2,1,0.3", "5x4",  "1x1,1x1", "64x64",
                                       "1e9",     "0x-1", "0.001",   "3x2,2,1.41,1,0.71"};
  const uint8_t which = in->byte();
  g_object_set(convert, "region-list", which & 1 ? any_areas(in).c_str() : "", "region-metas",
               which & 2 ? in->one_of(kTypes) : "", nullptr);
  const std::string path = which & 4 ? region_file().with(any_areas(in)) : "";
  g_object_set(convert, "region-file", path.c_str(), nullptr);
  g_object_set(convert, "tiles", which & 8 ? any_text(in, kTiles).c_str() : "2x2,1x1", "overlap",
               which & 16 ? in->real(0.9) : 0.2, "tiles-per-frame", which & 32 ? in->extent(5) : 0u,
               nullptr);
}

void set_objects(FuzzedData* in, GObject* convert) {
  static const char* const kClasses[] = {"one", "two, one", ",", "\xff\xfe"};
  static const char* const kPlaces[] = {"0.3,0.4 0.7,0.4", "0,0 0,0", "0.1,0.2 0.3,0.4 nan,1",
                                        "0.2,0.2 0.8,0.2 0.5,0.5 0.3,0.8 0.7,0.8",
                                        "1e308,1 -1e308,1"};
  const uint8_t which = in->byte(), budget = in->byte();
  g_object_set(convert, "object-network", which & 1 ? in->one_of(kNetworks) : "", "object-class",
               which & 2 ? in->one_of(kClasses) : "", "min-size", which & 4 ? in->real(16) : 0.0,
               "max-size", which & 8 ? in->real(64) : 0.0, "margin", which & 16 ? in->real(4) : 0.0,
               nullptr);
  set_choice(in, convert, "align");
  g_object_set(convert, "align-points", which & 32 ? any_text(in, kPlaces).c_str() : "",
               "align-aspect", which & 64 ? in->real(64) : 1.0, nullptr);
  g_object_set(convert, "max-per-frame", budget & 1 ? in->extent(3) : 0u, "max-rate",
               budget & 2 ? in->real(50) : 0.0, "refresh-ms", budget & 4 ? in->extent(2000) : 0u,
               nullptr);
}

void set_convert(FuzzedData* in, GObject* convert, bool regions) {
  const uint8_t which = in->byte();
  if (regions) {
    static constexpr gint kModes[] = {3, 2, 1, 3, 0};
    g_object_set(convert, "regions", in->one_of(kModes), nullptr);
    set_lists_and_tiles(in, convert);
    set_objects(in, convert);
  }
  for (const char* name : {"resize", "method", "backend"}) set_choice(in, convert, name);
  g_object_set(convert, "video-direction", static_cast<gint>(which & 8 ? in->byte() % 8 : 0),
               nullptr);
  std::vector<double> roi = {0, 0, 1, 1};
  if (which & 1) roi = {in->real(1), in->real(1), in->real(1), in->real(1)};
  set_numbers(convert, "roi", roi);
}

void set_infer(FuzzedData* in, GObject* infer) {
  const uint8_t which = in->byte();
  for (const char* name : {"on-error", "when-busy", "late-results"}) set_choice(in, infer, name);
  g_object_set(infer, "interval-frames", which >= 240 ? in->extent(4) : 1u, "late-after-ms",
               static_cast<guint>(which & 1 ? 2 : 0), "active", which < 248, nullptr);
}

void set_decode(FuzzedData* in, GObject* decode) {
  const uint8_t which = in->byte();
  g_object_set(decode, "threshold", (which & 3) * 0.25, "refine", which >> 2 & 1, "post-messages",
               which >> 3 & 1, "merge-threshold", which & 16 ? in->real(1) : 0.5, "max-detections",
               which & 32 ? 3u : 200u, nullptr);
}

void set_read(FuzzedData* in, GObject* read) {
  const uint8_t which = in->byte();
  g_object_set(read, "object-class", which & 1 ? "one, red" : "", "margin",
               which & 2 ? in->real(1) : 0.1, "max-per-frame", which & 4 ? 1u : 0u, "max-rate",
               which & 8 ? in->real(20) : 0.0, "refresh-ms", which & 16 ? in->extent(1000) : 0u,
               "post-messages", which >> 5 & 1, nullptr);
  if (!g_object_class_find_property(G_OBJECT_GET_CLASS(read), "marker-class")) return;
  g_object_set(read, "marker-class", which & 64 ? "two" : "", nullptr);
}

void set_properties(FuzzedData* in, GstElement* bin) {
  auto set = [&](const char* name, auto&& how) {
    GstElement* element = gst_bin_get_by_name(GST_BIN(bin), name);
    if (element) how(G_OBJECT(element));
    if (element) gst_object_unref(element);
  };
  set("convert", [&](GObject* convert) { set_convert(in, convert, true); });
  set("infer", [&](GObject* infer) { set_infer(in, infer); });
  set("decode", [&](GObject* decode) { set_decode(in, decode); });
  set("read", [&](GObject* read) { set_read(in, read); });
  if (in->byte() < 224) return;
  set("first-convert", [&](GObject* convert) { set_convert(in, convert, false); });
  set("first-infer", [&](GObject* infer) { set_infer(in, infer); });
}

void add_rois(FuzzedData* in, GstBuffer* frame) {
  static const char* const kTypes[] = {"one", "face", "", "\xff\xfe"};
  for (uint8_t left = in->byte() % 4; left > 0; --left) {
    const guint x = in->extent(48) - 1, y = in->extent(48) - 1;
    GstVideoRegionOfInterestMeta* roi = gst_buffer_add_video_region_of_interest_meta(
        frame, in->one_of(kTypes), x, y, in->extent(64), in->extent(64));
    if (in->rarely()) roi->roi_type = 0;
  }
}

GstBuffer* any_region_frame(FuzzedData* in, const GstVideoInfo& info) {
  constexpr int64_t kMostObjects = 6;
  constexpr double kExtent = 64;
  GstBuffer* frame = fuzz::any_frame(in, info);
  const uint8_t what = in->byte();
  if (!(what & 1)) fuzz::add_objects(in, kNetworks, kMostObjects, kExtent, frame);
  if (what & 2) add_rois(in, frame);
  return (what & 0x1c) == 0x1c ? fuzz::through_another_element(in, frame) : frame;
}

}  // namespace

static void prepare() {
  fuzz::set_small_budgets();
  fuzz::start_gstreamer();
  test::GridVariant first;
  first.name = "first";
  first.label = "one";
  first_path = fuzz::write_network(first);
  second_path = fuzz::write_network();
}

static void try_input(const uint8_t* data, size_t size) {
  constexpr int kMostFrames = 6;
  static const std::string regions =
      "dvconvert name=convert ! " + infer(second_path, "infer") + " ! dvdecode name=decode";
  static fuzz::Harness* const harnesses[] = {
      new fuzz::Harness(pipeline(regions)),
      new fuzz::Harness(pipeline("dvconvert name=first-convert ! " +
                                 infer(first_path, "first-infer") +
                                 " ! dvdecode threshold=0.1 ! dvtrack ! " + regions))};
  FuzzedData in(data, size);
  fuzz::Harness* harness = in.one_of(harnesses);
  harness->flush();
  harness->drop_output();
  set_properties(&in, harness->element());
  GstClockTime time = 0;
  for (int streams = 0; streams < 2 && (streams == 0 || in.left() > 0); ++streams) {
    fuzz::play_video(&in, kMostFrames, harness, [&](const GstVideoInfo& info) {
      if (in.rarely()) set_properties(&in, harness->element());
      GstBuffer* frame = any_region_frame(&in, info);
      // Mostly as streams are.
      if (!in.rarely()) GST_BUFFER_PTS(frame) = time += in.byte() * 10 * GST_MSECOND;
      return frame;
    });
  }
  harness->drain();
  harness->drop_output();
  fuzz::reuse_memory();
}

DVNN_FUZZ_TARGET(dvregions)

}  // namespace dvnn::fuzz::dvregions_target
