// SPDX-License-Identifier: Apache-2.0
#include "infer/inferqueue.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/guard.h"
#include "infer/watchdog.h"
#include "log.h"

DVNN_LOG_CATEGORY(queue_category, "dvqueue", "Order of frames and their runs in dvinfer")
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT queue_category()

namespace dvnn::gst {

static unsigned long long count(uint64_t number) {
  return number;
}

InferQueue::InferQueue(const Limits& limits, Work work, SetTask set_task, std::string name)
    : name_(std::move(name)),
      limits_(limits),
      work_(std::move(work)),
      set_task_(std::move(set_task)) {
  runs_.reserve(limits.inferences);
}

// --- sink side ---------------------------------------------------------------------------------

bool InferQueue::is_room(const InferItem& item) const {
  // One that may leave without results waits for nothing; it has all its slots.
  const bool waits = !item.regions.empty() && item.leave_by_us == 0;
  if (waits && inferences_ >= limits_.inferences) return false;
  return frames_ < limits_.frames;
}

bool InferQueue::has_room() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return inferences_ < limits_.inferences;
}

GstFlowReturn InferQueue::push_frame(ItemPtr item, size_t ready) {
  std::unique_lock<std::mutex> lock(mutex_);
  auto ended = [&] { return flow_ != GST_FLOW_OK || eos_ || unexpected_; };
  if (!ended() && !is_room(*item)) {
    GST_LOG_ID(id(), "a frame waits for room: %zu of %zu inferences, %zu of %zu frames",
               inferences_, limits_.inferences, frames_, limits_.frames);
  }
  // An end that comes while this waits is for this frame, too.
  changed_.wait(lock, [&] { return ended() || is_room(*item); });
  if (ended()) {
    const GstFlowReturn flow = flow_ != GST_FLOW_OK ? flow_ : GST_FLOW_EOS;
    GST_DEBUG_ID(id(), "a frame is refused: %s", gst_flow_get_name(flow));
    return flow;
  }
  item->times.admitted = g_get_monotonic_time();
  item->done = item->regions.empty();
  item->ready = std::min(ready, item->regions.size());
  item->open = item->ready < item->regions.size();
  if (item->done) item->times.finished = item->times.admitted;
  // Both lists or none: one of them may have no room to grow.
  items_.push_back(item);
  if (!item->done) {
    try {
      todo_.push_back(item);
    } catch (...) {
      items_.pop_back();
      throw;
    }
    item->counted = true;
    ++inferences_;
  }
  item->queued = true;
  item->number = ++pushed_;
  ++frames_;
  GST_LOG_ID(id(), "frame %llu is queued, %zu of %zu regions ready; %zu frames, %zu inferences",
             count(item->number), item->ready, item->regions.size(), frames_, inferences_);
  changed_.notify_all();
  return GST_FLOW_OK;
}

bool InferQueue::push_region(const ItemPtr& item) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!takes_regions(*item)) {
    close(item);
    return false;
  }
  ++item->ready;
  GST_LOG_ID(id(), "frame %llu: %zu of %zu regions ready", count(item->number), item->ready,
             item->regions.size());
  item->open = item->ready < item->regions.size();
  changed_.notify_all();
  return true;
}

bool InferQueue::is_wanted(const InferItem& item) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool pushed = item.number != 0;
  return pushed ? takes_regions(item) : flow_ == GST_FLOW_OK && !eos_ && !unexpected_;
}

bool InferQueue::takes_regions(const InferItem& item) const {
  return flow_ == GST_FLOW_OK && item.queued && !item.failed;
}

void InferQueue::fail_regions(const ItemPtr& item, Status why) {
  const std::lock_guard<std::mutex> lock(mutex_);
  GST_DEBUG_ID(id(), "frame %llu: no more regions: %s", count(item->number),
               why.ok() ? "" : why.error().message.c_str());
  if (item->status.ok()) item->status = std::move(why);
  item->open = false;
  give_up_work(item.get());
  settle(item.get());
}

void InferQueue::abandon(const ItemPtr& item) {
  const std::lock_guard<std::mutex> lock(mutex_);
  close(item);
}

// No more regions of the item come. One that has failed leaves as such, any other one is dropped.
void InferQueue::close(const ItemPtr& item) {
  item->open = false;
  if (!item->failed) drop(item);
  settle(item.get());
  changed_.notify_all();
}

