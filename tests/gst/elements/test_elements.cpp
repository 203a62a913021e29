// SPDX-License-Identifier: Apache-2.0
// The elements in a harness: frames in, metadata out.
#include "gst/dvnn/gstdvtensormeta.h"
#include "gst_fixture.h"

namespace dvnn::test::elements_tests {

DVNN_GST_SUITE(gst_elements);

static GstHarness* chain(const std::string& description, const std::string& caps) {
  GstHarness* h = gst_harness_new_parse(description.c_str());
  gst_harness_set_src_caps_str(h, caps.c_str());
  return h;
}

static std::string full_chain(const char* between = "") {
  return std::string("dvconvert ! ") + between + "dvinfer network=" + network_path() + " ! " +
         between + "dvdecode";
}

DVNN_TEST(boxes_sit_on_the_object_in_every_format) {
  for (const std::string& format : video_formats()) {
    if (format.rfind("GRAY", 0) == 0) continue;  // the square is red
    GstHarness* h = chain(full_chain(), video_caps(format, 320, 240));
    GstBuffer* out = gst_harness_push_and_pull(h, red_square(format, 320, 240, 2, 1));
    ck_assert_msg(out && found_square(out, 320, 240, 2, 1), "%s", format.c_str());
    gst_buffer_unref(out);
    gst_harness_teardown(h);
  }
}

DVNN_TEST(boxes_sit_on_the_object_at_odd_sizes) {
  const int sizes[][2] = {{16, 16}, {161, 93}, {63, 255}, {1921, 1081}};
  for (const auto& size : sizes) {
    GstHarness* h = chain(full_chain(), video_caps("I420", size[0], size[1]));
    GstBuffer* out = gst_harness_push_and_pull(h, red_square("I420", size[0], size[1], 0, 3));
    ck_assert_msg(found_square(out, size[0], size[1], 0, 3), "%dx%d", size[0], size[1]);
    gst_buffer_unref(out);
    gst_harness_teardown(h);
  }
}

DVNN_TEST(a_cropped_frame_is_looked_at_where_it_is_shown) {
  GstHarness* h = chain(full_chain(), video_caps("NV12", 128, 128));
  for (bool cropped : {true, false, true}) {
    GstBuffer* in = red_square("NV12", 128, 128, 3, 2);  // 96,64 .. 128,96
    if (cropped) {
      GstVideoCropMeta* crop = gst_buffer_add_video_crop_meta(in);
      crop->x = crop->y = 64;
      crop->width = crop->height = 64;
    }
    GstBuffer* out = gst_harness_push_and_pull(h, in);
    const std::vector<Found> list = detections(out);
    // The network's cells are a quarter of what it is shown: four of the cropped part's are red.
    ck_assert_uint_eq(list.size(), cropped ? 4 : 1);
    for (const Found& found : list) {
      ck_assert(found.x0 >= 95 && found.y0 >= 63 && found.x1 <= 129 && found.y1 <= 97);
      ck_assert_double_eq_tol(found.x1 - found.x0, cropped ? 16 : 32, 1);
    }
    gst_buffer_unref(out);
  }
  gst_harness_teardown(h);
}

DVNN_TEST(the_frame_passes_uncopied) {
  GstHarness* h = chain(full_chain(), video_caps("RGB", 64, 64));
  GstBuffer* in = red_square("RGB", 64, 64, 1, 1);
  GstMemory* memory = gst_memory_ref(gst_buffer_peek_memory(in, 0));
  GstBuffer* out = gst_harness_push_and_pull(h, in);
  ck_assert_ptr_eq(gst_buffer_peek_memory(out, 0), memory);
  gst_memory_unref(memory);
  gst_buffer_unref(out);
  gst_harness_teardown(h);
}

DVNN_TEST(tensors_leave_with_their_consumer) {
  // dvconvert adds an input, dvinfer swaps it for outputs, dvdecode takes those off.
  GstHarness* h = chain("dvconvert ! dvinfer network=" + network_path(), video_caps("RGB", 64, 64));
  GstBuffer* out = gst_harness_push_and_pull(h, red_square("RGB", 64, 64, 1, 1));
  GstDvTensorMeta* meta = gst_buffer_get_dv_tensor_meta(out);
  ck_assert_ptr_nonnull(meta);
  ck_assert_uint_eq(meta->num_tensors, 2);
  ck_assert_str_eq(g_quark_to_string(meta->tensors[1].id), "conf");
  ck_assert_str_eq(gst_dv_network_info_get_decoder(meta->network), "ssd");
  gst_buffer_unref(out);
  gst_harness_teardown(h);
  h = chain(full_chain(), video_caps("RGB", 64, 64));
  out = gst_harness_push_and_pull(h, red_square("RGB", 64, 64, 1, 1));
  ck_assert_ptr_null(gst_buffer_get_dv_tensor_meta(out));
  gst_buffer_unref(out);
  gst_harness_teardown(h);
}

DVNN_TEST(many_frames_keep_their_order_and_their_boxes) {
  for (const char* between : {"", "queue ! "}) {
    GstHarness* h = chain(full_chain(between), video_caps("RGB", 64, 64));
    constexpr int kFrames = 60;
    for (int i = 0; i < kFrames; ++i) {
      GstBuffer* in = red_square("RGB", 64, 64, i % 4, i / 4 % 4);
      GST_BUFFER_PTS(in) = static_cast<GstClockTime>(i) * GST_MSECOND;
      ck_assert_int_eq(gst_harness_push(h, in), GST_FLOW_OK);
    }
    for (int i = 0; i < kFrames; ++i) {
      GstBuffer* out = gst_harness_pull(h);
      ck_assert_uint_eq(GST_BUFFER_PTS(out), static_cast<GstClockTime>(i) * GST_MSECOND);
      ck_assert_msg(found_square(out, 64, 64, i % 4, i / 4 % 4), "frame %d", i);
      gst_buffer_unref(out);
    }
    gst_harness_teardown(h);
  }
}

DVNN_TEST(a_slot_returns_to_the_pool_when_the_last_view_is_freed) {
  // More frames than slots, each output freed only after the next has come.
  GstHarness* h = chain("dvconvert ! dvinfer max-in-flight=1 network=" + network_path(),
                        video_caps("RGB", 64, 64));
  GstBuffer* held = nullptr;
  for (int i = 0; i < 12; ++i) {
    GstBuffer* out = gst_harness_push_and_pull(h, red_square("RGB", 64, 64, 0, 0));
    ck_assert_ptr_nonnull(gst_buffer_get_dv_tensor_meta(out));
    if (held) gst_buffer_unref(held);
    held = out;
  }
  gst_buffer_unref(held);
  gst_harness_teardown(h);
}

// Downstream holds the slot itself, without a copy, as long as there are more slots.
DVNN_TEST(outputs_are_no_copies_while_slots_are_plenty) {
  GstHarness* h =
      chain("dvconvert ! dvinfer name=infer network=" + network_path(), video_caps("RGB", 64, 64));
  GstElement* infer = gst_bin_get_by_name(GST_BIN(h->element), "infer");
  for (int i = 0; i < 3; ++i) {
    GstBuffer* held = gst_harness_push_and_pull(h, red_square("RGB", 64, 64, 0, 0));
    ck_assert_uint_eq(stat_of(infer, "slots-free"), stat_of(infer, "slots") - 1);
    gst_buffer_unref(held);
    ck_assert_uint_eq(stat_of(infer, "slots-free"), stat_of(infer, "slots"));
  }
  gst_object_unref(infer);
  gst_harness_teardown(h);
}

DVNN_TEST(a_frame_without_a_tensor_is_converted_by_dvinfer) {
  GstHarness* h =
      chain("dvinfer network=" + network_path() + " ! dvdecode", video_caps("NV12", 128, 96));
  GstBuffer* out = gst_harness_push_and_pull(h, red_square("NV12", 128, 96, 3, 2));
  ck_assert(found_square(out, 128, 96, 3, 2));
  gst_buffer_unref(out);
  gst_harness_teardown(h);
}

DVNN_TEST(a_copied_frame_is_not_run_on_a_used_tensor) {
  // Two frames that share one input tensor, as videorate makes them: both get right boxes.
  GstHarness* convert = chain("dvconvert ! dvinfer network=" + network_path() + " ! dvdecode",
                              video_caps("RGB", 64, 64));
  GstBuffer* in = red_square("RGB", 64, 64, 1, 2);
  GstBuffer* copy = gst_buffer_copy(in);
  GstBuffer* first = gst_harness_push_and_pull(convert, in);
  GstBuffer* second = gst_harness_push_and_pull(convert, copy);
  ck_assert(found_square(first, 64, 64, 1, 2));
  ck_assert(found_square(second, 64, 64, 1, 2));
  gst_buffer_unref(first);
  gst_buffer_unref(second);
  gst_harness_teardown(convert);
}

DVNN_TEST(caps_may_change_in_mid_stream) {
  GstHarness* h = chain(full_chain(), video_caps("RGB", 64, 64));
  for (int i = 0; i < 3; ++i) {
    const int size = 64 + 32 * i;
    const char* format = i % 2 ? "NV12" : "BGR";
    gst_harness_set_src_caps_str(h, video_caps(format, size, size).c_str());
    for (int k = 0; k < 4; ++k) {
      GstBuffer* out = gst_harness_push_and_pull(h, red_square(format, size, size, k, i));
      ck_assert_msg(found_square(out, size, size, k, i), "%s %d", format, size);
      gst_buffer_unref(out);
    }
  }
  gst_harness_teardown(h);
}

DVNN_TEST(a_flush_empties_and_the_stream_goes_on) {
  GstHarness* h = chain(full_chain(), video_caps("RGB", 64, 64));
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 3; ++i) gst_harness_push(h, red_square("RGB", 64, 64, 0, 0));
    ck_assert(gst_harness_push_event(h, gst_event_new_flush_start()));
    ck_assert(gst_harness_push_event(h, gst_event_new_flush_stop(TRUE)));
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    ck_assert(gst_harness_push_event(h, gst_event_new_segment(&segment)));
    while (GstBuffer* stale = gst_harness_try_pull(h)) gst_buffer_unref(stale);
    GstBuffer* out = gst_harness_push_and_pull(h, red_square("RGB", 64, 64, 2, 2));
    ck_assert(found_square(out, 64, 64, 2, 2));
    gst_buffer_unref(out);
  }
  gst_harness_teardown(h);
}

