// SPDX-License-Identifier: Apache-2.0
// Decides which frames are inferred, before anything is converted. dvconvert asks it if there is
// one upstream, else dvinfer, which owns it and hands it to dvconvert with its tensor request.
#pragma once

#include <gst/gst.h>

#include <mutex>

namespace dvnn::gst {

enum class WhenBusy { kWait, kPass };

/// The rules, from dvinfer's properties.
struct AdmissionRules {
  bool active = true;
  WhenBusy when_busy = WhenBusy::kWait;
  GstClockTime interval = 0;  // least running time from one inference to the next; 0: none
  guint interval_frames = 1;  // infer every n-th frame; 1: each
  double max_rate = 0;        // inferences per second of running time on average; 0: no limit
  bool qos = true;
  bool results_may_be_late = false;  // frames with tracked objects do not wait for theirs
};

enum class Verdict {
  kInfer,
  kPass,  // the frame goes on without inference, as the rules want
  kLate,  // it would come too late for the sink
};

/// Applies the rules to a stream's frames. Thread safe.
class Admission {
 public:
  void set_rules(const AdmissionRules& rules);
  AdmissionRules rules() const;
  /// Forgets the stream's frames so far; the rules stay.
  void reset();
  /// Sets by QoS which frames come too late: those up to this running time. GST_CLOCK_TIME_NONE:
  /// none.
  void set_earliest(GstClockTime running_time, double proportion);
  GstClockTime earliest() const;
  double proportion() const;
  /// Returns the verdict on the frame at `running_time` (GST_CLOCK_TIME_NONE: unknown) while the
  /// network is `busy` or not. A second call for the same time gives the same answer, so that
  /// dvinfer may repeat dvconvert's question, except that the frame may pass if the network has
  /// become busy since. `admitted`: dvconvert was already told to convert this frame, which matters
  /// if its time is unknown.
  Verdict decide(GstClockTime running_time, bool busy = false, bool admitted = false);

 private:
  Verdict ask(GstClockTime time);
  void withdraw(GstClockTime time);
  bool is_due(GstClockTime time);

  mutable std::mutex mutex_;
  AdmissionRules rules_;
  GstClockTime earliest_ = GST_CLOCK_TIME_NONE;
  double proportion_ = 1;
  GstClockTime asked_ = GST_CLOCK_TIME_NONE;  // the last frame's time, and what it was told
  Verdict told_ = Verdict::kInfer;
  GstClockTime inferred_ = GST_CLOCK_TIME_NONE;  // the last admitted frame's time
  GstClockTime next_ = GST_CLOCK_TIME_NONE;      // when max_rate allows another
  guint frames_ = 0;                             // since the last admitted one
  // The values before the last frame was admitted.
  GstClockTime inferred_before_ = GST_CLOCK_TIME_NONE, next_before_ = GST_CLOCK_TIME_NONE;
  guint frames_before_ = 0;
};

}  // namespace dvnn::gst