// Takes a frame whose regions have not all come out of the queue, as push_frame() would have
// refused it.
void InferQueue::drop(const ItemPtr& item) {
  give_up_work(item.get());
  if (!item->queued) return;
  GST_DEBUG_ID(id(), "frame %llu is dropped, as not all of its regions have come",
               count(item->number));
  items_.erase(std::find(items_.begin(), items_.end(), item));
  item->queued = false;
  --frames_;
  uncount(item.get());
}

InferQueue::EventResult InferQueue::push_event(EventPtr event) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const GstEventType type = GST_EVENT_TYPE(event.get());
  const bool begins = type == GST_EVENT_STREAM_START || type == GST_EVENT_SEGMENT;
  if (flow_ == GST_FLOW_EOS && begins) flow_ = GST_FLOW_OK;
  if (flow_ != GST_FLOW_OK) {
    // Sticky events may be queued, because data flow will report the error. EOS has no data after
    // it.
    const bool lost_eos = type == GST_EVENT_EOS;
    if (!GST_EVENT_IS_STICKY(event.get()) || lost_eos) {
      const bool failed = flow_ == GST_FLOW_NOT_LINKED || flow_ < GST_FLOW_EOS;
      GST_DEBUG_ID(id(), "event %s is refused: %s", gst_event_type_get_name(type),
                   gst_flow_get_name(flow_));
      return {false, flow_, lost_eos && failed && !told_};
    }
  }
  if (eos_ && !begins) return {false, GST_FLOW_EOS, false};
  auto item = std::make_shared<InferItem>();
  item->object.reset(GST_MINI_OBJECT_CAST(event.release()));
  items_.push_back(std::move(item));
  GST_DEBUG_ID(id(), "event %s is queued behind %zu items", gst_event_type_get_name(type),
               items_.size() - 1);
  // The steps that may fail are done; the rest follows.
  if (eos_) {
    flow_ = GST_FLOW_OK;
    eos_ = unexpected_ = false;
    set_task_(true);
  }
  if (type == GST_EVENT_EOS) eos_ = true;
  if (type == GST_EVENT_SEGMENT) unexpected_ = false;
  changed_.notify_all();
  return {true, GST_FLOW_OK, false};
}

void InferQueue::set_frame_limits(size_t frames, size_t held) {
  const std::lock_guard<std::mutex> lock(mutex_);
  limits_.frames = frames;
  limits_.held = held;
  changed_.notify_all();
}

void InferQueue::wait_while_full() {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto may_go_on = [&] {
    const bool ended = flow_ != GST_FLOW_OK || eos_ || unexpected_;
    return ended || limits_.held == 0 || frames_ + (busy_ ? 1 : 0) < limits_.held;
  };
  if (!may_go_on()) GST_LOG_ID(id(), "upstream waits: %zu frames are held", frames_);
  changed_.wait(lock, may_go_on);
}

bool InferQueue::stand_aside() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return flow_ != GST_FLOW_OK || (items_.empty() && !busy_); });
  if (flow_ == GST_FLOW_OK) drop_late();
  return flow_ == GST_FLOW_OK;
}

bool InferQueue::drain() {
  std::unique_lock<std::mutex> lock(mutex_);
  GST_LOG_ID(id(), "a query waits until %zu items have left", items_.size() + (busy_ ? 1 : 0));
  changed_.wait(lock, [&] { return flow_ != GST_FLOW_OK || (items_.empty() && !busy_); });
  return flow_ == GST_FLOW_OK;
}

void InferQueue::start_flush() {
  const std::lock_guard<std::mutex> lock(mutex_);
  GST_DEBUG_ID(id(), "a flush starts; %zu frames are held", frames_);
  flow_ = GST_FLOW_FLUSHING;
  changed_.notify_all();
}

void InferQueue::stop_flush(bool start_task) {
  const std::lock_guard<std::mutex> lock(mutex_);
  drop_all();
  GST_DEBUG_ID(id(), "the flush ends");
  flow_ = GST_FLOW_OK;
  eos_ = unexpected_ = busy_ = told_ = false;
  if (start_task) set_task_(true);
  changed_.notify_all();
}