DVNN_TEST(eos_comes_after_the_last_frame) {
  GstHarness* h = chain(full_chain("queue ! "), video_caps("RGB", 64, 64));
  for (int i = 0; i < 5; ++i) gst_harness_push(h, red_square("RGB", 64, 64, 0, 0));
  ck_assert(gst_harness_push_event(h, gst_event_new_eos()));
  for (int i = 0; i < 5; ++i) {
    GstBuffer* out = gst_harness_pull(h);
    ck_assert_ptr_nonnull(out);
    gst_buffer_unref(out);
  }
  bool eos = false;
  while (!eos) {
    GstEvent* event = gst_harness_pull_event(h);
    ck_assert_ptr_nonnull(event);
    eos = GST_EVENT_TYPE(event) == GST_EVENT_EOS;
    gst_event_unref(event);
  }
  gst_harness_teardown(h);
}

DVNN_TEST(late_frames_pass_without_inference) {
  GstHarness* h = chain("dvinfer name=infer network=" + network_path(), video_caps("RGB", 64, 64));
  gst_harness_push_upstream_event(
      h, gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 2.0, GST_SECOND, 2 * GST_SECOND));
  GstBuffer* in = red_square("RGB", 64, 64, 0, 0);
  GST_BUFFER_PTS(in) = GST_SECOND;
  GstBuffer* out = gst_harness_push_and_pull(h, in);
  ck_assert_ptr_null(gst_buffer_get_dv_tensor_meta(out));
  gst_buffer_unref(out);
  GstElement* infer = gst_harness_find_element(h, "dvinfer");
  ck_assert_uint_eq(stat_of(infer, "late"), 1);
  gst_object_unref(infer);
  gst_harness_teardown(h);
}

