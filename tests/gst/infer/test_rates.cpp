// SPDX-License-Identifier: Apache-2.0
// A network that is slower than the camera: which frames are inferred, that the video keeps its
// rate, and that the latency that is told is the latency there is.
//
// The tests that play live take real seconds and ask for rates with room for a busy machine.
#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

#include "fault_device.h"
#include "watched_suite.h"

namespace dvnn::test::rates_tests {

DVNN_WATCHED_SUITE(gst_rates);

namespace {

constexpr int kRate = 30;           // of the camera
constexpr double kDeviceMs = 100;   // of a device at a third of that rate
constexpr double kDeviceRate = 10;  // what it does in a second
const char* const kSink = " ! fakesink name=out async=false";

std::string on_fault_device(const std::string& properties) {
  return infer(Looks::kRed, properties + " " + FaultPlan::device());
}

// Seconds that a live test plays.
int live_seconds() {
  return std::max(2, dvnn_rounds(4));
}

std::string camera(int seconds = live_seconds()) {
  return painted_source(kRate * seconds, "is-live=true");
}

// Numbers of the frames that were inferred; the boxes of those must be right, and others have none.
std::vector<size_t> inferred_frames(const std::vector<Arrival>& arrivals) {
  std::vector<size_t> numbers;
  for (size_t i = 0; i < arrivals.size(); ++i) {
    const Arrival& arrival = arrivals[i];
    ck_assert_msg(arrival.passes.inferred + arrival.passes.skipped == 1,
                  "frame %zu: %d inferred and %d skipped passes", i, arrival.passes.inferred,
                  arrival.passes.skipped);
    if (arrival.passes.inferred) {
      numbers.push_back(i);
      expect_boxes_of_pixels({arrival}, 1, "frame " + std::to_string(i));
    } else {
      ck_assert_msg(arrival.found.empty(), "frame %zu was skipped and has boxes", i);
    }
  }
  return numbers;
}

std::vector<Arrival> played(const std::string& description, const std::string& plan = "") {
  FaultPlan faults("");
  Pipeline pipeline(description);
  demand(&pipeline, pipeline.set_state(GST_STATE_READY));
  faults.set(plan);
  demand(&pipeline, pipeline.play_to_end());
  const std::vector<Arrival> arrivals = pipeline.arrivals();
  demand(&pipeline, pipeline.stop());
  return arrivals;
}

// Frames in order and all there.
void expect_all_in_order(const std::vector<Arrival>& arrivals, size_t count) {
  ck_assert_uint_eq(arrivals.size(), count);
  for (size_t i = 1; i < arrivals.size(); ++i) {
    ck_assert_uint_gt(arrivals[i].pts, arrivals[i - 1].pts);
  }
}

}  // namespace

DVNN_TEST(inactive_frames_pass_without_results) {
  for (const char* head : {"dvconvert ! ", "", "dvconvert ! queue ! "}) {
    const std::vector<Arrival> arrivals = played(
        painted_source(40) + head + infer(Looks::kRed, "active=false") + " ! dvdecode" + kSink);
    expect_all_in_order(arrivals, 40);
    ck_assert(inferred_frames(arrivals).empty());
  }
}

DVNN_TEST(active_may_change_while_playing) {
  Pipeline pipeline(painted_source(100000) + "identity sleep-time=500 ! dvconvert ! " +
                    infer(Looks::kRed, "name=infer") + " ! dvdecode" + kSink);
  demand(&pipeline, pipeline.set_state(GST_STATE_PLAYING));
  for (int round = 0; round < 10; ++round) {
    g_object_set(pipeline["infer"], "active", round % 2, nullptr);
    constexpr size_t kUnderWay = 8;
    const size_t first = pipeline.count() + kUnderWay;
    demand(&pipeline,
           pipeline.run_until([&] { return pipeline.count() > first + 5; }, "frames went on"));
    const std::vector<Arrival> arrivals = pipeline.arrivals();
    for (size_t i = first; i < first + 5; ++i) {
      demand(&pipeline, (arrivals[i].passes.inferred == 1) == (round % 2 == 1), "the other choice");
    }
  }
  demand(&pipeline, pipeline.stop());
  inferred_frames(pipeline.arrivals());
}

DVNN_TEST(every_so_many_frames_are_inferred) {
  for (const char* head : {"dvconvert ! ", "", "dvconvert ! queue ! "}) {
    for (size_t n : {1, 2, 3, 7}) {
      const std::vector<Arrival> arrivals = played(
          painted_source(42) + head + infer(Looks::kRed, "interval-frames=" + std::to_string(n)) +
          " ! dvdecode" + kSink);
      expect_all_in_order(arrivals, 42);
      const std::vector<size_t> inferred = inferred_frames(arrivals);
      ck_assert_uint_eq(inferred.size(), 42 / n);
      for (size_t i = 0; i < inferred.size(); ++i) ck_assert_uint_eq(inferred[i], i * n);
    }
  }
}

DVNN_TEST(frames_are_inferred_every_so_often) {
  for (const char* head : {"dvconvert ! ", ""}) {
    const std::vector<Arrival> arrivals = played(
        painted_source(90) + head + infer(Looks::kRed, "interval-ms=200") + " ! dvdecode" + kSink);
    expect_all_in_order(arrivals, 90);
    const std::vector<size_t> inferred = inferred_frames(arrivals);
    ck_assert_uint_eq(inferred.size(), 15);  // of three seconds
    for (size_t i = 0; i < inferred.size(); ++i) ck_assert_uint_eq(inferred[i], 6 * i);
  }
}

DVNN_TEST(an_interval_is_of_the_stream_after_a_seek_too) {
  Pipeline pipeline(painted_source(100000) + "dvconvert ! " +
                    infer(Looks::kRed, "interval-ms=1000") + " ! dvdecode ! fakesink name=out");
  demand(&pipeline, pipeline.set_state(GST_STATE_PAUSED));
  demand(&pipeline, pipeline.set_state(GST_STATE_PLAYING));
  for (gint64 to : {5, 2, 7}) {
    demand(&pipeline, gst_element_seek_simple(pipeline.get(), GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH,
                                              to * static_cast<gint64>(GST_SECOND)));
    const size_t after = pipeline.count();
    demand(&pipeline,
           pipeline.run_until([&] { return pipeline.count() > after + 40; }, "frames came"));
    bool found = false, inferred = false;
    for (const Arrival& arrival : pipeline.arrivals()) {
      if (arrival.pts != static_cast<GstClockTime>(to) * GST_SECOND) continue;
      found = true;
      inferred = arrival.passes.inferred == 1;
    }
    demand(&pipeline, found, "no frame of the time that was sought");
    demand(&pipeline, inferred, "the first frame after a seek was not inferred");
  }
  demand(&pipeline, pipeline.stop());
}

DVNN_TEST(a_highest_rate_is_kept_on_average_and_evenly) {
  for (double rate : {5.0, 7.5, 12.0, 40.0}) {
    const std::vector<Arrival> arrivals =
        played(painted_source(120) + "dvconvert ! " +
               infer(Looks::kRed, "max-rate=" + std::to_string(rate)) + " ! dvdecode" + kSink);
    expect_all_in_order(arrivals, 120);
    const std::vector<size_t> inferred = inferred_frames(arrivals);
    const double want = std::min<double>(kRate, rate) * 4;
    ck_assert_msg(std::fabs(static_cast<double>(inferred.size()) - want) <= 1.01,
                  "max-rate=%f: %zu of 120", rate, inferred.size());
    const auto longest = static_cast<size_t>(std::ceil(kRate / rate));
    for (size_t i = 1; i < inferred.size(); ++i) {
      ck_assert_uint_le(inferred[i] - inferred[i - 1], std::max<size_t>(longest, 1));
    }
  }
}

DVNN_TEST(busy_frames_pass_and_none_is_lost) {
  // As fast as the source can, on a device that takes its time.
  for (const char* head : {"dvconvert ! ", "", "dvconvert ! queue ! ", "queue ! dvconvert ! "}) {
    const std::vector<Arrival> arrivals = played(
        painted_source(200) + head + on_fault_device("when-busy=pass") + " ! dvdecode" + kSink,
        "exec:*:delay=20");
    expect_all_in_order(arrivals, 200);
    const std::vector<size_t> inferred = inferred_frames(arrivals);
    ck_assert_uint_ge(inferred.size(), 1);
    ck_assert_uint_lt(inferred.size(), 200);
  }
}

DVNN_TEST(live_video_keeps_its_rate_and_results_come_as_fast_as_the_device) {
  FaultPlan faults("");
  for (const char* head : {"dvconvert ! ", "queue ! dvconvert ! queue ! "}) {
    Pipeline pipeline(camera() + head + on_fault_device("when-busy=pass") +
                      " ! dvdecode ! fakesink name=out sync=true");
    demand(&pipeline, pipeline.set_state(GST_STATE_PAUSED));
    faults.set("exec:*:delay=" + std::to_string(kDeviceMs));
    demand(&pipeline, pipeline.play_to_end());
    const std::vector<Arrival> arrivals = pipeline.arrivals();
    GstStructure* stats = nullptr;
    guint64 rendered = 0, dropped = 0;
    g_object_get(pipeline["out"], "stats", &stats, nullptr);
    gst_structure_get(stats, "rendered", G_TYPE_UINT64, &rendered, "dropped", G_TYPE_UINT64,
                      &dropped, nullptr);
    gst_structure_free(stats);
    demand(&pipeline, pipeline.stop());
    expect_all_in_order(arrivals, static_cast<size_t>(kRate) * live_seconds());
    const std::vector<size_t> inferred = inferred_frames(arrivals);
    std::printf("%s: %zu frames, %zu inferred, %" G_GUINT64_FORMAT " rendered, %" G_GUINT64_FORMAT
                " dropped\n",
                head, arrivals.size(), inferred.size(), rendered, dropped);
    const int seconds = live_seconds();
    // Nine tenths of the frames shown, three quarters of what the device can do.
    ck_assert_uint_ge(rendered, static_cast<guint64>(0.9 * kRate * seconds));
    ck_assert_double_ge(static_cast<double>(inferred.size()), 0.75 * kDeviceRate * seconds);
    // Steady: no second without a result.
    size_t last = 0;
    for (size_t number : inferred) {
      ck_assert_uint_le(number - last, kRate / 2);
      last = number;
    }
  }
}

DVNN_TEST(another_branch_keeps_the_cameras_rate_beside_a_leaky_queue) {
  FaultPlan faults("");
  for (const char* branch : {"queue leaky=downstream max-size-buffers=1 ! dvconvert ! ",
                             "dvconvert ! queue leaky=downstream max-size-buffers=1 ! "}) {
    Pipeline pipeline(camera() + "tee name=t t. ! queue ! fakesink name=out_all async=false t. ! " +
                      branch + on_fault_device("skip-late=false") +
                      " ! dvdecode ! fakesink name=out async=false");
    demand(&pipeline, pipeline.set_state(GST_STATE_PAUSED));
    faults.set("exec:*:delay=" + std::to_string(kDeviceMs));
    demand(&pipeline, pipeline.play_to_end());
    const std::vector<Arrival> all = pipeline.arrivals("out_all"), some = pipeline.arrivals();
    demand(&pipeline, pipeline.stop());
    inferred_frames(some);
    // A stream that waits falls behind more and more: in the last second most frames are on time.
    std::vector<gint64> lags;
    for (const Arrival& arrival : all) {
      const gint64 since = arrival.at_us - all[0].at_us;
      const auto due = static_cast<gint64>((arrival.pts - all[0].pts) / GST_USECOND);
      if (arrival.pts > all.back().pts - GST_SECOND) lags.push_back(since - due);
    }
    std::sort(lags.begin(), lags.end());
    const gint64 lag = lags[lags.size() / 2];
    std::printf("%s: %zu inferred, lag at last %.1f ms\n", branch, some.size(),
                static_cast<double>(lag) / 1000);
    ck_assert_uint_eq(all.size(), static_cast<size_t>(kRate) * live_seconds());
    ck_assert_double_ge(static_cast<double>(some.size()), 0.75 * kDeviceRate * live_seconds());
    ck_assert_int_lt(lag, 2 * 1000000 / kRate);
  }
}

namespace {

// Measures how long frames are in an element, by their times.
class Residence {
 public:
  Residence(Pipeline* pipeline, const char* element) {
    for (const char* name : {"sink", "src"}) {
      GstPad* pad = gst_element_get_static_pad((*pipeline)[element], name);
      gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER,
                        name[1] == 'i' ? &Residence::entered : &Residence::left, this, nullptr);
      gst_object_unref(pad);
    }
  }

