// SPDX-License-Identifier: Apache-2.0
// The publisher against a broker that is made of nothing but what brokers do wrong.
#include <atomic>
#include <random>

#include "check_main.h"
#include "publish/publisher.h"
#include "temporary_folder.h"

using namespace dvnn;
using publish::Listener;
using publish::Message;
using publish::Publisher;
using publish::PublisherSettings;
using publish::Transport;
using std::chrono::milliseconds;

namespace {

// What arrived. Each connection gets messages in order; when it dies, those on their way arrive or
// do not, and their acknowledgements are lost.
struct Broker {
  std::mutex mutex;
  std::vector<int> received;
  std::atomic<bool> away{false}, silent{false};
  std::atomic<int> window{10}, kills{0};

  std::vector<int> all() {
    const std::lock_guard<std::mutex> lock(mutex);
    return received;
  }
};

class FakeTransport final : public Transport {
 public:
  FakeTransport(Broker* broker, Listener* listener) : broker_(broker), listener_(listener) {}
  ~FakeTransport() override { close(); }
  void connect() override {
    close();
    if (broker_->away) return listener_->lost("the broker is away");
    kills_ = broker_->kills;
    dead_ = stopping_ = false;
    thread_ = std::thread([this] { serve(); });
    listener_->ready();
  }
  bool send(uint64_t token, const Message& message) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (dead_ || stopping_) return false;
    coming_.push_back({token, std::atoi(message.body.c_str())});
    changed_.notify_one();
    return true;
  }
  size_t window() const override { return static_cast<size_t>(broker_->window.load()); }
  void close() override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
      changed_.notify_one();
    }
    if (thread_.joinable()) thread_.join();
    coming_.clear();
  }

 private:
  void serve() {
    std::mt19937 random(static_cast<unsigned>(kills_));
    std::unique_lock<std::mutex> lock(mutex_);
    while (!stopping_) {
      changed_.wait_for(lock, milliseconds(2),
                        [this] { return stopping_ || (!coming_.empty() && !broker_->silent); });
      if (stopping_) return;
      if (broker_->kills != kills_ || broker_->away) {
        dead_ = true;
        // Some arrive all the same.
        for (size_t i = random() % 5; i > 0 && !coming_.empty(); --i) take();
        listener_->lost("the broker was killed");
        return;
      }
      if (coming_.empty() || broker_->silent) continue;
      std::vector<uint64_t> tokens;
      for (size_t i = 1 + random() % 4; i > 0 && !coming_.empty(); --i) tokens.push_back(take());
      std::shuffle(tokens.begin(), tokens.end(), random);
      for (const uint64_t token : tokens) listener_->acknowledged(token);
    }
  }
  uint64_t take() {
    const auto [token, number] = coming_.front();
    coming_.pop_front();
    const std::lock_guard<std::mutex> lock(broker_->mutex);
    broker_->received.push_back(number);
    return token;
  }

  Broker* const broker_;
  Listener* const listener_;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<uint64_t, int>> coming_;
  bool dead_ = true, stopping_ = false;
  int kills_ = 0;
};

const auto quiet = [](publish::Notice, const std::string&) {};

void start(Publisher* publisher, Broker* broker) {
  const Status status =
      publisher->start([broker](Listener* listener) -> Result<std::unique_ptr<Transport>> {
        return {std::make_unique<FakeTransport>(broker, listener)};
      });
  if (!status.ok()) ck_abort_msg("%s", status.error().message.c_str());
}

PublisherSettings hasty() {
  PublisherSettings settings;
  settings.least_pause = milliseconds(1);
  settings.longest_pause = milliseconds(4);
  return settings;
}

void publish_numbers(Publisher* publisher, int from, int to) {
  for (int i = from; i < to; ++i) publisher->publish({"t", "s", std::to_string(i)});
}

// Without what came twice, all are there, in order.
void expect_all(const std::vector<int>& received, int from, int to) {
  int next = from;
  for (const int number : received) {
    ck_assert_msg(number <= next, "%d came before %d", number, next);
    if (number == next) ++next;
  }
  ck_assert_int_eq(next, to);
}

}  // namespace

START_TEST(nothing_is_lost_or_overtaken_when_brokers_die) {
  for (const bool spooled : {false, true}) {
    TemporaryFolder folder;
    Broker broker;
    PublisherSettings settings = hasty();
    if (spooled) {
      settings.spool = folder.file("spool");
      settings.queue_messages = 50;  // so that it is half full all the time
      settings.spool_bounds.segment_bytes = 5000;
    } else {
      settings.queue_messages = 1000000;
    }
    Publisher publisher(settings, quiet);
    start(&publisher, &broker);
    const int rounds = dvnn_rounds(100);
    for (int round = 0; round < rounds; ++round) {
      for (int i = 0; i < 10; ++i) {
        // Slowly enough that the queue's bound is not what this is about.
        while (publisher.stats().queued > 40 && spooled) {
          std::this_thread::sleep_for(milliseconds(1));
        }
        publish_numbers(&publisher, round * 50 + i * 5, round * 50 + i * 5 + 5);
      }
      std::this_thread::sleep_for(milliseconds(1));  // so that connections live in between
      if (round % 3 == 0) ++broker.kills;
      if (round % 10 == 5) broker.away = true;
      if (round % 10 == 7) broker.away = false;
    }
    broker.away = false;
    // Once more when something is known to have arrived: before, all may have been too quick.
    while (publisher.stats().delivered == 0) std::this_thread::sleep_for(milliseconds(1));
    while (publisher.stats().queued > 40 && spooled) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    ++broker.kills;
    publish_numbers(&publisher, rounds * 50, rounds * 50 + 5);
    ck_assert(publisher.flush(milliseconds(20000)));
    publisher.stop();
    expect_all(broker.all(), 0, rounds * 50 + 5);
    const auto stats = publisher.stats();
    ck_assert_uint_eq(stats.dropped, 0);
    ck_assert_uint_eq(stats.delivered, static_cast<uint64_t>(rounds) * 50 + 5);
    ck_assert_uint_gt(stats.losses, 0);
  }
}
END_TEST

