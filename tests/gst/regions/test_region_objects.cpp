// SPDX-License-Identifier: Apache-2.0
// A second network on what the first one has found: it sees the objects' boxes as frames of their
// own, and what it finds is theirs.
#include <algorithm>
#include <cmath>

#include "decode_fixture.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst/dvnn/gstdvtensormeta.h"
#include "streams.h"
#include "watched_suite.h"

namespace dvnn::test::region_objects_tests {

DVNN_WATCHED_SUITE(gst_region_objects);

namespace {

constexpr int kWidth = 128, kHeight = 64;

std::string caps() {
  return video_caps("RGB", kWidth, kHeight);
}

std::string first() {
  return "dvconvert ! " + infer(Looks::kRed) + " ! dvdecode";
}

// A second network on red cells.
std::string second(const std::string& properties = "") {
  return " ! dvconvert regions=objects " + properties + " ! " + infer(Looks::kUpperRed);
}

struct Tree {
  std::vector<Found> wholes, parts;  // of each whole, its parts one after the other
  std::vector<size_t> owner;         // a part's whole
};

Tree tree_of(GstBuffer* frame) {
  Tree tree;
  GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
  std::vector<guint64> ids;
  for (guint i = 0; meta && i < gst_dv_objects_meta_get_n_objects(meta); ++i) {
    const GstDvObject* o = gst_dv_objects_meta_get_object(meta, i);
    const Found found = {o->label,   static_cast<double>(o->confidence), o->x0, o->y0, o->x1, o->y1,
                         o->class_id};
    if (o->parent == 0) {
      tree.wholes.push_back(found);
      ids.push_back(o->id);
      continue;
    }
    const auto at = std::find(ids.begin(), ids.end(), o->parent);
    ck_assert(at != ids.end());
    tree.parts.push_back(found);
    tree.owner.push_back(static_cast<size_t>(at - ids.begin()));
  }
  return tree;
}

// What the second network finds on the frame that videocrop makes of a box.
std::vector<Found> parts_of(const Found& whole, guint64 number) {
  const int x = static_cast<int>(whole.x0), y = static_cast<int>(whole.y0);
  const int right = kWidth - static_cast<int>(whole.x1),
            bottom = kHeight - static_cast<int>(whole.y1);
  GstHarness* h =
      chain("videocrop left=" + std::to_string(x) + " top=" + std::to_string(y) +
                " right=" + std::to_string(right) + " bottom=" + std::to_string(bottom) +
                " ! dvconvert ! " + infer(Looks::kUpperRed) + " ! dvdecode",
            caps());
  GstBuffer* out = gst_harness_push_and_pull(h, grid_frame(kWidth, kHeight, number));
  std::vector<Found> found = detections(out);
  for (Found& f : found) f.x0 += x, f.x1 += x, f.y0 += y, f.y1 += y;
  gst_buffer_unref(out);
  gst_harness_teardown(h);
  return found;
}

// A frame with objects: three boxes by two networks.
GstBuffer* frame_with_objects() {
  GstBuffer* frame = noise("RGB", kWidth, kHeight);
  GstDvObjectsMeta* meta = gst_buffer_add_dv_objects_meta(frame);
  gst_dv_objects_meta_add_pass(meta, "people", GST_DV_PASS_INFERRED);
  gst_dv_objects_meta_add_pass(meta, "cars", GST_DV_PASS_INFERRED);
  const auto add = [&](gint network, const char* label, double x0, double y0, double x1,
                       double y1) {
    GstDvObject* object =
        gst_dv_objects_meta_add_object(meta, GST_DV_OBJECT_DETECTION, 1, label, 0.9f);
    gst_dv_object_set_box(object, x0, y0, x1, y1);
    object->network = network;
  };
  add(0, "face", 10, 10, 30, 20);
  add(1, "car", 40, 8, 100, 40);
  add(0, "hand", 120, 50, 126, 60);
  add(0, "face", 5, 5, 5, 5);  // no box
  GstDvObject* map = gst_dv_objects_meta_add_object(meta, GST_DV_OBJECT_SEGMENTATION, 0, "map", 1);
  gst_dv_object_set_box(map, 0, 0, 100, 60);
  return frame;
}

// The parts of the frame that the network is shown, in words: "x,y,width,height ...".
std::string looked_at(const std::string& properties, GstBuffer* frame) {
  GstHarness* h =
      chain("dvconvert regions=objects " + properties + " ! " + infer(Looks::kUpperRed), caps());
  GstBuffer* out = gst_harness_push_and_pull(h, frame);
  std::string text;
  gpointer state = nullptr;
  while (GstMeta* meta =
             gst_buffer_iterate_meta_filtered(out, &state, GST_DV_TENSOR_META_API_TYPE)) {
    const auto* t = reinterpret_cast<const GstDvTensorMeta*>(meta);
    ck_assert_int_eq(t->region_kind, GST_DV_REGION_OBJECT);
    ck_assert_ptr_nonnull(
        gst_dv_objects_meta_find_object(gst_buffer_get_dv_objects_meta(out), t->object));
    for (const double value : {t->x0, t->y0, t->x1 - t->x0, t->y1 - t->y0}) {
      text += std::to_string(std::lround(value)) + ",";
    }
    text.back() = ' ';
  }
  gst_buffer_unref(out);
  gst_harness_teardown(h);
  return text;
}

void expect_looked_at(const std::string& properties, const std::string& wanted) {
  const std::string have = looked_at(properties, frame_with_objects());
  ck_assert_msg(have == wanted, "%s: %s, not %s", properties.c_str(), have.c_str(), wanted.c_str());
}

}  // namespace

DVNN_TEST(an_objects_parts_are_what_is_found_on_its_box_alone) {
  size_t parts = 0;
  GstHarness* h = chain(first() + second() + " ! dvdecode", caps());
  for (guint64 number = 0; number < 12; ++number) {
    GstBuffer* out = gst_harness_push_and_pull(h, grid_frame(kWidth, kHeight, number));
    const Tree tree = tree_of(out);
    ck_assert_uint_gt(tree.wholes.size(), 0);
    for (size_t i = 0; i < tree.wholes.size(); ++i) {
      dvnn_assert_text(tree.wholes[i].label, "red");
      std::vector<Found> mine;
      for (size_t k = 0; k < tree.parts.size(); ++k) {
        if (tree.owner[k] == i) mine.push_back(tree.parts[k]);
      }
      constexpr double kRounding = 1e-9;
      dvnn_assert_text(difference(mine, parts_of(tree.wholes[i], number), kRounding), "");
      parts += mine.size();
    }
    gst_buffer_unref(out);
  }
  ck_assert_uint_gt(parts, 0);
  gst_harness_teardown(h);
}

DVNN_TEST(objects_are_chosen_by_network_class_and_size) {
  const std::string face = "10,10,20,10 ", car = "40,8,60,32 ", hand = "120,50,6,10 ";
  expect_looked_at("", face + car + hand);
  expect_looked_at("object-network=cars", car);
  expect_looked_at("object-class=hand,face", face + hand);
  expect_looked_at("object-network=cars object-class=face", "");
  expect_looked_at("min-size=0.171875", face + car);
  expect_looked_at("max-size=0.5", face + hand);
}

DVNN_TEST(a_margin_ends_at_the_frame) {
  dvnn_assert_text(looked_at("margin=0.5 object-class=face", frame_with_objects()), "0,5,40,20 ");
  dvnn_assert_text(looked_at("margin=1 object-class=hand", frame_with_objects()), "114,40,14,24 ");
}

DVNN_TEST(what_the_first_network_has_not_seen_the_second_does_not_see) {
  GstHarness* h = chain("dvconvert ! " + infer(Looks::kRed, "interval-frames=2") + " ! dvdecode" +
                            second() + " ! dvdecode",
                        caps());
  for (guint64 number = 0; number < 6; ++number) {
    GstBuffer* in = grid_frame(kWidth, kHeight, number);
    GST_BUFFER_PTS(in) = number * GST_SECOND;
    GstBuffer* out = gst_harness_push_and_pull(h, in);
    const Passes seen = passes(out);
    ck_assert_int_eq(seen.inferred, number % 2 == 0 ? 2 : 0);
    ck_assert_int_eq(seen.skipped, number % 2 == 0 ? 0 : 2);
    gst_buffer_unref(out);
  }
  gst_harness_teardown(h);
  // Where it has, and has found nothing, there is nothing to see.
  h = chain(first() + second() + " ! dvdecode", caps());
  GstBuffer* black = gst_buffer_new_allocate(nullptr, kWidth * kHeight * 3, nullptr);
  gst_buffer_memset(black, 0, 0, kWidth * kHeight * 3);
  GstBuffer* out = gst_harness_push_and_pull(h, black);
  ck_assert_int_eq(passes(out).inferred, 2);
  GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(out);
  ck_assert_uint_eq(gst_dv_objects_meta_get_pass(meta, 1)->regions, 0);
  gst_buffer_unref(out);
  gst_harness_teardown(h);
}

DVNN_TEST(regions_of_interest_say_whose_parts_they_are) {
  GstHarness* h = chain(first() + second() + " ! dvdecode", caps());
  GstBuffer* out = gst_harness_push_and_pull(h, grid_frame(kWidth, kHeight, 1));
  gpointer state = nullptr;
  int parts = 0;
  while (GstMeta* meta = gst_buffer_iterate_meta_filtered(
             out, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
    const auto* roi = reinterpret_cast<const GstVideoRegionOfInterestMeta*>(meta);
    const bool is_part = g_strcmp0(g_quark_to_string(roi->roi_type), "upper") == 0;
    ck_assert_int_eq(roi->parent_id > 0, is_part);
    if (!is_part) continue;
    ++parts;
    const auto* whole = gst_buffer_get_video_region_of_interest_meta_id(out, roi->parent_id);
    ck_assert_ptr_nonnull(whole);
    ck_assert_str_eq(g_quark_to_string(whole->roi_type), "red");
  }
  ck_assert_int_gt(parts, 0);
  gst_buffer_unref(out);
  gst_harness_teardown(h);
}

namespace {

// dvdecode on the output of a network that was shown an object's region.
GstBuffer* with_output(GstHarness* h, GstBuffer* frame, guint64 id, GstDvNetworkInfo* network,
                       const std::vector<float>& values) {
  GstDvTensorMeta* meta = gst_buffer_add_dv_tensor_meta(frame, 1);
  meta->network = gst_dv_network_info_ref(network);
  meta->input_width = meta->input_height = 10;
  meta->region_kind = GST_DV_REGION_OBJECT;
  meta->object = id;
  meta->transform = {0.5, -5, 1, -10, FALSE, 0, 0};
  meta->x0 = 10, meta->y0 = 10, meta->x1 = 30, meta->y1 = 20;
  set_floats(&meta->tensors[0], "out", {1, values.size()}, values.data());
  return gst_harness_push_and_pull(h, frame);
}

GstBuffer* with_embedding(GstHarness* h, GstBuffer* frame, guint64 id) {
  static const gchar* const labels[] = {nullptr};
  static GstDvNetworkInfo* const network =
      gst_dv_network_info_new("faces", "embedding", "{}", labels);
  return with_output(h, frame, id, network, {3, 4});
}

GstBuffer* with_number(GstHarness* h, GstBuffer* frame, guint64 id, const std::string& name,
                       float value) {
  static const gchar* const labels[] = {nullptr};
  GstDvNetworkInfo* network = gst_dv_network_info_new(
      "numbers", "number", ("{\"names\": [\"" + name + "\"]}").c_str(), labels);
  GstBuffer* out = with_output(h, frame, id, network, {value});
  gst_dv_network_info_unref(network);
  return out;
}

GstDvObject* object_at(GstBuffer* frame, guint index) {
  return gst_dv_objects_meta_get_object(gst_buffer_get_dv_objects_meta(frame), index);
}

guint count_objects(GstBuffer* frame) {
  return gst_dv_objects_meta_get_n_objects(gst_buffer_get_dv_objects_meta(frame));
}

}  // namespace

DVNN_TEST(what_is_known_of_an_object_becomes_its_own) {
  GstHarness* h = chain("dvdecode", caps());
  GstBuffer* frame = frame_with_objects();
  const guint before = count_objects(frame);
  GstBuffer* out = with_embedding(h, frame, object_at(frame, 0)->id);
  ck_assert_uint_eq(count_objects(out), before);
  gsize length = 0;
  const gfloat* embedding = gst_dv_object_get_embedding(object_at(out, 0), &length);
  ck_assert_uint_eq(length, 2);
  ck_assert_float_eq_tol(embedding[0], 0.6f, 1e-6f);
  ck_assert_ptr_null(gst_dv_object_get_embedding(object_at(out, 1), &length));
  // A second one would replace it: it is a part then.
  out = with_embedding(h, gst_buffer_make_writable(out), object_at(out, 0)->id);
  ck_assert_uint_eq(count_objects(out), before + 1);
  const GstDvObject* part = object_at(out, before);
  ck_assert_uint_eq(part->parent, object_at(out, 0)->id);
  ck_assert_int_eq(part->kind, GST_DV_OBJECT_ATTRIBUTES);
  ck_assert(part->x0 == 10 && part->y0 == 10 && part->x1 == 30 && part->y1 == 20);
  // An object that was removed meanwhile has no parts.
  out = with_embedding(h, gst_buffer_make_writable(out), 1u << 30);
  ck_assert_uint_eq(object_at(out, before + 1)->parent, 0);
  gst_buffer_unref(out);
  gst_harness_teardown(h);
}

DVNN_TEST(a_number_that_an_object_has_already_stays) {
  GstHarness* h = chain("dvdecode", caps());
  GstBuffer* frame = frame_with_objects();
  const guint before = count_objects(frame);
  const guint64 id = object_at(frame, 0)->id;
  GstBuffer* out = with_number(h, frame, id, "age", 34);
  out = with_number(h, gst_buffer_make_writable(out), id, "height", 180);
  ck_assert_uint_eq(count_objects(out), before);
  out = with_number(h, gst_buffer_make_writable(out), id, "age", 35);
  ck_assert_uint_eq(count_objects(out), before + 1);
  const GstDvObject *whole = object_at(out, 0), *part = object_at(out, before);
  gdouble value = 0;
  ck_assert(gst_dv_object_find_number(whole, "age", &value) && value == 34);
  ck_assert(gst_dv_object_find_number(whole, "height", &value) && value == 180);
  ck_assert_uint_eq(part->parent, id);
  ck_assert(gst_dv_object_find_number(part, "age", &value) && value == 35);
  gst_buffer_unref(out);
  gst_harness_teardown(h);
}

namespace {

// A frame of the time `ms` with tracked objects whose boxes begin at `x`, each of one cell.
GstBuffer* tracked_frame(guint64 ms, int x, int tracks, double size = 16) {
  GstBuffer* frame = grid_frame(kWidth, kHeight, 1);
  GST_BUFFER_PTS(frame) = ms * GST_MSECOND;
  GstDvObjectsMeta* meta = gst_buffer_add_dv_objects_meta(frame);
  gst_dv_objects_meta_add_pass(meta, "first", GST_DV_PASS_INFERRED);
  for (int i = 0; i < tracks; ++i) {
    GstDvObject* object =
        gst_dv_objects_meta_add_object(meta, GST_DV_OBJECT_DETECTION, 1, "thing", 0.9f);
    gst_dv_object_set_box(object, x, 16 * i, x + 2 * size, 16 * i + size);
    object->network = 0;
    object->track_id = static_cast<guint64>(i) + 1;
  }
  return frame;
}

guint looks_of(GstBuffer* frame) {
  GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
  return gst_dv_objects_meta_get_pass(meta, 1)->regions;
}

GstHarness* looker(const std::string& properties) {
  return chain(
      "dvconvert regions=objects " + properties + " ! " + infer(Looks::kRed) + " ! dvdecode",
      caps());
}

}  // namespace

DVNN_TEST(a_track_keeps_its_result_until_it_is_looked_at_again) {
  GstHarness* h = looker("refresh-ms=100");
  std::vector<Found> parts;
  for (int frame = 0; frame < 8; ++frame) {
    const int moved = frame < 3 ? frame : 0;  // pixels
    GstBuffer* out =
        gst_harness_push_and_pull(h, tracked_frame(static_cast<guint64>(frame) * 40, moved, 4));
    const bool looked = frame % 3 == 0;
    ck_assert_uint_eq(looks_of(out), looked ? 4 : 0);
    const Tree tree = tree_of(out);
    ck_assert_uint_eq(tree.wholes.size(), 4);
    ck_assert_uint_gt(tree.parts.size(), 0);
    if (frame == 0) parts = tree.parts;
    std::vector<Found> wanted = parts;
    for (Found& part : wanted) part.x0 += moved, part.x1 += moved;
    dvnn_assert_text(difference(tree.parts, wanted, 1e-9), "");
    GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(out);
    for (guint i = 0; i < gst_dv_objects_meta_get_n_objects(meta); ++i) {
      const GstDvObject* object = gst_dv_objects_meta_get_object(meta, i);
      ck_assert_int_eq(object->predicted, object->parent != 0 && !looked);
    }
    gst_buffer_unref(out);
  }
  gst_harness_teardown(h);
}

DVNN_TEST(a_track_that_grows_is_looked_at_and_its_result_with_it) {
  GstHarness* h = looker("refresh-ms=100000");
  const double sizes[] = {10, 11, 11.9, 12, 13};
  const guint looks[] = {1, 0, 0, 1, 0};
  Tree first;
  for (guint i = 0; i < 5; ++i) {
    GstBuffer* out = gst_harness_push_and_pull(h, tracked_frame(i * 40, 0, 1, sizes[i]));
    ck_assert_uint_eq(looks_of(out), looks[i]);
    const Tree tree = tree_of(out);
    if (i == 0) first = tree;
    if (i == 1) {
      // What is kept grows as the box does.
      ck_assert_uint_eq(tree.parts.size(), first.parts.size());
      for (size_t k = 0; k < tree.parts.size(); ++k) {
        ck_assert_double_eq_tol(tree.parts[k].x1, first.parts[k].x1 * 1.1, 1e-9);
        ck_assert_double_eq_tol(tree.parts[k].y0, first.parts[k].y0 * 1.1, 1e-9);
      }
    }
    gst_buffer_unref(out);
  }
  gst_harness_teardown(h);
}

DVNN_TEST(some_of_a_frames_objects_are_looked_at_in_turn) {
  GstHarness* h = looker("max-per-frame=2");
  for (int frame = 0; frame < 6; ++frame) {
    GstBuffer* out =
        gst_harness_push_and_pull(h, tracked_frame(static_cast<guint64>(frame) * 40, 0, 4));
    ck_assert_uint_eq(looks_of(out), 2);
    // From the second frame on all are known.
    const Tree tree = tree_of(out);
    std::vector<bool> has(4);
    for (size_t owner : tree.owner) has[owner] = true;
    GstHarness* all = looker("");
    GstBuffer* complete = gst_harness_push_and_pull(all, tracked_frame(0, 0, 4));
    const Tree wanted = tree_of(complete);
    std::vector<bool> could(4);
    for (size_t owner : wanted.owner) could[owner] = true;
    for (size_t i = 0; i < 4; ++i) ck_assert(has[i] == (could[i] && (frame > 0 || i < 2)));
    gst_buffer_unref(complete);
    gst_harness_teardown(all);
    gst_buffer_unref(out);
  }
  gst_harness_teardown(h);
}

DVNN_TEST(the_rate_of_looks_is_limited) {
  GstHarness* h = looker("max-rate=5");
  guint looks = 0;
  for (guint64 frame = 0; frame < 100; ++frame) {
    GstBuffer* out = gst_harness_push_and_pull(h, tracked_frame(frame * 40, 0, 4));
    looks += looks_of(out);
    gst_buffer_unref(out);
  }
  // Four seconds, and a second's at the start.
  ck_assert_uint_ge(looks, 22);
  ck_assert_uint_le(looks, 25);
  gst_harness_teardown(h);
}

DVNN_TEST(a_track_that_another_object_takes_over_elsewhere_has_no_old_result) {
  GstHarness* h = looker("refresh-ms=100000");
  gst_buffer_unref(gst_harness_push_and_pull(h, tracked_frame(5000, 0, 1)));
  // The stream jumps back: track 1 is somebody else.
  GstBuffer* out = gst_harness_push_and_pull(h, tracked_frame(40, 0, 1));
  ck_assert_uint_eq(looks_of(out), 1);
  gst_buffer_unref(out);
  gst_harness_teardown(h);
}

DVNN_TEST(hundreds_of_objects_are_looked_at_one_after_the_other) {
  const std::string many = "dvinfer network=" + grid_path(Looks::kRed, 16);
  for (const char* properties : {"max-in-flight=1", "max-in-flight=3"}) {
    const std::string line = painted_source(12, "", "src", kWidth, kHeight) + "dvconvert ! " +
                             many +
                             " ! dvdecode max-detections=1000 ! queue ! dvconvert "
                             "regions=objects ! queue max-size-buffers=2 ! " +
                             infer(Looks::kUpperRed, properties) +
                             " ! queue ! dvdecode max-detections=10000 ! "
                             "fakesink name=out async=false";
    Pipeline pipeline(line);
    demand(&pipeline, pipeline.play_to_end());
    const std::vector<Arrival> arrivals = pipeline.arrivals();
    demand(&pipeline, pipeline.stop());
    ck_assert_uint_eq(arrivals.size(), 12);
    size_t most = 0;
    for (const Arrival& arrival : arrivals) {
      ck_assert_int_eq(arrival.passes.inferred, 2);
      const auto wholes = std::count_if(arrival.found.begin(), arrival.found.end(),
                                        [](const Found& f) { return f.label == "red"; });
      most = std::max(most, static_cast<size_t>(wholes));
    }
    ck_assert_uint_gt(most, 60);
  }
}

}  // namespace dvnn::test::region_objects_tests
