// SPDX-License-Identifier: Apache-2.0
// Work whose frame has left before its results. Workers go on with it, and no frame waits for it.
// Its results are taken when the next frame leaves. Work that has failed is handed out on its own,
// so that the error is reported.
#pragma once

#include <string>

#include "infer/queue/worklist.h"

namespace dvnn::gst {

/// List of late work. For one thread at a time: InferQueue calls it under its lock. Times are
/// monotonic, in microseconds.
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
