// SPDX-License-Identifier: Apache-2.0
#include "infer/queue/inferqueue.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/format.h"
#include "base/result.h"
#include "infer/watchdog.h"

#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT queue_category()

namespace dvnn::gst {

InferQueue::InferQueue(const Limits& limits, Work work, SetTask set_task, std::string name,
                       const Clock& clock)
    : name_(std::move(name)),
      work_(std::move(work)),
      clock_(clock),
      order_(limits, std::move(set_task), name_),
      list_(limits.inferences, name_) {}

// --- sink side ---------------------------------------------------------------------------------

bool InferQueue::is_room(const InferItem& item) const {
  // A frame that may leave without results does not wait for others; it has all its slots.
  const bool waits = !item.regions.empty() && item.leave_by_us == 0;
  return order_.has_room() && (!waits || list_.has_room());
}

bool InferQueue::has_room() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return list_.has_room();
}

// Logs what the thread waits for once the wait is long, not at its beginning: by then the queue may
// be waiting for something else.
template <typename MayGoOn>
void InferQueue::wait_as_upstream(std::unique_lock<std::mutex>* lock, const MayGoOn& may_go_on) {
  constexpr std::chrono::seconds kLong{1};
  if (clock_.wait_until(&changed_, lock, clock_.now() + kLong, may_go_on)) return;
  GST_INFO_ID(id(), "upstream has waited for a second: %s", whom_it_waits_for().c_str());
  changed_.wait(*lock, may_go_on);
}

GstFlowReturn InferQueue::push_frame(ItemPtr item, size_t ready) {
  InferItems frame{item};  // allocated before anything changes: only add() could fail then
  std::unique_lock<std::mutex> lock(mutex_);
  const auto is_refused = [&] { return order_.frame_flow() != GST_FLOW_OK; };
  if (!is_refused() && !is_room(*item)) {
    GST_LOG_ID(id(), "a frame waits for room: %zu of %zu inferences, %zu of %zu frames",
               list_.inferences(), list_.limit(), order_.frames(), order_.limits().frames);
  }
  // An end of the flow during this wait refuses this frame, too.
  wait_as_upstream(&lock, [&] { return is_refused() || is_room(*item); });
  if (is_refused()) {
    const GstFlowReturn flow = order_.frame_flow();
    GST_DEBUG_ID(id(), "a frame is refused: %s", gst_flow_get_name(flow));
    return flow;
  }
  item->times.admitted = clock_.now_us();
  list_.add(item, ready, item->times.admitted);
  order_.push_frame(std::move(frame));
  GST_LOG_ID(
      id(),
      "frame %" G_GUINT64_FORMAT " is queued, %zu of %zu regions ready; %zu frames, %zu inferences",
      item->number, item->runs.ready, item->regions.size(), order_.frames(), list_.inferences());
  changed_.notify_all();
  return GST_FLOW_OK;
}

// Returns what the source side is doing; it has to go on before there is room.
std::string InferQueue::whom_it_waits_for() const {
  const auto number = [](guint64 n) { return static_cast<unsigned long long>(n); };
  if (pushed_ > 0) return format("downstream has not answered for frame %llu", number(pushed_));
  const InferItem* const head = order_.head();
  if (!head || !head->is_frame()) return "no frame is to leave";
  return format("the next to leave is frame %llu: of its %zu regions %zu are taken, %zu running",
                number(head->number), head->regions.size(), head->runs.taken, head->runs.running);
}

bool InferQueue::push_region(const ItemPtr& item) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool wanted = takes_regions(*item);
  if (wanted) {
    list_.add_region(item.get());
  } else {
    close(item.get());
  }
  changed_.notify_all();
  return wanted;
}

bool InferQueue::is_wanted(const InferItem& item) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool pushed = item.number != 0;
  return pushed ? takes_regions(item) : order_.frame_flow() == GST_FLOW_OK;
}

bool InferQueue::takes_regions(const InferItem& item) const {
  return order_.flow() == GST_FLOW_OK && item.queued && !item.runs.stopped;
}

void InferQueue::fail_regions(const ItemPtr& item, Status why) {
  const std::lock_guard<std::mutex> lock(mutex_);
  GST_DEBUG_ID(id(), "frame %" G_GUINT64_FORMAT ": no more regions: %s", item->number,
               why.ok() ? "" : why.error().message.c_str());
  if (item->status.ok()) item->status = std::move(why);
  list_.stop(item.get());
  close(item.get());
  changed_.notify_all();
}

