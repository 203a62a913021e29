// SPDX-License-Identifier: Apache-2.0
// Keeps a stream in order while several of its frames are inferred at once.
//
// The sink side pushes frames and serialized events. Workers run the regions of frames, one after
// the other or several at once. The source side pops everything in the order in which it came, and
// waits until the frame at the head is done.
//
// A frame may have more regions than there are slots. It is pushed when the first regions have
// theirs; the sink side fills the others while workers run these, and tells the queue of each.
//
// A frame may be told to leave by a time. If it is not done by then it is popped without results,
// and what is left of its item is late work: workers go on with it, nobody waits for it, and the
// source side takes what it came to (take_late()) when the next frame leaves. Late work that has
// failed is popped like a frame, so that somebody is told. What is still under way is forgotten
// with a flush, and wherever the source side says that nothing of it will fit any more.
//
// The queue owns, under one lock, what gstqueue.c calls srcresult, eos and unexpected, and keeps
// its rules: a flow return other than OK stops both sides and goes upstream; after EOS from
// downstream frames are refused, but a segment or a stream start lifts that the moment it is
// queued; not-linked ends with RECONFIGURE; sticky events pass while the flow is not OK; EOS then
// does not, and is reported. Left out of gstqueue's rules: leaking, thresholds and levels in bytes
// and time (a queue before dvinfer does that), buffer lists (the default chain function takes them
// apart), and queries in the queue (they wait until it has drained, which is the same order).
#pragma once

#include <gst/gst.h>

#include <array>
#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "image/view.h"
#include "infer/latency.h"
#include "infer/regiontag.h"
#include "infer/slotpool.h"
#include "refs.h"

namespace dvnn::gst {

struct LoadedNetwork;
struct TensorOutput;

/// An object that is known again by its track, and where it was when it was looked at.
struct Followed {
  guint64 track = 0;
  gint class_id = 0;
  image::Corners box;
};

/// One region of a frame in flight: what it is, and how the network's input shows it; its slot
/// until the run is over, then its outputs (views of the slot, or copies).
struct Region {
  RegionTag tag;
  image::Shown shown;
  SlotPtr slot;
  int64_t ready_us = 0;  // when it was filled
  std::vector<MemoryPtr> outputs;
  Followed followed;       // of a frame that may leave before its results: whose they are
  bool predicted = false;  // seen in an earlier frame, and moved with its object
};

/// A frame or an event on its way.
struct InferItem {
  MiniObjectPtr object;
  std::vector<Region> regions;  // empty: the frame passes without inference
  bool nothing_to_see = false;  // it has no regions because there is nothing to look at
  std::shared_ptr<LoadedNetwork> network;
  std::shared_ptr<const TensorOutput>
      tensors;    // how outputs leave as a buffer of a stream, or null
  Status status;  // of conversion and run
  FrameTimes times;
  int64_t upstream_us = 0;  // see LatencyMeter::frame_ready()
  int64_t leave_by_us = 0;  // the monotonic time at which it goes without results; 0: never
  guint64 number = 0;       // of the frame, counted by the queue
  bool late = false;        // what is left of an item whose frame has gone
  // The queue's lock.
  bool done = true;      // run, or nothing to run
  bool counted = false;  // among the inferences that are not done
  bool queued = false;   // it has not left
  bool open = false;     // the sink side still fills regions of it
  bool failed = false;   // no more of its regions are run
  size_t ready = 0;      // regions that have their slots
  size_t taken = 0;      // of these, by workers
  size_t running = 0;    // of these, not finished
  int64_t moved_us = 0;  // when the last run began or ended

  bool is_frame() const { return GST_IS_BUFFER(object.get()); }
};
using ItemPtr = std::shared_ptr<InferItem>;

class InferQueue {
 public:
  /// Runs a region of an item; called by workers, without the lock.
  using Work = std::function<Status(InferItem*, size_t region)>;
  /// Starts or pauses the source pad's task; called under the lock, as gstqueue does, so that a
  /// start cannot be overtaken by a pause that was decided before it.
  using SetTask = std::function<void(bool run)>;

  struct Limits {
    size_t inferences = 2;  // frames that wait for a run or are being run
    // All frames. Those that are done wait for those before them, and for a sink that shows them
    // later; they need no slot, only memory.
    size_t frames = 64;
    // All that are held, whoever holds them: those above, the one that is being pushed, and the one
    // that is to be queued. 0: no limit beside the others.
    size_t held = 0;
  };
  /// `name` is the element's, in the log.
  InferQueue(const Limits& limits, Work work, SetTask set_task, std::string name = "queue");

