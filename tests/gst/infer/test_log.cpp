// SPDX-License-Identifier: Apache-2.0
// A stall is read from the log: each test plants one, takes the log that GST_DEBUG=dv*:6 would
// print, and finds in it which thread waits, and for what.
#include <algorithm>
#include <mutex>

#include "fault_device.h"
#include "watched_suite.h"

namespace dvnn::test::log_tests {

DVNN_WATCHED_SUITE(gst_log);

namespace {

// The lines that our categories write, each as "category: text". It lasts as long as the process:
// a thread that a device held may write when its test is long over.
struct Lines {
  std::mutex mutex;
  std::vector<std::string> all;
};

Lines& lines() {
  static auto* const kept = new Lines();
  return *kept;
}

void keep(GstDebugCategory* category, GstDebugLevel, const gchar*, const gchar*, gint, GObject*,
          GstDebugMessage* message, gpointer) {
  const std::string name = gst_debug_category_get_name(category);
  if (name.rfind("dv", 0) != 0) return;
  const std::lock_guard<std::mutex> lock(lines().mutex);
  lines().all.push_back(name + ": " + gst_debug_message_get(message));
}

/// What is written from now on.
class Log {
 public:
  Log() {
    static const bool once = [] {
      gst_debug_remove_log_function(gst_debug_log_default);
      gst_debug_add_log_function(keep, nullptr, nullptr);
      return true;
    }();
    (void)once;
    {
      const std::lock_guard<std::mutex> lock(lines().mutex);
      lines().all.clear();
    }
    gst_debug_set_threshold_from_string("dv*:LOG", FALSE);
  }
  ~Log() { gst_debug_unset_threshold_for_name("dv*"); }
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  /// Whether a line begins with this.
  bool has(const std::string& begin) {
    const std::lock_guard<std::mutex> lock(lines().mutex);
    return std::any_of(lines().all.begin(), lines().all.end(),
                       [&](const std::string& line) { return line.rfind(begin, 0) == 0; });
  }
  /// Whether a line has this somewhere.
  bool says(const std::string& part) {
    const std::lock_guard<std::mutex> lock(lines().mutex);
    return std::any_of(lines().all.begin(), lines().all.end(), [&](const std::string& line) {
      return line.find(part) != std::string::npos;
    });
  }
  std::string text() {
    const std::lock_guard<std::mutex> lock(lines().mutex);
    std::string all;
    for (const std::string& line : lines().all) all += line + "\n";
    return all;
  }
};

gulong block(GstElement* element, const char* name) {
  GstPad* pad = gst_element_get_static_pad(element, name);
  const gulong id = gst_pad_add_probe(
      pad, static_cast<GstPadProbeType>(GST_PAD_PROBE_TYPE_BLOCK | GST_PAD_PROBE_TYPE_BUFFER),
      [](GstPad*, GstPadProbeInfo*, gpointer) { return GST_PAD_PROBE_OK; }, nullptr, nullptr);
  gst_object_unref(pad);
  return id;
}

void unblock(GstElement* element, const char* name, gulong id) {
  GstPad* pad = gst_element_get_static_pad(element, name);
  gst_pad_remove_probe(pad, id);
  gst_object_unref(pad);
}

void play_until(Pipeline* pipeline, Log* log, const std::string& line) {
  demand(pipeline,
         gst_element_set_state(pipeline->get(), GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE);
  demand(pipeline, pipeline->run_until([&] { return log->has(line); }, line.c_str()), log->text());
}

const char* const kSink = " ! dvdecode ! fakesink name=out async=false";

}  // namespace

// The sink behind dvinfer does not take its first frame.
DVNN_TEST(downstream_that_takes_nothing_is_named) {
  Log log;
  Pipeline pipeline(painted_source(200) + infer(Looks::kRed, "name=infer max-in-flight=2") +
                    " ! identity name=after" + kSink);
  const gulong id = block(pipeline["after"], "src");
  play_until(&pipeline, &log,
             "dvqueue: upstream has waited for a second: downstream has not answered for frame 1");
  ck_assert_msg(log.has("dvqueue: a frame waits for room: "), "%s", log.text().c_str());
  // It was pushed, and downstream has not answered.
  ck_assert_msg(log.has("dvinfer: frame 1 is pushed, with 1 regions"), "%s", log.text().c_str());
  ck_assert_msg(!log.has("dvinfer: frame 1: downstream says"), "%s", log.text().c_str());
  unblock(pipeline["after"], "src", id);
  demand(&pipeline, pipeline.run_to_end());
  ck_assert_msg(log.has("dvinfer: frame 1: downstream says ok after "), "%s", log.text().c_str());
  ck_assert_msg(log.has("dvdecode: 1 objects by "), "%s", log.text().c_str());
  demand(&pipeline, pipeline.stop());
}

// A queue between dvconvert and dvinfer hoards the slots.
DVNN_TEST(slots_that_are_hoarded_are_counted) {
  Log log;
  Pipeline pipeline(painted_source(60) + "dvconvert ! queue name=hoard max-size-buffers=40 ! " +
                    infer(Looks::kRed, "name=infer") + kSink);
  const gulong id = block(pipeline["hoard"], "src");
  play_until(&pipeline, &log, "dvconvert: no slot of ");
  ck_assert_msg(log.has("dvslots: no slot is free for dvconvert: "), "%s", log.text().c_str());
  ck_assert_msg(!log.has("dvslots: no slot is free for dvinfer: "), "%s", log.text().c_str());
  ck_assert_msg(!log.has("dvinfer: the frame comes with tensors"), "%s", log.text().c_str());
  unblock(pipeline["hoard"], "src", id);
  demand(&pipeline, pipeline.run_to_end());
  // Those without a slot are converted where they are run.
  ck_assert_msg(log.has("dvinfer: the frame is to be inferred: 1 regions are converted here"), "%s",
                log.text().c_str());
  demand(&pipeline, pipeline.stop());
}

// A device that does not answer.
DVNN_TEST(a_run_that_does_not_end_is_told) {
  Log log;
  FaultPlan faults("");
  Pipeline pipeline(
      painted_source(60) + "dvconvert ! " +
      infer(Looks::kRed, "watchdog-ms=300 max-in-flight=1 on-error=pass " + FaultPlan::device()) +
      kSink);
  demand(&pipeline, pipeline.set_state(GST_STATE_READY));
  faults.set("exec:3:hang");
  play_until(&pipeline, &log,
             "dvqueue: frame 3 is given up: the device has not answered for 300 ms");
  ck_assert_msg(log.has("dvqueue: frame 3: region 0 of 1 is run"), "%s", log.text().c_str());
  ck_assert_msg(!log.has("dvqueue: frame 3: region 0 was run in"), "%s", log.text().c_str());
  ck_assert_msg(log.has("dvqueue: waits for frame 3: of 1 regions 1 are ready, 1 taken, 1 running"),
                "%s", log.text().c_str());
  faults.release();
  demand(&pipeline, pipeline.run_to_end());
  demand(&pipeline, pipeline.stop());
}

// The log of each thread that waits behind it says so.
DVNN_TEST(a_device_that_keeps_a_frame_is_named) {
  Log log;
  FaultPlan faults("");
  Pipeline pipeline(painted_source(60) + "dvconvert ! " +
                    infer(Looks::kRed, "watchdog-ms=0 max-in-flight=1 " + FaultPlan::device()) +
                    kSink);
  demand(&pipeline, pipeline.set_state(GST_STATE_READY));
  faults.set("exec:3:hang");
  play_until(&pipeline, &log,
             "dvqueue: upstream has waited for a second: the next to leave is frame 3: of its 1 "
             "regions 1 are taken, 1 running");
  faults.release();
  demand(&pipeline, pipeline.run_to_end());
  demand(&pipeline, pipeline.stop());
}

// What the libraries below know comes the same way.
DVNN_TEST(libraries_log_in_categories_of_their_own) {
  Log log;
  Pipeline pipeline(painted_source(1) + "dvconvert ! " + infer(Looks::kRed) + kSink);
  demand(&pipeline, pipeline.play_to_end());
  ck_assert_msg(log.has("dvdevice: device '"), "%s", log.text().c_str());
  ck_assert_msg(log.has("dvnetwork: network '"), "%s", log.text().c_str());
  demand(&pipeline, pipeline.stop());
}

namespace {

// Once `end` has returned, no slot of the network that was in use is handed out.
void expect_slots_to_close(void (*end)(Pipeline*)) {
  const char* const kClosed = "dvslots: nobody may take a slot";
  Log log;
  Pipeline pipeline(painted_source(1000000) + "identity sleep-time=300 ! dvconvert ! " +
                    infer(Looks::kRed, "name=infer") + kSink);
  demand(&pipeline, pipeline.set_state(GST_STATE_PLAYING));
  demand(&pipeline, pipeline.run_until([&] { return pipeline.count() > 10; }, "frames came"));
  ck_assert(!log.has(kClosed));
  end(&pipeline);
  demand(&pipeline, log.has(kClosed), kClosed);
  demand(&pipeline, pipeline.stop());
}

}  // namespace

// dvconvert would make tensors in vain until it hears of the other network.
DVNN_TEST(nobody_takes_slots_of_a_network_that_was_replaced) {
  expect_slots_to_close([](Pipeline* pipeline) {
    g_object_set((*pipeline)["infer"], "network", grid_path(Looks::kBlue).c_str(), nullptr);
    const auto is_changed = [](const Message& message) {
      return message.structure &&
             gst_structure_has_name(message.structure.get(), "network-changed");
    };
    demand(pipeline, pipeline->run_until(
                         [&] {
                           const auto& all = pipeline->messages();
                           return std::any_of(all.begin(), all.end(), is_changed);
                         },
                         "the network was changed"));
  });
}

// A flush would last as long as dvconvert's patience.
DVNN_TEST(a_flush_ends_waits_for_slots) {
  expect_slots_to_close([](Pipeline* pipeline) {
    gst_element_seek_simple(pipeline->get(), GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, 0);
  });
}

}  // namespace dvnn::test::log_tests
