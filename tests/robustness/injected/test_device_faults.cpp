// SPDX-License-Identifier: Apache-2.0
// Every call that a pipeline makes of the device, from its load to its stop, fails once, in turn:
// then it hangs, then it changes bytes. Each time there is one clear message or right boxes, all is
// given back, and the same pipeline plays again. The fault device counts the calls, so that there
// is no list of them.
//
// In a plain build each call fails and some of them hang; DVNN_EVERY_CALL=1 has all of them do all
// of it.
#include <algorithm>

#include "base/format.h"
#include "fault_device.h"
#include "grid_frames.h"
#include "gst_fixture.h"

namespace dvnn::test::device_faults_tests {

DVNN_GST_SUITE(device_faults);

namespace {

constexpr GstClockTime kPatience = 20 * GST_SECOND;

// The outcome of a run.
struct Outcome {
  std::vector<std::string> errors, warnings;  // of our elements
  bool ended = false;                         // by EOS
  bool stalled = false;                       // by nothing
  int right = 0, wrong = 0;                   // frames
};

void note(GstMessage* message, Outcome* outcome) {
  GError* error = nullptr;
  const bool is_error = GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR;
  if (is_error) {
    gst_message_parse_error(message, &error, nullptr);
  } else {
    gst_message_parse_warning(message, &error, nullptr);
  }
  // A source whose push fails posts a second error, as everywhere in GStreamer.
  const bool ours = g_str_has_prefix(GST_MESSAGE_SRC_NAME(message), "dv");
  if (ours)
    (is_error ? outcome->errors : outcome->warnings)
        .push_back(std::string(GST_MESSAGE_SRC_NAME(message)) + ": " + error->message);
  g_error_free(error);
}

// Red all over: each of the network's cells.
GstPadProbeReturn look_probe(GstPad*, GstPadProbeInfo* info, gpointer data) {
  constexpr size_t kCells = 16;
  auto* outcome = static_cast<Outcome*>(data);
  const bool right = detections(GST_PAD_PROBE_INFO_BUFFER(info)).size() == kCells;
  ++(right ? outcome->right : outcome->wrong);
  return GST_PAD_PROBE_OK;
}

class Line {
 public:
  Line(const std::string& backend, const std::string& more) {
    const std::string description =
        "videotestsrc name=src pattern=red num-buffers=10 ! "
        "video/x-raw,format=RGB,width=16,height=16 ! dvconvert name=dvconvert backend=" +
        backend + " ! dvinfer name=dvinfer network=" + network_path() + " " + FaultPlan::device() +
        " " + more + " ! dvdecode name=dvdecode ! fakesink name=out sync=false";
    pipeline_ = gst_parse_launch(description.c_str(), nullptr);
    ck_assert_ptr_nonnull(pipeline_);
    GstElement* sink = gst_bin_get_by_name(GST_BIN(pipeline_), "out");
    GstPad* pad = gst_element_get_static_pad(sink, "sink");
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, look_probe, &outcome_, nullptr);
    gst_object_unref(pad);
    gst_object_unref(sink);
  }
  ~Line() { gst_object_unref(pipeline_); }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  // From NULL to its end and back: load, start, a frame, a flush, frames, stop.
  Outcome play() {
    outcome_ = {};
    bus_ = gst_element_get_bus(pipeline_);
    gst_bus_set_flushing(bus_, TRUE);
    gst_bus_set_flushing(bus_, FALSE);
    const bool started =
        gst_element_set_state(pipeline_, GST_STATE_PAUSED) != GST_STATE_CHANGE_FAILURE;
    if (started && wait_for(GST_MESSAGE_ASYNC_DONE)) {
      gst_element_seek_simple(pipeline_, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, 0);
      if (wait_for(GST_MESSAGE_ASYNC_DONE)) {
        gst_element_set_state(pipeline_, GST_STATE_PLAYING);
        outcome_.ended = wait_for(GST_MESSAGE_EOS);
      }
    }
    // NULL would take the messages with it; READY would load again what could not be loaded.
    if (started) gst_element_set_state(pipeline_, GST_STATE_READY);
    const auto told = static_cast<GstMessageType>(GST_MESSAGE_WARNING | GST_MESSAGE_ERROR);
    while (GstMessage* message = gst_bus_pop_filtered(bus_, told)) {
      note(message, &outcome_);
      gst_message_unref(message);
    }
    gst_element_set_state(pipeline_, GST_STATE_NULL);
    gst_object_unref(bus_);
    return outcome_;
  }

 private:
  // False if an error comes, or nothing does.
  bool wait_for(GstMessageType type) {
    GstMessage* message = gst_bus_timed_pop_filtered(
        bus_, kPatience, static_cast<GstMessageType>(type | GST_MESSAGE_ERROR));
    outcome_.stalled = !message;
    if (!message) return false;
    const bool came = GST_MESSAGE_TYPE(message) == type;
    if (!came) note(message, &outcome_);
    gst_message_unref(message);
    return came;
  }