  // Milliseconds that this share of the frames did not exceed.
  double percentile(double share) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::sort(spent_.begin(), spent_.end());
    if (spent_.empty()) return 0;
    const auto at = static_cast<size_t>(share * static_cast<double>(spent_.size() - 1));
    return static_cast<double>(spent_[at]) / 1000;
  }

 private:
  static GstPadProbeReturn entered(GstPad*, GstPadProbeInfo* info, gpointer self) {
    auto& r = *static_cast<Residence*>(self);
    const std::lock_guard<std::mutex> lock(r.mutex_);
    r.in_[GST_BUFFER_PTS(GST_PAD_PROBE_INFO_BUFFER(info))] = g_get_monotonic_time();
    return GST_PAD_PROBE_OK;
  }
  static GstPadProbeReturn left(GstPad*, GstPadProbeInfo* info, gpointer self) {
    auto& r = *static_cast<Residence*>(self);
    const std::lock_guard<std::mutex> lock(r.mutex_);
    const auto it = r.in_.find(GST_BUFFER_PTS(GST_PAD_PROBE_INFO_BUFFER(info)));
    if (it != r.in_.end()) r.spent_.push_back(g_get_monotonic_time() - it->second);
    return GST_PAD_PROBE_OK;
  }

  std::mutex mutex_;
  std::map<GstClockTime, gint64> in_;
  std::vector<gint64> spent_;
};