// Releases frames under the lock: what frames own takes only locks of its own. Events that say what
// stream this is stay, as nobody would send them again; a segment comes with what follows a flush.
void InferQueue::drop_all() {
  const auto is_dropped = [&](const ItemPtr& item) {
    if (!item->is_frame()) {
      const GstEvent* event = GST_EVENT_CAST(item->object.get());
      const GstEventType type = GST_EVENT_TYPE(event);
      return !GST_EVENT_IS_STICKY(event) || type == GST_EVENT_SEGMENT || type == GST_EVENT_EOS;
    }
    item->queued = false;
    --frames_;
    uncount(item.get());
    return true;
  };
  items_.erase(std::remove_if(items_.begin(), items_.end(), is_dropped), items_.end());
  drop_late();
  todo_.clear();
}

// --- source side -------------------------------------------------------------------------------

void InferQueue::uncount(InferItem* item) {
  if (std::exchange(item->counted, false)) --inferences_;
}

// The remaining regions of the item are not run.
void InferQueue::give_up_work(InferItem* item) {
  const auto is_it = [&](const ItemPtr& other) { return other.get() == item; };
  todo_.erase(std::remove_if(todo_.begin(), todo_.end(), is_it), todo_.end());
  item->failed = true;
}

// The item is done when nobody fills or runs its regions any more.
void InferQueue::settle(InferItem* item) {
  const bool left = item->taken < item->ready && !item->failed;
  if (item->done || item->open || item->running > 0 || left) return;
  item->times.finished = g_get_monotonic_time();
  item->done = true;
  GST_LOG_ID(id(), "frame %llu is done%s: %s", count(item->number), item->late ? ", late" : "",
             item->status.ok() ? "good" : item->status.error().message.c_str());
  uncount(item);
  if (item->late) end_late(item);
  changed_.notify_all();
}

// The head, which is a frame, leaves the queue.
void InferQueue::remove_frame() {
  items_.front()->queued = false;
  items_.pop_front();
  --frames_;
}

void InferQueue::remove_head() {
  const ItemPtr head = items_.front();
  if (!head->is_frame()) return items_.pop_front();
  remove_frame();
  uncount(head.get());
}

// The frame goes on without its regions, in an item of its own: a worker keeps the other, and may
// yet return to it.
static ItemPtr split_off_frame(InferItem* from) {
  auto item = std::make_shared<InferItem>();
  item->network = from->network;
  item->tensors = from->tensors;
  item->upstream_us = from->upstream_us;
  item->number = from->number;
  item->times = from->times;
  item->times.finished = g_get_monotonic_time();
  item->object = std::move(from->object);
  return item;
}

ItemPtr InferQueue::give_up_head(guint watchdog_ms) {
  const ItemPtr head = items_.front();
  GST_WARNING_ID(id(), "frame %llu is given up: the device has not answered for %u ms",
                 count(head->number), watchdog_ms);
  ItemPtr item = split_off_frame(head.get());
  item->status = no_answer(watchdog_ms);
  remove_frame();
  give_up_work(head.get());
  uncount(head.get());
  return item;
}

// Its regions are run on.
ItemPtr InferQueue::leave_head() {
  const ItemPtr head = items_.front();
  GST_LOG_ID(id(), "frame %llu leaves before its results: %zu of %zu regions are taken",
             count(head->number), head->taken, head->regions.size());
  std::list<ItemPtr> late{head};  // so that what follows takes no memory
  ItemPtr item = split_off_frame(head.get());
  late_.splice(late_.end(), late);
  remove_frame();
  head->late = true;
  return item;
}

void InferQueue::end_late(InferItem* item) {
  const auto is_it = [&](const ItemPtr& other) { return other.get() == item; };
  const auto found = std::find_if(late_.begin(), late_.end(), is_it);
  if (found == late_.end()) return;  // forgotten
  std::list<ItemPtr>& to = item->status.ok() ? late_done_ : late_failed_;
  to.splice(to.end(), late_, found);
}

// The work that goes on belongs to another item, as with a frame: the worker may yet return to this
// one.
void InferQueue::give_up_late(guint watchdog_ms) {
  const bool all_lost = count_lost(watchdog_ms) >= limits_.inferences;
  for (auto late = late_.begin(); late != late_.end();) {
    const ItemPtr item = *late;
    if (!all_lost && !is_overdue(*item, watchdog_ms)) {
      ++late;
      continue;
    }
    GST_WARNING_ID(id(),
                   "late work of frame %llu is given up: the device has not answered for %u ms",
                   count(item->number), watchdog_ms);
    auto failed = std::make_shared<InferItem>();
    failed->status = no_answer(watchdog_ms);
    failed->network = item->network;
    failed->late = true;
    late_failed_.push_back(std::move(failed));
    late = late_.erase(late);
    give_up_work(item.get());
    uncount(item.get());
  }
}

