// SPDX-License-Identifier: Apache-2.0
// Times calls, and takes medians of repeated measurements.
#pragma once

#include <time.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

namespace dvnn::tools {

/// Returns the wall-clock time of a call in milliseconds.
inline double time_ms(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

/// Returns the milliseconds of processor time that all threads of this process have used.
inline double processor_ms() {
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

/// Time of a call: by the wall clock, and of all threads on processors, which other processes
/// disturb less.
struct CallTime {
  double ms, cpu_ms;
};
inline CallTime time_call(const std::function<void()>& work) {
  CallTime time = {};
  const double before = processor_ms();
  time.ms = time_ms(work);
  time.cpu_ms = processor_ms() - before;
  return time;
}

/// Returns when the threads of this process have gone to sleep, or after a second. Those that have
/// just worked look for more work for a while: 20 ms with one engine and processor, 100 with
/// another, where a pause takes three times as long.
inline void wait_until_idle() {
  constexpr int kMost = 100;
  constexpr std::chrono::milliseconds kPart{10};
  constexpr double kIdleMs = 1;
  for (int i = 0; i < kMost; ++i) {
    const double before = processor_ms();
    std::this_thread::sleep_for(kPart);
    if (processor_ms() - before < kIdleMs) return;
  }
}

/// Returns the median, or 0 for no values.
inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace dvnn::tools
