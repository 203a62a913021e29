// SPDX-License-Identifier: Apache-2.0
// The process's clock, and the one that stands for it in tests.
#include "base/clock.h"

#include <thread>

#include "check_suite.h"
#include "clocks.h"

namespace dvnn::test::clock_tests {

DVNN_SUITE(clock);

using std::chrono::hours;
using std::chrono::milliseconds;

namespace {

struct Flag {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_set = false;

  bool wait(const Clock& clock, Clock::Time end) {
    std::unique_lock<std::mutex> lock(mutex);
    return clock.wait_until(&changed, &lock, end, [this] { return is_set; });
  }
  void set() {
    const std::lock_guard<std::mutex> lock(mutex);
    is_set = true;
    changed.notify_all();
  }
};

}  // namespace

DVNN_TEST(a_wait_ends_when_it_is_so) {
  ManualClock manual;
  for (const Clock* clock : {&Clock::steady(), static_cast<const Clock*>(&manual)}) {
    Flag flag;
    std::thread other([&] { flag.set(); });
    ck_assert(flag.wait(*clock, clock->now() + hours(1)));
    other.join();
    ck_assert(flag.wait(*clock, clock->now() - hours(1)));  // what is so is not waited for
  }
}

DVNN_TEST(a_wait_ends_with_its_time_and_not_before) {
  const Clock& clock = Clock::steady();
  Flag flag;
  const Clock::Time end = clock.now() + milliseconds(2);
  ck_assert(!flag.wait(clock, end));
  ck_assert(clock.now() >= end);
  ck_assert(!flag.wait(clock, end));
}

DVNN_TEST(a_clock_of_tests_wakes_those_whose_time_has_come) {
  ManualClock clock;
  Flag flag;
  Count ended;
  std::vector<std::thread> threads;
  for (const int ms : {1, 2, 3}) {
    threads.emplace_back([&, end = clock.now() + milliseconds(ms)] {
      ck_assert(!flag.wait(clock, end));
      ended.add();
    });
  }
  clock.until_waiting(3);
  for (int i = 1; i <= 3; ++i) {
    clock.advance(milliseconds(1));
    ended.until(i);
    // The others share the flag, so they were called, too, and wait again in a moment.
    clock.until_waiting(static_cast<size_t>(3 - i));
    ck_assert_int_eq(ended.value(), i);
  }
  for (std::thread& thread : threads) thread.join();
}

DVNN_TEST(both_units_are_of_one_time) {
  ManualClock clock;
  const int64_t before = clock.now_us();
  clock.advance(milliseconds(3));
  ck_assert_int_eq(clock.now_us() - before, 3000);
  // The process's, to which times of frames are compared that were taken elsewhere.
  const int64_t least = now_us(), have = Clock::steady().now_us(), most = now_us();
  ck_assert(least <= have && have <= most);
}

}  // namespace dvnn::test::clock_tests
