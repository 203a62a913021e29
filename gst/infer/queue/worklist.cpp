// SPDX-License-Identifier: Apache-2.0
#include "infer/queue/worklist.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "infer/watchdog.h"

#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT queue_category()

namespace dvnn::gst {

WorkList::WorkList(size_t inferences, std::string name)
    : name_(std::move(name)), limit_(inferences) {
  runs_.reserve(inferences);
}

// --- items -------------------------------------------------------------------------------------

void WorkList::add(const ItemPtr& item, size_t ready, int64_t now_us) {
  RegionRuns& runs = item->runs;
  if (item->regions.empty()) {
    item->times.finished = now_us;
    return;
  }
  todo_.push_back(item);
  ++inferences_;
  runs.done = false;
  runs.counted = true;
  runs.ready = std::min(ready, item->regions.size());
  runs.open = runs.ready < item->regions.size();
}

void WorkList::add_region(InferItem* item) {
  RegionRuns& runs = item->runs;
  ++runs.ready;
  GST_LOG_ID(id(), "frame %" G_GUINT64_FORMAT ": %zu of %zu regions ready", item->number,
             runs.ready, item->regions.size());
  runs.open = runs.ready < item->regions.size();
}

void WorkList::unlist(const InferItem* item) {
  const auto is_it = [&](const ItemPtr& other) { return other.get() == item; };
  todo_.erase(std::remove_if(todo_.begin(), todo_.end(), is_it), todo_.end());
}

void WorkList::stop(InferItem* item) {
  unlist(item);
  item->runs.stopped = true;
}

void WorkList::forget(InferItem* item) {
  unlist(item);
  if (std::exchange(item->runs.counted, false)) --inferences_;
}

void WorkList::give_up(InferItem* item) {
  stop(item);
  forget(item);
}

bool WorkList::settle(InferItem* item, int64_t now_us) {
  RegionRuns& runs = item->runs;
  const bool left = runs.taken < runs.ready && !runs.stopped;
  if (runs.done || runs.open || runs.running > 0 || left) return false;
  item->times.finished = now_us;
  runs.done = true;
  GST_LOG_ID(id(), "frame %" G_GUINT64_FORMAT " is done%s: %s", item->number,
             item->late ? ", late" : "",
             item->status.ok() ? "good" : item->status.error().message.c_str());
  forget(item);
  return true;
}

// --- runs --------------------------------------------------------------------------------------

// Only the last item can be open, so that no other one waits behind it.
bool WorkList::has_next() const {
  if (todo_.empty() || todo_.front()->runs.taken == todo_.front()->runs.ready) return false;
  // A frame that takes the states of the one before waits for its run. A run that was given up
  // leaves no states, and may never end.
  return !todo_.front()->has_memory ||
         std::all_of(runs_.begin(), runs_.end(),
                     [](const UnderWay& run) { return run.item->runs.stopped; });
}

WorkList::Run WorkList::begin(int64_t now_us) {
  // The run shares the item, because a flush may drop it from the queue while its slots are in use.
  const Run run{todo_.front(), todo_.front()->runs.taken, now_us};
  InferItem& item = *run.item;
  runs_.push_back({&item, now_us});
  if (++item.runs.taken == item.regions.size()) todo_.pop_front();
  item.runs.moved_us = now_us;
  if (item.times.started == 0) item.times.started = now_us;
  ++item.runs.running;
  GST_LOG_ID(id(), "frame %" G_GUINT64_FORMAT ": region %zu of %zu is run; %zu under way",
             item.number, run.region, item.regions.size(), runs_.size());
  return run;
}

bool WorkList::end(const Run& run, Status status, int64_t now_us) {
  InferItem* const item = run.item.get();
  const auto is_this = [&](const UnderWay& other) {
    return other.item == item && other.since_us == run.since_us;
  };
  runs_.erase(std::find_if(runs_.begin(), runs_.end(), is_this));
  --item->runs.running;
  item->runs.moved_us = now_us;
  GST_LOG_ID(id(), "frame %" G_GUINT64_FORMAT ": region %zu was run in %lld us: %s", item->number,
             run.region, static_cast<long long>(now_us - run.since_us),
             status.ok() ? "good" : status.error().message.c_str());
  if (!status.ok()) {
    if (item->status.ok()) item->status = std::move(status);
    stop(item);
  }
  return settle(item, now_us);
}

// --- watchdog ----------------------------------------------------------------------------------

bool WorkList::is_overdue(const InferItem& item, guint watchdog_ms, int64_t now_us) {
  return item.runs.running > 0 && now_us - item.runs.moved_us > int64_t{watchdog_ms} * 1000;
}

size_t WorkList::lost(guint watchdog_ms, int64_t now_us) const {
  const int64_t oldest = now_us - int64_t{watchdog_ms} * 1000;
  return static_cast<size_t>(std::count_if(
      runs_.begin(), runs_.end(), [&](const UnderWay& run) { return run.since_us < oldest; }));
}

LateWork::LateWork(WorkList* work, std::string name) : work_(*work), name_(std::move(name)) {}

void LateWork::add(InferItems item) {
  item.front()->late = true;
  under_way_.splice(under_way_.end(), item);
}

void LateWork::end(const InferItem& item) {
  const auto is_it = [&](const ItemPtr& other) { return other.get() == &item; };
  const auto found = std::find_if(under_way_.begin(), under_way_.end(), is_it);
  if (found == under_way_.end()) return;
  InferItems& to = item.status.ok() ? done_ : failed_;
  to.splice(to.end(), under_way_, found);
}

InferItems LateWork::take_done() {
  return std::exchange(done_, {});
}

ItemPtr LateWork::take_failed() {
  if (failed_.empty()) return nullptr;
  ItemPtr failed = std::move(failed_.front());
  failed_.pop_front();
  return failed;
}

void LateWork::give_up_lost(guint watchdog_ms, int64_t now_us) {
  const bool all_lost = work_.all_lost(watchdog_ms, now_us);
  for (auto late = under_way_.begin(); late != under_way_.end();) {
    const ItemPtr item = *late;
    if (!all_lost && !WorkList::is_overdue(*item, watchdog_ms, now_us)) {
      ++late;
      continue;
    }
    GST_WARNING_ID(name_.c_str(),
                   "late work of frame %" G_GUINT64_FORMAT
                   " is given up: the device has not answered for %u ms",
                   item->number, watchdog_ms);
    ItemPtr failed = split_off(item.get(), now_us);
    failed->status = no_answer(watchdog_ms);
    failed->late = true;
    failed_.push_back(std::move(failed));
    late = under_way_.erase(late);
    work_.give_up(item.get());
  }
}

void LateWork::drop() {
  for (const ItemPtr& item : under_way_) work_.give_up(item.get());
  under_way_.clear();
  done_.clear();
  failed_.clear();
}

}  // namespace dvnn::gst