void InferQueue::abandon(const ItemPtr& item) {
  const std::lock_guard<std::mutex> lock(mutex_);
  close(item.get());
  changed_.notify_all();
}

// Ends the item's regions: no more come. A failed item leaves as such; any other one is taken out
// of the queue, as push_frame() would have refused it.
void InferQueue::close(InferItem* item) {
  item->runs.open = false;
  if (!item->runs.stopped) {
    list_.stop(item);
    if (order_.remove(item)) {
      GST_DEBUG_ID(id(),
                   "frame %" G_GUINT64_FORMAT " is dropped, as not all of its regions have come",
                   item->number);
      list_.forget(item);
    }
  }
  if (list_.settle(item, clock_.now_us())) late_.end(*item);
}

InferQueue::EventResult InferQueue::push_event(EventPtr event) {
  const std::lock_guard<std::mutex> lock(mutex_);
  changed_.notify_all();
  return order_.push_event(std::move(event));
}

void InferQueue::set_frame_limits(size_t frames, size_t held) {
  const std::lock_guard<std::mutex> lock(mutex_);
  order_.set_limits({frames, held});
  changed_.notify_all();
}

void InferQueue::wait_while_full() {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto may_go_on = [&] {
    return order_.frame_flow() != GST_FLOW_OK || order_.may_hold_more();
  };
  if (!may_go_on()) GST_LOG_ID(id(), "upstream waits: %zu frames are held", order_.frames());
  wait_as_upstream(&lock, may_go_on);
}

bool InferQueue::stand_aside() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return order_.flow() != GST_FLOW_OK || order_.is_idle(); });
  if (order_.flow() == GST_FLOW_OK) late_.drop();
  return order_.flow() == GST_FLOW_OK;
}

bool InferQueue::drain() {
  std::unique_lock<std::mutex> lock(mutex_);
  GST_LOG_ID(id(), "a query waits until %zu items have left", order_.size());
  changed_.wait(lock, [&] { return order_.flow() != GST_FLOW_OK || order_.is_idle(); });
  return order_.flow() == GST_FLOW_OK;
}

void InferQueue::start_flush() {
  const std::lock_guard<std::mutex> lock(mutex_);
  order_.start_flush();
  changed_.notify_all();
}

void InferQueue::stop_flush(bool start_task) {
  const std::lock_guard<std::mutex> lock(mutex_);
  drop_all();
  order_.stop_flush(start_task);
  changed_.notify_all();
}

// Releases frames under the lock: what frames own takes only locks of its own.
void InferQueue::drop_all() {
  for (const ItemPtr& item : order_.drop_all()) list_.give_up(item.get());
  late_.drop();
}

// --- source side -------------------------------------------------------------------------------

void InferQueue::forget_late() {
  const std::lock_guard<std::mutex> lock(mutex_);
  late_.drop();
  changed_.notify_all();
}

InferItems InferQueue::take_late() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return late_.take_done();
}

ItemPtr InferQueue::give_up_head(guint watchdog_ms) {
  InferItem* const head = order_.head();
  GST_WARNING_ID(id(),
                 "frame %" G_GUINT64_FORMAT " is given up: the device has not answered for %u ms",
                 head->number, watchdog_ms);
  ItemPtr item = split_off(head, clock_.now_us());
  item->status = no_answer(watchdog_ms);
  list_.give_up(head);
  order_.take_head();
  return item;
}

// Takes out the head, which leaves before its results; its regions are still run.
ItemPtr InferQueue::leave_head() {
  InferItem* const head = order_.head();
  GST_LOG_ID(id(),
             "frame %" G_GUINT64_FORMAT " leaves before its results: %zu of %zu regions are taken",
             head->number, head->runs.taken, head->regions.size());
  ItemPtr item = split_off(head, clock_.now_us());
  late_.add(order_.take_head());
  return item;
}

