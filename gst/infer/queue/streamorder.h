// SPDX-License-Identifier: Apache-2.0
// The order of a stream, and what may enter and leave it: gstqueue's rules.
//
// It owns what gstqueue.c calls srcresult, eos and unexpected, and keeps its rules: a flow return
// other than OK stops both sides and goes upstream; after EOS from downstream frames are refused,
// but a segment or a stream start lifts that the moment it is queued; not-linked ends with
// RECONFIGURE; sticky events pass while the flow is not OK; EOS then does not, and is reported.
// Left out of gstqueue's rules: leaking, thresholds and levels in bytes and time (a queue before
// dvinfer does that), buffer lists (the default chain function takes them apart), and queries in
// the queue (they wait until it has drained, which is the same order).
#pragma once

#include <functional>
#include <string>

#include "infer/queue/inferitem.h"

namespace dvnn::gst {

/// For one thread at a time: InferQueue calls it under its lock, and waits where it says so.
class StreamOrder {
 public:
  /// Starts or pauses the source pad's task.
  using SetTask = std::function<void(bool run)>;

  struct Limits {
    size_t frames = 64;  // queued frames
    // All frames that the element holds: queued, being pushed, and waiting to be queued. 0: no
    // limit beside `frames`.
    size_t held = 0;
  };

  /// Starts in the flushing state. `name` is the element's, for the log.
  StreamOrder(const Limits& limits, SetTask set_task, std::string name);

  void set_limits(const Limits& limits) { limits_ = limits; }
  const Limits& limits() const { return limits_; }
  /// Returns whether one more frame may be queued.
  bool has_room() const { return frames_ < limits_.frames; }
  /// Returns whether one more frame may be held.
  bool may_hold_more() const { return limits_.held == 0 || held() < limits_.held; }
  size_t frames() const { return frames_; }
  /// Returns the number of frames that are queued or being pushed.
  size_t held() const { return frames_ + (busy_ ? 1 : 0); }
  /// Returns the number of items that are queued or being pushed.
  size_t size() const { return items_.size() + (busy_ ? 1 : 0); }
  /// Returns whether everything has left and was pushed.
  bool is_idle() const { return size() == 0; }

  GstFlowReturn flow() const { return flow_; }
  /// Returns what a frame would be refused with now; OK if it would be queued.
  GstFlowReturn frame_flow() const;

  // --- sink side ---
  /// Queues and numbers a frame that is not refused, the single item of `frame`.
  void push_frame(InferItems frame);
  struct EventResult {
    bool queued = false;
    GstFlowReturn flow = GST_FLOW_OK;  // why the frame or event is refused
    bool fatal = false;                // an EOS that will not arrive: the element posts an error
  };
  EventResult push_event(EventPtr event);
  /// Takes a frame out of the queue. Returns false if it has left before.
  bool remove(InferItem* frame);
  void start_flush();
  /// Starts anew, with the task if `start_task`. The contents must have been dropped before.
  void stop_flush(bool start_task);
  /// Drops the contents except the events that describe the stream, which are not sent again; a
  /// segment does come again after a flush. Returns the frames.
  InferItems drop_all();

  // --- source side ---
  /// Returns the next item, or null if there is none.
  InferItem* head() const { return items_.empty() ? nullptr : items_.front().get(); }
  /// Takes the next item, which must exist.
  InferItems take_head();
  /// Marks that the source side holds an item, until finish().
  void hand_out() { busy_ = true; }
  struct Stopped {
    bool stopped = false;
    GstFlowReturn flow = GST_FLOW_OK;
    bool fatal = false;  // an EOS that was queued will not arrive
  };
  /// Notes the result of pushing an item; an EOS event gives GST_FLOW_EOS. `told`: an error
  /// was posted already, so a lost EOS need not post another. Frames that downstream's EOS ends are
  /// added to `dropped`.
  Stopped finish(bool is_event, GstFlowReturn flow, bool told, InferItems* dropped);
  /// Pauses the task, because the flow has stopped.
  void pause();
  /// RECONFIGURE: downstream may be linked again. Returns whether that matters.
  bool reconfigure();

 private:
  const char* id() const { return name_.c_str(); }
  bool has_failed() const { return flow_ == GST_FLOW_NOT_LINKED || flow_ < GST_FLOW_EOS; }
  bool drop_until_new_stream(InferItems* dropped);

  const std::string name_;
  const SetTask set_task_;
  Limits limits_;
  InferItems items_;    // in stream order
  size_t frames_ = 0;   // in items_
  guint64 pushed_ = 0;  // frames
  GstFlowReturn flow_ = GST_FLOW_FLUSHING;
  bool eos_ = false;         // EOS has been queued
  bool unexpected_ = false;  // downstream has answered EOS: no more frames
  bool busy_ = false;        // the source side holds an item
  bool told_ = false;        // an error was posted when the flow stopped
};

}  // namespace dvnn::gst
