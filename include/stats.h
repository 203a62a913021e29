// SPDX-License-Identifier: Apache-2.0
// Clocks of the vendor's programs, which expect them with dmp_network.h.
#pragma once

#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>

/// Reads the process's resources so far: peak memory in kB, seconds of user and system time.
/// Returns not 0 on failure.
static inline int get_exec_stats(long* max_mem_kb, double* utime, double* stime) {
  struct rusage usage;
  memset(&usage, 0, sizeof usage);
  const int status = getrusage(RUSAGE_SELF, &usage);
  *max_mem_kb = usage.ru_maxrss;
  *utime = (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec * 1e-6;
  *stime = (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec * 1e-6;
  return status;
}

/// Returns the seconds since an arbitrary time in the past.
static inline double get_clock_sec(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

#ifdef __cplusplus
/// Measures the time since its creation or reset(), by one of clock_gettime()'s clocks.
class TimeIntervalEx {
 public:
  TimeIntervalEx(int clock_id = CLOCK_MONOTONIC) : clock_id_(clock_id) { reset(); }
  void reset() { clock_gettime(clock_id_, &begin_); }
  double get_ms() { return static_cast<double>(nanoseconds()) * 1e-6; }
  int get_us() { return static_cast<int>(nanoseconds() / 1000); }

 private:
  long long nanoseconds() const {
    struct timespec now;
    clock_gettime(clock_id_, &now);
    return (now.tv_sec - begin_.tv_sec) * 1000000000LL + (now.tv_nsec - begin_.tv_nsec);
  }
  struct timespec begin_;
  clockid_t clock_id_;
};

class TimeIntervalReal : public TimeIntervalEx {
 public:
  TimeIntervalReal() : TimeIntervalEx(CLOCK_MONOTONIC) {}
};
/// Measures the time of all threads together.
class TimeIntervalProcess : public TimeIntervalEx {
 public:
  TimeIntervalProcess() : TimeIntervalEx(CLOCK_PROCESS_CPUTIME_ID) {}
};
class TimeIntervalThread : public TimeIntervalEx {
 public:
  TimeIntervalThread() : TimeIntervalEx(CLOCK_THREAD_CPUTIME_ID) {}
};
typedef TimeIntervalReal TimeInterval;
#endif
