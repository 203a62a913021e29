// SPDX-License-Identifier: Apache-2.0
// Elements report an error when memory runs out, in any function and thread: an exception that
// leaves one of our functions would end the process.
#include <sys/resource.h>

#include <climits>
#include <cstdint>
#include <cstdio>

#include "failing_new.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "hostile_chain.h"

namespace dvnn::test::elements_without_memory_tests {

DVNN_GST_SUITE(elements_without_memory);

namespace {

// Plays the pipeline from NULL to its end with one allocation failing. Returns whether it got
// there.
bool plays_to_an_end(const std::string& description, long after) {
  GstElement* pipeline = gst_parse_launch(description.c_str(), nullptr);
  ck_assert_ptr_nonnull(pipeline);
  GstBus* bus = gst_element_get_bus(pipeline);
  fail_allocation(after);
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  constexpr GstClockTime kPatience = 30 * GST_SECOND;
  GstMessage* message = gst_bus_timed_pop_filtered(
      bus, kPatience, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
  const bool reached = has_failed_allocation();
  gst_element_set_state(pipeline, GST_STATE_NULL);
  fail_allocation(-1);
  ck_assert_msg(message, "neither an end nor an error when allocation %ld fails: %s", after,
                description.c_str());
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
    GError* error = nullptr;
    gst_message_parse_error(message, &error, nullptr);
    ck_assert(dvnn::is_printable(error->message));
    g_error_free(error);
  }
  gst_message_unref(message);
  gst_object_unref(bus);
  gst_object_unref(pipeline);
  return reached;
}

// Fails one allocation after the other, more of the first ones than of the last ones.
void fail_each(const std::string& description) {
  plays_to_an_end(description, -1);  // allocates all that the process keeps for ever
  const long sparse = std::getenv("DVNN_EVERY_ALLOCATION") ? LONG_MAX : 200;
  long tried = 0;
  for (long after = 0; plays_to_an_end(description, after); after += 1 + after / sparse) ++tried;
  ck_assert_int_gt(tried, 20);
}

const char* const kSource =
    "videotestsrc num-buffers=3 ! capsfilter caps=video/x-raw,format=RGB,width=64,height=64 ! ";

std::string drawn() {
  return " ! dvdecode post-messages=true threshold=0 ! dvoverlay ! fakesink";
}

}  // namespace

DVNN_TEST(every_allocation_of_a_pipeline_may_fail) {
  fail_each(kSource + std::string("dvconvert ! ") + infer_grid() + drawn());
}

DVNN_TEST(every_allocation_of_a_lone_dvinfer_may_fail) {
  fail_each(kSource + infer_grid("max-in-flight=1 on-error=pass") + drawn());
}

DVNN_TEST(every_allocation_of_streams_of_tensors_may_fail) {
  fail_each(kSource + std::string("dvconvert ! capsfilter caps=other/tensors ! ") + infer_grid() +
            " ! capsfilter caps=other/tensors ! fakesink");
  fail_each(kSource + std::string("dvconvert layout=dlhdl conv-threads=9 roi=<0.0,0.0,0.5,0.5> ! "
                                  "capsfilter caps=other/tensors ! fakesink"));
}

DVNN_TEST(an_error_says_what_was_too_large) {
  {
    // An average over thousands of pixels has thousands of weights.
    constexpr size_t kLittle = 64 * 1024;
    HostileChain chain("dvconvert method=area ! " + infer_grid(), video_caps("RGB", 32767, 1));
    GstBuffer* frame = exact_frame(video_info("RGB", 32767, 1));
    limit_allocations(kLittle);
    const std::string error = chain.push(frame);
    limit_allocations(SIZE_MAX);
    dvnn_assert_text(error,
                     "the tensor of a frame of 32767 x 1: there is not enough memory for it");
  }
  HostileChain chain("dvoverlay", video_caps("RGB", 64, 64));
  GstBuffer* frame = exact_frame(video_info("RGB", 64, 64));
  GstDvObject* object = gst_dv_objects_meta_add_object(gst_buffer_add_dv_objects_meta(frame),
                                                       GST_DV_OBJECT_DETECTION, 1, "thing", 0.5f);
  gst_dv_object_set_box(object, 10, 10, 40, 40);
  limit_allocations(100);
  const std::string error = chain.push(frame);
  limit_allocations(SIZE_MAX);
  dvnn_assert_text(error, "the objects cannot be drawn: there is not enough memory for it");
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
DVNN_TEST(a_tensor_that_is_too_large_for_the_process_is_an_error) {
  // GStreamer's own allocator would end the process.
  HostileChain chain(
      "dvconvert ! capsfilter "
      "caps=\"other/tensors,dimensions=(string)3:9000:9000:1,types=(string)float32\"",
      video_caps("RGB", 64, 64));
  unsigned long pages = 0;
  FILE* file = std::fopen("/proc/self/statm", "re");
  ck_assert_int_eq(std::fscanf(file, "%lu", &pages), 1);
  std::fclose(file);
  rlimit before;
  getrlimit(RLIMIT_AS, &before);
  rlimit now = before;
  now.rlim_cur = pages * 4096 + (rlim_t{512} << 20);
  setrlimit(RLIMIT_AS, &now);
  const std::string error = chain.push(exact_frame(video_info("RGB", 64, 64)));
  setrlimit(RLIMIT_AS, &before);
  dvnn_assert_text(error, "no memory for a tensor of 972000000 bytes");
}
#endif

}  // namespace dvnn::test::elements_without_memory_tests