  GstElement* pipeline_;
  GstBus* bus_ = nullptr;
  Outcome outcome_;
};

std::string listed(const Outcome& outcome) {
  std::string text = outcome.ended ? "ended" : outcome.stalled ? "stalled" : "failed";
  text +=
      ", " + std::to_string(outcome.right) + " right, " + std::to_string(outcome.wrong) + " wrong";
  for (const std::string& error : outcome.errors) text += "; error: " + error;
  for (const std::string& warning : outcome.warnings) text += "; warning: " + warning;
  return text;
}

// Returns how many calls a run without faults makes.
int count_calls(const char* backend) {
  FaultPlan faults("");
  Line line(backend, "");
  const Outcome outcome = line.play();
  ck_assert_msg(outcome.ended && outcome.wrong == 0, "%s", listed(outcome).c_str());
  ck_assert_int_eq(faults.live(), 0);
  return faults.count("any");
}

void expect_one_message(const std::string& where, const Outcome& outcome) {
  const std::string all = where + ": " + listed(outcome);
  ck_assert_msg(!outcome.stalled, "%s", all.c_str());
  ck_assert_msg(outcome.ended ? outcome.errors.empty() : outcome.errors.size() == 1, "%s",
                all.c_str());
  for (const std::string& error : outcome.errors) {
    ck_assert_msg(dvnn::is_printable(error) && error.size() < 500, "%s", all.c_str());
  }
}

// A call that does what `fault` says, in each run another one; the number of those that were told
// of.
int fault_each(const char* backend, const std::string& fault, const char* more, int step,
               bool boxes) {
  const int calls = count_calls(backend);
  ck_assert_int_gt(calls, 50);
  int told = 0;
  for (int n = 1; n <= calls; n += step) {
    FaultPlan faults("any:" + std::to_string(n) + ":" + fault);
    Line line(backend, more);
    const Outcome outcome = line.play();
    const std::string where = std::string(backend) + " any:" + std::to_string(n) + ":" + fault;
    expect_one_message(where, outcome);
    if (boxes) ck_assert_msg(outcome.wrong == 0, "%s: %s", where.c_str(), listed(outcome).c_str());
    told += !outcome.errors.empty();
    faults.set("");
    faults.release();
    const Outcome again = line.play();
    ck_assert_msg(again.ended && again.wrong == 0 && again.errors.empty(), "%s, again: %s",
                  where.c_str(), listed(again).c_str());
    // A thread that was left behind gives back what it holds once the device has answered.
    for (int tries = 0; faults.live() != 0 && tries < 500; ++tries) g_usleep(10000);
    ck_assert_msg(faults.live() == 0, "%s: %d handles are left", where.c_str(), faults.live());
  }
  std::printf("%s, %s: %d calls, %d of %d told of\n", backend, fault.c_str(), calls, told,
              (calls + step - 1) / step);
  return told;
}

// Every how manieth call is tried: all of them by hand, fewer in builds that are slow.
int step_of(int usual) {
  if (std::getenv("DVNN_EVERY_CALL")) return 1;
  constexpr int kAll = 4;
  return usual * (kAll / std::max(1, dvnn_rounds(kAll)));
}

}  // namespace

DVNN_TEST(every_call_may_fail) {
  for (const char* backend : {"cpu", "device"}) {
    ck_assert_int_gt(fault_each(backend, "fail", "", step_of(1), true), 50 / step_of(1));
  }
}

DVNN_TEST(every_call_may_hang) {
  const int step = std::min(step_of(29), 29);  // waits, but costs little
  for (const char* backend : {"cpu", "device"}) {
    ck_assert_int_gt(fault_each(backend, "hang", "watchdog-ms=150", step, true), 1);
  }
}

DVNN_TEST(every_call_may_take_long) {
  const int step = step_of(29);
  for (const char* backend : {"cpu", "device"}) {
    ck_assert_int_eq(fault_each(backend, "delay=30", "watchdog-ms=10000", step, true), 0);
  }
}

// The boxes may then be anybody's; the process, its memory and its next run are not.
DVNN_TEST(every_call_may_change_bytes) {
  const int step = step_of(17);
  for (const char* backend : {"cpu", "device"}) fault_each(backend, "corrupt", "", step, false);
}

DVNN_TEST(an_error_text_of_the_device_may_be_anything) {
  for (const char* plan : {"error:*:fail,alloc:1:fail", "error:*:corrupt,alloc:1:fail"}) {
    FaultPlan faults(plan);
    Line line("cpu", "");
    const Outcome outcome = line.play();
    expect_one_message(plan, outcome);
    ck_assert_uint_eq(outcome.errors.size(), 1);
  }
}

}  // namespace dvnn::test::device_faults_tests
