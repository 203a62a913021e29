// SPDX-License-Identifier: Apache-2.0
// Keeps a stream in order while several of its frames are inferred at once.
//
// The sink side pushes frames and serialized events. Workers run the regions of frames, one after
// the other or several at once. The source side pops everything in the order in which it came, and
// waits until the frame at the head is done.
//
// A frame may have more regions than there are slots. It is pushed when the first regions have
// slots; the sink side fills the others while workers run these, and reports each by push_region().
//
// A frame may have a time by which it leaves. If it is not done by then it is popped without
// results, and its item is late work (worklist.h): workers go on with it, and the source side takes
// its results (take_late()) when the next frame leaves. Late work that has failed is popped like a
// frame. What is still under way is forgotten with a flush, and wherever the source side says that
// its results would fit no frame any more.
//
// The queue is one lock, and the waits under it, around three ideas that know neither: which item
// may enter and leave when (streamorder.h), which region is run next (worklist.h), and what becomes
// of late work (worklist.h). Who waits for what:
//
//   push_frame()          the sink side, for room among frames and inferences: the source side or a
//                         worker makes it;
//   wait_while_full()     the sink side, for the source side to let go of a frame;
//   drain(), stand_aside()  the sink side, for the source side to have pushed everything;
//   pop()                 the source side, for the head to be done: by workers or, where its
//   regions
//                         are not all filled, by the sink side first;
//   work_once()           a worker, for a region to run, and for nothing once it has one;
//   runs_end()            the stop, for workers that run.
//
// A flow that stops ends all of these but the last two, which stop_workers() and the watchdog end.
#pragma once

#include <array>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "infer/queue/inferitem.h"
#include "infer/queue/streamorder.h"
#include "infer/queue/worklist.h"

namespace dvnn::gst {

class InferQueue {
 public:
  /// Runs a region of an item; called by workers, without the lock.
  using Work = std::function<Status(InferItem*, size_t region)>;
  /// Starts or pauses the source pad's task; called under the lock, as gstqueue does, so that a
  /// start cannot be overtaken by a pause that was decided before it.
  using SetTask = StreamOrder::SetTask;
  using EventResult = StreamOrder::EventResult;
  using Stopped = StreamOrder::Stopped;

  struct Limits : StreamOrder::Limits {
    size_t inferences = 2;  // frames that wait for a run or are being run
  };
  /// `name`: the element's, for the log.
  InferQueue(const Limits& limits, Work work, SetTask set_task, std::string name = "queue",
             const Clock& clock = Clock::steady());

  // --- sink side ---
  /// Queues a frame, waiting for room; refused frames are released. Its first `ready` regions can
  /// be run; push_region() announces each of the others.
  static constexpr size_t kAll = SIZE_MAX;
  GstFlowReturn push_frame(ItemPtr item, size_t ready = kAll);
  /// Announces that one more region of the item that was pushed last can be run. Returns false if
  /// no more are wanted: the flow stops, so that the frame is dropped, or the frame has failed.
  bool push_region(const ItemPtr& item);
  /// Returns whether to wait for a slot: for another region of a frame that was pushed, or for a
  /// frame that was not. After EOS from downstream it is false for both, although the flow goes on
  /// for what follows.
  bool is_wanted(const InferItem& item) const;
  /// Fails the frame, whose other regions will not come because of an error.
  void fail_regions(const ItemPtr& item, Status why);
  /// Gives up the other regions, because the flow stops: the frame is dropped, unless it has failed
  /// before.
  void abandon(const ItemPtr& item);
  EventResult push_event(EventPtr event);
  /// Returns whether one more inference could begin at once.
  bool has_room() const;
  /// Waits until everything that was pushed has left. Returns false if the flow stops first.
  bool drain();
  /// Makes the waits of both sides return: at FLUSH_START, or when the pad is deactivated.
  void start_flush();
  /// Drops the queue's contents and starts anew.
  void stop_flush(bool start_task);

  /// Changes the limits: of all frames in the queue, and of held frames.
  void set_frame_limits(size_t frames, size_t held);
  /// Waits until one more frame may be held; until then upstream keeps it.
  void wait_while_full();
  /// Waits until everything that was pushed has left, and forgets late work. Then nothing moves in
  /// the queue until something is pushed, so that the sink side may push downstream itself. Returns
  /// false if the flow stops first.
  bool stand_aside();

  // --- source side ---
  /// Returns the next item; null when the flow stops, and the task has been paused. A run that
  /// takes longer than `watchdog_ms` milliseconds (0: no limit) is given up: the item then has
  /// failed. Late work that has failed comes as an item without an object.
  ItemPtr pop(guint watchdog_ms);
  /// Returns late work that has been done since the last call, in the order in which it was done.
  InferItems take_late();
  /// Drops the results of frames that have left, because later frames belong to something else.
  void forget_late();
  /// Tells the queue the result of pushing the last popped item; an EOS event gives GST_FLOW_EOS.
  /// `told`: an error was posted already, so a lost EOS need not post another.
  Stopped finish(bool is_event, GstFlowReturn flow, bool told = false);
  /// Resumes after RECONFIGURE: downstream may be linked again.
  void reconfigure();
  GstFlowReturn flow() const;

  // --- workers ---
  /// Waits for a region and runs it. Returns false after stop_workers().
  bool work_once();
  void stop_workers();
  /// Waits for the runs that are under way. Returns false if one takes longer than `watchdog_ms`
  /// milliseconds (0: no limit), whether its frame is still wanted or not: that worker is lost.
  bool runs_end(guint watchdog_ms);

 private:
  const char* id() const { return name_.c_str(); }
  bool is_room(const InferItem& item) const;
  bool takes_regions(const InferItem& item) const;
  Clock::Time next_look() const;
  template <typename MayGoOn>
  void wait_as_upstream(std::unique_lock<std::mutex>* lock, const MayGoOn& may_go_on);
  std::string whom_it_waits_for() const;
  void close(InferItem* item);
  void drop_all();
  ItemPtr take_next(guint watchdog_ms);
  ItemPtr give_up_head(guint watchdog_ms);
  ItemPtr leave_head();
  void wait_for_head(std::unique_lock<std::mutex>* lock, guint watchdog_ms);

  const std::string name_;
  const Work work_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  StreamOrder order_;
  WorkList list_;
  LateWork late_{&list_, name_};
  guint64 pushed_ = 0;  // number of the frame that is being pushed, between pop() and finish()
  // State of the head when it was last logged: its number, and its regions ready, taken, running.
  using Awaited = std::array<uint64_t, 4>;
  Awaited awaited_{};
  bool stopping_ = false;
};

}  // namespace dvnn::gst
