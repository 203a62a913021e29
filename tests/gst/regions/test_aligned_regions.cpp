// SPDX-License-Identifier: Apache-2.0
// Regions of objects that stand upright in the tensor: by key points, or by an outline's corners.
#include <algorithm>
#include <cmath>

#include "gst/dvnn/gstdvobjectsmeta.h"
#include "streams.h"
#include "watched_suite.h"

namespace dvnn::test::aligned_regions_tests {

DVNN_WATCHED_SUITE(gst_region_objects);

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

}  // namespace dvnn::test::aligned_regions_tests
