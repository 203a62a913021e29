// SPDX-License-Identifier: Apache-2.0
#include "softdv/queue.h"

#include <pthread.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "softdv/objects.h"

namespace dvnn::softdv {
namespace {

constexpr size_t kRemembered = 64;  // the last executions, whose times are kept

// Whoever is at the head of the queue, and finds the block idle, leads the block's team of threads:
// the worker, or a thread that runs its list itself.
class Queue {
 public:
  int64_t submit(dmp_dv_cmdlist list) {
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_.push_back(list);  // may throw, as the next may: then nothing was submitted
    if (!started_) {
      try {
        prepare(list->device_type);
        std::thread(&Queue::work, this).detach();
      } catch (...) {
        waiting_.pop_back();
        throw;
      }
      started_ = true;
    }
    list->last_id = ++submitted_;
    tell();
    return submitted_;
  }

  int64_t run(dmp_dv_cmdlist list, Span<int64_t> command_ns) {
    std::unique_lock<std::mutex> lock(mutex_);
    prepare(list->device_type);
    waiting_.push_back(nullptr);
    const int64_t id = ++submitted_;
    list->last_id = id;
    changed_.wait(lock, [&] { return !leading_ && completed_ == id - 1; });
    return lead(list, command_ns, &lock);
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
    leading_ = false;
    tell();
  }

  int64_t wait_for(int64_t id) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (id > submitted_) return kNeverGiven;  // it would never end
    changed_.wait(lock, [&] { return completed_ >= id; });
    const Finished& slot = finished_[static_cast<size_t>(id) % kRemembered];
    return slot.id == id ? slot.microseconds : 0;
  }

 private:
  struct Finished {
    int64_t id = 0, microseconds = 0;
  };

  void prepare(int device_type) {
    if (scratch_) return;
    scratch_ = std::make_unique<Scratch>(device_type == DMP_DV_DEV_CONV ? thread_count() : 1);
  }

  bool is_workers_turn() const { return !waiting_.empty() && waiting_.front(); }

  // After anything has changed. The worker is woken for its own lists alone: where threads run
  // theirs themselves, it would be woken for nothing after each.
  void tell() {
    if (is_workers_turn()) listed_.notify_one();
    changed_.notify_all();
  }

  // For work that needs no list: if nobody else leads or waits to, and there is memory for a team.
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

  void work() {
    pthread_setname_np(pthread_self(), "softdv");
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      listed_.wait(lock, [&] { return !leading_ && is_workers_turn(); });
      lead(waiting_.front(), {}, &lock);
    }
  }

  // Runs the list at the head of the queue; returns what wait_for() does.
  int64_t lead(dmp_dv_cmdlist list, Span<int64_t> command_ns, std::unique_lock<std::mutex>* lock) {
    waiting_.pop_front();
    leading_ = true;
    lock->unlock();
    const auto start = Clock::now();
    const bool failed = !execute(list, command_ns);
    const int64_t spent =
        failed
            ? kFailed
            : std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start).count();
    lock->lock();
    leading_ = false;
    ++completed_;
    finished_[static_cast<size_t>(completed_) % kRemembered] = {completed_, spent};
    tell();
    return spent;
  }

  // False for lack of memory: waiters get the error, and the device goes on.
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
  std::condition_variable listed_;      // the worker waits
  std::condition_variable changed_;     // others wait: a list has run, or nobody leads any more
  std::deque<dmp_dv_cmdlist> waiting_;  // null: a thread that waits runs its list itself
  std::array<Finished, kRemembered> finished_{};
  int64_t submitted_ = 0, completed_ = 0;
  bool started_ = false;  // the worker
  bool leading_ = false;  // somebody leads the team
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
    const char* text = secure_getenv("DVNN_SOFT_PACE");
    const std::string value = text ? text : "0";
    const bool kept = !value.empty() && value != "0";
    return Setting{kept, device::parse_hardware(kept && value != "1" ? value : "")};
  }();
  if (!setting.kept) return static_cast<const device::Hardware*>(nullptr);
  if (!setting.hardware.ok()) return setting.hardware.error().within("DVNN_SOFT_PACE");
  return &setting.hardware.value();
}

int thread_count() {
  const char* text = secure_getenv("DVNN_SOFT_THREADS");
  const int wanted = text ? std::atoi(text) : 0;
  const int processors = static_cast<int>(std::thread::hardware_concurrency());
  return wanted >= 1 && wanted <= 256 ? wanted : processors > 0 ? processors : 1;
}

}  // namespace dvnn::softdv
