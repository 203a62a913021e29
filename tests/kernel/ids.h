// SPDX-License-Identifier: Apache-2.0
// The ids of executions, which all processes with the same board share, and waiting for them. As in
// the vendor's kernel module, each device counts what was queued and the interrupts that came. A
// lost interrupt is made up for by that of the next execution only.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <cstdint>
#include <list>
#include <memory>
#include <string>

namespace dvnn::kernel {

constexpr int kDevices = 3;      // minor numbers: conv, ipu, maximizer
constexpr int kMostWaits = 10;   // periods after which the kernel gives an execution up
constexpr int kStartTimes = 16;  // whose start is kept
constexpr int kOwners = 64;      // executions that may be queued at once

class Ids {
 public:
  /// `file` is shared by the processes of one board; empty: this process is alone. A wait takes
  /// `period_ms` at most; 0: until expire().
  Ids(const std::string& file, int period_ms);

  /// Gives the next id of a device.
  uint64_t next(int device);
  /// Waits until execution `id` may start: those before it are done.
  void await_turn(int device, uint64_t id);
  /// Ends an execution: its interrupt comes, or is waited for in vain.
  void interrupt(int device, uint64_t id);
  void give_up(int device, uint64_t id);
  /// Waits for the interrupt of an execution. Returns 0, EBUSY after a period, or EINTR if a signal
  /// ended it whose handler does not restart system calls.
  int wait(int device, uint64_t id);
  /// Returns the time since the execution with this id, or a later one with the same slot, started.
  int64_t microseconds_since_start(int device, uint64_t id);

  void hold(bool held);
  void expire();
  int waiting();
  int given_up();

 private:
  struct Shared {  // zeros at first, but for the mutex
    pthread_mutex_t mutex;
    uint32_t changes;  // a futex
    uint32_t ready;
    uint64_t given[kDevices];               // ids
    uint64_t done[kDevices];                // executions that ended
    uint64_t interrupts[kDevices];          // hw_id of the kernel module
    int64_t starts[kDevices][kStartTimes];  // microseconds
    pid_t owners[kDevices][kOwners];
  };
  struct Waiter {
    int device;
    uint64_t id;
    int event;  // an eventfd, as reading it is interrupted by signals as the kernel's wait is
    int64_t deadline_us;
    uint64_t period;
    bool timed_out;
  };
  class Lock;
  void watch();
  bool skip_dead_owner(int device);

  Shared* shared_;
  const int64_t period_us_;
  // The rest is guarded by the shared mutex.
  std::list<Waiter> waiters_;
  uint64_t periods_ = 0;  // that expire() let pass
  bool held_ = false, watching_ = false;
  int given_up_ = 0;
};

}  // namespace dvnn::kernel
