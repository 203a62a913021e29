// SPDX-License-Identifier: Apache-2.0
#include "publish/publisher.h"

#include <pthread.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/format.h"
#include "base/guard.h"

namespace dvnn::publish {
namespace {

using std::chrono::milliseconds;

constexpr size_t kMostBytesSent = size_t{32} << 20;  // on their way at once
constexpr milliseconds kTryAgain{20};                // after a transport took nothing
constexpr milliseconds kStuck{1000};  // a queue that does not move for so long goes to disk
constexpr milliseconds kBetweenSyncs{1000}, kBetweenTellings{1000};
constexpr milliseconds kIdle{1000};

}  // namespace

Publisher::Publisher(PublisherSettings settings, Tell tell)
    : settings_(std::move(settings)), tell_(std::move(tell)) {}

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
  connect_at_ = Clock::now();
  // Signals are the application's, and a pipe that nobody reads is an error, not a signal.
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

// --- other threads
// ---------------------------------------------------------------------------------

void Publisher::publish(Message message) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++stats_.published;
  queue_bytes_ += message.bytes();
  queue_.push_back(std::move(message));
  trim_queue();
  changed_ = true;
  changed_cv_.notify_one();
}

// Under the mutex. The oldest go: what has just happened is what people want to know.
void Publisher::trim_queue() {
  while (queue_.size() > 1 &&
         (queue_.size() > settings_.queue_messages || queue_bytes_ > settings_.queue_bytes)) {
    queue_bytes_ -= queue_.front().bytes();
    queue_.pop_front();
    ++stats_.dropped;
  }
}

bool Publisher::flush(milliseconds most) {
  std::unique_lock<std::mutex> lock(mutex_);
  settled_cv_.wait_for(lock, most,
                       [this] { return hurried_ || (queue_.empty() && stats_.waiting() == 0); });
  return queue_.empty() && stats_.waiting() == 0;
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
  stats.queued += queue_.size();
  return stats;
}

void Publisher::ready() {
  const std::lock_guard<std::mutex> lock(mutex_);
  came_ready_ = changed_ = true;
  changed_cv_.notify_one();
}

void Publisher::lost(const std::string& why) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!loss_) loss_ = why;
  came_ready_ = false;
  changed_ = true;
  changed_cv_.notify_one();
}

void Publisher::acknowledged(uint64_t token) {
  const std::lock_guard<std::mutex> lock(mutex_);
  answers_.push_back({token, false});
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

// --- the publisher's thread
// ------------------------------------------------------------------------

void Publisher::run() {
  Clock::time_point wake = Clock::now();
  for (bool busy = false;;) {
    std::vector<Answer> answers;
    std::optional<std::string> loss;
    bool stopping = false, came_ready = false;
    std::string rejection;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      if (!busy) changed_cv_.wait_until(lock, wake, [this] { return changed_; });
      changed_ = false;
      answers.swap(answers_);
      loss = std::exchange(loss_, std::nullopt);
      came_ready = std::exchange(came_ready_, false);
      rejection = std::exchange(rejection_, {});
      stopping = stopping_;
    }
    if (!rejection.empty()) drop_reason_ = rejection;
    handle_answers(answers);
    if (loss) handle_loss(*loss);
    if (came_ready && !loss) {
      up_ = true;
      lost_ = false;
      pause_ = milliseconds(0);
      tell_(Notice::kConnected, "");
    }
    const Clock::time_point now = Clock::now();
    if (stopping) break;
    if (connect_at_ && now >= *connect_at_) {
      connect_at_.reset();
      transport_->connect();
    }
    busy = send_some();
    if (wants_spool(now)) spill();
    if (appended_ && now - synced_ > kBetweenSyncs) {
      synced_ = now;
      appended_ = false;
      if (spool_) (void)spool_->sync();
    }
    note_counts();
    tell_drops(now);
    const milliseconds longest = refused_ || stuck_since_ ? kTryAgain : kIdle;
    wake = now + longest;
    if (connect_at_) wake = std::min(wake, *connect_at_);
  }
  finish();
}