// Takes out the item that can leave now; null if there is none.
ItemPtr InferQueue::take_next(guint watchdog_ms) {
  if (ItemPtr failed = late_.take_failed()) return failed;
  const InferItem* const head = order_.head();
  if (!head) return nullptr;
  const int64_t now = clock_.now_us();
  if (head->runs.done) {
    if (head->is_frame()) {
      GST_LOG_ID(id(), "frame %" G_GUINT64_FORMAT " leaves, %lld us after it was queued",
                 head->number, static_cast<long long>(now - head->times.admitted));
    }
    return order_.take_head().front();
  }
  if (head->leave_by_us > 0 && now >= head->leave_by_us) return leave_head();
  // If all workers are lost, no frame will be run, so this one fails, too.
  const bool lost = watchdog_ms > 0 && (WorkList::is_overdue(*head, watchdog_ms, now) ||
                                        list_.all_lost(watchdog_ms, now));
  return lost ? give_up_head(watchdog_ms) : nullptr;
}

// Returns when to look again whether a run takes too long.
Clock::Time InferQueue::next_look() const {
  constexpr std::chrono::milliseconds kBetweenLooks{20};
  return clock_.now() + kBetweenLooks;
}

// Polls the clock only while a run may take too long, or a frame has a time by which it leaves.
void InferQueue::wait_for_head(std::unique_lock<std::mutex>* lock, guint watchdog_ms) {
  const InferItem* const head = order_.head();
  const bool watches = watchdog_ms > 0 && (head || late_.is_under_way());
  if (head && head->is_frame()) {
    const RegionRuns& runs = head->runs;
    const Awaited now{head->number, runs.ready, runs.taken, runs.running};
    if (now != std::exchange(awaited_, now)) {
      GST_LOG_ID(id(),
                 "waits for frame %" G_GUINT64_FORMAT
                 ": of %zu regions %zu are ready, %zu taken, %zu running",
                 head->number, head->regions.size(), runs.ready, runs.taken, runs.running);
    }
  }
  if (head && head->leave_by_us > 0) {
    const Clock::Time leave_by{std::chrono::microseconds(head->leave_by_us)};
    clock_.wait_until(&changed_, lock, watches ? std::min(leave_by, next_look()) : leave_by);
  } else if (watches) {
    clock_.wait_until(&changed_, lock, next_look());
  } else {
    changed_.wait(*lock);
  }
}

ItemPtr InferQueue::pop(guint watchdog_ms) {
  std::unique_lock<std::mutex> lock(mutex_);
  while (order_.flow() == GST_FLOW_OK) {
    if (ItemPtr next = take_next(watchdog_ms)) {
      order_.hand_out();
      pushed_ = next->is_frame() ? next->number : 0;
      changed_.notify_all();
      return next;
    }
    if (watchdog_ms > 0) late_.give_up_lost(watchdog_ms, clock_.now_us());
    if (!late_.has_failed()) wait_for_head(&lock, watchdog_ms);
  }
  order_.pause();
  if (order_.flow() == GST_FLOW_FLUSHING) drop_all();
  changed_.notify_all();
  return nullptr;
}

InferQueue::Stopped InferQueue::finish(bool is_event, GstFlowReturn flow, bool told) {
  const std::lock_guard<std::mutex> lock(mutex_);
  InferItems dropped;
  const Stopped stopped = order_.finish(is_event, flow, told, &dropped);
  pushed_ = 0;
  for (const ItemPtr& item : dropped) list_.give_up(item.get());
  if (order_.flow() == GST_FLOW_FLUSHING) drop_all();
  changed_.notify_all();
  return stopped;
}

void InferQueue::reconfigure() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (order_.reconfigure()) changed_.notify_all();
}

GstFlowReturn InferQueue::flow() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return order_.flow();
}

// --- workers -----------------------------------------------------------------------------------

bool InferQueue::work_once() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return stopping_ || list_.has_next(); });
  if (stopping_) return false;
  const WorkList::Run run = list_.begin(clock_.now_us());
  lock.unlock();
  Status status = guarded("running a frame", [&] { return work_(run.item.get(), run.region); });
  lock.lock();
  const bool done = list_.end(run, std::move(status), clock_.now_us());
  if (done) late_.end(*run.item);
  changed_.notify_all();
  return true;
}

void InferQueue::stop_workers() {
  const std::lock_guard<std::mutex> lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
}

bool InferQueue::runs_end(guint watchdog_ms) {
  std::unique_lock<std::mutex> lock(mutex_);
  while (list_.is_running()) {
    if (watchdog_ms > 0 && list_.lost(watchdog_ms, clock_.now_us()) > 0) return false;
    clock_.wait_until(&changed_, &lock, next_look());
  }
  return true;
}

}  // namespace dvnn::gst
