// SPDX-License-Identifier: Apache-2.0
// Frame after frame, dvdecode works in the memory that it has. What it attaches to frames is
// theirs, and is GLib's memory.
#include "counted_new.h"
#include "decode_fixture.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst/dvnn/gstdvtensormeta.h"
#include "gst_fixture.h"

namespace dvnn::test::decode_allocations_tests {

DVNN_GST_SUITE(gst_decode_allocations);

namespace {

constexpr int kSize = 64;  // of frames, pixels

GstBuffer* black_frame() {
  GstBuffer* frame = gst_buffer_new_allocate(nullptr, kSize * kSize * 3, nullptr);
  GST_BUFFER_PTS(frame) = 0;
  return frame;
}

// News in dvdecode for the last of several frames that `make` makes; `objects` are what it found.
template <typename Make>
size_t news_of_a_frame(GstHarness* h, Make make, guint* objects) {
  constexpr int kFrames = 8;
  size_t news = 0;
  for (int i = 0; i < kFrames; ++i) {
    GstBuffer* frame = make();
    const size_t before = counted_news;
    gst_harness_push(h, frame);
    news = counted_news - before;
    GstBuffer* out = gst_harness_pull(h);
    *objects = gst_dv_objects_meta_get_n_objects(gst_buffer_get_dv_objects_meta(out));
    gst_buffer_unref(out);
    if (i == 0) ck_assert_uint_gt(news, 0);  // the plugin's are counted
  }
  return news;
}

// Texts that are too long for a string's own room.
void set_long_texts(GstHarness* h) {
  gst_util_set_object_arg(G_OBJECT(h->element), "thresholds",
                          "something of a long name:0.3,something else:0.4");
  gst_util_set_object_arg(G_OBJECT(h->element), "exclude", "what nobody has ever seen, nor will");
}

}  // namespace

DVNN_TEST(boxes_take_no_memory_of_their_own) {
  GstHarness* h = gst_harness_new("dvdecode");
  gst_harness_set_src_caps_str(h, video_caps("RGB", kSize, kSize).c_str());
  set_long_texts(h);
  static const gchar* const labels[] = {"background", "something of a long name", nullptr};
  GstDvNetworkInfo* network = gst_dv_network_info_new("rows", "detection-output", "{}", labels);
  guint objects = 0;
  const size_t news = news_of_a_frame(
      h,
      [&] {
        GstBuffer* frame = black_frame();
        add_output_rows(frame, network, kSize,
                        {{0, 1, 0.5f, 0, 0, 0.5f, 0.5f}, {0, 1, 0.8f, 0.5f, 0.5f, 1, 1}});
        return frame;
      },
      &objects);
  ck_assert_uint_eq(objects, 2);
  ck_assert_msg(news == 0, "%zu allocations", news);
  gst_dv_network_info_unref(network);
  gst_harness_teardown(h);
}

DVNN_TEST(masks_take_none_but_the_frames) {
  GstHarness* h = gst_harness_new("dvdecode");
  gst_harness_set_src_caps_str(h, video_caps("RGB", kSize, kSize).c_str());
  set_long_texts(h);
  GstDvNetworkInfo* network = gst_dv_network_info_new("map", "segmentation", "{}", nullptr);
  const std::vector<float> values(3 * 32 * 32, 0.5f);
  guint objects = 0;
  const size_t news = news_of_a_frame(
      h,
      [&] {
        GstBuffer* frame = black_frame();
        GstDvTensorMeta* meta = gst_buffer_add_dv_tensor_meta(frame, 1);
        meta->network = gst_dv_network_info_ref(network);
        meta->input_width = meta->input_height = 32;
        set_floats(&meta->tensors[0], "out", {1, 3, 32, 32}, values.data());
        return frame;
      },
      &objects);
  ck_assert_uint_eq(objects, 1);
  ck_assert_msg(news == 0, "%zu allocations", news);
  gst_dv_network_info_unref(network);
  gst_harness_teardown(h);
}

}  // namespace dvnn::test::decode_allocations_tests
