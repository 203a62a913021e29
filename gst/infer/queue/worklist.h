// SPDX-License-Identifier: Apache-2.0
// The regions that workers run: which is next, which are under way, and when an item is done.
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

}  // namespace dvnn::gst
