// SPDX-License-Identifier: Apache-2.0
// The publisher against a broker that is made of nothing but what brokers do wrong.
#include <algorithm>
#include <atomic>
#include <random>

#include "check_suite.h"
#include "publish/publisher.h"
#include "temporary_folder.h"

namespace dvnn::test::publisher_tests {

using publish::Listener;
using publish::Message;
using publish::Publisher;
using publish::PublisherSettings;
using publish::Transport;
using std::chrono::milliseconds;

namespace {

// A broker that remembers what arrived. Each connection gets messages in order; when it dies, those
// on their way arrive or do not, and their acknowledgements are lost.
struct Broker {
  std::mutex mutex;
  std::vector<int> received;
  std::atomic<bool> away{false}, silent{false};
  std::atomic<int> window{10}, kills{0};
  milliseconds settling{0};
  std::atomic<int> served{-1};  // the number of kills before the newest connection
  std::atomic<int> forgets{0};  // so many of what it has acknowledged, when it is killed

  void forget() {
    const std::lock_guard<std::mutex> lock(mutex);
    const size_t count = std::min(received.size(), static_cast<size_t>(forgets));
    received.resize(received.size() - count);
  }

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
    broker_->served = kills_;
    thread_ = std::thread([this] { serve(); });
    listener_->ready({});
  }
  bool send(uint64_t token, const Message& message) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (dead_ || stopping_) return false;
    coming_.push_back({token, std::atoi(message.body.c_str())});
    changed_.notify_one();
    return true;
  }
  size_t window() const override { return static_cast<size_t>(broker_->window.load()); }
  milliseconds settling() const override { return broker_->settling; }
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
        broker_->forget();
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

// Keeps the publisher's thread, in a draft, until the test lets it go on.
void wait_for(const std::atomic<bool>& may_write) {
  while (!may_write) std::this_thread::sleep_for(milliseconds(1));
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
    ck_assert(publisher.flush(std::chrono::minutes(1)));
    publisher.stop();
    expect_all(broker.all(), 0, rounds * 50 + 5);
    const auto stats = publisher.stats();
    ck_assert_uint_eq(stats.dropped, 0);
    ck_assert_uint_eq(stats.delivered, static_cast<uint64_t>(rounds) * 50 + 5);
    ck_assert_uint_gt(stats.losses, 0);
  }
}
END_TEST

START_TEST(what_a_broker_acknowledged_and_forgot_is_sent_again) {
  for (const bool spooled : {false, true}) {
    TemporaryFolder folder;
    Broker broker;
    broker.settling = milliseconds(10000);
    broker.forgets = 30;
    PublisherSettings settings = hasty();
    if (spooled) {
      settings.spool = folder.file("spool");
      settings.queue_messages = 50;
      settings.spool_bounds.segment_bytes = 5000;
    }
    Publisher publisher(settings, quiet);
    start(&publisher, &broker);
    int next = 0;
    for (int round = 0; round < 20; ++round) {
      for (int i = 0; i < 10; ++i, next += 5) {
        while (publisher.stats().queued > 40) std::this_thread::sleep_for(milliseconds(1));
        publish_numbers(&publisher, next, next + 5);
      }
      // As often as not all of them have been acknowledged.
      if (round % 2 == 0) ck_assert(publisher.flush(std::chrono::minutes(1)));
      // Killed while nobody is connected, it would not be missed.
      while (broker.served != broker.kills) std::this_thread::sleep_for(milliseconds(1));
      const auto losses = publisher.stats().losses;
      broker.away = round % 5 == 4;
      ++broker.kills;
      publish_numbers(&publisher, next, next + 1);
      ++next;
      // None is lost where the next connection was only about to be made.
      for (int i = 0; i < 100 && publisher.stats().losses == losses; ++i) {
        std::this_thread::sleep_for(milliseconds(1));
      }
      broker.away = false;
    }
    ck_assert(publisher.flush(std::chrono::minutes(1)));
    publisher.stop();
    expect_all(broker.all(), 0, next);
    ck_assert_uint_ge(publisher.stats().losses, 5);
    ck_assert_uint_eq(publisher.stats().dropped, 0);
    ck_assert_uint_eq(publisher.stats().delivered, static_cast<uint64_t>(next));
    ck_assert_uint_eq(publisher.stats().waiting(), 0);
  }
}
END_TEST

START_TEST(what_is_safe_is_not_sent_again) {
  Broker broker;
  broker.settling = milliseconds(50);
  Publisher publisher(hasty(), quiet);
  start(&publisher, &broker);
  publish_numbers(&publisher, 0, 100);
  // flush() does not wait for what is delivered to settle.
  ck_assert(publisher.flush(std::chrono::minutes(1)));
  std::this_thread::sleep_for(milliseconds(100));
  publish_numbers(&publisher, 100, 101);
  ck_assert(publisher.flush(std::chrono::minutes(1)));
  ++broker.kills;
  publish_numbers(&publisher, 101, 102);
  ck_assert(publisher.flush(std::chrono::minutes(1)));
  publisher.stop();
  const auto all = broker.all();
  expect_all(all, 0, 102);
  ck_assert_uint_le(all.size(), 104);
  ck_assert_uint_eq(publisher.stats().delivered, 102);
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
  ck_assert(publisher.flush(std::chrono::minutes(1)));
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
  ck_assert(publisher.flush(std::chrono::minutes(1)));
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
  // Messages that the thread is just writing are beyond the bound until it has written them.
  for (int i = 0; i < 10000 && publisher.stats().dropped < 150; ++i) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  ck_assert_uint_eq(publisher.stats().dropped, 150);
  broker.away = false;
  ck_assert(publisher.flush(std::chrono::minutes(1)));
  publisher.stop();
  expect_all(broker.all(), 150, 250);
  ck_assert_int_eq(told, 150);
  dvnn_assert_text(reason, " messages were dropped: the queue is full");
}
END_TEST