// Messages leave in their order: one that is acknowledged early waits for those before it.
void Publisher::handle_answers(const std::vector<Answer>& answers) {
  for (const Answer& answer : answers) {
    // Tokens count on, so that a message's place is known.
    if (sent_.empty() || answer.token < sent_.front().token) continue;
    const size_t index = static_cast<size_t>(answer.token - sent_.front().token);
    if (index >= sent_.size() || sent_[index].done) continue;
    sent_[index].done = true;
    if (answer.rejected) {
      drop(1, drop_reason_);
    } else {
      const std::lock_guard<std::mutex> lock(mutex_);
      ++stats_.delivered;
    }
  }
  while (!sent_.empty() && sent_.front().done) {
    if (sent_.front().place && spool_) spool_->acknowledge(*sent_.front().place);
    sent_bytes_ -= sent_.front().bytes;
    sent_.pop_front();
  }
}

void Publisher::handle_loss(const std::string& why) {
  up_ = false;
  lost_ = true;
  put_back_unsent();
  pause_ = std::clamp(pause_ * 2, settings_.least_pause, settings_.longest_pause);
  connect_at_ = Clock::now() + pause_;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++stats_.losses;
  }
  tell_(Notice::kLost, why);
}

// What was sent in vain comes before all that was not sent yet.
void Publisher::put_back_unsent() {
  if (spool_) spool_->rewind();
  refused_.reset();
  refused_place_.reset();
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto sent = sent_.rbegin(); sent != sent_.rend(); ++sent) {
    if (sent->done || sent->place) continue;
    queue_bytes_ += sent->message.bytes();
    queue_.push_front(std::move(sent->message));
  }
  sent_.clear();
  sent_bytes_ = 0;
}

// Whether the queue goes to disk: nobody takes it, or it is half full.
bool Publisher::wants_spool(Clock::time_point now) const {
  if (!spool_) return false;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (queue_.empty()) return false;
  return lost_ || queue_.size() * 2 >= settings_.queue_messages ||
         queue_bytes_ * 2 >= settings_.queue_bytes ||
         (stuck_since_ && now - *stuck_since_ >= kStuck);
}

// What is on its way comes before what follows it onto the disk, so it goes there, too: otherwise
// it would be behind these if it had to be sent again. Nothing unread is on the disk then, because
// that would have been sent first.
bool Publisher::spill_sent() {
  for (Sent& sent : sent_) {
    if (sent.place) continue;
    if (spool_->has_unread()) return true;  // only one that is too large for the spool
    const Status status = spool_->append(sent.message);
    if (!status.ok() && status.error().code == ErrorCode::kLimit) continue;
    if (!status.ok()) {
      if (!std::exchange(spool_failed_, true)) tell_(Notice::kProblem, status.error().message);
      return false;
    }
    const auto entry = spool_->read();
    if (!entry) continue;
    sent.place = entry->place;
    sent.message = {};
  }
  return true;
}

void Publisher::spill() {
  if (!spill_sent()) return;
  std::deque<Message> queue;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    queue.swap(queue_);
    queue_bytes_ = 0;
    stats_.queued += queue.size();  // until note_counts()
  }
  while (!queue.empty() && append_to_spool(queue.front())) queue.pop_front();
  if (queue.empty()) return;
  // The disk is full: they stay in memory, as long as there is room.
  const std::lock_guard<std::mutex> lock(mutex_);
  for (; !queue.empty(); queue.pop_back()) {
    queue_bytes_ += queue.back().bytes();
    queue_.push_front(std::move(queue.back()));
  }
  trim_queue();
}

// False: it cannot be written now. One that can never be is dropped.
bool Publisher::append_to_spool(const Message& message) {
  const Status status = spool_->append(message);
  if (status.ok()) {
    appended_ = true;
    spool_failed_ = false;
    return true;
  }
  if (status.error().code == ErrorCode::kLimit) {
    drop(1, status.error().message);
    return true;
  }
  if (!std::exchange(spool_failed_, true)) tell_(Notice::kProblem, status.error().message);
  return false;
}

