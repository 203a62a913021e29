// SPDX-License-Identifier: Apache-2.0
// A pipeline under a watchdog, and what reached its sinks.
//
// Every buffer and event that passes any pad is progress. No progress for stall_limit() is a stall:
// the run ends with a problem() that names the pipeline, every element's state, every queue's level
// and every pad's count, and the pipeline is taken down from a helper thread, so that a test fails
// instead of hanging. Every change of state runs in a helper thread for the same reason.
//
// Sources named "src…" that make black 8-bit RGB are painted over with grid frames
// (grid_frames.h); frames that reach sinks named "out…" are read: times, boxes, pixels.
//
// Used from one thread. What streaming threads write lives as long as they may.
#pragma once

#include <gst/gst.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "boxes.h"
#include "grid_frames.h"

namespace dvnn::test {

/// How long no buffer or event may pass: DVNN_TEST_STALL seconds, or 5 (times what a sanitizer
/// costs).
GstClockTime stall_limit();

/// A frame that a sink got.
struct Arrival {
  GstClockTime pts = GST_CLOCK_TIME_NONE;
  gint64 at_us = 0;  // g_get_monotonic_time()
  std::vector<Found> found;
  Passes passes;
  std::vector<Found> expected;  // by the pixels (Watch::looks), if readable
  bool readable = false;
  guint checksum = 0;  // of the bytes, where caps are other/tensors
};

struct Message {
  GstMessageType type;
  std::string source, text;  // its element, and its structure or error in words
  std::shared_ptr<GstStructure> structure;
};

class Pipeline {
 public:
  /// Parses the description; a problem() if it does not parse. `looks`: the network whose boxes
  /// arrivals expect; at sinks with "blue" in their names it is the one that finds blue.
  explicit Pipeline(const std::string& description, Looks looks = Looks::kRed);
  /// Arrivals expect these networks' boxes as well.
  void also_expect(Looks looks);
  /// Takes it down.
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  GstElement* get() const { return pipeline_; }
  /// An element by its name; ends the test if there is none. (transfer none)
  GstElement* operator[](const std::string& name) const;

  /// Changes the state and waits until it is reached (or, for live sources and pipelines without
  /// preroll, until that cannot be); false with a problem() if it fails or blocks.
  bool set_state(GstState state);
  /// Plays to EOS; false with a problem() on an error or a stall.
  bool play_to_end();
  /// Goes on to EOS from where it is.
  bool run_to_end();
  /// Plays on until `done` is true.
  bool run_until(const std::function<bool()>& done, const char* what);
  /// Plays on for so long; EOS before that is a problem.
  bool run_for(GstClockTime time);
  /// NULL, from a helper thread; false with a problem() if that does not return.
  bool stop();

  /// Why the last call was false; with it, the dump.
  const std::string& problem() const { return problem_; }
  const std::string& description() const { return description_; }
  /// States, queue levels and counts, for messages.
  std::string dump() const;

  /// What reached the sink of that name, in order.
  std::vector<Arrival> arrivals(const std::string& sink = "out") const;
  size_t count(const std::string& sink = "out") const;
  /// Messages of elements, warnings and QoS messages so far.
  const std::vector<Message>& messages() const { return messages_; }
  size_t count_messages(GstMessageType type, const std::string& name = "") const;
  /// Takes what is on the bus.
  void read_bus();

  struct Watch;  // what streaming threads touch

 private:
  enum class Step { kGoOn, kEos, kFailed };
  Step look(GstClockTime wait);
  bool in_helper(const char* what, const std::function<bool()>& work);
  void fail(const std::string& why);

  std::string description_, problem_;
  GstElement* pipeline_ = nullptr;
  std::shared_ptr<Watch> watch_;
  std::vector<Message> messages_;
  bool eos_ = false, failed_ = false;
  guint64 last_progress_ = 0;
  gint64 progressed_at_ = 0;
};

/// Takes down every pipeline that a failed test left; returns when they are gone or given up.
void stop_strays();

/// The first arrival whose boxes are not what its pixels say, in words; empty if there is none.
std::string wrong_boxes(const std::vector<Arrival>& arrivals, double pixels = 0.01);

/// Where two runs differ in their frames or boxes; empty if nowhere. With `some`, frames of `want`
/// may be missing.
std::string compare_runs(const std::vector<Arrival>& have, const std::vector<Arrival>& want,
                         double pixels = 0, bool some = false);

/// A source of painted frames, "src" or another name that begins so.
std::string painted_source(int frames, const std::string& more = "",
                           const std::string& name = "src", int width = 64, int height = 64,
                           int rate = 30);

/// `dvinfer` with that network.
std::string infer(Looks looks = Looks::kRed, const std::string& properties = "");

}  // namespace dvnn::test
