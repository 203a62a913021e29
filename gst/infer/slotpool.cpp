// SPDX-License-Identifier: Apache-2.0
#include "infer/slotpool.h"

#include <algorithm>
#include <utility>

#include "base/result.h"
#include "infer/watchdog.h"
#include "log.h"

DVNN_LOG_CATEGORY(slots_category, "dvslots", "Slots of networks, and who takes them")
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT slots_category()

namespace dvnn::gst {

// Deletes a pool under the watchdog: the last owner may be dvconvert or the owner of an output,
// which must wait for the device no longer than dvinfer would.
void SlotPool::release(SlotPool* pool) noexcept {
  const guint watchdog_ms = pool->counts_.watchdog_ms;
  try {
    if (watchdog_ms > 0) {
      run_watched(watchdog_ms, [pool] { delete pool; });
      return;
    }
  } catch (...) {
    // No thread could be started: delete it in this one.
  }
  delete pool;
}

Result<std::shared_ptr<SlotPool>> SlotPool::create(std::shared_ptr<network::Network> network,
                                                   const SlotCounts& counts,
                                                   const Cancellation* cancellation,
                                                   const Clock& clock) {
  std::shared_ptr<SlotPool> pool(new SlotPool(std::move(network), counts, clock), release);
  pool->free_.reserve(pool->size());  // so that giving a slot back takes no memory
  for (size_t i = 0; i < counts.shared; ++i) {
    auto slot = pool->network_->create_slot(cancellation);
    if (!slot.ok()) return slot.error();
    pool->free_.push_back(std::make_unique<PooledSlot>(PooledSlot{std::move(slot.value())}));
  }
  GST_DEBUG_ID(pool->id(), "%zu slots, and %zu more for dvinfer's own conversions", counts.shared,
               counts.reserve);
  return pool;
}

bool SlotPool::may_take(Taker taker) const {
  return out_ + (taker == Taker::kUpstream ? counts_.reserve : 0) < size();
}

Result<SlotPool::Taken> SlotPool::take(Taker taker, std::chrono::milliseconds patience) {
  std::unique_lock<std::mutex> lock(mutex_);
  const Clock::Time start = clock_.now();
  const char* const who = taker == Taker::kUpstream ? "dvconvert" : "dvinfer";
  if (!flushing_ && !may_take(taker)) {
    GST_LOG_ID(id(), "no slot is free for %s: %zu of %zu are out, %zu not yet run", who, out_,
               size(), working_);
  }
  const bool ready = clock_.wait_until(&freed_, &lock, start + patience,
                                       [&] { return flushing_ || may_take(taker); });
  Taken taken;
  taken.waited = std::chrono::duration_cast<std::chrono::microseconds>(clock_.now() - start);
  if (flushing_) {
    taken.outcome = Outcome::kFlushing;
  } else if (ready) {
    DVNN_ASSIGN(taken.slot, hand_out(&lock));
    taken.outcome = Outcome::kTaken;
    GST_LOG_ID(id(), "%s takes a slot after %lld us", who,
               static_cast<long long>(taken.waited.count()));
  }
  return taken;
}

Result<SlotPtr> SlotPool::hand_out(std::unique_lock<std::mutex>* lock) {
  ++out_;
  ++working_;
  std::unique_ptr<PooledSlot> taken;
  if (!free_.empty()) {
    taken = std::move(free_.back());
    free_.pop_back();
  }
  // Making a slot takes a while, and a slot that cannot be handed out comes back at once.
  lock->unlock();
  if (!taken) {
    using Made = std::unique_ptr<PooledSlot>;
    auto made = guarded("making a slot", [&] {
      return within_watchdog<Made>(counts_.watchdog_ms, [network = network_]() -> Result<Made> {
        DVNN_ASSIGN(auto slot, network->create_slot());
        return std::make_unique<PooledSlot>(PooledSlot{std::move(slot)});
      });
    });
    if (!made.ok()) {
      lock->lock();
      --out_;
      --working_;
      freed_.notify_all();
      return made.error();
    }
    taken = std::move(made.value());
  }
  taken->pool = this;
  taken->working = true;
  // A slot keeps its pool alive.
  return SlotPtr(taken.release(), [pool = shared_from_this()](PooledSlot* slot) {
    pool->put_back(std::unique_ptr<PooledSlot>(slot));
  });
}

void SlotPool::finished(const SlotPtr& slot) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (std::exchange(slot->working, false)) --working_;
}

void SlotPool::put_back(std::unique_ptr<PooledSlot> slot) {
  const std::lock_guard<std::mutex> lock(mutex_);
  --out_;
  if (std::exchange(slot->working, false)) --working_;
  free_.push_back(std::move(slot));
  GST_LOG_ID(id(), "a slot is free again: %zu of %zu are out", out_, size());
  freed_.notify_all();
}

void SlotPool::set_flushing(bool flushing) {
  const std::lock_guard<std::mutex> lock(mutex_);
  GST_DEBUG_ID(id(), flushing ? "nobody may take a slot" : "slots may be taken");
  flushing_ = flushing;
  freed_.notify_all();
}

bool SlotPool::busy() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return working_ >= counts_.busy_limit;
}

bool SlotPool::plenty() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return out_ + counts_.reserve < size();
}

size_t SlotPool::free_upstream() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return size() - std::min(size(), out_ + counts_.reserve);
}

size_t SlotPool::free_count() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return size() - out_;
}

}  // namespace dvnn::gst