// True: there may be more to send at once.
bool Publisher::send_some() {
  constexpr int kAtOnce = 64;  // then answers are looked at
  const auto full = [this] {
    return sent_.size() >= transport_->window() || sent_bytes_ >= kMostBytesSent;
  };
  bool waiting = !up_;
  for (int i = 0; up_ && i < kAtOnce; ++i) {
    if (full()) {
      waiting = true;
      break;
    }
    // What is on disk is older than what is in memory.
    if (refused_ || (spool_ && spool_->has_unread())) {
      if (!refused_) {
        auto entry = spool_->read();
        if (!entry) continue;
        refused_ = std::move(entry->message);
        refused_place_ = entry->place;
      }
      if (!send_one(*refused_, refused_place_)) {
        waiting = true;
        break;
      }
      refused_.reset();
      refused_place_.reset();
      if (i + 1 == kAtOnce) return true;
      continue;
    }
    std::optional<Message> message;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (queue_.empty()) break;
      message = std::move(queue_.front());
      queue_.pop_front();
      queue_bytes_ -= message->bytes();
      ++stats_.queued;  // until note_counts()
    }
    if (!send_one(*message, std::nullopt)) {
      const std::lock_guard<std::mutex> lock(mutex_);
      queue_bytes_ += message->bytes();
      queue_.push_front(std::move(*message));
      --stats_.queued;
      waiting = true;
      break;
    }
    if (i + 1 == kAtOnce) return true;
  }
  if (!waiting) {
    stuck_since_.reset();
  } else if (!stuck_since_) {
    stuck_since_ = Clock::now();
  }
  return false;
}

bool Publisher::send_one(const Message& message, std::optional<Spool::Place> place) {
  Sent sent;
  sent.token = last_token_ + 1;
  sent.bytes = message.bytes();
  sent.place = place;
  if (!place) sent.message = message;
  sent_.push_back(std::move(sent));
  if (!transport_->send(last_token_ + 1, message)) {
    sent_.pop_back();
    return false;
  }
  ++last_token_;
  sent_bytes_ += sent_.back().bytes;
  stuck_since_.reset();
  return true;
}

void Publisher::drop(uint64_t count, const std::string& why) {
  if (count == 0) return;
  if (!why.empty()) drop_reason_ = why;
  const std::lock_guard<std::mutex> lock(mutex_);
  stats_.dropped += count;
}

void Publisher::note_counts() {
  const uint64_t lost_of_spool = spool_ ? spool_->take_dropped() : 0;
  drop(lost_of_spool, "the spool is full or damaged");
  // Those that were sent off the disk are counted there.
  const auto from_memory = static_cast<uint64_t>(
      std::count_if(sent_.begin(), sent_.end(), [](const Sent& sent) { return !sent.place; }));
  const std::lock_guard<std::mutex> lock(mutex_);
  stats_.queued = from_memory;
  stats_.spooled = spool_ ? spool_->messages() : 0;
  stats_.connected = up_;
  if (queue_.empty() && stats_.waiting() == 0) settled_cv_.notify_all();
}

void Publisher::tell_drops(Clock::time_point now) {
  uint64_t dropped = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    dropped = stats_.dropped;
  }
  if (dropped == untold_drops_ || now - told_ < kBetweenTellings) return;
  told_ = now;
  const uint64_t fresh = dropped - untold_drops_;
  untold_drops_ = dropped;
  tell_(Notice::kDropped,
        format("%llu messages were dropped: ", static_cast<unsigned long long>(fresh)) +
            (drop_reason_.empty() ? "the queue is full" : drop_reason_));
  drop_reason_.clear();
}

void Publisher::finish() {
  transport_->close();
  std::vector<Answer> answers;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    answers.swap(answers_);
  }
  handle_answers(answers);
  put_back_unsent();
  up_ = false;
  if (spool_) {
    spill();
    (void)spool_->sync();
  }
  size_t left = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    left = queue_.size();
    queue_.clear();
    queue_bytes_ = 0;
  }
  drop(left, "the stream has ended, and there is no spool");
  note_counts();
  tell_drops(Clock::now() + kBetweenTellings);
  spool_.reset();
}

}  // namespace dvnn::publish
