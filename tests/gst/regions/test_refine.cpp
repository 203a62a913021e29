// SPDX-License-Identifier: Apache-2.0
// A second network that corrects what the first one has found: its boxes take the objects' places.
#include <gst/video/video.h>

#include "gst/dvnn/gstdvobjectsmeta.h"
#include "streams.h"
#include "watched_suite.h"

using namespace dvnn::test;

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

START_TEST(refined_boxes_take_the_objects_places) {
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
END_TEST

// Without a look at them, nothing better is known.
START_TEST(objects_that_were_not_shown_stay) {
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
END_TEST

int main() {
  return run_watched_suite(
      "refine", {refined_boxes_take_the_objects_places, objects_that_were_not_shown_stay});
}