  // --- sink side ---
  /// Queues a frame, waiting for room; refused frames are released. Its first `ready` regions can
  /// be run; push_region() tells of each of the others.
  static constexpr size_t kAll = SIZE_MAX;
  GstFlowReturn push_frame(ItemPtr item, size_t ready = kAll);
  /// One more region of the item that was pushed last can be run. False if no more are wanted: the
  /// flow stops, so that the frame is dropped, or the frame has failed.
  bool push_region(const ItemPtr& item);
  /// Whether a slot is worth waiting for: of a frame that was pushed, for another of its regions;
  /// else for the frame. After EOS from downstream neither is, although the flow goes on for what
  /// follows.
  bool is_wanted(const InferItem& item) const;
  /// The other regions will not come, because of an error.
  void fail_regions(const ItemPtr& item, Status why);
  /// The same because the flow stops: the frame is dropped, unless it has failed before.
  void abandon(const ItemPtr& item);
  struct EventResult {
    bool queued = false;
    GstFlowReturn flow = GST_FLOW_OK;  // why not
    bool fatal = false;                // an EOS that will not arrive: the application must be told
  };
  EventResult push_event(EventPtr event);
  /// Returns whether one more inference could begin at once.
  bool has_room() const;
  /// Waits until everything that was pushed has left; false if the flow stops first.
  bool drain();
  /// Makes both sides return: FLUSH_START, or the pad goes inactive.
  void start_flush();
  /// Drops the queue's contents and starts anew.
  void stop_flush(bool start_task);

  /// Changes the limits of frames, of all and of those held.
  void set_frame_limits(size_t frames, size_t held);
  /// Waits until one more frame may be held, so that upstream keeps it for so long.
  void wait_while_full();
  /// Waits until everything that was pushed has left, and forgets late work: nothing moves in the
  /// queue then until something is pushed, so that the sink side may push downstream itself. False
  /// if the flow stops first.
  bool stand_aside();

  // --- source side ---
  /// The next item; null when the flow stops, and the task has been paused. A run that takes longer
  /// than `watchdog_ms` milliseconds (0: no limit) is given up: the item then has failed. Late work
  /// that has failed comes as an item without an object.
  ItemPtr pop(guint watchdog_ms);
  /// Late work that has been done since, in the order in which it was done.
  std::list<ItemPtr> take_late();
  /// Drops the results of frames that have left: what follows is of another kind.
  void forget_late();
  struct Stopped {
    bool stopped = false;
    GstFlowReturn flow = GST_FLOW_OK;
    bool fatal = false;  // EOS was queued and will not arrive
  };
  /// Tells the queue the result of pushing the last popped item; an EOS event gives GST_FLOW_EOS.
  /// `told`: the application knows why it is no success, so that an EOS is lost without a word.
  Stopped finish(bool is_event, GstFlowReturn flow, bool told = false);
  /// RECONFIGURE: downstream may be linked again.
  void reconfigure();
  GstFlowReturn flow() const;

  // --- workers ---
  /// Runs one item, waiting for it; false after stop_workers().
  bool work_once();
  void stop_workers();
  /// Waits for the runs that are under way; false if one takes longer than `watchdog_ms` (0: no
  /// limit), whether its frame is still wanted or not: that worker is lost.
  bool runs_end(guint watchdog_ms);

 private:
  const char* id() const { return name_.c_str(); }
  bool is_room(const InferItem& item) const;
  bool takes_regions(const InferItem& item) const;
  void close(const ItemPtr& item);
  void uncount(InferItem* item);
  void give_up_work(InferItem* item);
  void drop(const ItemPtr& item);
  void settle(InferItem* item);
  void remove_frame();
  void remove_head();
  void drop_all();
  bool drop_until_new_stream();
  ItemPtr give_up_head(guint watchdog_ms);
  ItemPtr leave_head();
  void end_late(InferItem* item);
  void give_up_late(guint watchdog_ms);
  void drop_late();
  void wait_for_head(std::unique_lock<std::mutex>* lock, guint watchdog_ms);
  bool is_overdue(const InferItem& item, guint watchdog_ms) const;
  ItemPtr hand_out(ItemPtr item);
  size_t count_lost(guint watchdog_ms) const;

  // A run that is under way, of an item that a flush may have dropped.
  struct Run {
    const InferItem* item;
    gint64 since_us;
  };
  const std::string name_;
  Limits limits_;
  const Work work_;
  const SetTask set_task_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<ItemPtr> items_;  // in stream order
  std::deque<ItemPtr> todo_;   // those with regions that no worker has taken, in stream order
  // Items whose frames have left: under way, done, and failed. Moving from list to list takes no
  // memory.
  std::list<ItemPtr> late_, late_done_, late_failed_;
  // What the log has told of the head: its number, and its regions that are ready, taken, running.
  using Awaited = std::array<uint64_t, 4>;
  Awaited awaited_{};
  guint64 pushed_ = 0;     // frames
  size_t inferences_ = 0;  // in items_ and late_, not done
  size_t frames_ = 0;      // in items_
  GstFlowReturn flow_ = GST_FLOW_FLUSHING;
  bool eos_ = false;         // EOS has been queued
  bool unexpected_ = false;  // downstream has said EOS: no frames, please
  bool busy_ = false;        // the source side holds an item
  bool stopping_ = false;
  bool told_ = false;      // the application knows why the flow stopped
  std::vector<Run> runs_;  // under way
};

}  // namespace dvnn::gst