// Not for a broker that is silent, nor for a queue that is full, nor for the thread that would make
// room in it: the first draft keeps that thread until all has been published.
START_TEST(publishing_never_waits) {
  TemporaryFolder folder;
  Broker broker;
  broker.silent = true;
  PublisherSettings settings = hasty();
  settings.spool = folder.file("spool");
  Publisher publisher(settings, quiet);
  start(&publisher, &broker);
  std::atomic<bool> may_write{false};
  publisher.publish(publish::Draft{[&may_write]() -> Message {
                                     wait_for(may_write);
                                     return {"t", "s", "x"};
                                   },
                                   1});
  for (int i = 1; i < 20000; ++i) publisher.publish({"t", "s", std::string(200, 'x')});
  may_write = true;
  publisher.stop();
  const auto stats = publisher.stats();
  ck_assert_uint_eq(stats.dropped + stats.spooled, 20000);
}
END_TEST

START_TEST(drafts_are_written_by_the_publishers_thread) {
  Broker broker;
  Publisher publisher(hasty(), quiet);
  start(&publisher, &broker);
  std::atomic<bool> may_write{false};
  const auto writer = std::this_thread::get_id();
  for (int i = 0; i < 100; ++i) {
    publisher.publish(publish::Draft{[&may_write, writer, i]() -> Message {
                                       ck_assert(std::this_thread::get_id() != writer);
                                       wait_for(may_write);
                                       return {"t", "s", std::to_string(i)};
                                     },
                                     100});
  }
  // All are waiting, none in vain.
  ck_assert_uint_eq(publisher.stats().waiting(), 100);
  ck_assert(!publisher.flush(milliseconds(20)));
  may_write = true;
  publish_numbers(&publisher, 100, 110);
  ck_assert(publisher.flush(std::chrono::minutes(1)));
  publisher.stop();
  expect_all(broker.all(), 0, 110);
}
END_TEST

START_TEST(drafts_that_are_too_many_or_too_large_are_dropped_and_counted) {
  for (const bool large : {false, true}) {
    Broker broker;
    PublisherSettings settings = hasty();
    settings.queue_messages = large ? 1000 : 20;
    settings.queue_bytes = 20 * 1000;
    Publisher publisher(settings, quiet);
    start(&publisher, &broker);
    std::atomic<bool> may_write{false};
    for (int i = 0; i < 100; ++i) {
      const auto write = [&may_write, i]() -> Message {
        wait_for(may_write);
        return {"t", "s", std::to_string(i)};
      };
      publisher.publish(publish::Draft{write, large ? size_t{1000} : size_t{1}});
    }
    const uint64_t dropped = publisher.stats().dropped;
    // 20 wait, and the thread may have taken up to 64 before it was kept waiting.
    ck_assert_uint_ge(dropped, 100 - 20 - 64);
    ck_assert_uint_le(dropped, 80);
    may_write = true;
    ck_assert(publisher.flush(std::chrono::minutes(1)));
    publisher.stop();
    // In order, up to the newest; what was taken early may have been one too many by then.
    const auto all = broker.all();
    ck_assert(std::is_sorted(all.begin(), all.end()));
    ck_assert_int_eq(all.back(), 99);
    ck_assert_uint_eq(all.size() + publisher.stats().dropped, 100);
  }
}
END_TEST

START_TEST(nothing_waits_before_it_begins) {
  const Publisher publisher(hasty(), quiet);
  const auto stats = publisher.stats();
  ck_assert_uint_eq(stats.published + stats.delivered + stats.dropped + stats.losses, 0);
  ck_assert_uint_eq(stats.waiting(), 0);
  ck_assert(!stats.connected);
}
END_TEST

START_TEST(a_flush_can_be_ended_early) {
  Broker broker;
  broker.away = true;
  Publisher publisher(hasty(), quiet);
  start(&publisher, &broker);
  publish_numbers(&publisher, 0, 1);
  std::thread other([&] {
    std::this_thread::sleep_for(milliseconds(20));
    publisher.cancel_flush();
  });
  ck_assert(!publisher.flush(std::chrono::hours(1)));  // longer than a test may take
  other.join();
}
END_TEST

DVNN_SUITE(publish_publisher, nothing_is_lost_or_overtaken_when_brokers_die,
           what_a_broker_acknowledged_and_forgot_is_sent_again, what_is_safe_is_not_sent_again,
           what_is_on_its_way_stays_before_what_went_to_disk,
           the_rest_waits_on_disk_for_the_next_start,
           without_a_spool_the_oldest_are_dropped_counted_and_told, publishing_never_waits,
           drafts_are_written_by_the_publishers_thread,
           drafts_that_are_too_many_or_too_large_are_dropped_and_counted,
           nothing_waits_before_it_begins, a_flush_can_be_ended_early)

}  // namespace dvnn::test::publisher_tests
