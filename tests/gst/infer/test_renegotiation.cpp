// SPDX-License-Identifier: Apache-2.0
// Another network makes dvconvert renegotiate, and no element upstream of it.
#include <atomic>

#include "watched_suite.h"

namespace dvnn::test::renegotiation_tests {

DVNN_WATCHED_SUITE(gst_renegotiation);

namespace {

constexpr int kEndless = 1000000;
const char* const kSink = " ! dvdecode ! fakesink name=out async=false";

// What probes saw and do.
struct Seen {
  GstElement* filter = nullptr;
  std::atomic<int> negotiations{0};      // that were asked for upstream of dvconvert
  std::atomic<int> slots{0};             // that left dvconvert with a frame
  std::atomic<bool> asked{false};        // dvinfer has another network
  std::atomic<int> width{0}, wanted{0};  // of frames behind the filter; 0: any
};

Seen* seen_by(gpointer data) {
  return static_cast<Seen*>(data);
}

GstPadProbeReturn upstream_probe(GstPad*, GstPadProbeInfo* info, gpointer data) {
  const GstEvent* event = GST_PAD_PROBE_INFO_EVENT(info);
  seen_by(data)->negotiations += GST_EVENT_TYPE(event) == GST_EVENT_RECONFIGURE;
  return GST_PAD_PROBE_OK;
}

GstPadProbeReturn asked_probe(GstPad*, GstPadProbeInfo* info, gpointer data) {
  const GstEventType type = GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info));
  if (type == GST_EVENT_RECONFIGURE || type == GST_EVENT_CUSTOM_UPSTREAM)
    seen_by(data)->asked = true;
  return GST_PAD_PROBE_OK;
}

GstPadProbeReturn slot_probe(GstPad* pad, GstPadProbeInfo* info, gpointer data) {
  const GType slot = g_type_from_name("GstDvSlotMetaAPI");
  GstBuffer* frame = GST_PAD_PROBE_INFO_BUFFER(info);
  seen_by(data)->slots += slot && gst_buffer_get_meta(frame, slot) != nullptr;
  GstCaps* caps = gst_pad_get_current_caps(pad);
  int width = 0;
  gst_structure_get_int(gst_caps_get_structure(caps, 0), "width", &width);
  seen_by(data)->width = width;
  gst_caps_unref(caps);
  return GST_PAD_PROBE_OK;
}

void set_size(GstElement* filter, int size) {
  GstCaps* caps = gst_caps_new_simple("video/x-raw", "width", G_TYPE_INT, size, "height",
                                      G_TYPE_INT, size, nullptr);
  g_object_set(filter, "caps", caps, nullptr);
  gst_caps_unref(caps);
}

// The first frame that comes to the filter once there is another network finds other caps there.
GstPadProbeReturn size_probe(GstPad*, GstPadProbeInfo*, gpointer data) {
  Seen* seen = seen_by(data);
  if (seen->wanted && seen->asked.exchange(false)) set_size(seen->filter, seen->wanted);
  return GST_PAD_PROBE_OK;
}

void probe(Pipeline* pipeline, const char* element, const char* pad_name, GstPadProbeType type,
           GstPadProbeCallback call, Seen* seen) {
  GstPad* pad = gst_element_get_static_pad((*pipeline)[element], pad_name);
  gst_pad_add_probe(pad, type, call, seen, nullptr);
  gst_object_unref(pad);
}

void watch(Pipeline* pipeline, Seen* seen) {
  seen->filter = (*pipeline)["filter"];
  probe(pipeline, "filter", "sink", GST_PAD_PROBE_TYPE_BUFFER, size_probe, seen);
  probe(pipeline, "convert", "src", GST_PAD_PROBE_TYPE_EVENT_UPSTREAM, asked_probe, seen);
  probe(pipeline, "convert", "src", GST_PAD_PROBE_TYPE_BUFFER, slot_probe, seen);
}

void change_network(Pipeline* pipeline, Looks looks) {
  g_object_set((*pipeline)["infer"], "network", grid_path(looks).c_str(), nullptr);
}

}  // namespace

DVNN_TEST(another_network_is_news_to_dvconvert_alone) {
  Seen seen;
  Pipeline pipeline(painted_source(kEndless) +
                    "identity sleep-time=300 ! capsfilter name=filter ! "
                    "dvconvert name=convert ! " +
                    infer(Looks::kRed, "name=infer") + kSink);
  watch(&pipeline, &seen);
  demand(&pipeline, pipeline.set_state(GST_STATE_PLAYING));
  demand(&pipeline, pipeline.run_until([&] { return pipeline.count() > 10; }, "frames came"));
  seen.asked = false;
  probe(&pipeline, "filter", "src", GST_PAD_PROBE_TYPE_EVENT_UPSTREAM, upstream_probe, &seen);
  change_network(&pipeline, Looks::kBlue);
  demand(&pipeline, pipeline.run_until([&] { return seen.asked.load(); }, "dvconvert heard of it"));
  const int before = seen.slots;
  demand(&pipeline, pipeline.run_until([&] { return seen.slots > before + 10; },
                                       "frames came in slots of the new network"));
  ck_assert_int_eq(seen.negotiations, 0);
  demand(&pipeline, pipeline.stop());
}

// A filter that has to negotiate while frames of another size than its own are under way to it
// cannot: "not-negotiated".
DVNN_TEST(network_and_size_may_change_together) {
  Seen seen;
  Pipeline pipeline(painted_source(kEndless) +
                    "identity sleep-time=300 ! videoscale ! queue ! "
                    "capsfilter name=filter ! dvconvert name=convert ! " +
                    infer(Looks::kRed, "name=infer") + kSink);
  watch(&pipeline, &seen);
  set_size(seen.filter, 64);
  demand(&pipeline, pipeline.set_state(GST_STATE_PLAYING));
  demand(&pipeline, pipeline.run_until([&] { return pipeline.count() > 10; }, "frames came"));
  Looks looks = Looks::kRed;
  for (const int size : {32, 96, 64, 32}) {
    seen.asked = false;
    seen.wanted = size;
    looks = looks == Looks::kRed ? Looks::kBlue : Looks::kRed;
    change_network(&pipeline, looks);
    demand(&pipeline,
           pipeline.run_until([&] { return seen.width == size; }, "frames had the new size"));
  }
  demand(&pipeline, pipeline.stop());
}

}  // namespace dvnn::test::renegotiation_tests
