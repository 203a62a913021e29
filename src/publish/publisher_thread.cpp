// SPDX-License-Identifier: Apache-2.0
// The publisher's own thread: it sends, tries again, and moves messages to disk.
#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "base/format.h"
#include "base/log.h"
#include "publish/publisher.h"

namespace dvnn::publish {
namespace {

using std::chrono::milliseconds;

constexpr size_t kMostBytesSent = size_t{32} << 20;      // sent and not acknowledged
constexpr size_t kMostBytesSettling = size_t{16} << 20;  // acknowledged, and kept
constexpr milliseconds kTryAgain{20};  // pause after a transport has accepted nothing
constexpr milliseconds kStuck{1000};   // a queue that has not moved for this time goes to disk
constexpr milliseconds kBetweenSyncs{1000}, kBetweenTellings{1000};
constexpr milliseconds kIdle{1000};
constexpr milliseconds kLongestRecall{1000};
constexpr size_t kWrittenAtOnce = 64;  // number of drafts written before answers are looked at

}  // namespace

void Publisher::run() {
  Clock::Time wake = clock_.now();
  for (bool busy = false;;) {
    std::vector<Answer> answers;
    std::optional<std::string> loss;
    bool stopping = false;
    std::optional<std::string> came_ready;
    std::string rejection;
    std::vector<std::pair<std::string, std::string>> recalled;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      if (!busy) clock_.wait_until(&changed_cv_, &lock, wake, [this] { return changed_; });
      changed_ = false;
      answers.swap(answers_);
      recalled.swap(recalled_);
      loss = std::exchange(loss_, std::nullopt);
      came_ready = std::exchange(came_ready_, std::nullopt);
      rejection = std::exchange(rejection_, {});
      stopping = stopping_;
    }
    if (!rejection.empty()) drop_reason_ = rejection;
    handle_answers(answers);
    settle(clock_.now());
    if (loss) handle_loss(*loss);
    if (came_ready && !loss) {
      up_ = true;
      lost_ = false;
      pause_ = milliseconds(0);
      DVNN_LOG(kPublisher, kInfo, "connected: %s", came_ready->c_str());
      forget_kept();
      tell_(Notice::kConnected, *came_ready);
    }
    for (const auto& [topic, body] : recalled) {
      if (settings_.recalled) settings_.recalled(topic, body);
      recalling_.erase(topic);
    }
    run_jobs();
    const Clock::Time now = clock_.now();
    send_kept();
    if (stopping) break;
    if (connect_at_ && now >= *connect_at_) {
      connect_at_.reset();
      DVNN_LOG(kPublisher, kDebug, "connects");
      transport_->connect();
    }
    const bool unwritten = write_drafts(kWrittenAtOnce);
    busy = send_some() || unwritten;
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
    for (const auto& [topic, until] : recalling_) wake = std::min(wake, until);
  }
  finish();
}

void Publisher::run_jobs() {
  std::vector<std::function<void()>> jobs;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    jobs.swap(jobs_);
  }
  for (const auto& job : jobs) job();
}

// Writes up to `most` drafts as messages; meanwhile they count as queued. Returns whether more
// wait.
bool Publisher::write_drafts(size_t most) {
  std::vector<Draft> drafts;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (; drafts.size() < most && !drafts_.empty(); drafts_.pop_front()) {
      draft_bytes_ -= drafts_.front().bytes;
      drafts.push_back(std::move(drafts_.front()));
    }
    if (drafts.empty()) return false;
    stats_.queued += drafts.size();
  }
  std::vector<Message> messages;
  messages.reserve(drafts.size());
  for (const Draft& draft : drafts) messages.push_back(draft.write());
  const std::lock_guard<std::mutex> lock(mutex_);
  stats_.queued -= messages.size();
  for (Message& message : messages) {
    queue_bytes_ += message.bytes();
    queue_.push_back(std::move(message));
  }
  trim_queue();
  return !drafts_.empty();
}

// Messages leave in their order: one that is acknowledged early waits for those before it.
void Publisher::handle_answers(const std::vector<Answer>& answers) {
  for (const Answer& answer : answers) {
    // Tokens are consecutive, so they tell a message's place.
    if (sent_.empty() || answer.token < sent_.front().token) continue;
    const size_t index = static_cast<size_t>(answer.token - sent_.front().token);
    if (index >= sent_.size() || sent_[index].done) continue;
    sent_[index].done = true;
    sent_[index].rejected = answer.rejected;
    DVNN_LOG(kPublisher, kEach, "message %llu is %s", static_cast<unsigned long long>(answer.token),
             answer.rejected ? "rejected" : "acknowledged");
    if (answer.rejected) {
      drop(1, drop_reason_);
    } else if (!sent_[index].again) {
      const std::lock_guard<std::mutex> lock(mutex_);
      ++stats_.delivered;
    }
  }
  const Clock::Time settled = clock_.now() + transport_->settling();
  for (; !sent_.empty() && sent_.front().done; sent_.pop_front()) {
    sent_.front().settled = settled;
    sent_bytes_ -= sent_.front().bytes;
    settling_bytes_ += sent_.front().bytes;
    settling_.push_back(std::move(sent_.front()));
  }
}

