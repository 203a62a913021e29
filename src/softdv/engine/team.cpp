// SPDX-License-Identifier: Apache-2.0
#include "softdv/engine/team.h"

#include <pthread.h>
#include <sched.h>

#include <chrono>
#include <exception>
#include <new>

namespace dvnn::softdv {
namespace {

constexpr uint64_t kPieceMask = 0xffff, kEndShift = 16, kJobShift = 32;
constexpr int kMaxPieces = 0xffff;
// Number of times that a thread looks at a flag before it yields: some tens of microseconds.
constexpr int kLooks = 2000;
constexpr int kLooksPerClock = 50;
constexpr std::chrono::microseconds kLinger{500};
using Clock = std::chrono::steady_clock;

void pause_briefly() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// Pauses for a moment; `looks` counts the pauses of one wait.
void watch(int* looks) {
  pause_briefly();
  if (++*looks % kLooks == 0) std::this_thread::yield();
}

}  // namespace

Team::Team(int threads) {
  if (sched_getaffinity(0, sizeof allowed_, &allowed_) != 0) CPU_ZERO(&allowed_);
  try {
    for (int i = 1; i < threads; ++i) {
      helpers_.emplace_back(&Team::help, this, i % 2 == 1 ? End::kLast : End::kFirst);
    }
  } catch (const std::exception&) {
    // The system has no more threads; those that exist do the work.
  }
}

Team::~Team() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ending_ = true;
  }
  woken_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

void Team::wake() {
  if (helpers_.empty()) return;
  awake_ = true;
  if (sleeping_ == 0) return;  // a helper counts itself before it looks at awake_
  stay_away_from(sched_getcpu());
  { const std::lock_guard<std::mutex> lock(mutex_); }
  woken_.notify_all();
}

// Keeps the helpers off the leader's processor. The kernel of a virtual machine takes a sleeping
// processor for one that the host has taken away, and then lets a woken thread wait for
// milliseconds behind the one that woke it.
void Team::stay_away_from(int processor) {
  if (processor < 0 || processor == avoided_) return;
  avoided_ = processor;
  cpu_set_t others = allowed_;
  CPU_CLR(static_cast<size_t>(processor), &others);
  if (CPU_COUNT(&others) == 0) return;
  for (std::thread& helper : helpers_) {
    pthread_setaffinity_np(helper.native_handle(), sizeof others, &others);
  }
}

void Team::rest() {
  awake_.store(false, std::memory_order_relaxed);
}

void Team::share(int count, Call call, void* work) {
  if (count > kMaxPieces) {  // more than the state word can count
    for (int i = 0; i < count; ++i) call(work, i);
    return;
  }
  call_ = call;
  work_ = work;
  done_.store(0, std::memory_order_relaxed);
  const uint64_t job = (state_.load(std::memory_order_relaxed) >> kJobShift) + 1;
  uint64_t seen = job << kJobShift | static_cast<uint64_t>(count) << kEndShift;
  state_.store(seen, std::memory_order_release);
  while (do_next(&seen, End::kFirst)) {
  }
  int looks = 0;
  while (done_.load(std::memory_order_acquire) < count) watch(&looks);
  if (failed_.exchange(false)) throw std::bad_alloc();
}

// Claims and does a piece of the job in `seen`, if there is one left.
bool Team::do_next(uint64_t* seen, End end) {
  const uint64_t first = *seen & kPieceMask, after = *seen >> kEndShift & kPieceMask;
  if (first >= after) return false;
  const bool from_front = end == End::kFirst;
  const uint64_t piece = from_front ? first : after - 1;
  const uint64_t left = from_front ? *seen + 1 : *seen - (uint64_t{1} << kEndShift);
  if (state_.compare_exchange_weak(*seen, left, std::memory_order_acquire)) {
    try {
      call_(work_, static_cast<int>(piece));
    } catch (...) {  // would end the process on a helper, or leave run() waiting forever
      failed_ = true;
    }
    done_.fetch_add(1, std::memory_order_release);
    *seen = state_.load(std::memory_order_acquire);
  }
  return true;
}

void Team::help(End end) {
  pthread_setname_np(pthread_self(), "softdv-help");
  while (!ending_) {
    work(end);
    std::unique_lock<std::mutex> lock(mutex_);
    ++sleeping_;
    woken_.wait(lock, [&] { return awake_ || ending_; });
    --sleeping_;
  }
}

// Does the team's work until it has rested for a while: another list often follows soon, and waking
// a thread takes longer than many layers.
void Team::work(End end) {
  auto rested = Clock::time_point::max();  // when the team was first seen at rest; max: at work
  int looks = 0;
  while (!ending_) {
    uint64_t seen = state_.load(std::memory_order_acquire);
    if (do_next(&seen, end)) {
      looks = 0;
      rested = Clock::time_point::max();
      continue;
    }
    watch(&looks);
    if (looks % kLooksPerClock != 0) continue;
    if (awake_.load(std::memory_order_relaxed)) {
      rested = Clock::time_point::max();
    } else if (rested == Clock::time_point::max()) {
      rested = Clock::now();
    } else if (Clock::now() - rested > kLinger) {
      return;
    }
  }
}

}  // namespace dvnn::softdv
