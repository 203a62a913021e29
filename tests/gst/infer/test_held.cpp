// SPDX-License-Identifier: Apache-2.0
// How many frames dvinfer holds, to which elements it reports that, and how frames pass without a
// network's work: in the thread that brings them.
#include <atomic>
#include <mutex>
#include <set>

#include "gst_fixture.h"
#include "watched_suite.h"

namespace dvnn::test::held_tests {

DVNN_WATCHED_SUITE(gst_held);

namespace {

const char* const kSink = " ! fakesink name=out async=false";

// Counts the buffers that pass an element's pads.
struct Gauge {
  std::atomic<int> in{0}, out{0}, most{0};
  std::mutex mutex;
  std::set<GThread*> came_in, went_out;
};

GstPadProbeReturn comes_in(GstPad*, GstPadProbeInfo*, gpointer data) {
  auto* gauge = static_cast<Gauge*>(data);
  const int held = ++gauge->in - gauge->out;
  if (held > gauge->most) gauge->most = held;
  const std::lock_guard<std::mutex> lock(gauge->mutex);
  gauge->came_in.insert(g_thread_self());
  return GST_PAD_PROBE_OK;
}

GstPadProbeReturn goes_out(GstPad*, GstPadProbeInfo*, gpointer data) {
  auto* gauge = static_cast<Gauge*>(data);
  ++gauge->out;
  const std::lock_guard<std::mutex> lock(gauge->mutex);
  gauge->went_out.insert(g_thread_self());
  return GST_PAD_PROBE_OK;
}

gulong add_probe(GstElement* element, const char* name, GstPadProbeType type,
                 GstPadProbeCallback probe, gpointer data) {
  GstPad* pad = gst_element_get_static_pad(element, name);
  const gulong id = gst_pad_add_probe(pad, type, probe, data, nullptr);
  gst_object_unref(pad);
  return id;
}

void watch(GstElement* element, Gauge* gauge) {
  add_probe(element, "sink", GST_PAD_PROBE_TYPE_BUFFER, comes_in, gauge);
  add_probe(element, "src", GST_PAD_PROBE_TYPE_BUFFER, goes_out, gauge);
}

guint announced(const std::string& properties) {
  GstHarness* h =
      gst_harness_new_parse(("dvinfer network=" + network_path() + " " + properties).c_str());
  gst_harness_set_src_caps_str(h, video_caps("RGB", 64, 64).c_str());
  GstCaps* caps = gst_caps_from_string(video_caps("RGB", 64, 64).c_str());
  GstQuery* query = gst_query_new_allocation(caps, TRUE);
  ck_assert(gst_pad_peer_query(h->srcpad, query));
  guint all = 0;
  for (guint i = 0; i < gst_query_get_n_allocation_pools(query); ++i) {
    guint size = 0, min = 0, max = 0;
    gst_query_parse_nth_allocation_pool(query, i, nullptr, &size, &min, &max);
    ck_assert_uint_ge(size, 64 * 64 * 3);
    all = MAX(all, min);
  }
  gst_query_unref(query);
  gst_caps_unref(caps);
  gst_harness_teardown(h);
  return all;
}

// Plays to the end. Nothing leaves dvinfer, "infer", until `frames` have come.
void play_held(Pipeline* pipeline, int frames, Gauge* gauge) {
  GstElement* element = (*pipeline)["infer"];
  // Before the count of what leaves, so that what waits here is still held.
  const gulong block = add_probe(
      element, "src",
      static_cast<GstPadProbeType>(GST_PAD_PROBE_TYPE_BLOCK | GST_PAD_PROBE_TYPE_BUFFER),
      [](GstPad*, GstPadProbeInfo*, gpointer) { return GST_PAD_PROBE_OK; }, nullptr);
  watch(element, gauge);
  demand(pipeline,
         gst_element_set_state(pipeline->get(), GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE);
  demand(pipeline, pipeline->run_until([&] { return gauge->in >= frames; }, "frames came"));
  GstPad* pad = gst_element_get_static_pad(element, "src");
  gst_pad_remove_probe(pad, block);
  gst_object_unref(pad);
  demand(pipeline, pipeline->run_to_end());
}

}  // namespace

// Nothing leaves until as many have come as may be held; then one more would be too many.
DVNN_TEST(max_held_frames_are_held_and_no_more) {
  for (const int most : {1, 2, 3, 6}) {
    Pipeline pipeline(
        painted_source(60) +
        infer(Looks::kRed, "name=infer latency-ms=1000 max-held=" + std::to_string(most)) +
        " ! identity name=after ! dvdecode" + kSink);
    Gauge gauge;
    play_held(&pipeline, most, &gauge);
    ck_assert_msg(gauge.most == most, "max-held=%d: %d", most, gauge.most.load());
    ck_assert_int_eq(gauge.out, 60);
    const std::string wrong = wrong_boxes(pipeline.arrivals());
    ck_assert_msg(wrong.empty(), "%s", wrong.c_str());
    demand(&pipeline, pipeline.stop());
  }
}

DVNN_TEST(without_inference_frames_pass_in_the_thread_that_brings_them) {
  Pipeline pipeline(painted_source(60) + "dvconvert ! " +
                    infer(Looks::kRed, "name=infer active=false") + " ! dvdecode" + kSink);
  Gauge gauge;
  watch(pipeline["infer"], &gauge);
  demand(&pipeline, pipeline.play_to_end());
  ck_assert_int_eq(gauge.out, 60);
  ck_assert_int_eq(gauge.most, 1);
  ck_assert(gauge.came_in == gauge.went_out);
  for (const Arrival& arrival : pipeline.arrivals()) {
    ck_assert(arrival.found.empty());
    ck_assert_int_eq(arrival.passes.skipped, 1);
  }
  demand(&pipeline, pipeline.stop());
}

// Frames and events keep their order wherever it is switched, and every frame that is inferred has
// its boxes.
DVNN_TEST(inference_is_switched_while_frames_are_held) {
  Pipeline pipeline(painted_source(1000000) + "dvconvert ! " +
                    infer(Looks::kRed, "name=infer max-in-flight=4") + " ! dvdecode" + kSink);
  demand(&pipeline, pipeline.set_state(GST_STATE_PLAYING));
  for (int round = 0; round < 20; ++round) {
    g_object_set(pipeline["infer"], "active", static_cast<gboolean>(round % 2 == 1), nullptr);
    const size_t frames = pipeline.count();
    demand(&pipeline,
           pipeline.run_until([&] { return pipeline.count() > frames + 10; }, "frames went on"));
  }
  const std::vector<Arrival> arrivals = pipeline.arrivals();
  demand(&pipeline, pipeline.stop());
  size_t inferred = 0;
  for (size_t i = 1; i < arrivals.size(); ++i) {
    const GstClockTime apart = arrivals[i].pts - arrivals[i - 1].pts;  // rounded
    ck_assert_uint_ge(apart, GST_SECOND / 30);
    ck_assert_uint_le(apart, GST_SECOND / 30 + 1);
  }
  for (const Arrival& arrival : arrivals) inferred += !arrival.found.empty();
  ck_assert_uint_gt(inferred, 0);
  ck_assert_uint_lt(inferred, arrivals.size());
}

DVNN_TEST(upstream_is_told_how_many_of_its_buffers_are_kept) {
  ck_assert_uint_eq(announced("max-held=7 latency-ms=1000"), 7);
  ck_assert_uint_eq(announced("max-held=3 latency-ms=1000"), 3);
  ck_assert_uint_eq(announced("active=false"), 1);
  ck_assert_uint_eq(announced("max-in-flight=5 max-held=20 latency-ms=0"), 9);
}

// While nothing leaves, a source brings frames until one waits at the door.
DVNN_TEST(as_many_frames_are_held_as_upstream_is_told) {
  for (const std::string limits : {"max-in-flight=1 latency-ms=0", "max-in-flight=5 latency-ms=0",
                                   "max-in-flight=2 latency-ms=100", "max-held=4 latency-ms=100"}) {
    const int told = static_cast<int>(announced(limits));
    Pipeline pipeline(painted_source(60) + infer(Looks::kRed, "name=infer " + limits) +
                      " ! identity name=after ! dvdecode" + kSink);
    Gauge gauge;
    play_held(&pipeline, told, &gauge);
    ck_assert_msg(gauge.most == told, "%s: %d are held, %d announced", limits.c_str(),
                  gauge.most.load(), told);
    demand(&pipeline, pipeline.stop());
  }
}

}  // namespace dvnn::test::held_tests