// Returns what dvinfer adds to the latency of what is upstream, in milliseconds.
double reported_latency(Pipeline* pipeline, const char* element) {
  double ms[2] = {0, 0};
  int i = 0;
  for (const char* name : {"sink", "src"}) {
    GstPad* pad = gst_element_get_static_pad((*pipeline)[element], name);
    GstQuery* query = gst_query_new_latency();
    const bool answered =
        name[1] == 'i' ? gst_pad_peer_query(pad, query) : gst_pad_query(pad, query);
    GstClockTime min = 0;
    if (answered) gst_query_parse_latency(query, nullptr, &min, nullptr);
    ms[i++] = static_cast<double>(min) / GST_MSECOND;
    gst_query_unref(query);
    gst_object_unref(pad);
  }
  return ms[1] - ms[0];
}

}  // namespace

DVNN_TEST(the_latency_that_is_told_covers_what_frames_usually_take) {
  FaultPlan faults("");
  Pipeline pipeline(camera(6) + "queue leaky=downstream max-size-buffers=1 ! dvconvert ! " +
                    on_fault_device("name=infer") +
                    " ! queue ! dvdecode ! fakesink name=out sync=true");
  // The queue behind dvinfer, so that no frame waits in it for the sink.
  Residence residence(&pipeline, "infer");
  demand(&pipeline, pipeline.set_state(GST_STATE_PAUSED));
  faults.set("exec:*:delay=60,exec:15:delay=60,exec:30:delay=40");
  demand(&pipeline, pipeline.set_state(GST_STATE_PLAYING));
  double before = 0;
  for (int i = 0; i < 50; ++i) {
    demand(&pipeline, pipeline.run_for(100 * GST_MSECOND));
    before = reported_latency(&pipeline, "infer");
  }
  // A few may take longer: those that one hiccup touches.
  const double usual = residence.percentile(0.9);
  const size_t posted = pipeline.count_messages(GST_MESSAGE_LATENCY);
  demand(&pipeline, pipeline.run_to_end());
  demand(&pipeline, pipeline.stop());
  std::printf("reported %.1f ms, p90 of residence %.1f ms, %zu messages\n", before, usual, posted);
  ck_assert_double_ge(before, usual);
  ck_assert_double_le(before, 1000);  // it does not feed on itself
  constexpr size_t kFew = 12;
  ck_assert_uint_le(posted, kFew);
}