DVNN_TEST(latency_is_reported_once_measured) {
  GstHarness* h = chain("dvinfer network=" + network_path(), video_caps("RGB", 64, 64));
  gst_buffer_unref(gst_harness_push_and_pull(h, red_square("RGB", 64, 64, 0, 0)));
  ck_assert_uint_gt(gst_harness_query_latency(h), 0);
  gst_harness_teardown(h);
}

DVNN_TEST(the_latency_of_upstream_is_added_to) {
  GstHarness* h =
      chain("dvinfer latency-ms=30 network=" + network_path(), video_caps("RGB", 64, 64));
  gst_harness_set_upstream_latency(h, 40 * GST_MSECOND);
  ck_assert_uint_eq(gst_harness_query_latency(h), 70 * GST_MSECOND);
  gst_harness_teardown(h);
}

DVNN_TEST(the_threshold_hides_weak_detections) {
  GstHarness* h = chain("dvinfer network=" + network_path() + " ! dvdecode threshold=1.0",
                        video_caps("RGB", 64, 64));
  GstBuffer* black = gst_buffer_new_allocate(nullptr, 64 * 64 * 3, nullptr);
  gst_buffer_memset(black, 0, 0, 64 * 64 * 3);
  GstBuffer* out = gst_harness_push_and_pull(h, black);
  ck_assert(detections(out).empty());
  gst_buffer_unref(out);
  gst_harness_teardown(h);
}

}  // namespace dvnn::test::elements_tests
