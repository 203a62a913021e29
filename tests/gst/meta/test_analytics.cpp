// SPDX-License-Identifier: Apache-2.0
// Objects as GstAnalyticsRelationMeta, written for upstream's elements and read from them.
#include <cmath>

#include "analytics_fixture.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst/dvnn/gstdvtensormeta.h"
#include "meta/exchange/analytics.h"

namespace dvnn::test::analytics_tests {

DVNN_GST_SUITE(gst_analytics);

using dvnn::gst::AnalyticsObject;
using dvnn::gst::export_analytics;
using dvnn::gst::read_analytics;

namespace {

constexpr int kSize = 64;  // of frames, pixels

gsize count_entries(GstBuffer* frame) {
  GstAnalyticsRelationMeta* meta = gst_buffer_get_analytics_relation_meta(frame);
  return meta ? gst_analytics_relation_get_length(meta) : 0;
}

guint count_regions(GstBuffer* frame) {
  return gst_buffer_get_n_meta(frame, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE);
}

GstBuffer* gray_frame() {
  GstBuffer* frame = gst_buffer_new_allocate(nullptr, kSize * kSize * 3, nullptr);
  gst_buffer_memset(frame, 0, 128, kSize * kSize * 3);
  return frame;
}

GstDvObject* add_object(GstBuffer* frame, GstDvObjectKind kind, const char* label, float confidence,
                        double x0, double y0, double x1, double y1) {
  GstDvObjectsMeta* meta = gst_buffer_add_dv_objects_meta(frame);
  GstDvObject* object = gst_dv_objects_meta_add_object(meta, kind, 0, label, confidence);
  gst_dv_object_set_box(object, x0, y0, x1, y1);
  return object;
}

GstAnalyticsRelTypes relation(GstBuffer* frame, const GstDvObject* from, const GstDvObject* to) {
  ck_assert(from->analytics_id > 0 && to->analytics_id > 0);
  return gst_analytics_relation_meta_get_relation(gst_buffer_get_analytics_relation_meta(frame),
                                                  from->analytics_id - 1, to->analytics_id - 1);
}

}  // namespace

DVNN_TEST(detections_are_written_with_type_box_and_confidence) {
  Line line(grid_infer() + " ! dvdecode", kSize, kSize);
  GstBuffer* out = line.push(red_square("RGB", kSize, kSize, 2, 1));
  const std::vector<Entry> list = entries(out);
  ck_assert_uint_eq(list.size(), 1);
  dvnn_assert_text(list[0].label, "red");
  ck_assert(list[0].x == 32 && list[0].y == 16 && list[0].w == 16 && list[0].h == 16);
  const GstDvObject* object =
      gst_dv_objects_meta_get_object(gst_buffer_get_dv_objects_meta(out), 0);
  ck_assert_float_eq(list[0].confidence, object->confidence);
  ck_assert_uint_eq(object->analytics_id, list[0].id + 1);
  gst_buffer_unref(out);
}

DVNN_TEST(exports_choose_which_metas_are_written) {
  const struct {
    const char* exports;
    gsize entries;
    guint regions;
  } cases[] = {{"0", 0, 0}, {"regions", 0, 1}, {"analytics", 1, 0}, {"regions+analytics", 1, 1}};
  for (const auto& c : cases) {
    Line line(grid_infer() + " ! dvdecode exports=" + c.exports, kSize, kSize);
    GstBuffer* out = line.push(red_square("RGB", kSize, kSize, 0, 0));
    ck_assert_msg(count_entries(out) == c.entries && count_regions(out) == c.regions,
                  "exports=%s: %zu entries, %u regions", c.exports, count_entries(out),
                  count_regions(out));
    ck_assert(found_square(out, kSize, kSize, 0, 0));
    gst_buffer_unref(out);
  }
}

DVNN_TEST(two_decoders_write_each_object_once) {
  Line line(grid_infer() + " ! dvdecode ! " + grid_infer() + " ! dvdecode ! dvdecode", kSize,
            kSize);
  GstBuffer* out = line.push(red_square("RGB", kSize, kSize, 3, 0));
  ck_assert_uint_eq(detections(out).size(), 2);
  ck_assert_uint_eq(count_entries(out), 2);
  ck_assert(read_analytics(out, 100).empty());  // none of them is somebody else's
  gst_buffer_unref(out);
}

DVNN_TEST(entries_stay_ours_where_frames_are_scaled) {
  Line line(
      grid_infer() + " ! dvdecode ! videoscale ! capsfilter caps=video/x-raw,width=96,height=96",
      kSize, kSize);
  GstBuffer* out = line.push(red_square("RGB", kSize, kSize, 2, 1));
  const std::vector<Entry> list = entries(out);
  ck_assert_uint_eq(list.size(), 1);
  ck_assert(list[0].x == 48 && list[0].y == 24 && list[0].w == 24 && list[0].h == 24);
  ck_assert(found_square(out, 96, 96, 2, 1));
  ck_assert(read_analytics(out, 100).empty());
  gst_buffer_unref(out);
}

DVNN_TEST(parts_classes_and_tracks_are_related) {
  GstBuffer* frame = gray_frame();
  // The part first: parents may come later in the list.
  GstDvObject* part =
      add_object(frame, GST_DV_OBJECT_DETECTION, "wheel", 0.5f, 10.5, 20.5, 15.25, 25.75);
  GstDvObject* whole = add_object(frame, GST_DV_OBJECT_DETECTION, "car", 0.75f, 5, 10, 30, 30);
  GstDvObject* color =
      add_object(frame, GST_DV_OBJECT_CLASSIFICATION, "green", 0.25f, 5, 10, 30, 30);
  add_object(frame, GST_DV_OBJECT_DETECTION, "nowhere", 0.5f, 0, 0, 0, 0);
  part->parent = color->parent = whole->id;
  whole->track_id = G_GUINT64_CONSTANT(0x123456789abc);
  export_analytics(frame);

  const std::vector<Entry> list = entries(frame);
  ck_assert_uint_eq(list.size(), 2);  // what has no place is no rectangle
  ck_assert_uint_eq(count_entries(frame), 4);
  dvnn_assert_text(list[0].label, "wheel");
  ck_assert(list[0].x == 10 && list[0].y == 20 && list[0].w == 6 && list[0].h == 6);
  ck_assert_int_eq(relation(frame, part, whole), GST_ANALYTICS_REL_TYPE_IS_PART_OF);
  ck_assert_int_eq(relation(frame, whole, part), GST_ANALYTICS_REL_TYPE_CONTAIN);
  ck_assert_int_eq(relation(frame, whole, color), GST_ANALYTICS_REL_TYPE_RELATE_TO);
  ck_assert_int_eq(relation(frame, color, whole), GST_ANALYTICS_REL_TYPE_RELATE_TO);
  ck_assert_int_eq(relation(frame, part, color), GST_ANALYTICS_REL_TYPE_NONE);
  ck_assert_uint_eq(track_of(frame, whole->analytics_id - 1), whole->track_id);
  ck_assert_uint_eq(track_of(frame, part->analytics_id - 1), 0);
  GstAnalyticsClsMtd cls;
  ck_assert(gst_analytics_relation_meta_get_cls_mtd(gst_buffer_get_analytics_relation_meta(frame),
                                                    color->analytics_id - 1, &cls));
  ck_assert_float_eq(gst_analytics_cls_mtd_get_level(&cls, 0), 0.25f);
  ck_assert_str_eq(g_quark_to_string(gst_analytics_cls_mtd_get_quark(&cls, 0)), "green");
  gst_buffer_unref(frame);
}

DVNN_TEST(classes_of_one_thing_are_one_entry) {
  GstBuffer* frame = gray_frame();
  const struct {
    const char* label;
    float confidence;
    double x1;
  } classes[] = {{"cat", 0.5f, 64}, {"dog", 0.25f, 64}, {"cow", 0.125f, 64}, {"left", 0.5f, 32}};
  std::vector<const GstDvObject*> objects;
  for (const auto& c : classes) {
    objects.push_back(
        add_object(frame, GST_DV_OBJECT_CLASSIFICATION, c.label, c.confidence, 0, 0, c.x1, 64));
  }
  for (int time = 0; time < 2; ++time) {
    export_analytics(frame);
    ck_assert_uint_eq(count_entries(frame), 2);
    GstAnalyticsClsMtd cls;
    for (size_t i = 0; i < objects.size(); ++i) {
      ck_assert(gst_analytics_relation_meta_get_cls_mtd(
          gst_buffer_get_analytics_relation_meta(frame), objects[i]->analytics_id - 1, &cls));
      const gsize at = i < 3 ? i : 0;
      ck_assert_uint_eq(gst_analytics_cls_mtd_get_length(&cls), i < 3 ? 3 : 1);
      ck_assert_float_eq(gst_analytics_cls_mtd_get_level(&cls, at), classes[i].confidence);
      ck_assert_str_eq(g_quark_to_string(gst_analytics_cls_mtd_get_quark(&cls, at)),
                       classes[i].label);
    }
    ck_assert(read_analytics(frame, 100).empty());
  }
  gst_buffer_unref(frame);
}

DVNN_TEST(what_is_written_already_is_not_written_again) {
  GstBuffer* frame = gray_frame();
  GstDvObject* object = add_object(frame, GST_DV_OBJECT_DETECTION, "car", 0.75f, 5, 10, 30, 30);
  export_analytics(frame);
  export_analytics(frame);
  ck_assert_uint_eq(count_entries(frame), 1);
  object->track_id = 7;  // a tracker was here
  export_analytics(frame);
  export_analytics(frame);
  ck_assert_uint_eq(count_entries(frame), 2);
  ck_assert_uint_eq(track_of(frame, object->analytics_id - 1), 7);
  // A copy of the frame holds the same objects and the same entries.
  GstBuffer* copy = gst_buffer_copy(frame);
  export_analytics(copy);
  ck_assert_uint_eq(count_entries(copy), 2);
  // Somebody has made the meta anew: the same number is another's now, and says so.
  GstAnalyticsRelationMeta* meta = gst_buffer_get_analytics_relation_meta(copy);
  gst_buffer_remove_meta(copy, reinterpret_cast<GstMeta*>(meta));
  GstAnalyticsODMtd other;
  gst_analytics_relation_meta_add_od_mtd(gst_buffer_add_analytics_relation_meta(copy),
                                         g_quark_from_string("car"), 1, 1, 5, 5, 0.5f, &other);
  ck_assert_uint_eq(read_analytics(copy, 100).size(), 1);
  export_analytics(copy);
  ck_assert_uint_eq(entries(copy).size(), 2);
  ck_assert_uint_eq(read_analytics(copy, 100).size(), 1);
  gst_buffer_unref(copy);
  gst_buffer_unref(frame);
}

DVNN_TEST(there_is_a_limit_to_entries) {
  GstBuffer* frame = gray_frame();
  for (gsize i = 0; i < dvnn::gst::kMaxAnalyticsEntries + 10; ++i) {
    add_object(frame, GST_DV_OBJECT_DETECTION, "car", 0.75f, 5, 10, 30, 30)->track_id = i + 1;
  }
  export_analytics(frame);
  ck_assert_uint_eq(count_entries(frame), dvnn::gst::kMaxAnalyticsEntries);
  gst_buffer_unref(frame);
}

DVNN_TEST(what_others_have_written_is_read) {
  GstBuffer* frame = gray_frame();
  add_object(frame, GST_DV_OBJECT_DETECTION, "ours", 0.5f, 1, 2, 3, 4);
  export_analytics(frame);
  GstAnalyticsRelationMeta* meta = gst_buffer_get_analytics_relation_meta(frame);
  GstAnalyticsMtd car, wheel, kinds, scene, track;
  gst_analytics_relation_meta_add_od_mtd(meta, g_quark_from_string("car"), -3, 10, 20, 30, 0.75f,
                                         &car);
  gst_analytics_relation_meta_add_od_mtd(meta, 0, 5, 6, 7, 8, 0.25f, &wheel);
  gfloat levels[] = {0.125f, 0.625f};
  GQuark classes[] = {g_quark_from_string("tyre"), g_quark_from_string("rim")};
  gst_analytics_relation_meta_add_cls_mtd(meta, 2, levels, classes, &kinds);
  gst_analytics_relation_meta_add_one_cls_mtd(meta, 0.5f, g_quark_from_string("street"), &scene);
  gst_analytics_relation_meta_add_tracking_mtd(meta, 42, 0, &track);
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_IS_PART_OF, wheel.id,
                                           car.id);
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_RELATE_TO, wheel.id,
                                           kinds.id);
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_RELATE_TO, car.id,
                                           track.id);
  const std::vector<AnalyticsObject> list = read_analytics(frame, 100);
  ck_assert_uint_eq(list.size(), 3);
  ck_assert(list[0].is_detection && list[1].is_detection && !list[2].is_detection);
  ck_assert_str_eq(g_quark_to_string(list[0].label), "car");
  ck_assert(list[0].box.x0 == -3 && list[0].box.y0 == 10 && list[0].box.x1 == 17 &&
            list[0].box.y1 == 40);
  ck_assert_float_eq(list[0].confidence, 0.75f);
  ck_assert_uint_eq(list[0].track_id, 42);
  ck_assert(!list[0].is_part && list[1].is_part);
  ck_assert_uint_eq(list[1].whole, list[0].entry);
  ck_assert_str_eq(g_quark_to_string(list[1].label), "rim");
  ck_assert_float_eq(list[1].confidence, 0.625f);
  ck_assert_str_eq(g_quark_to_string(list[2].label), "street");
  ck_assert_uint_eq(read_analytics(frame, 1).size(), 1);
  gst_buffer_unref(frame);
}

