// SPDX-License-Identifier: Apache-2.0
// Shares of a device's time. Who runs sleeps for a millisecond, and longer on a busy machine: what
// is shared is the time that was taken.
#include "infer/deviceturns.h"

#include <atomic>
#include <thread>
#include <vector>

#include "check_main.h"

using namespace dvnn::gst;
using std::chrono::milliseconds;

namespace {

struct Element {
  unsigned priority;
  std::atomic<int> runs{0};
  std::atomic<int64_t> held_ns{0};

  // One run, as it is accounted for.
  void run() {
    const auto start = DeviceTurns::Clock::now();
    std::this_thread::sleep_for(milliseconds(1));
    held_ns += std::chrono::nanoseconds(DeviceTurns::Clock::now() - start).count();
    ++runs;
  }
};

double share(const Element& one, const Element& other) {
  return static_cast<double>(one.held_ns) / static_cast<double>(other.held_ns);
}

// Runs of elements that all want more than there is: so many threads each that some wait even while
// a busy machine wakes the others late.
struct Rush {
  std::atomic<int> at_once{0}, most_at_once{0};

  void play(const std::vector<Element*>& elements, milliseconds time) {
    DeviceTurns turns;
    std::atomic<bool> over{false};
    std::vector<std::thread> threads;
    for (Element* element : elements) {
      for (int i = 0; i < 6; ++i) {
        threads.emplace_back([&, element] {
          while (!over) run(&turns, element);
        });
      }
    }
    std::this_thread::sleep_for(time);
    over = true;
    for (std::thread& thread : threads) thread.join();
    for (Element* element : elements) turns.leave(element);
  }

  void run(DeviceTurns* turns, Element* element) {
    const auto turn = turns->take("device", element, element->priority);
    const int now = ++at_once;
    if (now > most_at_once) most_at_once = now;
    element->run();
    --at_once;
  }
};

}  // namespace

START_TEST(priorities_are_shares_and_nobody_starves) {
  Element high{30}, low{10}, least{1};
  Rush rush;
  rush.play({&high, &low, &least}, milliseconds(2000));
  // Before all have come once, there is nobody to wait for.
  ck_assert_int_ge(high.runs, 100);
  ck_assert_double_eq_tol(share(high, low), 3.0, 0.3);
  ck_assert_double_eq_tol(share(high, least), 30.0, 6.0);  // its runs are whole
  ck_assert_int_gt(least.runs, 5);
}
END_TEST

START_TEST(equals_do_not_wait_for_one_another) {
  Element one{10}, other{10};
  Rush rush;
  rush.play({&one, &other}, milliseconds(300));
  ck_assert_int_gt(rush.most_at_once, 1);
}
END_TEST

START_TEST(who_pauses_saves_nothing_up) {
  DeviceTurns turns;
  Element busy{20}, paused{10};
  { const auto turn = turns.take("device", &paused, paused.priority); }
  for (int i = 0; i < 50; ++i) {
    const auto turn = turns.take("device", &busy, busy.priority);
    std::this_thread::sleep_for(milliseconds(1));
  }
  // The one that comes back is not first for as long as it was away.
  std::atomic<bool> over{false};
  const auto run = [&](Element* element) {
    while (!over) {
      const auto turn = turns.take("device", element, element->priority);
      element->run();
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 12; ++i) threads.emplace_back(run, i % 2 ? &busy : &paused);
  std::this_thread::sleep_for(milliseconds(400));
  over = true;
  for (std::thread& thread : threads) thread.join();
  ck_assert_double_eq_tol(share(busy, paused), 2.0, 0.3);
}
END_TEST

START_TEST(a_device_that_holds_one_run_does_not_hold_all) {
  DeviceTurns turns;
  Element held{10}, other{20};
  { const auto turn = turns.take("device", &other, other.priority); }
  const auto turn = turns.take("device", &held, held.priority);
  const auto start = DeviceTurns::Clock::now();
  { const auto next = turns.take("device", &other, other.priority); }
  const auto waited = DeviceTurns::Clock::now() - start;
  ck_assert(waited >= DeviceTurns::kPatience);
  ck_assert(waited < 3 * DeviceTurns::kPatience);
  // Another device is another line.
  const auto elsewhere = DeviceTurns::Clock::now();
  { const auto next = turns.take("other device", &other, other.priority); }
  ck_assert(DeviceTurns::Clock::now() - elsewhere < DeviceTurns::kPatience);
}
END_TEST

DVNN_TEST_MAIN(device_turns, priorities_are_shares_and_nobody_starves,
               equals_do_not_wait_for_one_another, who_pauses_saves_nothing_up,
               a_device_that_holds_one_run_does_not_hold_all)
