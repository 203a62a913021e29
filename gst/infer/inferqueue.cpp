// SPDX-License-Identifier: Apache-2.0
#include "infer/inferqueue.h"

#include <pthread.h>

#include <algorithm>

namespace dvnn::gst {

InferItem::~InferItem() {
  if (slot) gst_buffer_unref(slot);
  if (object) gst_mini_object_unref(object);
}

InferQueue::InferQueue(size_t limit, Work work) : limit_(limit), work_(std::move(work)) {}

InferQueue::~InferQueue() {
  stop();
}

void InferQueue::start(const std::string& thread_name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  stopping_ = flushing_ = false;
  for (size_t i = 0; i < limit_; ++i) {
    workers_.emplace_back([this] { work_loop(); });
    // Linux shows at most 15 characters.
    pthread_setname_np(workers_.back().native_handle(), thread_name.substr(0, 15).c_str());
  }
}

void InferQueue::stop() {
  set_flushing(true);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  for (std::thread& worker : workers_) worker.join();
  workers_.clear();
}

void InferQueue::set_flushing(bool flushing) {
  std::deque<std::shared_ptr<InferItem>> dropped;  // released without the lock
  const std::lock_guard<std::mutex> lock(mutex_);
  flushing_ = flushing;
  if (flushing) {
    dropped.swap(items_);
    todo_.clear();
    frames_ = 0;
  }
  changed_.notify_all();
}

bool InferQueue::push(std::unique_ptr<InferItem> item) {
  std::unique_lock<std::mutex> lock(mutex_);
  const bool frame = GST_IS_BUFFER(item->object);
  changed_.wait(lock, [&] { return flushing_ || !frame || frames_ < limit_; });
  if (flushing_) return false;
  if (frame) ++frames_;
  item->done = item->slot == nullptr;
  items_.push_back(std::move(item));
  if (!items_.back()->done) todo_.push_back(items_.back());
  changed_.notify_all();
  return true;
}

std::unique_ptr<InferItem> InferQueue::pop() {
  std::unique_lock<std::mutex> lock(mutex_);
  busy_ = false;
  changed_.notify_all();
  changed_.wait(lock, [&] { return flushing_ || (!items_.empty() && items_.front()->done); });
  if (flushing_) return nullptr;
  auto item = std::make_unique<InferItem>();
  std::shared_ptr<InferItem> head = std::move(items_.front());
  items_.pop_front();
  std::swap(item->object, head->object);
  std::swap(item->slot, head->slot);
  std::swap(item->status, head->status);
  item->as_tensors = head->as_tensors;
  if (GST_IS_BUFFER(item->object)) --frames_;
  busy_ = true;
  changed_.notify_all();
  return item;
}

bool InferQueue::drain() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return flushing_ || (items_.empty() && !busy_); });
  return !flushing_;
}

void InferQueue::released() {
  const std::lock_guard<std::mutex> lock(mutex_);
  busy_ = false;
  changed_.notify_all();
}

void InferQueue::work_loop() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || !todo_.empty(); });
    if (stopping_) return;
    // Held here too: a flush may drop the item from the queue while its slot is in use.
    std::shared_ptr<InferItem> item = std::move(todo_.front());
    todo_.pop_front();
    lock.unlock();
    Status status = work_(item->slot);
    lock.lock();
    item->status = std::move(status);
    item->done = true;
    changed_.notify_all();
    lock.unlock();
    item.reset();
    lock.lock();
  }
}

}  // namespace dvnn::gst
