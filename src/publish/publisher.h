// SPDX-License-Identifier: Apache-2.0
// Delivers messages in their order, at least once. publish() never waits: it puts the message, or
// the draft of one, into a bounded queue in memory, from which the publisher's own thread takes and
// writes it. While the other side is away, or slow, the queue goes to a spool on disk, if there is
// one, and messages leave it once they are acknowledged. Where queue or spool are full, the oldest
// messages are dropped and counted.
//
// If a connection is lost, messages that were sent but not acknowledged are sent again, before all
// newer ones. So are those acknowledged shortly before, within the time that the transport's other
// side may need to store them safely. Notices are called from the publisher's thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "publish/spool.h"
#include "publish/transports/transport.h"

namespace dvnn::publish {

struct PublisherSettings {
  size_t queue_messages = 1000;
  size_t queue_bytes = size_t{64} << 20;
  std::string spool;  // folder; empty: none
  Spool::Bounds spool_bounds;
  std::chrono::milliseconds least_pause{500}, longest_pause{30000};  // before it connects again
  /// Is told what the other side retains of the topics of recall(); from the publisher's thread.
  std::function<void(const std::string& topic, const std::string& body)> recalled;
};

struct PublisherStats {
  uint64_t published = 0;  // calls of publish()
  uint64_t delivered = 0;  // acknowledged, including messages of an earlier process
  uint64_t dropped = 0;
  uint64_t queued = 0;   // in memory, including those sent and not acknowledged
  uint64_t spooled = 0;  // on disk
  uint64_t losses = 0;   // of connections
  bool connected = false;

  uint64_t waiting() const { return queued + spooled; }
};

enum class Notice { kConnected, kLost, kDropped, kProblem };

class Publisher final : private Listener {
 public:
  /// `why`: a sentence; for kConnected, details of the connection, perhaps empty.
  using Tell = std::function<void(Notice what, const std::string& why)>;

  Publisher(PublisherSettings settings, Tell tell, const Clock& clock = Clock::steady());
  ~Publisher();
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;

  /// Starts the thread. Returns an error if the options are wrong or the spool is in use.
  Status start(const Address& address, const Options& options, const Identity& identity);
  /// Starts with a transport that `create` makes.
  using Create = std::function<Result<std::unique_ptr<Transport>>(Listener* listener)>;
  Status start(const Create& create);
  void publish(Draft draft);
  void publish(Message message);
  /// Keeps `body` as what the other side retains of `topic`; empty: nothing. Only the newest is
  /// sent, and again after each connection, so it needs neither queue nor spool.
  void keep(const std::string& topic, const std::string& body);
  /// Asks at each connection for what the other side retains of `topic`. What is to be kept of the
  /// topic waits for the answer, for up to a second, as nobody answers where nothing is retained.
  void recall(const std::string& topic);
  /// Calls `job` soon, and before stop() returns, from the publisher's thread; for what takes time
  /// and has no message. How many wait is the caller's to bound.
  void call_soon(std::function<void()> job);
  /// Waits until all is delivered, but no longer than `most`. Returns whether all is.
  bool flush(std::chrono::milliseconds most);
  /// Ends flush() early, a call under way and all later ones.
  void cancel_flush();
  /// Stops, once the thread has ended. Messages that are left go to the spool; without a spool they
  /// are dropped.
  void stop();
  PublisherStats stats() const;

 private:
  // A message that was sent.
  struct Sent {
    uint64_t token = 0;
    Message message;                    // empty if it is in the spool
    std::optional<Spool::Place> place;  // if it is in the spool
    size_t bytes = 0;
    bool done = false, rejected = false;
    bool again = false;     // it was acknowledged before
    Clock::Time settled{};  // when the other side can no longer lose it
  };
  struct Answer {
    uint64_t token = 0;
    bool rejected = false;
  };

  void ready(const std::string& how) override;
  void lost(const std::string& why) override;
  void acknowledged(uint64_t token) override;
  void rejected(uint64_t token, const std::string& why) override;
  void recalled(const std::string& topic, const std::string& body) override;

  // Call them under the mutex.
  size_t in_memory() const { return queue_.size() + drafts_.size(); }
  bool is_all_sent() const;

  void run();
  void handle_answers(const std::vector<Answer>& answers);
  void handle_loss(const std::string& why);
  void settle(Clock::Time now);
  void put_back_unsent();
  void run_jobs();
  bool write_drafts(size_t most);
  bool wants_spool(Clock::Time now) const;
  bool spill_sent(std::deque<Sent>* all);
  void spill();
  bool append_to_spool(const Message& message);
  bool send_some();
  void send_kept();
  void forget_kept();
  bool send_one(const Message& message, std::optional<Spool::Place> place, bool again = false);
  void drop(uint64_t count, const std::string& why);
  void trim_queue();
  void note_counts();
  void tell_drops(Clock::Time now);
  void finish();

  const PublisherSettings settings_;
  const Tell tell_;
  const Clock& clock_;
  std::unique_ptr<Transport> transport_;
  std::thread thread_;

  mutable std::mutex mutex_;
  std::condition_variable changed_cv_, settled_cv_;
  // Members under the mutex.
  std::deque<Message> queue_;
  std::deque<Draft> drafts_;  // newer than the queue
  std::vector<std::function<void()>> jobs_;
  size_t queue_bytes_ = 0, draft_bytes_ = 0;
  struct Kept {
    std::string body;
    bool sent = false;  // by this connection
  };
  std::map<std::string, Kept> kept_;  // by topic
  size_t kept_unsent_ = 0;
  bool asked_ = false;                  // for what is to be recalled, by this connection
  std::vector<std::string> to_recall_;  // topics
  std::vector<std::pair<std::string, std::string>> recalled_;  // topics and bodies
  std::vector<Answer> answers_;
  std::optional<std::string> loss_;
  std::string rejection_;
  bool changed_ = false, stopping_ = false, hurried_ = false;
  std::optional<std::string> came_ready_;  // how it connected
  PublisherStats stats_;

  // Members of the publisher's thread only.
  std::unique_ptr<Spool> spool_;
  std::deque<Sent> settling_, sent_;  // all acknowledged, and older; under way
  size_t settling_bytes_ = 0, sent_bytes_ = 0;
  std::deque<Message> again_;  // to be sent again after an acknowledgement; older than the queue
  uint64_t last_token_ = 0;
  std::optional<Message> refused_;  // from the spool; the transport has not accepted it yet
  std::optional<Spool::Place> refused_place_;
  std::map<std::string, Clock::Time> recalling_;  // topics, and until when answers are waited for
  bool up_ = false, lost_ = false, appended_ = false, spool_failed_ = false;
  std::chrono::milliseconds pause_{0};
  std::optional<Clock::Time> connect_at_, stuck_since_;
  Clock::Time synced_{}, told_{};
  uint64_t untold_drops_ = 0;
  std::string drop_reason_;
};

}  // namespace dvnn::publish