DVNN_TEST(no_inferred_frame_is_too_late_behind_a_leaky_queue) {
  FaultPlan faults("");
  Pipeline pipeline(camera(6) + "queue leaky=downstream max-size-buffers=1 ! dvconvert ! " +
                    on_fault_device("name=infer skip-late=false") +
                    " ! dvdecode ! fakesink name=out sync=true qos=true max-lateness=5000000");
  demand(&pipeline, pipeline.set_state(GST_STATE_PAUSED));
  faults.set("exec:*:delay=" + std::to_string(kDeviceMs));
  demand(&pipeline, pipeline.set_state(GST_STATE_PLAYING));
  // Until the latency has been measured, what is too late cannot be helped.
  demand(&pipeline, pipeline.run_for(2 * GST_SECOND));
  auto dropped = [&] {
    GstStructure* stats = nullptr;
    guint64 count = 0;
    g_object_get(pipeline["out"], "stats", &stats, nullptr);
    gst_structure_get_uint64(stats, "dropped", &count);
    gst_structure_free(stats);
    return count;
  };
  const guint64 at_first = dropped();
  demand(&pipeline, pipeline.run_to_end());
  const guint64 since = dropped() - at_first;
  demand(&pipeline, pipeline.stop());
  std::printf("%" G_GUINT64_FORMAT " dropped at first, %" G_GUINT64_FORMAT " since\n", at_first,
              since);
  ck_assert_uint_le(since, 1);
}