void InferQueue::drop_late() {
  for (const ItemPtr& item : late_) {
    give_up_work(item.get());
    uncount(item.get());
  }
  late_.clear();
  late_done_.clear();
  late_failed_.clear();
}

void InferQueue::forget_late() {
  const std::lock_guard<std::mutex> lock(mutex_);
  drop_late();
  changed_.notify_all();
}

std::list<ItemPtr> InferQueue::take_late() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(late_done_, {});
}

bool InferQueue::is_overdue(const InferItem& item, guint watchdog_ms) const {
  return item.running > 0 && g_get_monotonic_time() - item.moved_us > int64_t{watchdog_ms} * 1000;
}

// Looks at the clock only while a run may take too long, or a frame is to leave.
void InferQueue::wait_for_head(std::unique_lock<std::mutex>* lock, guint watchdog_ms) {
  constexpr std::chrono::microseconds kTick{20000};
  const bool watches = watchdog_ms > 0 && !(items_.empty() && late_.empty());
  const int64_t leave_by = items_.empty() ? 0 : items_.front()->leave_by_us;
  if (!items_.empty() && items_.front()->is_frame()) {
    const InferItem& head = *items_.front();
    const Awaited now{head.number, head.ready, head.taken, head.running};
    if (now != std::exchange(awaited_, now)) {
      GST_LOG_ID(id(), "waits for frame %llu: of %zu regions %zu are ready, %zu taken, %zu running",
                 count(head.number), head.regions.size(), head.ready, head.taken, head.running);
    }
  }
  if (leave_by > 0) {
    const std::chrono::microseconds left(leave_by - g_get_monotonic_time());
    changed_.wait_for(*lock, watches ? std::min(left, kTick) : left);
  } else if (watches) {
    changed_.wait_for(*lock, kTick);
  } else {
    changed_.wait(*lock);
  }
}

ItemPtr InferQueue::hand_out(ItemPtr item) {
  busy_ = true;
  changed_.notify_all();
  return item;
}

ItemPtr InferQueue::pop(guint watchdog_ms) {
  std::unique_lock<std::mutex> lock(mutex_);
  while (flow_ == GST_FLOW_OK) {
    if (!late_failed_.empty()) {
      ItemPtr failed = late_failed_.front();
      late_failed_.pop_front();
      return hand_out(std::move(failed));
    }
    if (!items_.empty()) {
      const ItemPtr head = items_.front();
      if (head->done) {
        remove_head();
        if (head->is_frame()) {
          GST_LOG_ID(id(), "frame %llu leaves, %lld us after it was queued", count(head->number),
                     static_cast<long long>(g_get_monotonic_time() - head->times.admitted));
        }
        return hand_out(head);
      }
      if (head->leave_by_us > 0 && g_get_monotonic_time() >= head->leave_by_us) {
        return hand_out(leave_head());
      }
      // Without any worker left, no one will run this frame either.
      const bool lost = watchdog_ms > 0 && (is_overdue(*head, watchdog_ms) ||
                                            count_lost(watchdog_ms) >= limits_.inferences);
      if (lost) return hand_out(give_up_head(watchdog_ms));
    }
    if (watchdog_ms > 0) give_up_late(watchdog_ms);
    if (late_failed_.empty()) wait_for_head(&lock, watchdog_ms);
  }
  GST_DEBUG_ID(id(), "the source side pauses: %s", gst_flow_get_name(flow_));
  set_task_(false);
  if (flow_ == GST_FLOW_FLUSHING) drop_all();
  changed_.notify_all();
  return nullptr;
}

// After EOS from downstream, only what begins or ends a stream passes.
bool InferQueue::drop_until_new_stream() {
  while (!items_.empty()) {
    const InferItem& head = *items_.front();
    if (!head.is_frame()) {
      const GstEventType type = GST_EVENT_TYPE(head.object.get());
      if (type == GST_EVENT_EOS || type == GST_EVENT_SEGMENT || type == GST_EVENT_STREAM_START) {
        return true;
      }
    }
    if (head.is_frame()) {
      GST_DEBUG_ID(id(), "frame %llu is dropped: downstream has said EOS", count(head.number));
    }
    give_up_work(items_.front().get());
    remove_head();
  }
  return false;
}