// Forgets acknowledged messages that the other side can no longer lose.
void Publisher::settle(Clock::Time now) {
  while (!settling_.empty() &&
         (settling_.front().settled <= now || settling_bytes_ > kMostBytesSettling)) {
    if (settling_.front().place && spool_) spool_->acknowledge(*settling_.front().place);
    settling_bytes_ -= settling_.front().bytes;
    settling_.pop_front();
  }
}

void Publisher::handle_loss(const std::string& why) {
  up_ = false;
  lost_ = true;
  put_back_unsent();
  pause_ = std::clamp(pause_ * 2, settings_.least_pause, settings_.longest_pause);
  connect_at_ = clock_.now() + pause_;
  DVNN_LOG(kPublisher, kInfo, "the connection is lost (%s): again in %lld ms", why.c_str(),
           static_cast<long long>(pause_.count()));
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++stats_.losses;
  }
  tell_(Notice::kLost, why);
}

// Puts messages that were not acknowledged, or may be lost all the same, before all unsent ones.
void Publisher::put_back_unsent() {
  if (spool_) spool_->rewind();
  refused_.reset();
  refused_place_.reset();
  const bool is_forgetful = transport_->settling() > milliseconds(0);
  const std::lock_guard<std::mutex> lock(mutex_);
  // A message that is sent again stays counted as delivered until its next acknowledgement can
  // count it again.
  for (; !sent_.empty(); sent_.pop_back()) {
    Sent& sent = sent_.back();
    if (sent.rejected) continue;
    if (sent.place) {
      if (sent.done || sent.again) --stats_.delivered;
    } else if (sent.again) {
      again_.push_front(std::move(sent.message));
    } else if (!sent.done || is_forgetful) {
      if (sent.done) --stats_.delivered;
      queue_bytes_ += sent.message.bytes();
      queue_.push_front(std::move(sent.message));
    }
  }
  for (; !settling_.empty(); settling_.pop_back()) {
    Sent& sent = settling_.back();
    if (sent.rejected) continue;
    if (sent.place) {
      --stats_.delivered;
    } else {
      again_.push_front(std::move(sent.message));
    }
  }
  sent_bytes_ = settling_bytes_ = 0;
}

// Returns whether the queue goes to disk: the connection is lost or stuck, or it is half full.
bool Publisher::wants_spool(Clock::Time now) const {
  if (!spool_) return false;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (queue_.empty()) return false;
  return lost_ || in_memory() * 2 >= settings_.queue_messages ||
         queue_bytes_ * 2 >= settings_.queue_bytes ||
         (stuck_since_ && now - *stuck_since_ >= kStuck);
}

// Moves sent messages to the disk before those that follow them: otherwise they would come after
// these if they had to be sent again. Nothing unread is on the disk then, because it would have
// been sent first.
bool Publisher::spill_sent(std::deque<Sent>* all) {
  for (Sent& sent : *all) {
    if (sent.place) continue;
    if (spool_->has_unread()) return true;  // only a message that is too large for the spool
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
  if (!spill_sent(&settling_) || !spill_sent(&sent_)) return;
  for (; !again_.empty(); again_.pop_front()) {
    if (!append_to_spool(again_.front())) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    --stats_.delivered;
  }
  std::deque<Message> queue;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    queue.swap(queue_);
    queue_bytes_ = 0;
    stats_.queued += queue.size();  // until note_counts() counts anew
  }
  DVNN_LOG(kPublisher, kDebug, "%zu messages go to the spool", queue.size());
  while (!queue.empty() && append_to_spool(queue.front())) queue.pop_front();
  if (queue.empty()) return;
  // The disk is full: the messages stay in memory, as long as there is room.
  const std::lock_guard<std::mutex> lock(mutex_);
  for (; !queue.empty(); queue.pop_back()) {
    queue_bytes_ += queue.back().bytes();
    queue_.push_front(std::move(queue.back()));
  }
  trim_queue();
}

// Returns false if the message cannot be written now. Drops one that can never be written.
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

