// SPDX-License-Identifier: Apache-2.0
// Turns of threads on a device, and the shares that FairLine gives them. Runs last until all other
// threads wait for their turns, so that a busy machine decides nothing.
#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "check_suite.h"
#include "clocks.h"
#include "infer/deviceturns.h"

namespace dvnn::test::device_turns_tests {

DVNN_SUITE(device_turns);

using namespace dvnn::gst;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds kForever = std::chrono::hours(1);

struct Element {
  unsigned priority;
  milliseconds length{1};  // of its runs
  std::atomic<int> runs{0};
};

// Threads of elements that take turns.
class Play {
 public:
  explicit Play(int at_once) : turns(at_once, clock), at_once_(static_cast<size_t>(at_once)) {}

  // A thread for each of `elements`, some of which are there several times, until `is_over()`. A
  // turn is `run`, once all that have no turn wait for one.
  void run(const std::vector<Element*>& elements, const std::function<bool()>& is_over,
           const std::function<void(const Element&, DeviceTurns::Turn*)>& run) {
    // All become members before any of them runs: a single member never waits.
    for (Element* element : elements) turns.take("device", element, element->priority, kForever);
    const size_t others = elements.size() - at_once_;
    std::atomic<bool> over{false};
    std::vector<std::thread> threads;
    for (Element* element : elements) {
      threads.emplace_back([&, element] {
        while (!over) {
          auto turn = turns.take("device", element, element->priority, kForever);
          const size_t now = ++now_;
          if (now == at_once_) was_full_ = true;
          if (now > at_once_) was_exceeded_ = true;
          clock.until([&] { return over || clock.waiting() >= others; });
          --now_;
          if (over) return;
          run(*element, &turn);
          ++element->runs;
          if (!is_over()) continue;
          over = true;
          clock.advance(milliseconds(0));  // the others look again
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (Element* element : elements) turns.leave(element);
  }

  /// Returns whether as many as may had a turn at once, and never more.
  bool was_full() const { return was_full_ && !was_exceeded_; }

  ManualClock clock;
  DeviceTurns turns;

 private:
  const size_t at_once_;
  std::atomic<size_t> now_{0};
  std::atomic<bool> was_full_{false}, was_exceeded_{false};
};

}  // namespace

DVNN_TEST(two_at_a_time_and_nobody_starves) {
  Element high{30}, low{10}, least{1};
  Play play(2);
  constexpr int kRuns = 20;
  std::vector<Element*> elements;
  for (int i = 0; i < 4; ++i) elements.insert(elements.end(), {&high, &low, &least});
  play.run(
      elements, [&] { return high.runs >= kRuns && low.runs >= kRuns && least.runs >= kRuns; },
      [](const Element& element, DeviceTurns::Turn* turn) { turn->took(element.length); });
  ck_assert(play.was_full());
}

namespace {

// Two of nearly the same priority, of which one's runs are a hundred times as long.
struct Pair {
  Element quick{10}, slow{11, milliseconds(100)};

  std::vector<Element*> threads() {
    return {&quick, &slow, &quick, &slow, &quick, &slow, &quick, &slow};
  }
  // Their runs are as 100 to 1.1, as their shares of the time are as 10 to 11.
  void expect_shares_of_time() const {
    ck_assert_msg(quick.runs > 80 * slow.runs && quick.runs < 100 * slow.runs,
                  "%d quick ones, %d slow ones", quick.runs.load(), slow.runs.load());
  }
};

}  // namespace

DVNN_TEST(shares_are_of_the_time_and_not_of_the_turns) {
  Pair pair;
  Play play(1);
  play.run(
      pair.threads(), [&] { return pair.slow.runs >= 10; },
      [&](const Element& element, DeviceTurns::Turn*) { play.clock.advance(element.length); });
  pair.expect_shares_of_time();
}

// Each run waits on the device for others, which it says.
DVNN_TEST(what_a_run_took_counts_and_not_its_wait) {
  Pair pair;
  Play play(1);
  play.run(
      pair.threads(), [&] { return pair.slow.runs >= 10; },
      [&](const Element& element, DeviceTurns::Turn* turn) {
        play.clock.advance(milliseconds(2));
        turn->took(element.length);
      });
  pair.expect_shares_of_time();
}

DVNN_TEST(one_alone_does_not_wait) {
  DeviceTurns turns(1);
  const int one = 0, other = 0;
  const auto first = turns.take("device", &one, 10, kForever);
  const auto second = turns.take("device", &one, 10, kForever);
  const auto elsewhere = turns.take("other device", &other, 10, kForever);
}

DVNN_TEST(equals_get_the_same) {
  Element members[3]{{10}, {10}, {10}};
  std::vector<Element*> elements;
  // The first one has more threads than the others: it gets no more for that.
  for (const size_t i : {0, 0, 0, 0, 0, 0, 1, 1, 2, 2}) elements.push_back(&members[i]);
  Play play(2);
  play.run(
      elements, [&] { return members[0].runs + members[1].runs + members[2].runs >= 300; },
      [](const Element& element, DeviceTurns::Turn* turn) { turn->took(element.length); });
  for (const Element& member : members) ck_assert_int_ge(member.runs, 95);
}

DVNN_TEST(a_device_that_holds_one_run_does_not_hold_all) {
  ManualClock clock;
  DeviceTurns turns(2, clock);
  const int held = 0, other = 0;
  { const auto turn = turns.take("device", &other, 20, kForever); }
  const auto turn = turns.take("device", &held, 10, kForever);
  const auto second = turns.take("device", &held, 10, kForever);
  std::thread time([&] {
    for (int i = 0; i < 50; ++i) {
      clock.until_waiting(1);
      clock.advance(milliseconds(1));
    }
  });
  const auto start = clock.now();
  { const auto next = turns.take("device", &other, 20, milliseconds(50)); }
  ck_assert(clock.now() - start == milliseconds(50));
  time.join();
  // Another device is another line.
  const auto elsewhere = turns.take("other device", &other, 20, kForever);
}

// An element that stops does not wait for a device that holds another's run for ever.
DVNN_TEST(runs_of_a_member_that_leaves_wait_no_longer) {
  ManualClock clock;
  DeviceTurns turns(1, clock);
  const int held = 0, leaving = 0;
  { const auto turn = turns.take("device", &leaving, 10, kForever); }
  const auto turn = turns.take("device", &held, 10, kForever);
  std::vector<std::thread> waiting;
  for (int i = 0; i < 2; ++i) {
    waiting.emplace_back([&] { turns.take("device", &leaving, 10, kForever); });
  }
  clock.until_waiting(2);
  turns.leave(&leaving);
  for (std::thread& thread : waiting) thread.join();
  // It may come back, as an element that starts again does, and the other one is no longer alone.
  std::thread again([&] { turns.take("device", &leaving, 10, milliseconds(1)); });
  clock.until_waiting(1);
  clock.advance(milliseconds(1));
  again.join();
  turns.leave(&leaving);
  turns.leave(&held);
}

DVNN_TEST(a_turn_that_is_handed_on_ends_once) {
  ManualClock clock;
  DeviceTurns turns(1, clock);
  int first = 0, second = 0;
  for (int* member : {&first, &second}) turns.take("device", member, 10, kForever);
  std::atomic<bool> taken{false};
  std::thread other;
  {
    auto turn = std::make_unique<DeviceTurns::Turn>(turns.take("device", &first, 10, kForever));
    const DeviceTurns::Turn kept = std::move(*turn);
    turn.reset();
    other = std::thread([&] {
      const auto next = turns.take("device", &second, 10, kForever);
      taken = true;
    });
    clock.until_waiting(1);
    ck_assert(!taken);
  }
  other.join();
  ck_assert(taken);
  for (int* member : {&first, &second}) turns.leave(member);
}

namespace {

struct Member {
  unsigned priority;
  double length;  // of its runs
  int runs = 0;
  double used() const { return runs * length; }
};

// Members that always have a run waiting, until so much time is used. No clock: uses are as long as
// the test says.
class Rush {
 public:
  explicit Rush(std::vector<Member*> members) : members_(std::move(members)) {
    for (Member* member : members_) {
      line_.join(member, member->priority);
      line_.wait(member);
    }
  }
  FairLine& line() { return line_; }

  void play(double time) {
    for (double used = 0; used < time; used += play_one()) {
    }
  }

 private:
  double play_one() {
    for (Member* member : members_) {
      if (!line_.is_next(member)) continue;
      line_.stop_waiting(member, true);
      line_.used(member, member->length);
      line_.wait(member);
      ++member->runs;
      return member->length;
    }
    ck_abort_msg("nobody is next");
  }

  std::vector<Member*> members_;
  FairLine line_;
};

// Shares differ by one run of each at most.
void expect_shares(const Member& one, const Member& other) {
  const double ahead = one.used() / one.priority - other.used() / other.priority;
  const double run = one.length / one.priority + other.length / other.priority;
  ck_assert_double_le(std::abs(ahead), run);
}

}  // namespace

DVNN_TEST(priorities_are_shares_of_time_and_nobody_starves) {
  Member high{30, 1}, low{10, 1}, least{1, 1}, slow{10, 7.5};
  Rush({&high, &low, &least, &slow}).play(5100);
  ck_assert_int_ge(least.runs, 98);
  expect_shares(high, low);
  expect_shares(high, least);
  expect_shares(high, slow);
}

DVNN_TEST(priorities_change) {
  Member one{10, 1}, other{10, 1};
  Rush rush({&one, &other});
  rush.play(1000);
  expect_shares(one, other);
  one.runs = other.runs = 0;
  one.priority = 40;
  rush.line().join(&one, 40);
  rush.play(1000);
  expect_shares(one, other);
}

DVNN_TEST(who_pauses_saves_nothing_up) {
  FairLine line;
  const int busy = 0, paused = 0;
  line.join(&busy, 20);
  line.join(&paused, 10);
  line.wait(&paused);
  line.stop_waiting(&paused, true);
  line.used(&paused, 1);
  for (int i = 0; i < 1000; ++i) {
    line.wait(&busy);
    line.stop_waiting(&busy, true);
    line.used(&busy, 1);
  }
  // The one that comes back is first once, and not for as long as it was away.
  int first = 0;
  line.wait(&busy);
  for (line.wait(&paused); !line.is_next(&busy); line.wait(&paused), ++first) {
    line.stop_waiting(&paused, true);
    line.used(&paused, 1);
  }
  ck_assert_int_le(first, 1);
}

DVNN_TEST(who_gives_up_has_used_nothing) {
  FairLine line;
  const int one = 0, other = 0;
  line.join(&one, 1);
  line.join(&other, 2);
  line.wait(&one);
  line.used(&other, 10);
  line.wait(&other);
  ck_assert(line.is_next(&one));
  ck_assert(!line.is_next(&other));
  line.stop_waiting(&one, false);
  ck_assert(line.is_next(&other));
  line.wait(&one);
  ck_assert(line.is_next(&one));
}

DVNN_TEST(who_has_left_is_not_asked) {
  FairLine line;
  const int one = 0, other = 0;
  line.join(&one, 1);
  line.join(&other, 2);
  ck_assert_uint_eq(line.size(), 2);
  line.leave(&other);
  line.used(&other, 5);
  ck_assert_uint_eq(line.size(), 1);
  line.leave(&one);
  ck_assert_uint_eq(line.size(), 0);
}

}  // namespace dvnn::test::device_turns_tests
