// SPDX-License-Identifier: Apache-2.0
// The publisher against a broker that is made of nothing but what brokers do wrong, while the time
// stands still or is moved.
#include <algorithm>

#include "check_suite.h"
#include "clocks.h"
#include "fake_broker.h"
#include "publish/publisher.h"
#include "temporary_folder.h"

namespace dvnn::test::publisher_tests {

DVNN_SUITE(publish_publisher);

using publish::Publisher;
using publish::PublisherSettings;

namespace {

const auto quiet = [](publish::Notice, const std::string&) {};

void start(Publisher* publisher, Broker* broker) {
  const Status status =
      publisher->start([broker](Listener* listener) -> Result<std::unique_ptr<Transport>> {
        return {std::make_unique<FakeTransport>(broker, listener)};
      });
  if (!status.ok()) ck_abort_msg("%s", status.error().message.c_str());
}

// Connections are made again at once.
PublisherSettings hasty() {
  PublisherSettings settings;
  settings.least_pause = settings.longest_pause = milliseconds(0);
  return settings;
}

constexpr milliseconds kPause{100};

// They are made again when the time has come.
PublisherSettings patient() {
  PublisherSettings settings;
  settings.least_pause = settings.longest_pause = kPause;
  return settings;
}

void publish_numbers(Publisher* publisher, int from, int to) {
  for (int i = from; i < to; ++i) publisher->publish({"t", "s", std::to_string(i)});
}

// Waits until all is delivered, while the time stands still.
bool deliver(Publisher* publisher) {
  return publisher->flush(milliseconds(1));
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

DVNN_TEST(nothing_is_lost_or_overtaken_when_brokers_die) {
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
    ManualClock clock;
    Publisher publisher(settings, quiet, clock);
    start(&publisher, &broker);
    // Slowly enough that the queue's bound is not what this is about.
    const auto until_room = [&] {
      if (spooled) clock.until([&] { return publisher.stats().queued <= 40; });
    };
    bool away = false;
    const int rounds = dvnn_rounds(100);
    for (int round = 0; round < rounds; ++round) {
      for (int i = 0; i < 10; ++i) {
        until_room();
        publish_numbers(&publisher, round * 50 + i * 5, round * 50 + i * 5 + 5);
      }
      if (!away) broker.until_served();  // so that connections live in between
      if (round % 3 == 0) broker.kill();
      if (round % 10 == 5) broker.set_away(away = true);
      if (round % 10 == 7) broker.set_away(away = false);
    }
    broker.set_away(false);
    // Once more when something is known to have arrived: before, all may have been too quick.
    clock.until([&] { return publisher.stats().delivered > 0; });
    until_room();
    broker.kill();
    publish_numbers(&publisher, rounds * 50, rounds * 50 + 5);
    ck_assert(deliver(&publisher));
    publisher.stop();
    expect_all(broker.all(), 0, rounds * 50 + 5);
    const auto stats = publisher.stats();
    ck_assert_uint_eq(stats.dropped, 0);
    ck_assert_uint_eq(stats.delivered, static_cast<uint64_t>(rounds) * 50 + 5);
    ck_assert_uint_gt(stats.losses, 0);
  }
}

DVNN_TEST(what_a_broker_acknowledged_and_forgot_is_sent_again) {
  for (const bool spooled : {false, true}) {
    TemporaryFolder folder;
    Broker broker(milliseconds(1));
    broker.set_forgetful(30);
    PublisherSettings settings = hasty();
    if (spooled) {
      settings.spool = folder.file("spool");
      settings.queue_messages = 50;
      settings.spool_bounds.segment_bytes = 5000;
    }
    ManualClock clock;
    Publisher publisher(settings, quiet, clock);
    start(&publisher, &broker);
    int next = 0;
    for (int round = 0; round < 20; ++round) {
      for (int i = 0; i < 10; ++i, next += 5) {
        clock.until([&] { return publisher.stats().queued <= 40; });
        publish_numbers(&publisher, next, next + 5);
      }
      // As often as not all of them have been acknowledged.
      if (round % 2 == 0) ck_assert(deliver(&publisher));
      // A broker that is killed without a connection causes no loss.
      broker.until_served();
      const auto losses = publisher.stats().losses;
      broker.set_away(round % 5 == 4);
      broker.kill();
      publish_numbers(&publisher, next, next + 1);
      ++next;
      clock.until([&] { return publisher.stats().losses > losses; });
      broker.set_away(false);
    }
    ck_assert(deliver(&publisher));
    publisher.stop();
    expect_all(broker.all(), 0, next);
    ck_assert_uint_ge(publisher.stats().losses, 20);
    ck_assert_uint_eq(publisher.stats().dropped, 0);
    ck_assert_uint_eq(publisher.stats().delivered, static_cast<uint64_t>(next));
    ck_assert_uint_eq(publisher.stats().waiting(), 0);
  }
}

DVNN_TEST(what_is_safe_is_not_sent_again) {
  Broker broker(milliseconds(50));
  ManualClock clock;
  Publisher publisher(hasty(), quiet, clock);
  start(&publisher, &broker);
  publish_numbers(&publisher, 0, 100);
  // flush() does not wait for what is delivered to settle.
  ck_assert(deliver(&publisher));
  clock.advance(milliseconds(50));
  publish_numbers(&publisher, 100, 101);
  ck_assert(deliver(&publisher));
  clock.advance(milliseconds(49));
  broker.kill();
  publish_numbers(&publisher, 101, 102);
  ck_assert(deliver(&publisher));
  publisher.stop();
  const auto all = broker.all();
  expect_all(all, 0, 102);
  // The last one but one, which might not be safe, and the last one, where it came before the end.
  ck_assert_int_eq(std::count(all.begin(), all.end(), 100), 2);
  ck_assert_uint_le(all.size(), 104);
  ck_assert_uint_eq(publisher.stats().delivered, 102);
}

DVNN_TEST(what_is_on_its_way_stays_before_what_went_to_disk) {
  TemporaryFolder folder;
  Broker broker;
  PublisherSettings settings = hasty();
  settings.spool = folder.file("spool");
  settings.queue_messages = 20;
  broker.set_silent(true);
  ManualClock clock;
  Publisher publisher(settings, quiet, clock);
  start(&publisher, &broker);
  publish_numbers(&publisher, 0, 10);
  broker.until_coming(10);
  publish_numbers(&publisher, 10, 25);  // these fill the queue, and go to disk
  clock.until([&] { return publisher.stats().spooled >= 15; });
  broker.kill();
  broker.set_silent(false);
  ck_assert(deliver(&publisher));
  expect_all(broker.all(), 0, 25);
}

DVNN_TEST(a_queue_that_stands_still_goes_to_disk_after_a_second) {
  TemporaryFolder folder;
  Broker broker;
  PublisherSettings settings = hasty();
  settings.spool = folder.file("spool");
  broker.set_silent(true);
  ManualClock clock;
  Publisher publisher(settings, quiet, clock);
  start(&publisher, &broker);
  publish_numbers(&publisher, 0, 15);
  broker.until_coming(10);
  for (int ms = 0; ms < 1000; ms += 20) {
    clock.until_waiting(1);
    ck_assert_uint_eq(publisher.stats().spooled, 0);
    clock.advance(milliseconds(20));
  }
  clock.until([&] { return publisher.stats().spooled == 15; });
  broker.set_silent(false);
  ck_assert(deliver(&publisher));
  expect_all(broker.all(), 0, 15);
}

DVNN_TEST(the_rest_waits_on_disk_for_the_next_start) {
  TemporaryFolder folder;
  Broker broker;
  ManualClock clock;
  PublisherSettings settings = patient();
  settings.spool = folder.file("spool");
  broker.set_away(true);
  for (int round = 0; round < 3; ++round) {
    Publisher publisher(settings, quiet, clock);
    start(&publisher, &broker);
    publish_numbers(&publisher, round * 300, round * 300 + 300);
    const auto all = static_cast<uint64_t>(round + 1) * 300;
    // Before its end, or at it.
    if (round < 2) clock.until([&] { return publisher.stats().spooled == all; });
    ck_assert(!publisher.flush(milliseconds(0)));
    publisher.stop();
    ck_assert_uint_eq(publisher.stats().spooled, all);
    ck_assert_uint_eq(publisher.stats().dropped, 0);
  }
  broker.set_away(false);
  Publisher publisher(settings, quiet, clock);
  start(&publisher, &broker);
  ck_assert(deliver(&publisher));
  expect_all(broker.all(), 0, 900);
}

DVNN_TEST(a_connection_is_made_again_after_pauses_that_grow) {
  Broker broker;
  broker.set_away(true);
  PublisherSettings settings;
  settings.least_pause = milliseconds(10);
  settings.longest_pause = milliseconds(40);
  ManualClock clock;
  Publisher publisher(settings, quiet, clock);
  start(&publisher, &broker);
  uint64_t losses = 1;
  for (const int pause : {10, 20, 40, 40}) {
    clock.until([&] { return publisher.stats().losses == losses; });
    clock.until_waiting(1);
    clock.advance(milliseconds(pause - 1));
    clock.until_waiting(1);
    ck_assert_uint_eq(publisher.stats().losses, losses);
    clock.advance(milliseconds(1));
    ++losses;
  }
  clock.until([&] { return publisher.stats().losses == losses; });
  broker.set_away(false);
  clock.until_waiting(1);
  clock.advance(milliseconds(40));
  broker.until_served();
  clock.until([&] { return publisher.stats().connected; });
  // The next loss is a first one again.
  broker.kill();
  clock.until([&] { return publisher.stats().losses == losses + 1; });
  clock.until_waiting(1);
  clock.advance(milliseconds(10));
  broker.until_served();
}

DVNN_TEST(without_a_spool_the_oldest_are_dropped_counted_and_told) {
  Broker broker;
  broker.set_away(true);
  PublisherSettings settings = patient();
  settings.queue_messages = 100;
  std::mutex mutex;
  int told = 0;  // at once or in parts
  std::string reason;
  ManualClock clock;
  Publisher publisher(
      settings,
      [&](publish::Notice notice, const std::string& why) {
        const std::lock_guard<std::mutex> lock(mutex);
        if (notice != publish::Notice::kDropped) return;
        told += std::atoi(why.c_str());
        reason = why.substr(why.find(' '));
      },
      clock);
  start(&publisher, &broker);
  publish_numbers(&publisher, 0, 250);
  // Messages that the thread is just writing are beyond the bound until it has written them.
  clock.until([&] { return publisher.stats().dropped == 150 && publisher.stats().losses == 1; });
  broker.set_away(false);
  clock.until_waiting(1);
  clock.advance(kPause);
  ck_assert(deliver(&publisher));
  publisher.stop();
  expect_all(broker.all(), 150, 250);
  ck_assert_int_eq(told, 150);
  dvnn_assert_text(reason, " messages were dropped: the queue is full");
}

// Not for a broker that is silent, nor for a queue that is full, nor for the thread that would make
// room in it: the first draft keeps that thread until all has been published.
DVNN_TEST(publishing_never_waits) {
  TemporaryFolder folder;
  Broker broker;
  broker.set_silent(true);
  PublisherSettings settings = hasty();
  settings.spool = folder.file("spool");
  ManualClock clock;
  Publisher publisher(settings, quiet, clock);
  start(&publisher, &broker);
  Gate may_write;
  publisher.publish(publish::Draft{[&may_write]() -> Message {
                                     may_write.wait();
                                     return {"t", "s", "x"};
                                   },
                                   1});
  for (int i = 1; i < 20000; ++i) publisher.publish({"t", "s", std::string(200, 'x')});
  may_write.open();
  publisher.stop();
  const auto stats = publisher.stats();
  ck_assert_uint_eq(stats.dropped + stats.spooled, 20000);
}

DVNN_TEST(drafts_are_written_by_the_publishers_thread) {
  Broker broker;
  ManualClock clock;
  Publisher publisher(hasty(), quiet, clock);
  start(&publisher, &broker);
  Gate may_write;
  const auto writer = std::this_thread::get_id();
  for (int i = 0; i < 100; ++i) {
    publisher.publish(publish::Draft{[&may_write, writer, i]() -> Message {
                                       ck_assert(std::this_thread::get_id() != writer);
                                       may_write.wait();
                                       return {"t", "s", std::to_string(i)};
                                     },
                                     100});
  }
  // All are waiting, none in vain.
  ck_assert_uint_eq(publisher.stats().waiting(), 100);
  ck_assert(!publisher.flush(milliseconds(0)));
  may_write.open();
  publish_numbers(&publisher, 100, 110);
  ck_assert(deliver(&publisher));
  publisher.stop();
  expect_all(broker.all(), 0, 110);
}

DVNN_TEST(drafts_that_are_too_many_or_too_large_are_dropped_and_counted) {
  for (const bool large : {false, true}) {
    Broker broker;
    PublisherSettings settings = hasty();
    settings.queue_messages = large ? 1000 : 20;
    settings.queue_bytes = 20 * 1000;
    ManualClock clock;
    Publisher publisher(settings, quiet, clock);
    start(&publisher, &broker);
    Gate may_write;
    for (int i = 0; i < 100; ++i) {
      const auto write = [&may_write, i]() -> Message {
        may_write.wait();
        return {"t", "s", std::to_string(i)};
      };
      publisher.publish(publish::Draft{write, large ? size_t{1000} : size_t{1}});
    }
    const uint64_t dropped = publisher.stats().dropped;
    // 20 wait, and the thread may have taken up to 64 before it was kept waiting.
    ck_assert_uint_ge(dropped, 100 - 20 - 64);
    ck_assert_uint_le(dropped, 80);
    may_write.open();
    ck_assert(deliver(&publisher));
    publisher.stop();
    // In order, up to the newest; what was taken early may have been one too many by then.
    const auto all = broker.all();
    ck_assert(std::is_sorted(all.begin(), all.end()));
    ck_assert_int_eq(all.back(), 99);
    ck_assert_uint_eq(all.size() + publisher.stats().dropped, 100);
  }
}

DVNN_TEST(nothing_waits_before_it_begins) {
  const Publisher publisher(hasty(), quiet);
  const auto stats = publisher.stats();
  ck_assert_uint_eq(stats.published + stats.delivered + stats.dropped + stats.losses, 0);
  ck_assert_uint_eq(stats.waiting(), 0);
  ck_assert(!stats.connected);
}

DVNN_TEST(a_flush_ends_with_its_time_or_when_it_is_cancelled) {
  for (const bool cancelled : {false, true}) {
    Broker broker;
    broker.set_away(true);
    PublisherSettings settings;
    settings.least_pause = settings.longest_pause = std::chrono::hours(1);
    ManualClock clock;
    Publisher publisher(settings, quiet, clock);
    start(&publisher, &broker);
    publish_numbers(&publisher, 0, 1);
    std::thread other([&] {
      clock.until_waiting(2);  // the publisher's thread, and the flush
      if (cancelled) {
        publisher.cancel_flush();
      } else {
        clock.advance(milliseconds(5));
      }
    });
    ck_assert(!publisher.flush(milliseconds(5)));
    other.join();
  }
}

}  // namespace dvnn::test::publisher_tests
