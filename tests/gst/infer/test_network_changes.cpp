// SPDX-License-Identifier: Apache-2.0
// Networks that change while playing: which one frames are run on, what is left of the other, and
// that dvconvert renegotiates, but no element upstream of it.
#include <atomic>
#include <string>

#include "fault_device.h"
#include "streams.h"
#include "watched_suite.h"

namespace dvnn::test::network_changes_tests {

DVNN_WATCHED_SUITE(gst_network_changes);

namespace {

constexpr int kFrames = 30;
constexpr int kEndless = 1000000;
const char* const kSink = " ! dvdecode ! fakesink name=out async=false";

// Frames from `first` on have the boxes of one network.
std::string wrong_for(const std::vector<Arrival>& arrivals, size_t first, const char* label) {
  for (size_t i = first; i < arrivals.size(); ++i) {
    for (const Found& found : arrivals[i].found) {
      if (found.label != label) return "frame " + std::to_string(i) + ": " + found.label;
    }
    if (arrivals[i].found.empty()) return "frame " + std::to_string(i) + ": nothing";
  }
  return "";
}

bool changed_to(const Pipeline& pipeline, size_t from, const std::string& path) {
  for (size_t i = from; i < pipeline.messages().size(); ++i) {
    const Message& message = pipeline.messages()[i];
    if (message.type != GST_MESSAGE_ELEMENT || !message.structure) continue;
    if (!gst_structure_has_name(message.structure.get(), "network-changed")) continue;
    return path == gst_structure_get_string(message.structure.get(), "network");
  }
  return false;
}

std::string paced_source() {
  return painted_source(kEndless) + "identity sleep-time=300 ! ";
}

// Swaps and waits for the message and for ten frames behind it.
void swap_to(Pipeline* pipeline, const std::string& path, const char* label) {
  const size_t from = pipeline->messages().size();
  g_object_set((*pipeline)["infer"], "network", path.c_str(), nullptr);
  demand(pipeline, pipeline->run_until([&] { return changed_to(*pipeline, from, path); },
                                       "the network was changed"));
  constexpr size_t kUnderWay = 20;
  const size_t first = pipeline->count() + kUnderWay;
  demand(pipeline,
         pipeline->run_until([&] { return pipeline->count() > first + 10; }, "frames went on"));
  demand_none(pipeline, wrong_for(pipeline->arrivals(), first, label));
}

}  // namespace

DVNN_TEST(a_network_that_is_named_again_is_not_loaded_again) {
  Pipeline pipeline(paced_source() + infer(Looks::kRed, "name=infer") + kSink);
  demand(&pipeline, pipeline.set_state(GST_STATE_PLAYING));
  demand(&pipeline, pipeline.run_until([&] { return pipeline.count() > 10; }, "frames came"));
  swap_to(&pipeline, grid_path(Looks::kBlue), "blue");
  g_object_set(pipeline["infer"], "network", grid_path(Looks::kBlue).c_str(), nullptr);
  const size_t then = pipeline.count();
  demand(&pipeline,
         pipeline.run_until([&] { return pipeline.count() > then + 300; }, "frames went on"));
  size_t changes = 0;
  for (const Message& message : pipeline.messages()) {
    changes += message.type == GST_MESSAGE_ELEMENT && message.structure &&
               gst_structure_has_name(message.structure.get(), "network-changed");
  }
  ck_assert_uint_eq(changes, 1);
  demand(&pipeline, pipeline.stop());
}

DVNN_TEST(another_network_takes_over_while_playing) {
  for (const char* head : {"dvconvert ! ", "", "dvconvert ! queue ! "}) {
    Pipeline pipeline(paced_source() + head + infer(Looks::kRed, "name=infer") + kSink);
    demand(&pipeline, pipeline.set_state(GST_STATE_PLAYING));
    demand(&pipeline, pipeline.run_until([&] { return pipeline.count() > 10; }, "frames came"));
    swap_to(&pipeline, grid_path(Looks::kBlue), "blue");
    swap_to(&pipeline, grid_path(Looks::kUpperRed), "upper");
    swap_to(&pipeline, grid_path(Looks::kRed, 8), "red");  // of another size
    swap_to(&pipeline, grid_path(Looks::kRed), "red");
    const std::vector<Arrival> arrivals = pipeline.arrivals();
    demand(&pipeline, pipeline.stop());
    for (size_t i = 0; i < arrivals.size(); ++i) {
      ck_assert_msg(arrivals[i].passes.inferred == 1, "frame %zu was not inferred", i);
    }
  }
}

DVNN_TEST(a_network_that_does_not_load_leaves_the_old_one) {
  const std::string broken = grid_path(Looks::kBlue) + ".broken";
  g_file_set_contents(broken.c_str(), "not a network", -1, nullptr);
  Pipeline pipeline(paced_source() + "dvconvert ! " + infer(Looks::kRed, "name=infer") + kSink);
  demand(&pipeline, pipeline.set_state(GST_STATE_PLAYING));
  for (const std::string& bad : {std::string("/nowhere/net.dvn"), broken}) {
    pipeline.read_bus();
    const size_t warnings = pipeline.count_messages(GST_MESSAGE_WARNING);
    g_object_set(pipeline["infer"], "network", bad.c_str(), nullptr);
    demand(&pipeline, pipeline.run_until(
                          [&] { return pipeline.count_messages(GST_MESSAGE_WARNING) > warnings; },
                          "there was a warning"));
    const size_t frames = pipeline.count();
    demand(&pipeline,
           pipeline.run_until([&] { return pipeline.count() > frames + 10; }, "frames went on"));
    gchar* path = nullptr;
    g_object_get(pipeline["infer"], "network", &path, nullptr);
    const std::string now = path ? path : "";
    g_free(path);
    demand(&pipeline, now == grid_path(Looks::kRed), "the property says " + now);
  }
  demand_none(&pipeline, wrong_boxes(pipeline.arrivals()));
  demand(&pipeline, pipeline.stop());
  unlink(broken.c_str());
}

DVNN_TEST(networks_may_change_many_times_under_load) {
  constexpr int kSwaps = 1000;
  Pipeline pipeline(painted_source(kEndless) + "dvconvert ! queue ! " +
                    infer(Looks::kRed, "name=infer") + " ! tee name=t t. ! queue" + kSink +
                    " t. ! queue ! appsink async=false sync=false max-buffers=20 drop=true");
  demand(&pipeline, pipeline.set_state(GST_STATE_PLAYING));
  const std::string paths[] = {grid_path(Looks::kBlue), grid_path(Looks::kRed, 8),
                               grid_path(Looks::kUpperRed), grid_path(Looks::kRed)};
  for (int i = 0; i < kSwaps; ++i) {
    const std::string& path = paths[i % 4];
    const size_t from = pipeline.messages().size();
    g_object_set(pipeline["infer"], "network", path.c_str(), nullptr);
    // Every other one is overtaken by the next.
    if (i % 2 == 0) continue;
    demand(&pipeline, pipeline.run_until(
                          [&] {
                            for (size_t k = from; k < pipeline.messages().size(); ++k) {
                              if (changed_to(pipeline, k, path)) return true;
                            }
                            return false;
                          },
                          "the network was changed"));
  }
  swap_to(&pipeline, grid_path(Looks::kBlue), "blue");
  demand(&pipeline, pipeline.stop());
  ck_assert_uint_eq(pipeline.count_messages(GST_MESSAGE_WARNING), 0);
}

DVNN_TEST(a_network_that_changes_while_paused_or_at_the_end_does_no_harm) {
  for (int i = 0; i < 10; ++i) {
    Pipeline pipeline(painted_source(kFrames) + "dvconvert ! " + infer(Looks::kRed, "name=infer") +
                      kSink);
    demand(&pipeline, pipeline.set_state(GST_STATE_PAUSED));
    g_object_set(pipeline["infer"], "network", grid_path(Looks::kBlue).c_str(), nullptr);
    demand(&pipeline, pipeline.play_to_end());
    g_object_set(pipeline["infer"], "network", grid_path(Looks::kUpperRed).c_str(), nullptr);
    demand(&pipeline, pipeline.stop());
  }
}

// The new network wants blue before red. With another's conversion it would look for red, too.
DVNN_TEST(a_stream_of_pixels_is_read_as_the_new_network_asks) {
  constexpr int kSize = 16;  // of a grid network's input
  const std::string caps =
      "other/tensors,format=(string)static,framerate=(fraction)25/1,num_tensors=1,"
      "types=(string)uint8,dimensions=(string)3:16:16:1";
  const auto line = [](Looks looks) {
    return "dvinfer name=infer network=" + grid_path(looks) + " ! capsfilter caps=other/tensors";
  };
  const auto frame = [] { return grid_frame(kSize, kSize, 3); };
  const auto wanted = output_of(line(Looks::kBlue), caps, frame());
  ck_assert(wanted != output_of(line(Looks::kRed), caps, frame()));
  GstHarness* h = chain(line(Looks::kRed), caps);
  GstBus* bus = gst_bus_new();
  gst_element_set_bus(h->element, bus);
  GstElement* element = gst_bin_get_by_name(GST_BIN(h->element), "infer");
  gst_buffer_unref(gst_harness_push_and_pull(h, frame()));
  g_object_set(element, "network", grid_path(Looks::kBlue).c_str(), nullptr);
  // It takes over with a frame.
  for (bool changed = false; !changed;) {
    gst_buffer_unref(gst_harness_push_and_pull(h, frame()));
    GstMessage* message = gst_bus_pop_filtered(bus, GST_MESSAGE_ELEMENT);
    changed = message && gst_message_has_name(message, "network-changed");
    gst_clear_message(&message);
  }
  GstBuffer* out = gst_harness_push_and_pull(h, frame());
  ck_assert(bytes_of(out) == wanted);
  gst_buffer_unref(out);
  gst_element_set_bus(h->element, nullptr);
  gst_object_unref(bus);
  gst_object_unref(element);
  gst_harness_teardown(h);
}

DVNN_TEST(null_waits_for_a_load_and_leaves_nothing_on_the_device) {
  FaultPlan faults("");
  Pipeline pipeline(paced_source() + "dvconvert ! " +
                    infer(Looks::kRed, "name=infer " + FaultPlan::device()) + kSink);
  demand(&pipeline, pipeline.set_state(GST_STATE_PLAYING));
  demand(&pipeline, pipeline.run_until([&] { return pipeline.count() > 10; }, "frames came"));
  // Longer than a change of state would take without it.
  faults.set("commit:*:delay=500");
  g_object_set(pipeline["infer"], "network", grid_path(Looks::kBlue).c_str(), nullptr);
  demand(&pipeline, pipeline.run_until([&] { return faults.count("commit") > 0; },
                                       "the network was being loaded"));
  demand(&pipeline, pipeline.stop());
  ck_assert_int_eq(faults.live(), 0);
}

namespace {

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

}  // namespace dvnn::test::network_changes_tests
