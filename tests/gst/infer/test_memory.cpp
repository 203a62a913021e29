// SPDX-License-Identifier: Apache-2.0
// Networks with a memory: each stream has its own, in the order of its frames, and begins anew
// where a stream is not continued.
#include <unistd.h>

#include "gst/dvnn/gstdvtensormeta.h"
#include "leaky_network.h"
#include "network/dvn_file.h"
#include "streams.h"
#include "watched_suite.h"

namespace dvnn::test::memory_tests {

DVNN_WATCHED_SUITE(gst_memory);

namespace {

// The network's file: sum = factor * the sum before + the frame's pixels.
class Leaky {
 public:
  explicit Leaky(float factor = 0.5f) {
    close(mkstemp(&path[0]));
    ck_assert(network::write_dvn(leaky_network(factor), path).ok());
  }
  ~Leaky() { unlink(path.c_str()); }
  Leaky(const Leaky&) = delete;
  Leaky& operator=(const Leaky&) = delete;
  std::string infer(const std::string& options = "") const {
    return "dvinfer when-busy=wait max-in-flight=3 network=" + path + " " + options;
  }
  std::string path = "/tmp/dvnn-leaky-XXXXXX";
};

GstBuffer* frame_of(guint8 value, int number) {
  GstBuffer* frame = gst_buffer_new_allocate(nullptr, 8 * 24, nullptr);
  gst_buffer_memset(frame, 0, value, 8 * 24);
  GST_BUFFER_PTS(frame) = static_cast<GstClockTime>(number) * 40 * GST_MSECOND;
  GST_BUFFER_DURATION(frame) = 40 * GST_MSECOND;
  return frame;
}

float sum_of(GstBuffer* frame) {
  const GstDvTensorMeta* meta = gst_buffer_get_dv_tensor_meta(frame);
  ck_assert_msg(meta, "the frame was not inferred");
  float sum = 0;
  gst_buffer_extract(meta->tensors[0].data, 0, &sum, sizeof sum);
  return sum;
}

// A stream, and what its sums should be.
class Stream {
 public:
  explicit Stream(const std::string& description)
      : harness_(chain(description, video_caps("RGB", 8, 8))) {}
  ~Stream() { gst_harness_teardown(harness_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  GstHarness* harness() { return harness_; }
  void begin_anew() { sum_ = 0; }
  void push(guint8 value, bool discont = false) {
    GstBuffer* frame = frame_of(value, number_++);
    if (discont) GST_BUFFER_FLAG_SET(frame, GST_BUFFER_FLAG_DISCONT);
    if (discont) begin_anew();
    sum_ = 0.5f * sum_ + static_cast<float>(value);
    wanted_.push_back(sum_);
    ck_assert_int_eq(gst_harness_push(harness_, frame), GST_FLOW_OK);
  }
  // Pulls all that was pushed.
  void pull(const char* what) {
    for (size_t i = 0; i < wanted_.size(); ++i) {
      GstBuffer* out = gst_harness_pull(harness_);
      ck_assert_msg(out, "%s: frame %zu does not come", what, i);
      const float sum = sum_of(out);
      gst_buffer_unref(out);
      ck_assert_msg(sum == wanted_[i], "%s: frame %zu has the sum %g, not %g", what, i,
                    static_cast<double>(sum), static_cast<double>(wanted_[i]));
    }
    wanted_.clear();
  }

 private:
  GstHarness* harness_;
  int number_ = 0;
  float sum_ = 0;
  std::vector<float> wanted_;
};

guint8 value_at(int i) {
  return static_cast<guint8>(i * 37 % 251);
}

const char* const kHeads[] = {"dvconvert ! ", "", "dvconvert ! queue ! "};

}  // namespace

DVNN_TEST(each_stream_has_a_memory_in_the_order_of_its_frames) {
  const Leaky network;
  for (const char* head : kHeads) {
    Stream one(head + network.infer()), two(head + network.infer());
    for (int i = 0; i < 60; ++i) {
      one.push(value_at(i));
      if (i % 3 != 0) two.push(value_at(2 * i + 1));
      if (i % 7 == 6) one.pull(head);
      if (i % 5 == 4) two.pull(head);
    }
    one.pull(head);
    two.pull(head);
  }
}

DVNN_TEST(a_stream_begins_anew_where_it_is_not_continued) {
  const Leaky network;
  for (const char* head : kHeads) {
    Stream stream(head + network.infer());
    GstHarness* const h = stream.harness();
    for (int i = 0; i < 12; ++i) stream.push(value_at(i), i == 7);
    stream.pull("a discontinuity");
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    ck_assert(gst_harness_push_event(h, gst_event_new_segment(&segment)));
    stream.begin_anew();
    for (int i = 0; i < 5; ++i) stream.push(value_at(i + 3));
    stream.pull("a segment");
    ck_assert(gst_harness_push_event(h, gst_event_new_flush_start()));
    ck_assert(gst_harness_push_event(h, gst_event_new_flush_stop(TRUE)));
    ck_assert(gst_harness_push_event(h, gst_event_new_segment(&segment)));
    stream.begin_anew();
    for (int i = 0; i < 5; ++i) stream.push(value_at(i + 9));
    stream.pull("a flush");
    gst_harness_set_src_caps_str(
        h, "video/x-raw,format=RGB,width=8,height=8,framerate=25/1,pixel-aspect-ratio=1/1");
    stream.begin_anew();
    for (int i = 0; i < 5; ++i) stream.push(value_at(i + 1));
    stream.pull("caps");
  }
}

DVNN_TEST(what_a_memory_cannot_be_for_is_refused) {
  const Leaky network;
  const std::string regions = error_of("dvconvert regions=tiles ! " + network.infer(),
                                       video_caps("RGB", 8, 8), frame_of(9, 0));
  ck_assert_msg(regions.find("network 'leaky' has a memory") != std::string::npos, "%s",
                regions.c_str());
}

}  // namespace dvnn::test::memory_tests