START_TEST(what_is_on_its_way_stays_before_what_went_to_disk) {
  TemporaryFolder folder;
  Broker broker;
  PublisherSettings settings = hasty();
  settings.spool = folder.file("spool");
  settings.queue_messages = 20;
  broker.silent = true;
  Publisher publisher(settings, quiet);
  start(&publisher, &broker);
  while (!publisher.stats().connected) std::this_thread::sleep_for(milliseconds(1));
  publish_numbers(&publisher, 0, 10);
  std::this_thread::sleep_for(milliseconds(50));  // all ten are on their way
  publish_numbers(&publisher, 10, 25);            // these fill the queue, and go to disk
  while (publisher.stats().spooled < 15) std::this_thread::sleep_for(milliseconds(1));
  ++broker.kills;
  broker.silent = false;
  ck_assert(publisher.flush(milliseconds(10000)));
  expect_all(broker.all(), 0, 25);
}
END_TEST

START_TEST(the_rest_waits_on_disk_for_the_next_start) {
  TemporaryFolder folder;
  Broker broker;
  PublisherSettings settings = hasty();
  settings.spool = folder.file("spool");
  broker.away = true;
  for (int round = 0; round < 3; ++round) {
    Publisher publisher(settings, quiet);
    start(&publisher, &broker);
    publish_numbers(&publisher, round * 300, round * 300 + 300);
    ck_assert(!publisher.flush(milliseconds(30)));
    publisher.stop();
    ck_assert_uint_eq(publisher.stats().spooled, static_cast<uint64_t>(round + 1) * 300);
    ck_assert_uint_eq(publisher.stats().dropped, 0);
  }
  broker.away = false;
  Publisher publisher(settings, quiet);
  start(&publisher, &broker);
  ck_assert(publisher.flush(milliseconds(10000)));
  expect_all(broker.all(), 0, 900);
}
END_TEST

START_TEST(without_a_spool_the_oldest_are_dropped_counted_and_told) {
  Broker broker;
  broker.away = true;
  PublisherSettings settings = hasty();
  settings.queue_messages = 100;
  std::mutex mutex;
  int told = 0;  // at once or in parts
  std::string reason;
  Publisher publisher(settings, [&](publish::Notice notice, const std::string& why) {
    const std::lock_guard<std::mutex> lock(mutex);
    if (notice != publish::Notice::kDropped) return;
    told += std::atoi(why.c_str());
    reason = why.substr(why.find(' '));
  });
  start(&publisher, &broker);
  publish_numbers(&publisher, 0, 250);
  ck_assert_uint_eq(publisher.stats().dropped, 150);
  broker.away = false;
  ck_assert(publisher.flush(milliseconds(10000)));
  publisher.stop();
  expect_all(broker.all(), 150, 250);
  ck_assert_int_eq(told, 150);
  dvnn_assert_text(reason, " messages were dropped: the queue is full");
}
END_TEST

START_TEST(publishing_never_waits) {
  TemporaryFolder folder;
  Broker broker;
  broker.silent = true;
  PublisherSettings settings = hasty();
  settings.spool = folder.file("spool");
  Publisher publisher(settings, quiet);
  start(&publisher, &broker);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 20000; ++i) publisher.publish({"t", "s", std::string(200, 'x')});
  const auto took = std::chrono::steady_clock::now() - begin;
  ck_assert_int_lt(std::chrono::duration_cast<milliseconds>(took).count(), 2000);
  publisher.stop();
  const auto stats = publisher.stats();
  ck_assert_uint_eq(stats.dropped + stats.spooled, 20000);
}
END_TEST

START_TEST(a_flush_can_be_ended_early) {
  Broker broker;
  broker.away = true;
  Publisher publisher(hasty(), quiet);
  start(&publisher, &broker);
  publish_numbers(&publisher, 0, 1);
  const auto begin = std::chrono::steady_clock::now();
  std::thread other([&] {
    std::this_thread::sleep_for(milliseconds(20));
    publisher.cancel_flush();
  });
  ck_assert(!publisher.flush(milliseconds(20000)));
  other.join();
  ck_assert(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
}
END_TEST

DVNN_TEST_MAIN(publish_publisher, nothing_is_lost_or_overtaken_when_brokers_die,
               what_is_on_its_way_stays_before_what_went_to_disk,
               the_rest_waits_on_disk_for_the_next_start,
               without_a_spool_the_oldest_are_dropped_counted_and_told, publishing_never_waits,
               a_flush_can_be_ended_early)
