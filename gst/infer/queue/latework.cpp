// SPDX-License-Identifier: Apache-2.0
#include "infer/queue/latework.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "infer/watchdog.h"

#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT queue_category()

namespace dvnn::gst {

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