// A camera's frames wait before a dvinfer that is held up, one at a time, as in a leaky queue. The
// sink must expect them by as much later.
DVNN_TEST(what_frames_wait_before_a_busy_dvinfer_is_told_too) {
  constexpr guint kMs = 100, kFrames = 6;
  FaultPlan faults("");
  GstHarness* h = gst_harness_new_parse(on_fault_device("max-in-flight=1").c_str());
  gst_harness_use_systemclock(h);
  gst_harness_set_src_caps_str(h, video_caps("RGB", 64, 64).c_str());
  ck_assert_uint_gt(gst_harness_query_latency(h), 0);  // the source is live
  faults.set("exec:*:delay=" + std::to_string(kMs));
  GstClock* clock = gst_element_get_clock(h->element);
  const auto now = [&] {
    return gst_clock_get_time(clock) - gst_element_get_base_time(h->element);
  };
  GstClockTime taken = now();
  for (guint i = 0; i < kFrames; ++i) {
    GstBuffer* frame = red_square("RGB", 64, 64, 1, 2);
    GST_BUFFER_PTS(frame) = taken;  // while dvinfer took the frame before it
    taken = now();
    ck_assert_int_eq(gst_harness_push(h, frame), GST_FLOW_OK);
  }
  for (guint i = 0; i < kFrames; ++i) gst_buffer_unref(gst_harness_pull(h));
  const GstClockTime told = gst_harness_query_latency(h) / GST_MSECOND;
  gst_object_unref(clock);
  gst_harness_teardown(h);
  ck_assert_uint_ge(told, 3 * kMs);
}

DVNN_TEST(a_latency_that_is_set_is_told) {
  Pipeline pipeline(camera(1) + "dvconvert ! " + infer(Looks::kRed, "name=infer latency-ms=321") +
                    " ! dvdecode ! fakesink name=out sync=false");
  demand(&pipeline, pipeline.set_state(GST_STATE_PLAYING));
  demand(&pipeline, pipeline.run_until([&] { return pipeline.count() > 3; }, "frames came"));
  const double told = reported_latency(&pipeline, "infer");
  demand(&pipeline, pipeline.stop());
  ck_assert_double_eq_tol(told, 321, 0.01);
}

DVNN_TEST(a_pipeline_that_is_not_live_gets_no_latency_messages) {
  Pipeline pipeline(painted_source(60) + "dvconvert ! " + infer(Looks::kRed, "name=infer") +
                    " ! dvdecode" + kSink);
  demand(&pipeline, pipeline.play_to_end());
  demand(&pipeline, pipeline.stop());
  for (const Message& message : pipeline.messages()) {
    ck_assert(message.type != GST_MESSAGE_LATENCY || message.source != "infer");
  }
}

}  // namespace dvnn::test::rates_tests