DVNN_TEST(dvconvert_looks_at_what_others_have_written) {
  GstBuffer* frame = red_square("RGB", 64, 64, 1, 1);
  GstAnalyticsRelationMeta* meta = gst_buffer_add_analytics_relation_meta(frame);
  const auto add = [&](const char* type, gint x, gint y, gint w, gint h) {
    GstAnalyticsODMtd mtd;
    ck_assert(gst_analytics_relation_meta_add_od_mtd(meta, g_quark_from_string(type), x, y, w, h,
                                                     0.5f, &mtd));
  };
  add("plate", 8, 4, 20, 10);
  add("face", 32, 32, 16, 16);
  add("plate", 40, 40, 100, 100);
  // Written twice, it is one region.
  gst_buffer_add_video_region_of_interest_meta(frame, "plate", 8, 4, 20, 10);
  const auto seen = [&](const std::string& types) {
    Line line("dvconvert regions=list region-metas=" + types + " ! " + grid_infer(), 64, 64);
    GstBuffer* out = line.push(gst_buffer_copy(frame));
    std::string text;
    gpointer state = nullptr;
    while (GstMeta* found =
               gst_buffer_iterate_meta_filtered(out, &state, GST_DV_TENSOR_META_API_TYPE)) {
      const auto* tensors = reinterpret_cast<const GstDvTensorMeta*>(found);
      text += std::string(g_quark_to_string(tensors->region_name)) + " " +
              std::to_string(std::lround(tensors->x0)) + "," +
              std::to_string(std::lround(tensors->y1)) + " ";
    }
    gst_buffer_unref(out);
    return text;
  };
  dvnn_assert_text(seen("plate,sign"), "plate 8,14 plate 40,64 ");
  dvnn_assert_text(seen("*"), "plate 8,14 face 32,48 plate 40,64 ");
  dvnn_assert_text(seen("sign"), "");
  gst_buffer_unref(frame);
}