InferQueue::Stopped InferQueue::finish(bool is_event, GstFlowReturn flow, bool told) {
  const std::lock_guard<std::mutex> lock(mutex_);
  busy_ = false;
  changed_.notify_all();
  if (flow_ == GST_FLOW_OK) {
    if (flow == GST_FLOW_EOS && is_event) {
      // If another stream is queued after the EOS, even with its own EOS, the flow stays OK;
      // gstqueue would stop here.
      if (eos_ && items_.empty()) flow_ = GST_FLOW_EOS;
    } else if (flow == GST_FLOW_EOS) {
      unexpected_ = !drop_until_new_stream();
    } else {
      flow_ = flow;
      told_ = told;
      if (flow != GST_FLOW_OK) GST_DEBUG_ID(id(), "downstream says %s", gst_flow_get_name(flow));
    }
    if (flow_ == GST_FLOW_OK) return {};
  }
  set_task_(false);
  if (flow_ == GST_FLOW_FLUSHING) drop_all();
  return {true, flow_, eos_ && !told_ && (flow_ == GST_FLOW_NOT_LINKED || flow_ < GST_FLOW_EOS)};
}

void InferQueue::reconfigure() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (flow_ != GST_FLOW_NOT_LINKED) return;
  GST_DEBUG_ID(id(), "downstream is linked again");
  flow_ = GST_FLOW_OK;
  set_task_(true);
  changed_.notify_all();
}

GstFlowReturn InferQueue::flow() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return flow_;
}

// --- workers -----------------------------------------------------------------------------------

bool InferQueue::work_once() {
  std::unique_lock<std::mutex> lock(mutex_);
  // Only the last item can be open, so that no other one waits behind it.
  const auto has_work = [&] {
    return !todo_.empty() && todo_.front()->taken < todo_.front()->ready;
  };
  changed_.wait(lock, [&] { return stopping_ || has_work(); });
  if (stopping_) return false;
  // Held here, too: a flush may drop the item from the queue while its slots are in use.
  const ItemPtr item = todo_.front();
  const size_t region = item->taken++;
  if (item->taken == item->regions.size()) todo_.pop_front();
  const gint64 since = g_get_monotonic_time();
  item->moved_us = since;
  if (item->times.started == 0) item->times.started = since;
  ++item->running;
  runs_.push_back({item.get(), since});
  GST_LOG_ID(id(), "frame %llu: region %zu of %zu is run; %zu under way", count(item->number),
             region, item->regions.size(), runs_.size());
  lock.unlock();
  Status status = guarded("running a frame", [&] { return work_(item.get(), region); });
  lock.lock();
  const auto is_this = [&](const Run& run) {
    return run.item == item.get() && run.since_us == since;
  };
  runs_.erase(std::find_if(runs_.begin(), runs_.end(), is_this));
  --item->running;
  item->moved_us = g_get_monotonic_time();
  GST_LOG_ID(id(), "frame %llu: region %zu was run in %lld us: %s", count(item->number), region,
             static_cast<long long>(item->moved_us - since),
             status.ok() ? "good" : status.error().message.c_str());
  if (!status.ok()) {
    if (item->status.ok()) item->status = std::move(status);
    give_up_work(item.get());
  }
  settle(item.get());
  changed_.notify_all();
  return true;
}

void InferQueue::stop_workers() {
  const std::lock_guard<std::mutex> lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
}

size_t InferQueue::count_lost(guint watchdog_ms) const {
  const gint64 oldest = g_get_monotonic_time() - int64_t{watchdog_ms} * 1000;
  return static_cast<size_t>(std::count_if(runs_.begin(), runs_.end(),
                                           [&](const Run& run) { return run.since_us < oldest; }));
}

bool InferQueue::runs_end(guint watchdog_ms) {
  std::unique_lock<std::mutex> lock(mutex_);
  constexpr std::chrono::milliseconds kTick{20};
  while (!runs_.empty()) {
    if (watchdog_ms > 0 && count_lost(watchdog_ms) > 0) return false;
    changed_.wait_for(lock, kTick);
  }
  return true;
}

}  // namespace dvnn::gst
