// SPDX-License-Identifier: Apache-2.0
// Frames that are looked at as lists of regions: what is found there is what is found on frames
// that are cut out, and however many regions there are, nothing waits for ever.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <set>

#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst/dvnn/gstdvtensormeta.h"
#include "streams.h"
#include "watched_suite.h"

namespace dvnn::test::regions_tests {

DVNN_WATCHED_SUITE(gst_regions);

namespace {

constexpr int kFrames = 20;
const char* const kSink = " ! dvdecode max-detections=10000 ! fakesink name=out async=false";

struct Rect {
  int x, y, w, h;
};

std::string list_of(const std::vector<Rect>& rects) {
  std::string text = "regions=list region-list=\"[";
  for (const Rect& r : rects) {
    if (text.back() != '[') text += ",";
    text += R"({\"unit\":\"pixels\",\"box\":[)" + std::to_string(r.x) + "," + std::to_string(r.y) +
            "," + std::to_string(r.w) + "," + std::to_string(r.h) + "]}";
  }
  return text + "]\"";
}

std::string source() {
  return painted_source(kFrames, "", "src", 128, 64);
}

// Boxes of each region alone, in the frame's coordinates, all together.
std::vector<Arrival> one_by_one(const std::vector<Rect>& rects) {
  std::vector<Arrival> all;
  for (const Rect& r : rects) {
    const std::string cut = "videocrop left=" + std::to_string(r.x) +
                            " top=" + std::to_string(r.y) +
                            " right=" + std::to_string(128 - r.x - r.w) +
                            " bottom=" + std::to_string(64 - r.y - r.h) + " ! ";
    std::vector<Arrival> part =
        play(source() + cut + "dvconvert ! " + infer(Looks::kUpperRed) + kSink, Looks::kUpperRed);
    if (all.empty()) {
      all = part;
      for (Arrival& arrival : all) arrival.found.clear();
    }
    ck_assert_uint_eq(part.size(), all.size());
    for (size_t i = 0; i < part.size(); ++i) {
      for (Found found : part[i].found) {
        found.x0 += r.x, found.x1 += r.x, found.y0 += r.y, found.y1 += r.y;
        all[i].found.push_back(found);
      }
    }
  }
  return all;
}

void expect_regions(const std::vector<Rect>& rects, const std::string& description) {
  // Adding a rectangle's corner rounds once more.
  constexpr double kRounding = 1e-9;
  const std::string wrong =
      compare_runs(play(description, Looks::kUpperRed), one_by_one(rects), kRounding);
  ck_assert_msg(wrong.empty(), "%s: %s", description.substr(0, 500).c_str(),
                wrong.substr(0, 1500).c_str());
}

std::string upper(const std::string& properties = "") {
  return infer(Looks::kUpperRed, properties);
}

size_t boxes_in(const std::vector<Arrival>& arrivals) {
  size_t count = 0;
  for (const Arrival& arrival : arrivals) count += arrival.found.size();
  return count;
}

// Rectangles anywhere, of any size.
std::vector<Rect> any_rects(int count, guint32 seed) {
  GRand* random = g_rand_new_with_seed(seed);
  std::vector<Rect> rects;
  for (int i = 0; i < count; ++i) {
    const int x = g_rand_int_range(random, 0, 100), y = g_rand_int_range(random, 0, 48);
    rects.push_back(
        {x, y, g_rand_int_range(random, 8, 129 - x), g_rand_int_range(random, 8, 65 - y)});
  }
  g_rand_free(random);
  return rects;
}

const std::vector<Rect> kThree = {{0, 0, 64, 64}, {32, 16, 64, 32}, {96, 0, 32, 48}};

// The outputs of a network for one frame, region by region.
struct Outputs {
  std::vector<std::vector<uint8_t>> bytes;
  std::vector<Rect> parts;
  std::vector<std::string> names;
  Passes passes;
  guint regions = 0;  // as the pass says
};

// `orientation`: what the stream's tag says, or null.
Outputs outputs_of(const std::string& description, const std::string& caps, GstBuffer* frame,
                   const char* orientation = nullptr) {
  GstHarness* h = chain(description, caps);
  if (orientation) {
    gst_harness_push_event(
        h, gst_event_new_tag(gst_tag_list_new(GST_TAG_IMAGE_ORIENTATION, orientation, nullptr)));
  }
  GstBuffer* out = gst_harness_push_and_pull(h, frame);
  ck_assert_msg(out, "%s", description.c_str());
  Outputs outputs;
  gpointer state = nullptr;
  while (GstMeta* meta =
             gst_buffer_iterate_meta_filtered(out, &state, GST_DV_TENSOR_META_API_TYPE)) {
    const auto* tensors = reinterpret_cast<const GstDvTensorMeta*>(meta);
    ck_assert_uint_eq(tensors->region, outputs.bytes.size());
    outputs.bytes.emplace_back();
    for (gsize i = 0; i < tensors->num_tensors; ++i) {
      const std::vector<uint8_t> bytes = bytes_of(tensors->tensors[i].data);
      outputs.bytes.back().insert(outputs.bytes.back().end(), bytes.begin(), bytes.end());
    }
    outputs.parts.push_back({static_cast<int>(tensors->x0), static_cast<int>(tensors->y0),
                             static_cast<int>(tensors->x1 - tensors->x0),
                             static_cast<int>(tensors->y1 - tensors->y0)});
    const gchar* name = g_quark_to_string(tensors->region_name);
    outputs.names.push_back(name ? name : "");
  }
  outputs.passes = passes(out);
  GstDvObjectsMeta* objects = gst_buffer_get_dv_objects_meta(out);
  if (objects) outputs.regions = gst_dv_objects_meta_get_pass(objects, 0)->regions;
  gst_buffer_unref(out);
  gst_harness_teardown(h);
  return outputs;
}

}  // namespace

DVNN_TEST(a_regions_outputs_are_those_of_videocrop) {
  for (const char* format : {"RGB", "BGRx", "NV12", "I420", "YUY2", "GRAY8"}) {
    // videocrop moves rectangles of frames with shared chroma to even places itself.
    const std::vector<Rect> rects = {{10, 8, 40, 30}, {0, 0, 128, 64}, {96, 34, 32, 30}};
    const Outputs all = outputs_of("dvconvert " + list_of(rects) + " ! " + upper(),
                                   video_caps(format, 128, 64), noise(format, 128, 64));
    ck_assert_uint_eq(all.bytes.size(), rects.size());
    for (size_t i = 0; i < rects.size(); ++i) {
      const Rect& r = rects[i];
      const std::string cut = "videocrop left=" + std::to_string(r.x) +
                              " top=" + std::to_string(r.y) +
                              " right=" + std::to_string(128 - r.x - r.w) +
                              " bottom=" + std::to_string(64 - r.y - r.h) + " ! ";
      const Outputs one = outputs_of(cut + "dvconvert ! " + upper(), video_caps(format, 128, 64),
                                     noise(format, 128, 64));
      ck_assert_uint_eq(one.bytes.size(), 1);
      ck_assert_msg(all.bytes[i] == one.bytes[0], "%s, region %zu", format, i);
      ck_assert(all.parts[i].x == r.x && all.parts[i].y == r.y && all.parts[i].w == r.w &&
                all.parts[i].h == r.h);
    }
  }
}

DVNN_TEST(boxes_of_regions_are_those_of_frames_that_are_cut) {
  const std::vector<Arrival> plain =
      play(source() + "dvconvert ! " + upper() + kSink, Looks::kUpperRed);
  for (const Rect& rect : kThree) {
    const std::string one = source() + "dvconvert " + list_of({rect}) + " ! " + upper() + kSink;
    expect_regions({rect}, one);
    // Without this the test could not fail.
    ck_assert(!compare_runs(play(one, Looks::kUpperRed), plain).empty());
  }
  const std::string all = source() + "dvconvert " + list_of(kThree) + " ! " + upper() + kSink;
  ck_assert_uint_gt(boxes_in(one_by_one(kThree)), 0);
  expect_regions(kThree, all);
}

DVNN_TEST(whoever_converts_regions_they_are_the_same) {
  const std::vector<Rect> rects = any_rects(9, 1);
  const std::string convert = source() + "dvconvert " + list_of(rects) + " ! ";
  for (const std::string& between :
       {std::string("queue ! "), std::string("identity drop-allocation=true ! "),
        std::string("tee name=t t. ! queue ! fakesink async=false t. ! queue ! "),
        std::string("videorate ! "), std::string("videoconvert ! video/x-raw,format=BGRx ! "),
        std::string("queue min-threshold-buffers=10 max-size-buffers=0 ! ")}) {
    expect_regions(rects, convert + between + upper() + kSink);
  }
}

DVNN_TEST(more_regions_than_slots_are_run_as_slots_come_free) {
  for (const char* properties : {"max-in-flight=1", "max-in-flight=2", "max-in-flight=4"}) {
    const std::vector<Rect> rects = any_rects(60, 2);
    const std::string line = source() + "dvconvert " + list_of(rects) + " ! queue ! " +
                             upper(properties) + " ! queue" + kSink;
    expect_regions(rects, line);
  }
}

DVNN_TEST(frames_that_downstream_keeps_do_not_stop_regions) {
  // Their outputs are views of slots while slots are plenty, and copies else.
  const std::vector<Rect> rects = any_rects(30, 3);
  const std::string line = source() + "dvconvert " + list_of(rects) + " ! " + upper() +
                           " ! queue min-threshold-buffers=15 max-size-buffers=0 max-size-bytes=0 "
                           "max-size-time=0" +
                           kSink;
  expect_regions(rects, line);
}

DVNN_TEST(a_frame_of_no_regions_passes_as_seen) {
  const Outputs none = outputs_of("dvconvert regions=list region-metas=* ! " + upper(),
                                  video_caps("RGB", 64, 64), noise("RGB", 64, 64));
  ck_assert_uint_eq(none.bytes.size(), 0);
  ck_assert_int_eq(none.passes.inferred, 1);
  ck_assert_uint_eq(none.regions, 0);
  // dvdecode does not take it for a mistake.
  Pipeline pipeline(painted_source(60) + "dvconvert regions=list region-metas=* ! " + upper() +
                        " ! dvdecode ! fakesink name=out async=false",
                    Looks::kUpperRed);
  demand(&pipeline, pipeline.play_to_end());
  pipeline.read_bus();
  ck_assert_uint_eq(pipeline.count_messages(GST_MESSAGE_WARNING), 0);
  demand(&pipeline, pipeline.stop());
}

DVNN_TEST(regions_of_interest_of_others_are_looked_at) {
  GstBuffer* frame = noise("RGB", 128, 64);
  gst_buffer_add_video_region_of_interest_meta(frame, "plate", 10, 8, 40, 30);
  gst_buffer_add_video_region_of_interest_meta(frame, "face", 64, 0, 32, 32);
  gst_buffer_add_video_region_of_interest_meta(frame, "plate", 200, 200, 10, 10);  // beside it
  gst_buffer_add_video_region_of_interest_meta(frame, "plate", 100, 40, 100, 100);
  const Outputs plates = outputs_of("dvconvert regions=list region-metas=plate,sign ! " + upper(),
                                    video_caps("RGB", 128, 64), gst_buffer_copy(frame));
  ck_assert_uint_eq(plates.parts.size(), 2);
  ck_assert_uint_eq(plates.regions, 2);
  ck_assert_int_eq(plates.parts[0].x, 10);
  ck_assert_int_eq(plates.parts[1].w, 28);  // to the frame's edge
  dvnn_assert_text(plates.names[1], "plate");
  const Outputs all =
      outputs_of("dvconvert regions=list region-metas=* region-list=\"[[0,0,0.5,1]]\" ! " + upper(),
                 video_caps("RGB", 128, 64), frame);
  ck_assert_uint_eq(all.parts.size(), 4);
  dvnn_assert_text(all.names[0], "0");
  dvnn_assert_text(all.names[2], "face");
}

DVNN_TEST(objects_say_in_which_region_they_were_seen) {
  GstHarness* h = chain(
      "dvconvert regions=list region-list=\"[{\\\"name\\\":\\\"left\\\",\\\"box\\\":[0,0,0.5,1]},"
      "{\\\"name\\\":\\\"right\\\",\\\"box\\\":[0.5,0,0.5,1]}]\" ! dvinfer network=" +
          network_path() + " ! dvdecode",
      video_caps("RGB", 128, 128));
  GstBuffer* out = gst_harness_push_and_pull(h, red_square("RGB", 128, 128, 3, 1));
  const GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(out);
  ck_assert_uint_gt(gst_dv_objects_meta_get_n_objects(meta), 0);
  for (guint i = 0; i < gst_dv_objects_meta_get_n_objects(meta); ++i) {
    const GstDvObject* object = gst_dv_objects_meta_get_object(meta, i);
    ck_assert_str_eq(g_quark_to_string(object->region), "right");
    ck_assert(object->x0 >= 64);
    GstDvObject* copy = gst_dv_object_copy(object);
    ck_assert_uint_eq(copy->region, object->region);
    gst_dv_object_free(copy);
  }
  gst_buffer_unref(out);
  gst_harness_teardown(h);
}

DVNN_TEST(regions_follow_a_frame_that_is_scaled) {
  const std::string convert = "dvconvert " + list_of({{64, 0, 64, 64}, {0, 32, 64, 32}}) + " ! ";
  GstHarness* h = chain(convert + "videoscale ! video/x-raw,width=64,height=32 ! " + upper(),
                        video_caps("RGB", 128, 64));
  GstBuffer* out = gst_harness_push_and_pull(h, noise("RGB", 128, 64));
  const GstDvTensorMeta* last = gst_buffer_get_dv_tensor_meta(out);
  ck_assert(last->x0 == 0 && last->y0 == 16 && last->x1 == 32 && last->y1 == 32);
  gst_buffer_unref(out);
  gst_harness_teardown(h);
}

// What the list's areas show is turned as the stream's tag says.
DVNN_TEST(regions_of_a_list_are_seen_upright) {
  const auto seen = [](const char* direction, const char* tag) {
    return outputs_of("dvconvert video-direction=" + std::string(direction) + " " +
                          list_of(kThree) + " ! " + upper(),
                      video_caps("RGB", 128, 64), grid_frame(128, 64, 3), tag);
  };
  const Outputs turned = seen("90r", nullptr), upright = seen("identity", nullptr);
  ck_assert_uint_eq(turned.bytes.size(), kThree.size());
  ck_assert(turned.bytes != upright.bytes);
  const Outputs tagged = seen("auto", "rotate-90"), untagged = seen("auto", nullptr);
  ck_assert(tagged.bytes == turned.bytes);
  ck_assert(untagged.bytes == upright.bytes);
}

DVNN_TEST(the_frame_passes_untouched) {
  GstHarness* h = chain("dvconvert " + list_of(any_rects(40, 5)) + " ! " + upper() + " ! dvdecode",
                        video_caps("RGB", 128, 64));
  GstBuffer* frame = noise("RGB", 128, 64);
  GstMemory* pixels = gst_buffer_peek_memory(frame, 0);
  GstBuffer* out = gst_harness_push_and_pull(h, frame);
  ck_assert_ptr_eq(gst_buffer_peek_memory(out, 0), pixels);
  gst_buffer_unref(out);
  gst_harness_teardown(h);
}

DVNN_TEST(tiles_come_in_turn) {
  GstHarness* h =
      chain("dvconvert regions=tiles tiles=2x2,1x1 overlap=0.2 tiles-per-frame=2 ! " + upper(),
            video_caps("RGB", 128, 64));
  std::vector<double> lefts;
  for (int i = 0; i < 5; ++i) {
    GstBuffer* out = gst_harness_push_and_pull(h, noise("RGB", 128, 64));
    gpointer state = nullptr;
    while (GstMeta* meta =
               gst_buffer_iterate_meta_filtered(out, &state, GST_DV_TENSOR_META_API_TYPE)) {
      const auto* tensors = reinterpret_cast<const GstDvTensorMeta*>(meta);
      ck_assert_int_eq(tensors->region_kind, GST_DV_REGION_TILE);
      lefts.push_back(tensors->x0);
    }
    gst_buffer_unref(out);
  }
  const std::vector<double> want = {0, 57, 0, 57, 0, 0, 57, 0, 57, 0};
  ck_assert(lefts == want);
  gst_harness_teardown(h);
}

DVNN_TEST(what_tiles_share_is_found_once) {
  // Tiles of a grid see other cells; a thing as large as a cell of the whole frame is seen whole by
  // it, and in parts by tiles, whose parts yield.
  GstHarness* h = chain(
      "dvconvert regions=tiles tiles=1x1,1x1 ! dvinfer network=" + network_path() + " ! dvdecode",
      video_caps("RGB", 128, 128));
  GstBuffer* out = gst_harness_push_and_pull(h, red_square("RGB", 128, 128, 2, 1));
  ck_assert(found_square(out, 128, 128, 2, 1));
  gst_buffer_unref(out);
  gst_harness_teardown(h);
  h = chain("dvconvert regions=tiles tiles=1x1,1x1 ! dvinfer network=" + network_path() +
                " ! dvdecode merge-threshold=1",
            video_caps("RGB", 128, 128));
  out = gst_harness_push_and_pull(h, red_square("RGB", 128, 128, 2, 1));
  ck_assert_uint_eq(detections(out).size(), 2);
  gst_buffer_unref(out);
  gst_harness_teardown(h);
}

DVNN_TEST(streams_of_tensors_have_one_region) {
  const std::string text = error_of("dvconvert " + list_of(kThree) + tensors("3:8:8:1", "uint8"),
                                    video_caps("RGB", 128, 64), noise("RGB", 128, 64));
  ck_assert_msg(text.find("regions") != std::string::npos, "%s", text.c_str());
  const std::string late = error_of(
      "dvconvert " + list_of(kThree) + " ! " + upper() + " ! capsfilter caps=other/tensors",
      video_caps("RGB", 128, 64), noise("RGB", 128, 64));
  ck_assert_msg(late.find("regions") != std::string::npos, "%s", late.c_str());
}

DVNN_TEST(a_list_that_is_wrong_is_refused) {
  GstElement* convert = gst_element_factory_make("dvconvert", nullptr);
  for (const char* name : {"region-list", "region-file", "tiles"}) {
    g_object_set(convert, name, "nonsense", nullptr);
    gchar* kept = nullptr;
    g_object_get(convert, name, &kept, nullptr);
    ck_assert_msg(g_strcmp0(kept, "nonsense") != 0, "%s", name);
    g_free(kept);
  }
  gst_object_unref(convert);
}

DVNN_TEST(flushes_and_new_caps_find_regions_in_flight) {
  const std::string lists = list_of(any_rects(25, 7));
  for (int round = 0; round < 6; ++round) {
    Pipeline pipeline(painted_source(-1, "", "src", 128, 64) + "dvconvert name=convert " + lists +
                          " ! queue ! " + upper("max-in-flight=3") + kSink,
                      Looks::kUpperRed);
    demand(&pipeline, pipeline.set_state(GST_STATE_PLAYING));
    for (int i = 0; i < 5; ++i) {
      const size_t before = pipeline.count();
      demand(&pipeline,
             pipeline.run_until([&] { return pipeline.count() > before + 1; }, "frames go on"));
      if (i % 2 == 0) {
        gst_element_seek_simple(pipeline.get(), GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, 0);
      } else {
        GstElement* convert = pipeline["convert"];
        gst_util_set_object_arg(G_OBJECT(convert), "regions", i == 1 ? "tiles" : "list");
      }
    }
    demand(&pipeline, pipeline.stop());
  }
}

// Regions of objects that stand upright in the tensor: by key points, or by an outline's corners.

namespace {

// A square frame with a red cell and one object, which `prepare` places.
template <typename Prepare>
std::vector<Found> found_aligned(const std::string& properties, Prepare prepare) {
  constexpr int kSquare = 128;
  GstHarness* h =
      chain("dvconvert regions=objects " + properties + " ! " + infer(Looks::kRed) + " ! dvdecode",
            video_caps("RGB", kSquare, kSquare));
  GstBuffer* frame = red_square("RGB", kSquare, kSquare, 3, 1);
  GstDvObjectsMeta* meta = gst_buffer_add_dv_objects_meta(frame);
  gst_dv_objects_meta_add_pass(meta, "first", GST_DV_PASS_INFERRED);
  GstDvObject* object =
      gst_dv_objects_meta_add_object(meta, GST_DV_OBJECT_DETECTION, 1, "thing", 0.9f);
  gst_dv_object_set_box(object, 0, 0, kSquare, kSquare);
  object->network = 0;
  prepare(object);
  GstBuffer* out = gst_harness_push_and_pull(h, frame);
  std::vector<Found> found = detections(out);
  found.erase(
      std::remove_if(found.begin(), found.end(), [](const Found& f) { return f.label == "thing"; }),
      found.end());
  gst_buffer_unref(out);
  gst_harness_teardown(h);
  return found;
}

// Without its confidence, which sampling changes a little.
void expect_the_cell(const std::vector<Found>& found) {
  ck_assert_msg(found.size() == 1, "%s", describe(found).c_str());
  ck_assert_double_eq_tol(found[0].x0, 96, 1e-6);
  ck_assert_double_eq_tol(found[0].y0, 32, 1e-6);
  ck_assert_double_eq_tol(found[0].x1, 128, 1e-6);
  ck_assert_double_eq_tol(found[0].y1, 64, 1e-6);
}

}  // namespace

DVNN_TEST(boxes_come_back_from_aligned_regions) {
  expect_the_cell(found_aligned("", [](GstDvObject*) {}));
  // Each corner of the frame as the upper left one of an oriented box.
  const double corners[4][2] = {{0, 0}, {128, 0}, {128, 128}, {0, 128}};
  for (int first = 0; first < 4; ++first) {
    expect_the_cell(found_aligned("align=outline", [&](GstDvObject* object) {
      for (int i = 0; i < 4; ++i) {
        const double* corner = corners[(first + i) % 4];
        gst_dv_object_add_corner(object, corner[0], corner[1]);
      }
    }));
  }
  // A quarter turn by points: what is to be on the left is at the top.
  expect_the_cell(
      found_aligned("align=points align-points=\"0.25,0.5 0.75,0.5\"", [](GstDvObject* object) {
        gst_dv_object_add_point(object, 64, 32, 1);
        gst_dv_object_add_point(object, 64, 96, 1);
      }));
  // A point that was not seen does not count; without two the box does.
  expect_the_cell(
      found_aligned("align=points align-points=\"0.25,0.5 0.75,0.5\"", [](GstDvObject* object) {
        gst_dv_object_add_point(object, 64, 32, 1);
        gst_dv_object_add_point(object, 3, 3, 0);
      }));
}

DVNN_TEST(an_aligned_region_sees_what_stands_upright_there) {
  // Half of the frame, turned by a quarter: the cell is beyond it, or within.
  const auto half = [](double x) {
    return [x](GstDvObject* object) {
      const double corners[4][2] = {{x + 64, 0}, {x + 64, 128}, {x, 128}, {x, 0}};
      for (const auto& corner : corners) gst_dv_object_add_corner(object, corner[0], corner[1]);
    };
  };
  ck_assert_uint_eq(found_aligned("align=outline", half(0)).size(), 0);
  ck_assert_uint_gt(found_aligned("align=outline", half(64)).size(), 0);
  ck_assert_uint_gt(found_aligned("align=box", half(0)).size(), 0);
}

}  // namespace dvnn::test::regions_tests