DVNN_TEST(dvoverlay_draws_what_others_have_written) {
  Line line("dvoverlay line-width=2 draw-labels=false draw-confidence=false", kSize, kSize);
  GstBuffer* frame = gray_frame();
  GstAnalyticsODMtd mtd;
  gst_analytics_relation_meta_add_od_mtd(gst_buffer_add_analytics_relation_meta(frame),
                                         g_quark_from_string("thing"), 10, 20, 30, 16, 0.5f, &mtd);
  const std::vector<guint8> seen = pushed(&line, frame);
  for (int y = 0; y < kSize; ++y) {
    for (int x = 0; x < kSize; ++x) {
      const guint8* pixel = &seen[static_cast<size_t>(3 * (y * kSize + x))];
      const bool gray = pixel[0] == 128 && pixel[1] == 128 && pixel[2] == 128;
      const bool in = x >= 10 && x < 40 && y >= 20 && y < 36;
      const bool line_here = in && (x < 12 || x >= 38 || y < 22 || y >= 34);
      ck_assert_msg(gray != line_here, "pixel %d,%d", x, y);
    }
  }
}

DVNN_TEST(dvoverlay_draws_objects_once) {
  Line line("dvoverlay", kSize, kSize);
  std::vector<guint8> seen[2];
  for (const bool exported : {false, true}) {
    GstBuffer* frame = gray_frame();
    add_object(frame, GST_DV_OBJECT_DETECTION, "ours", 0.5f, 10.25, 20.25, 40.5, 36.5);
    if (exported) export_analytics(frame);
    seen[exported] = pushed(&line, frame);
  }
  ck_assert(seen[0] == seen[1]);
  const std::vector<guint8> gray(seen[0].size(), 128);
  ck_assert(seen[0] != gray);
}

