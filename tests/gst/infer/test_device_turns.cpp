// SPDX-License-Identifier: Apache-2.0
// Turns of threads on a device. Who gets how much is FairLine's, whose test has no clock: here, on
// a machine that may be busy, nothing is held to a time. A turn that does not come stops the test.
#include "infer/deviceturns.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "check_suite.h"

namespace dvnn::test::device_turns_tests {

using namespace dvnn::gst;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds kForever = std::chrono::hours(1);

}  // namespace

START_TEST(two_at_a_time_and_nobody_starves) {
  struct Element {
    unsigned priority;
    std::atomic<int> runs{0};
  } high{30}, low{10}, least{1};
  Element* const elements[] = {&high, &low, &least};
  DeviceTurns turns(2);
  // All are known before any runs: until there are two nobody waits.
  for (Element* element : elements) turns.take("device", element, element->priority, kForever);
  constexpr int kRuns = 20;
  std::atomic<int> at_once{0}, most_at_once{0};
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 12; ++i) {
    threads.emplace_back([&, element = elements[i % 3]] {
      while (!over) {
        const auto turn = turns.take("device", element, element->priority, kForever);
        most_at_once = std::max<int>(most_at_once, ++at_once);
        std::this_thread::sleep_for(milliseconds(1));
        --at_once;
        ++element->runs;
        if (high.runs >= kRuns && low.runs >= kRuns && least.runs >= kRuns) over = true;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ck_assert_int_eq(most_at_once, 2);
  for (Element* element : elements) turns.leave(element);
}
END_TEST

// Two of nearly the same priority, of which one's runs are a hundred times as long.
struct Pair {
  struct Element {
    unsigned priority;
    milliseconds length;  // of its runs
    std::atomic<int> runs{0};
  } quick{10, milliseconds(1)}, slow{11, milliseconds(100)};

  // Plays until the slow one had so many runs. Some threads of each, so that there is always one of
  // either that waits.
  template <typename Run>
  void play(int slow_runs, Run run) {
    Element* const elements[] = {&quick, &slow};
    DeviceTurns turns(2);
    for (Element* element : elements) turns.take("device", element, element->priority, kForever);
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&, element = elements[i % 2]] {
        while (slow.runs < slow_runs) {
          auto turn = turns.take("device", element, element->priority, kForever);
          run(&turn, element->length);
          ++element->runs;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (Element* element : elements) turns.leave(element);
  }
  void expect_more_quick_ones(int times) const {
    ck_assert_msg(quick.runs > times * slow.runs, "%d quick ones, %d slow ones", quick.runs.load(),
                  slow.runs.load());
  }
};

// Whose runs are short has many of them. How long a sleep really takes does not matter, as they
// differ by a hundred times.
START_TEST(shares_are_of_the_time_and_not_of_the_turns) {
  Pair pair;
  pair.play(10,
            [](DeviceTurns::Turn*, milliseconds length) { std::this_thread::sleep_for(length); });
  pair.expect_more_quick_ones(2);
}
END_TEST

// Each run waits on the device for others, which it says.
START_TEST(what_a_run_took_counts_and_not_its_wait) {
  Pair pair;
  pair.play(20, [](DeviceTurns::Turn* turn, milliseconds length) {
    std::this_thread::sleep_for(milliseconds(2));
    turn->took(length);
  });
  pair.expect_more_quick_ones(10);
}
END_TEST

START_TEST(one_alone_does_not_wait) {
  DeviceTurns turns(1);
  const int one = 0, other = 0;
  const auto first = turns.take("device", &one, 10, kForever);
  const auto second = turns.take("device", &one, 10, kForever);
  const auto elsewhere = turns.take("other device", &other, 10, kForever);
}
END_TEST

START_TEST(equals_get_the_same) {
  DeviceTurns turns(2);
  std::atomic<int> runs[3]{};
  for (auto& member : runs) turns.take("device", &member, 10, kForever);
  std::vector<std::thread> threads;
  // The first one has more threads than the others: it gets no more for that.
  for (const size_t i : {0, 0, 0, 0, 0, 0, 1, 1, 2, 2}) {
    threads.emplace_back([&, i] {
      while (runs[0] + runs[1] + runs[2] < 300) {
        auto turn = turns.take("device", &runs[i], 10, kForever);
        std::this_thread::sleep_for(milliseconds(1));
        turn.took(milliseconds(1));
        ++runs[i];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& member : runs) ck_assert_int_ge(member, 80);
}
END_TEST

START_TEST(a_device_that_holds_one_run_does_not_hold_all) {
  constexpr milliseconds kPatience(50);
  DeviceTurns turns(2);
  const int held = 0, other = 0;
  { const auto turn = turns.take("device", &other, 20, kForever); }
  const auto turn = turns.take("device", &held, 10, kForever);
  const auto second = turns.take("device", &held, 10, kForever);
  const auto start = DeviceTurns::Clock::now();
  { const auto next = turns.take("device", &other, 20, kPatience); }
  ck_assert(DeviceTurns::Clock::now() - start >= kPatience);
  // Another device is another line.
  const auto elsewhere = turns.take("other device", &other, 20, kForever);
}
END_TEST

START_TEST(a_turn_that_is_handed_on_ends_once) {
  DeviceTurns turns(1);
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
    // Whoever came too early would have been noticed by now, as a rule; nothing is held to it.
    std::this_thread::sleep_for(milliseconds(20));
    ck_assert(!taken);
  }
  other.join();
  ck_assert(taken);
  for (int* member : {&first, &second}) turns.leave(member);
}
END_TEST

DVNN_SUITE(device_turns, a_turn_that_is_handed_on_ends_once, two_at_a_time_and_nobody_starves,
           what_a_run_took_counts_and_not_its_wait, shares_are_of_the_time_and_not_of_the_turns,
           one_alone_does_not_wait, equals_get_the_same,
           a_device_that_holds_one_run_does_not_hold_all)

}  // namespace dvnn::test::device_turns_tests
