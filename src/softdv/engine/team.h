// SPDX-License-Identifier: Apache-2.0
// The threads of one block. They share small pieces of work, microseconds long and hundreds per
// frame. So from wake() until shortly after rest() they poll for work instead of sleeping; an
// OpenMP runtime that sleeps between its regions was slower with two threads than with one.
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
  /// calling thread takes pieces from the first on, its helper from the last on. If pieces with the
  /// same place in their job concern the same part of a tensor, a thread so mostly reads from its
  /// cache what it wrote itself. Only one thread may call run() at a time. A helper that comes late
  /// finds nothing left to do. Throws bad_alloc if a piece threw, after all have ended.
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

  // The job's number and the range of its unclaimed pieces in one word, so that a thread cannot
  // claim a piece of a finished job. Fields: job 32 bits, end of the range 16, begin of the range
  // 16.
  std::atomic<uint64_t> state_{0};
  std::atomic<int> done_{0};
  std::atomic<bool> failed_{false};  // a piece threw, which happens only for lack of memory
  Call call_ = nullptr;
  void* work_ = nullptr;
  std::mutex mutex_;
  std::condition_variable woken_;
  std::atomic<bool> awake_{false};
  std::atomic<int> sleeping_{0};  // helpers that need to be woken
  std::atomic<bool> ending_{false};
  std::vector<std::thread> helpers_;
  cpu_set_t allowed_;  // the processors of the process when the team was made
  int avoided_ = -1;   // the leader's processor, on which no helper runs
};

}  // namespace dvnn::softdv
