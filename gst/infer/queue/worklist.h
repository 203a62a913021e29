// SPDX-License-Identifier: Apache-2.0
// The regions that workers run: which is next, which are under way, and when an item is done,
// before and after its frame has left.
//
// An item is listed when its first regions have their slots; the sink side fills the others while
// workers run these. It is done when all regions are filled and run or, after an error, when the
// runs under way have ended: its other regions are not run then.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "infer/queue/inferitem.h"

namespace dvnn::gst {

/// For one thread at a time: InferQueue calls it under its lock. Times are monotonic, in
/// microseconds.
class WorkList {
 public:
  /// `inferences`: most items that wait for runs or are being run. `name` is the element's, for the
  /// log.
  WorkList(size_t inferences, std::string name);

  /// Returns whether one more inference could begin at once.
  bool has_room() const { return inferences_ < limit_; }
  size_t inferences() const { return inferences_; }
  size_t limit() const { return limit_; }

  // --- items ---
  /// Adds an item whose first `ready` regions can be run. An item without regions is done at once.
  void add(const ItemPtr& item, size_t ready, int64_t now_us);
  /// Makes one more region of the item ready to run.
  void add_region(InferItem* item);
  /// Ends the item's runs: no more regions are started.
  void stop(InferItem* item);
  /// Stops counting the item as an inference, and withdraws it from the workers.
  void forget(InferItem* item);
  /// Stops and forgets the item: its results are not awaited any more.
  void give_up(InferItem* item);
  /// Returns true once, when the item is found to be done.
  bool settle(InferItem* item, int64_t now_us);

  // --- runs ---
  struct Run {
    ItemPtr item;
    size_t region;
    int64_t since_us;
  };
  /// Returns whether a region waits for a worker.
  bool has_next() const;
  /// Begins the run of the next region, which must exist.
  Run begin(int64_t now_us);
  /// Ends a run with `status`. Returns whether its item is done by that.
  bool end(const Run& run, Status status, int64_t now_us);
  /// Returns whether a run is under way, perhaps of an item that is forgotten.
  bool is_running() const { return !runs_.empty(); }

  // --- watchdog ---
  /// Returns whether runs of the item are under way, and none has begun or ended for longer than
  /// `watchdog_ms`.
  static bool is_overdue(const InferItem& item, guint watchdog_ms, int64_t now_us);
  /// Returns how many runs have taken longer than `watchdog_ms`: their workers may never come back.
  size_t lost(guint watchdog_ms, int64_t now_us) const;
  /// Returns whether no worker is left to run anything.
  bool all_lost(guint watchdog_ms, int64_t now_us) const {
    return lost(watchdog_ms, now_us) >= limit_;
  }

 private:
  const char* id() const { return name_.c_str(); }
  void unlist(const InferItem* item);

  struct UnderWay {
    const InferItem* item;
    int64_t since_us;
  };
  const std::string name_;
  const size_t limit_;
  size_t inferences_ = 0;     // unfinished items
  std::deque<ItemPtr> todo_;  // items with regions that no worker has taken, in stream order
  std::vector<UnderWay> runs_;
};

/// Work whose frame has left before its results. Workers go on with it, and no frame waits for it.
/// Its results are taken when the next frame leaves. Work that has failed is handed out on its own,
/// so that the error is reported. For one thread at a time: InferQueue calls it under its lock.
/// Times are monotonic, in microseconds.
class LateWork {
 public:
  /// Work that is given up here is given up in `work`, too. `name` is the element's, for the log.
  LateWork(WorkList* work, std::string name);

  /// Takes the single item of `item`, whose frame has left.
  void add(InferItems item);
  /// Returns whether any is under way.
  bool is_under_way() const { return !under_way_.empty(); }
  /// Moves a finished item to the done ones; ignores an item that was dropped before.
  void end(const InferItem& item);
  /// Takes the items that were done since the last call, in the order in which they were done.
  InferItems take_done();
  /// Takes an item that has failed, without its frame; null if there is none.
  ItemPtr take_failed();
  bool has_failed() const { return !failed_.empty(); }
  /// Fails the work for which the device has not answered within `watchdog_ms` milliseconds.
  void give_up_lost(guint watchdog_ms, int64_t now_us);
  /// Forgets all late work, because no frame will come that it belongs to.
  void drop();

 private:
  WorkList& work_;
  const std::string name_;
  InferItems under_way_, done_, failed_;
};

}  // namespace dvnn::gst
