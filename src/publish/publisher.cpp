// SPDX-License-Identifier: Apache-2.0
#include "publish/publisher.h"

#include <pthread.h>

#include <csignal>
#include <utility>

#include "base/result.h"

namespace dvnn::publish {

using std::chrono::milliseconds;

Publisher::Publisher(PublisherSettings settings, Tell tell, const Clock& clock)
    : settings_(std::move(settings)), tell_(std::move(tell)), clock_(clock) {}

Publisher::~Publisher() {
  stop();
}

Status Publisher::start(const Address& address, const Options& options, const Identity& identity) {
  return start(
      [&](Listener* listener) { return create_transport(address, options, identity, listener); });
}

Status Publisher::start(const Create& create) {
  DVNN_ASSIGN(transport_, create(this));
  if (!settings_.spool.empty()) {
    DVNN_ASSIGN(spool_, Spool::open(settings_.spool, settings_.spool_bounds));
    stats_.spooled = spool_->messages();
  }
  connect_at_ = clock_.now();
  // Signals are the application's; writing to a pipe without a reader is an error, not a signal.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] {
    const Status status = guarded("publishing", [this]() -> Status {
      run();
      return {};
    });
    if (!status.ok()) tell_(Notice::kProblem, status.error().message);
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return {};
}

void Publisher::publish(Draft draft) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++stats_.published;
  draft_bytes_ += draft.bytes;
  drafts_.push_back(std::move(draft));
  trim_queue();
  // One notification is enough until the thread has looked.
  if (!std::exchange(changed_, true)) changed_cv_.notify_one();
}

void Publisher::publish(Message message) {
  const size_t bytes = message.bytes();
  publish(Draft{[message = std::move(message)]() mutable { return std::move(message); }, bytes});
}

void Publisher::keep(const std::string& topic, const std::string& body) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = kept_.find(topic);
  const bool is_new = found == kept_.end();
  if (!is_new && found->second.body == body) return;
  if (is_new || found->second.sent) ++kept_unsent_;
  kept_[topic] = {body, false};
  changed_ = true;
  changed_cv_.notify_one();
}

void Publisher::recall(const std::string& topic) {
  const std::lock_guard<std::mutex> lock(mutex_);
  to_recall_.push_back(topic);
  asked_ = false;
}

void Publisher::call_soon(std::function<void()> job) {
  const std::lock_guard<std::mutex> lock(mutex_);
  jobs_.push_back(std::move(job));
  changed_ = true;
  changed_cv_.notify_one();
}

// Drops the oldest messages, as the newest matter most. Called under the mutex.
void Publisher::trim_queue() {
  for (size_t count = in_memory(); count > 1; --count) {
    const bool fits =
        count <= settings_.queue_messages && queue_bytes_ + draft_bytes_ <= settings_.queue_bytes;
    if (fits) return;
    if (!queue_.empty()) {
      queue_bytes_ -= queue_.front().bytes();
      queue_.pop_front();
    } else {
      draft_bytes_ -= drafts_.front().bytes;
      drafts_.pop_front();
    }
    ++stats_.dropped;
  }
}

bool Publisher::flush(milliseconds most) {
  std::unique_lock<std::mutex> lock(mutex_);
  clock_.wait_until(&settled_cv_, &lock, clock_.now() + most,
                    [this] { return hurried_ || is_all_sent(); });
  return is_all_sent();
}

bool Publisher::is_all_sent() const {
  return in_memory() == 0 && stats_.waiting() == 0 && kept_unsent_ == 0;
}

void Publisher::cancel_flush() {
  const std::lock_guard<std::mutex> lock(mutex_);
  hurried_ = true;
  settled_cv_.notify_all();
}

void Publisher::stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = changed_ = true;
    changed_cv_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

PublisherStats Publisher::stats() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  PublisherStats stats = stats_;
  stats.queued += in_memory();
  return stats;
}

void Publisher::ready(const std::string& how) {
  const std::lock_guard<std::mutex> lock(mutex_);
  came_ready_ = how;
  changed_ = true;
  changed_cv_.notify_one();
}

void Publisher::lost(const std::string& why) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!loss_) loss_ = why;
  came_ready_.reset();
  changed_ = true;
  changed_cv_.notify_one();
}

void Publisher::acknowledged(uint64_t token) {
  const std::lock_guard<std::mutex> lock(mutex_);
  answers_.push_back({token, false});
  changed_ = true;
  changed_cv_.notify_one();
}

void Publisher::recalled(const std::string& topic, const std::string& body) {
  constexpr size_t kMostRecalled = 16;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (recalled_.size() >= kMostRecalled) return;
  recalled_.emplace_back(topic, body);
  changed_ = true;
  changed_cv_.notify_one();
}

void Publisher::rejected(uint64_t token, const std::string& why) {
  const std::lock_guard<std::mutex> lock(mutex_);
  answers_.push_back({token, true});
  rejection_ = why;
  changed_ = true;
  changed_cv_.notify_one();
}

}  // namespace dvnn::publish