// Sends messages. Returns whether there may be more to send at once.
bool Publisher::send_some() {
  constexpr int kAtOnce = 64;  // number of messages sent before answers are looked at
  const auto full = [this] {
    return sent_.size() >= transport_->window() || sent_bytes_ >= kMostBytesSent;
  };
  bool waiting = !up_;
  for (int i = 0; up_ && i < kAtOnce; ++i) {
    if (full()) {
      waiting = true;
      break;
    }
    // Messages on disk are older than those in memory.
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
    if (!again_.empty()) {
      if (!send_one(again_.front(), std::nullopt, true)) {
        waiting = true;
        break;
      }
      again_.pop_front();
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
      ++stats_.queued;  // until note_counts() counts anew
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
    stuck_since_ = clock_.now();
  }
  return false;
}

// A new connection knows nothing of what the one before had retained.
void Publisher::forget_kept() {
  recalling_.clear();
  const std::lock_guard<std::mutex> lock(mutex_);
  asked_ = false;
  for (auto& [topic, kept] : kept_) kept.sent = false;
  kept_unsent_ = kept_.size();
}

// Sends what is to be retained and has changed. What is to be retained no more is forgotten then.
void Publisher::send_kept() {
  if (!up_) return;
  std::map<std::string, std::string> unsent;
  std::vector<std::string> to_recall;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!std::exchange(asked_, true)) to_recall = to_recall_;
    for (const auto& [topic, kept] : kept_) {
      if (!kept.sent) unsent[topic] = kept.body;
    }
  }
  const Clock::Time now = clock_.now();
  for (const std::string& topic : to_recall) {
    transport_->recall(topic);
    recalling_[topic] = now + kLongestRecall;
  }
  for (auto one = recalling_.begin(); one != recalling_.end();) {
    one = one->second <= now ? recalling_.erase(one) : std::next(one);
  }
  for (const auto& [topic, body] : unsent) {
    if (recalling_.count(topic) > 0) continue;
    if (!transport_->keep(topic, body)) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto kept = kept_.find(topic);
    if (kept == kept_.end() || kept->second.body != body) continue;  // changed meanwhile
    kept->second.sent = true;
    --kept_unsent_;
    if (body.empty()) kept_.erase(kept);
  }
}

bool Publisher::send_one(const Message& message, std::optional<Spool::Place> place, bool again) {
  Sent sent;
  sent.again = again;
  sent.token = last_token_ + 1;
  sent.bytes = message.bytes();
  sent.place = place;
  if (!place) sent.message = message;
  sent_.push_back(std::move(sent));
  if (!transport_->send(last_token_ + 1, message)) {
    sent_.pop_back();
    DVNN_LOG(kPublisher, kEach, "the transport takes nothing now: %zu are on their way",
             sent_.size());
    return false;
  }
  DVNN_LOG(kPublisher, kEach, "message %llu of %zu bytes is sent%s%s",
           static_cast<unsigned long long>(last_token_ + 1), message.bytes(),
           place ? ", from the spool" : "", again ? ", again" : "");
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
  const auto is_on_disk = [](const Sent& sent) { return sent.place.has_value(); };
  // Acknowledged messages do not wait; those that were sent from the disk are counted there.
  uint64_t on_disk = spool_ ? spool_->messages() : 0;
  if (on_disk > 0) {
    on_disk -= std::min(on_disk, static_cast<uint64_t>(std::count_if(settling_.begin(),
                                                                     settling_.end(), is_on_disk)));
  }
  const auto from_memory =
      static_cast<uint64_t>(std::count_if(sent_.begin(), sent_.end(), std::not_fn(is_on_disk)));
  const std::lock_guard<std::mutex> lock(mutex_);
  stats_.queued = from_memory + again_.size();
  stats_.spooled = on_disk;
  stats_.connected = up_;
  if (is_all_sent()) settled_cv_.notify_all();
}

void Publisher::tell_drops(Clock::Time now) {
  uint64_t dropped = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    dropped = stats_.dropped;
  }
  if (dropped == untold_drops_ || now - told_ < kBetweenTellings) return;
  told_ = now;
  const uint64_t fresh = dropped - untold_drops_;
  untold_drops_ = dropped;
  DVNN_LOG(kPublisher, kWarning, "%llu messages were dropped: %s",
           static_cast<unsigned long long>(fresh),
           drop_reason_.empty() ? "the queue is full" : drop_reason_.c_str());
  tell_(Notice::kDropped,
        format("%llu messages were dropped: ", static_cast<unsigned long long>(fresh)) +
            (drop_reason_.empty() ? "the queue is full" : drop_reason_));
  drop_reason_.clear();
}

void Publisher::finish() {
  while (write_drafts(kWrittenAtOnce)) continue;
  transport_->close();
  std::vector<Answer> answers;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    answers.swap(answers_);
  }
  handle_answers(answers);
  settle(Clock::Time::max());
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
  drop(left, spool_ ? "the stream has ended, and the spool does not take them"
                    : "the stream has ended, and there is no spool");
  note_counts();
  tell_drops(clock_.now() + kBetweenTellings);
  spool_.reset();
}

}  // namespace dvnn::publish
