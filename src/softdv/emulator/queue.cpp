// SPDX-License-Identifier: Apache-2.0
#include "softdv/emulator/queue.h"

#include <pthread.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/environment.h"
#include "softdv/emulator/objects.h"

namespace dvnn::softdv {
namespace {

constexpr size_t kRemembered = 64;  // number of executions whose times are kept

// Runs one block's lists in order. A caller that finds the block idle and the queue empty runs its
// list itself, with the block's team of threads. While lists wait, the worker runs one after the
// other: to wake another thread for each would let the block idle in between.
class Queue {
 public:
  int64_t submit(dmp_dv_cmdlist list) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return enqueue({list, {}, nullptr});
  }

  int64_t run(dmp_dv_cmdlist list, Span<int64_t> command_ns) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (leading_ || !waiting_.empty()) {
      Caller caller;
      enqueue({list, command_ns, &caller});
      caller.done.wait(lock, [&] { return caller.spent.has_value(); });
      return *caller.spent;
    }
    prepare(list->device_type);
    list->last_id = ++submitted_;
    return lead({list, command_ns, nullptr}, &lock);
  }

  void share(int device_type, int count, void (*call)(void* work, int i), void* work) {
    if (!take_lead(device_type)) {
      for (int i = 0; i < count; ++i) call(work, i);
      return;
    }
    scratch_->team.wake();
    scratch_->team.run(count, [=](int i) { call(work, i); });
    scratch_->team.rest();
    const std::lock_guard<std::mutex> lock(mutex_);
    end_lead();
  }

  int64_t wait_for(int64_t id) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (id > submitted_) return kNeverGiven;  // never given, so a wait would never end
    completed_one_.wait(lock, [&] { return completed_ >= id; });
    const Finished& slot = finished_[static_cast<size_t>(id) % kRemembered];
    return slot.id == id ? slot.microseconds : 0;
  }

 private:
  struct Finished {
    int64_t id = 0, microseconds = 0;
  };
  // A thread that waits in run(): it alone is woken when its list has run.
  struct Caller {
    std::condition_variable done;
    std::optional<int64_t> spent;  // result of wait_for(), once the list has run
  };
  struct Waiting {
    dmp_dv_cmdlist list;
    Span<int64_t> command_ns;
    Caller* caller;  // null: the caller waits by the execution's id
  };

  void prepare(int device_type) {
    if (scratch_) return;
    scratch_ = std::make_unique<Scratch>(device_type == DMP_DV_DEV_CONV ? thread_count() : 1);
  }

  // Leaves a list to the worker; returns the execution's id.
  int64_t enqueue(const Waiting& waiting) {
    waiting_.push_back(waiting);  // may throw, as the next may: then nothing was submitted
    if (!started_) {
      try {
        prepare(waiting.list->device_type);
        std::thread(&Queue::work, this).detach();
      } catch (...) {
        waiting_.pop_back();
        throw;
      }
      started_ = true;
    }
    waiting.list->last_id = ++submitted_;
    if (!leading_) listed_.notify_one();
    return submitted_;
  }

  // Reserves the team for work without a list. False if it is busy, lists wait, or memory is short.
  bool take_lead(int device_type) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (leading_ || !waiting_.empty()) return false;
    try {
      prepare(device_type);
    } catch (...) {
      return false;
    }
    leading_ = true;
    return true;
  }

  void end_lead() {
    leading_ = false;
    if (!waiting_.empty()) listed_.notify_one();
  }

  void work() {
    pthread_setname_np(pthread_self(), "softdv");
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      listed_.wait(lock, [&] { return !leading_ && !waiting_.empty(); });
      const Waiting next = waiting_.front();
      waiting_.pop_front();
      lead(next, &lock);
    }
  }

  // Runs a list that has left the queue; returns what wait_for() does.
  int64_t lead(const Waiting& next, std::unique_lock<std::mutex>* lock) {
    leading_ = true;
    lock->unlock();
    const auto start = Clock::now();
    const bool failed = !execute(next.list, next.command_ns);
    const int64_t spent =
        failed
            ? kFailed
            : std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start).count();
    lock->lock();
    ++completed_;
    finished_[static_cast<size_t>(completed_) % kRemembered] = {completed_, spent};
    if (next.caller) {
      next.caller->spent = spent;
      next.caller->done.notify_one();
    }
    completed_one_.notify_all();
    end_lead();
    return spent;
  }

  // Runs the list's commands. False for lack of memory: waiters get the error, the device goes on.
  bool execute(dmp_dv_cmdlist list, Span<int64_t> command_ns) {
    const auto start = Clock::now();
    scratch_->team.wake();
    bool done = true;
    try {
      for (size_t i = 0; i < list->plans.size(); ++i) {
        if (i >= command_ns.size()) {
          list->plans[i]->execute(scratch_.get());
          continue;
        }
        const auto before = Clock::now();
        list->plans[i]->execute(scratch_.get());
        command_ns[i] = std::chrono::nanoseconds(Clock::now() - before).count();
      }
    } catch (...) {
      done = false;
    }
    scratch_->team.rest();
    if (list->pace_us > 0) {
      std::this_thread::sleep_until(start +
                                    std::chrono::duration<double, std::micro>(list->pace_us));
    }
    return done;
  }

  using Clock = std::chrono::steady_clock;
  std::mutex mutex_;
  std::condition_variable listed_;         // the worker waits for a list that it may run
  std::condition_variable completed_one_;  // others wait for a list to have run
  std::deque<Waiting> waiting_;
  std::array<Finished, kRemembered> finished_{};
  int64_t submitted_ = 0, completed_ = 0;
  bool started_ = false;  // the worker thread
  bool leading_ = false;  // a thread runs work on the team
  std::unique_ptr<Scratch> scratch_;
};

// Never destroyed: workers live as long as the process, as a device does.
Queue& queue(int device_type) {
  static Queue* const queues = new Queue[DMP_DV_DEV_COUNT];
  return queues[device_type];
}

}  // namespace

int64_t submit(dmp_dv_cmdlist list) {
  return queue(list->device_type).submit(list);
}

int64_t run_here(dmp_dv_cmdlist list, Span<int64_t> command_ns) {
  return queue(list->device_type).run(list, command_ns);
}

void share_threads(int count, void (*call)(void* work, int i), void* work) {
  queue(DMP_DV_DEV_CONV).share(DMP_DV_DEV_CONV, count, call, work);
}

int64_t wait_for(int device_type, int64_t id) {
  return queue(device_type).wait_for(id);
}

Result<const device::Hardware*> pace() {
  struct Setting {
    bool kept;
    Result<device::Hardware> hardware;
  };
  static const Setting setting = [] {
    const char* text = environment("DVNN_SOFT_PACE");
    const std::string value = text ? text : "0";
    const bool kept = !value.empty() && value != "0";
    return Setting{kept, device::parse_hardware(kept && value != "1" ? value : "")};
  }();
  if (!setting.kept) return static_cast<const device::Hardware*>(nullptr);
  if (!setting.hardware.ok()) return setting.hardware.error().within("DVNN_SOFT_PACE");
  return &setting.hardware.value();
}

int thread_count() {
  constexpr uint64_t kMost = 256;
  const uint64_t wanted = environment_number("DVNN_SOFT_THREADS").value_or(0);
  const int processors = static_cast<int>(std::thread::hardware_concurrency());
  return wanted >= 1 && wanted <= kMost ? static_cast<int>(wanted) : std::max(processors, 1);
}

}  // namespace dvnn::softdv
