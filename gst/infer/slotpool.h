// SPDX-License-Identifier: Apache-2.0
// A network's slots, and who waits for whom.
//
// A slot (an I/O buffer in device memory with its committed command lists) is everything that one
// region in flight needs. A SlotPtr owns one; when its last copy goes, the slot is free again.
//
//   dvconvert    takes a slot, writes a tensor into it and attaches it to the frame (slotmeta.h);
//   dvinfer      takes the slot off the frame, or one from the pool for a frame without a slot,
//                runs it, and passes the outputs on as views of the slot or as copies;
//   downstream   keeps outputs for as long as it likes.
//
// The rule: nothing in this plugin waits for a thread that waits for this plugin. There are three
// kinds of waits, and each ends by itself:
//
//  1. dvconvert waits for a slot for at most kPatience, and only once until slots are free again;
//     it does not wait at all if frames are live. Without a slot the frame goes on with its view,
//     and dvinfer converts it. Slots may be held in a queue between the two, on a branch that
//     hoards frames, or by a muxer that waits for another branch: dvconvert loses a moment, no
//     more.
//  2. dvinfer waits for a slot for a frame that has none. dvconvert can never have the last
//     `reserve` slots. So these are in dvinfer's queue, where workers run them without waiting for
//     another thread, or they leave as views, which 3 forbids while slots are few. A slot in the
//     queue is released when its frame is pushed, so this wait ends when downstream takes a frame,
//     as any element's wait does. Frames in dvinfer's queue need nothing that this wait holds. A
//     frame with several regions is in the queue while its further regions wait: of these, each
//     slot that is not one of a view is run and free again without the regions that wait. For a
//     frame that may leave before its results dvinfer does not wait: what gets no slot is left out.
//  3. Nothing waits for downstream to release a frame. Outputs leave as views only while more than
//     `reserve` slots are free; else they are copied, and the slot is free at once. Outputs of a
//     frame that may leave before its results are always copied, because they may wait for long
//     for a frame to join (lateresults.h).
//
// Only workers wait for a run of the device; any thread that takes or releases slots may wait for
// its other calls. dvinfer's watchdog bounds all of these waits (watchdog.h).
#pragma once

#include <glib.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "base/clock.h"
#include "network/network.h"

namespace dvnn::gst {

class SlotPool;

/// A slot with its pool's notes on it.
struct PooledSlot {
  std::unique_ptr<network::Slot> slot;
  SlotPool* pool = nullptr;  // keeps the pool alive while the slot is in use
  bool working = false;      // handed out and not finished; under the pool's lock

  network::Slot* operator->() const { return slot.get(); }
};
using SlotPtr = std::shared_ptr<PooledSlot>;

/// Numbers of slots. `shared` ones are for all; the `reserve` are for dvinfer's own conversions,
/// and are made when they are first used. `busy_limit`: number of slots that may be working
/// (filled, not yet run) before the network counts as busy.
struct SlotCounts {
  size_t shared = 4, reserve = 2, busy_limit = 2;
  guint watchdog_ms = 0;  // most time for a device call that makes a slot; 0: no limit

  bool operator==(const SlotCounts& other) const {
    return shared == other.shared && reserve == other.reserve && busy_limit == other.busy_limit &&
           watchdog_ms == other.watchdog_ms;
  }
};

class SlotPool : public std::enable_shared_from_this<SlotPool> {
 public:
  /// Longest time that dvconvert waits before it passes a frame on without a tensor.
  static constexpr std::chrono::milliseconds kPatience{100};

  enum class Taker { kUpstream, kOwn };
  enum class Outcome { kTaken, kNoneFree, kFlushing };
  struct Taken {
    SlotPtr slot;  // null unless kTaken
    Outcome outcome = Outcome::kNoneFree;
    std::chrono::microseconds waited{0};
  };

  /// Creates the pool with its shared slots; fails if device memory does not suffice for them.
  static Result<std::shared_ptr<SlotPool>> create(std::shared_ptr<network::Network> network,
                                                  const SlotCounts& counts,
                                                  const Cancellation* cancellation = nullptr,
                                                  const Clock& clock = Clock::steady());

  /// Takes a free slot, for which it waits no longer than `patience`. Errors are those of making
  /// one.
  Result<Taken> take(Taker taker, std::chrono::milliseconds patience);
  /// While flushing, nothing waits for slots, and none is handed out.
  void set_flushing(bool flushing);

  /// Returns whether at least `busy_limit` slots are working.
  bool busy() const;
  /// Marks a slot as run, or as one that will not be: it no longer works, though it may be held.
  void finished(const SlotPtr& slot);
  /// Returns whether outputs may leave as views of a slot, because enough other slots are free.
  bool plenty() const;

  const SlotCounts& counts() const { return counts_; }
  size_t size() const { return counts_.shared + counts_.reserve; }
  size_t free_count() const;
  /// Returns the number of free slots that dvconvert could have.
  size_t free_upstream() const;
  const std::shared_ptr<network::Network>& network() const { return network_; }

 private:
  SlotPool(std::shared_ptr<network::Network> network, const SlotCounts& counts, const Clock& clock)
      : network_(std::move(network)), counts_(counts), clock_(clock) {}
  ~SlotPool() = default;
  static void release(SlotPool* pool) noexcept;
  bool may_take(Taker taker) const;
  // Name in the log.
  const char* id() const { return network_->model().name.c_str(); }
  Result<SlotPtr> hand_out(std::unique_lock<std::mutex>* lock);
  void put_back(std::unique_ptr<PooledSlot> slot);

  const std::shared_ptr<network::Network> network_;
  const SlotCounts counts_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<std::unique_ptr<PooledSlot>> free_;
  size_t out_ = 0;      // handed out
  size_t working_ = 0;  // handed out and not finished
  bool flushing_ = false;
};

}  // namespace dvnn::gst
