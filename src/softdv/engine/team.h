// SPDX-License-Identifier: Apache-2.0
// The threads of one block. They share small pieces of work, microseconds long and hundreds to a
// frame, so between wake() and rest() and a moment beyond they watch for work rather than sleep; an
// OpenMP runtime that sleeps between its regions took longer with two threads than with one.
#pragma once

#include <sched.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace dvnn::softdv {

class Team {
 public:
  /// The calling thread and `threads` - 1 helpers.
  explicit Team(int threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return static_cast<int>(helpers_.size()) + 1; }
  void wake();
  void rest();

  /// Calls f(i) for i in 0..count-1, each on some thread, and returns when all have returned. The
  /// calling thread begins with the first ones and its helper with the last ones, so that what one
  /// of them wrote is mostly read by the same one, from its own cache, if pieces with the same
  /// place in their job concern the same part of a tensor. From one thread at a time. A helper that
  /// comes late finds nothing left to do. Throws bad_alloc if a piece threw, after all have ended.
  template <typename F>
  void run(int count, F&& f) {
    if (count == 1 || helpers_.empty()) {
      for (int i = 0; i < count; ++i) f(i);
      return;
    }
    using Work = std::remove_reference_t<F>;
    share(
        count, [](void* work, int i) { (*static_cast<Work*>(work))(i); }, &f);
  }

 private:
  using Call = void (*)(void*, int);
  void share(int count, Call call, void* work);
  void stay_away_from(int processor);
  enum class End : uint8_t { kFirst, kLast };
  void help(End end);
  void work(End end);
  bool do_next(uint64_t* seen, End end);

  // The job's number, and which of its pieces nobody has claimed yet, in one word, so that a thread
  // cannot claim a piece of a finished job. Fields: job 32 bits, the piece after the last one 16,
  // the first one 16.
  std::atomic<uint64_t> state_{0};
  std::atomic<int> done_{0};
  std::atomic<bool> failed_{false};  // a piece threw: for lack of memory, there is no other reason
  Call call_ = nullptr;
  void* work_ = nullptr;
  std::mutex mutex_;
  std::condition_variable woken_;
  std::atomic<bool> awake_{false};
  std::atomic<int> sleeping_{0};  // helpers that must be woken
  std::atomic<bool> ending_{false};
  std::vector<std::thread> helpers_;
  cpu_set_t allowed_;  // the processors of the process when the team was made
  int avoided_ = -1;   // the processor of the thread that leads, where no helper runs
};

}  // namespace dvnn::softdv