#if GST_CHECK_VERSION(1, 26, 0)
DVNN_TEST(maps_of_classes_are_segmentations) {
  GstBuffer* frame = gst_buffer_new_allocate(nullptr, 16, nullptr);
  GstDvObject* object = gst_dv_objects_meta_add_object(gst_buffer_add_dv_objects_meta(frame),
                                                       GST_DV_OBJECT_SEGMENTATION, 0, "", 1);
  const guint8 cells[] = {0, 7, 7, 2, 0, 0};
  GBytes* bytes = g_bytes_new(cells, sizeof(cells));
  ck_assert(gst_dv_object_set_mask(object, -8, 0, 72.5, 40, 3, 2, bytes));
  g_bytes_unref(bytes);
  // Written once, however often.
  for (int times = 0; times < 2; ++times) dvnn::gst::export_analytics(frame);
  GstAnalyticsRelationMeta* meta = gst_buffer_get_analytics_relation_meta(frame);
  ck_assert_uint_eq(gst_analytics_relation_get_length(meta), 1);
  ck_assert_uint_eq(object->analytics_id, 1);
  GstAnalyticsSegmentationMtd entry;
  ck_assert(gst_analytics_relation_meta_get_segmentation_mtd(meta, 0, &entry));
  ck_assert_uint_eq(gst_analytics_segmentation_mtd_get_region_count(&entry), 3);
  const guint ids[] = {0, 2, 7};
  for (gsize i = 0; i < 3; ++i) {
    ck_assert_uint_eq(gst_analytics_segmentation_mtd_get_region_id(&entry, i), ids[i]);
  }
  gint x = 0, y = 0;
  guint w = 0, h = 0;
  GstBuffer* mask = gst_analytics_segmentation_mtd_get_mask(&entry, &x, &y, &w, &h);
  ck_assert(x == -8 && y == 0 && w == 81 && h == 40);
  ck_assert_int_eq(gst_buffer_memcmp(mask, 0, cells, sizeof(cells)), 0);
  ck_assert_uint_eq(gst_buffer_get_video_meta(mask)->width, 3);
  gst_buffer_unref(mask);
  gst_buffer_unref(frame);
}
#endif

}  // namespace dvnn::test::analytics_tests
