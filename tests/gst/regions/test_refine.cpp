// SPDX-License-Identifier: Apache-2.0
// A second network that corrects what the first one has found: its boxes take the objects' places.
#include <gst/video/video.h>

#include "decode_fixture.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst/dvnn/gstdvtensormeta.h"
#include "streams.h"
#include "watched_suite.h"

namespace dvnn::test::refine_tests {

DVNN_WATCHED_SUITE(gst_refine);

namespace {

constexpr int kWidth = 128, kHeight = 64;

std::string caps() {
  return video_caps("RGB", kWidth, kHeight);
}

// Two networks, of which the second one sees the boxes of the first.
std::string both(const std::string& decode) {
  return "dvconvert ! " + infer(Looks::kRed) + " ! dvdecode ! dvconvert regions=objects ! " +
         infer(Looks::kUpperRed) + " ! dvdecode " + decode;
}

guint count_regions(GstBuffer* frame) {
  guint count = 0;
  gpointer state = nullptr;
  while (
      gst_buffer_iterate_meta_filtered(frame, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
    ++count;
  }
  return count;
}

std::vector<Found> labelled(const std::vector<Found>& all, const char* label) {
  std::vector<Found> some;
  for (const Found& one : all) {
    if (one.label == label) some.push_back(one);
  }
  return some;
}

}  // namespace

DVNN_TEST(refined_boxes_take_the_objects_places) {
  GstHarness* parts = chain(both(""), caps());
  GstHarness* refined = chain(both("refine=true merge-threshold=1"), caps());
  size_t all = 0;
  for (guint64 number = 0; number < 12; ++number) {
    GstBuffer* with_wholes = gst_harness_push_and_pull(parts, grid_frame(kWidth, kHeight, number));
    GstBuffer* out = gst_harness_push_and_pull(refined, grid_frame(kWidth, kHeight, number));
    const std::vector<Found> before = detections(with_wholes), found = detections(out);
    const std::vector<Found> wanted = labelled(before, "upper");
    ck_assert_uint_lt(wanted.size(), before.size());
    constexpr double kRounding = 1e-9;
    dvnn_assert_text(difference(found, wanted, kRounding), "");
    // Nor has the frame anything else of the objects that were there.
    ck_assert_uint_eq(count_regions(out), found.size());
    const GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(out);
    ck_assert_uint_eq(gst_dv_objects_meta_get_n_objects(meta), found.size());
    for (guint i = 0; i < found.size(); ++i) {
      ck_assert_uint_eq(gst_dv_objects_meta_get_object(meta, i)->parent, 0);
    }
    all += found.size();
    gst_buffer_unref(with_wholes);
    gst_buffer_unref(out);
  }
  ck_assert_uint_gt(all, 0);
  gst_harness_teardown(parts);
  gst_harness_teardown(refined);
}

// Without a look at them, nothing better is known.
DVNN_TEST(objects_that_were_not_shown_stay) {
  GstHarness* h = chain("dvconvert ! " + infer(Looks::kRed) +
                            " ! dvdecode ! dvconvert regions=objects max-per-frame=1 ! " +
                            infer(Looks::kUpperRed) + " ! dvdecode refine=true",
                        caps());
  GstHarness* first = chain("dvconvert ! " + infer(Looks::kRed) + " ! dvdecode", caps());
  size_t stayed = 0;
  for (guint64 number = 0; number < 12; ++number) {
    GstBuffer* out = gst_harness_push_and_pull(h, grid_frame(kWidth, kHeight, number));
    GstBuffer* wholes = gst_harness_push_and_pull(first, grid_frame(kWidth, kHeight, number));
    const size_t were = detections(wholes).size(), are = labelled(detections(out), "red").size();
    ck_assert_uint_eq(are, were > 0 ? were - 1 : 0);
    stayed += are;
    gst_buffer_unref(out);
    gst_buffer_unref(wholes);
  }
  ck_assert_uint_gt(stayed, 0);
  gst_harness_teardown(h);
  gst_harness_teardown(first);
}

// Results of an earlier frame are of where the object was. They leave with the others.
DVNN_TEST(late_results_take_no_place_and_stay_on_no_frame) {
  constexpr guint kSide = 64;
  static const gchar* const labels[] = {"background", "better", nullptr};
  GstDvNetworkInfo* network = gst_dv_network_info_new("second", "detection-output", "{}", labels);
  GstHarness* h = chain("dvdecode refine=true", video_caps("RGB", kSide, kSide));
  GstBuffer* frame = gst_buffer_new_allocate(nullptr, kSide * kSide * 3, nullptr);
  GST_BUFFER_PTS(frame) = 0;
  GstDvObjectsMeta* meta = gst_buffer_add_dv_objects_meta(frame);
  gst_dv_objects_meta_add_pass(meta, "first", GST_DV_PASS_INFERRED);
  gst_dv_objects_meta_add_pass(meta, "second", GST_DV_PASS_INFERRED);
  guint64 ids[2];
  for (int i = 0; i < 2; ++i) {
    GstDvObject* object =
        gst_dv_objects_meta_add_object(meta, GST_DV_OBJECT_DETECTION, 1, "first", 0.9f);
    gst_dv_object_set_box(object, 32 * i, 0, 32 * i + 30, 30);
    object->network = 0;
    ids[i] = object->id;
  }
  for (int i = 0; i < 2; ++i) {
    const float x = 0.5f * static_cast<float>(i);
    GstDvTensorMeta* outputs =
        add_output_rows(frame, network, kSide, {{0, 1, 0.8f, x, 0.25f, x + 0.25f, 0.5f}});
    outputs->region_kind = GST_DV_REGION_OBJECT;
    outputs->object = ids[i];
    outputs->predicted = i == 1;
  }
  GstBuffer* out = gst_harness_push_and_pull(h, frame);
  const std::vector<Found> found = detections(out);
  ck_assert_uint_eq(labelled(found, "better").size(), 1);
  ck_assert_double_eq_tol(labelled(found, "better")[0].x0, 0, 1e-6);
  ck_assert_uint_eq(labelled(found, "first").size(), 1);
  ck_assert_double_eq_tol(labelled(found, "first")[0].x0, 32, 1e-6);
  ck_assert_ptr_null(gst_buffer_get_dv_tensor_meta(out));
  gst_buffer_unref(out);
  gst_dv_network_info_unref(network);
  gst_harness_teardown(h);
}

}  // namespace dvnn::test::refine_tests
