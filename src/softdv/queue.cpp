// SPDX-License-Identifier: Apache-2.0
#include "softdv/queue.h"

#include <pthread.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "softdv/objects.h"

namespace dvnn::softdv {
namespace {

constexpr size_t kRemembered = 64;  // the last executions, whose times are kept

class Queue {
 public:
  int64_t submit(dmp_dv_cmdlist list) {
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_.push_back(list);  // may throw, as the next may: then nothing was submitted
    if (!started_) {
      try {
        const int threads = list->device_type == DMP_DV_DEV_CONV ? thread_count() : 1;
        std::thread(&Queue::work, this, threads).detach();
      } catch (...) {
        waiting_.pop_back();
        throw;
      }
      started_ = true;
    }
    list->last_id = ++submitted_;
    changed_.notify_all();
    return submitted_;
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

  void work(int threads) {
    pthread_setname_np(pthread_self(), "softdv");
    Scratch scratch(threads);
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return !waiting_.empty(); });
      dmp_dv_cmdlist list = waiting_.front();
      waiting_.pop_front();
      lock.unlock();
      const auto start = std::chrono::steady_clock::now();
      scratch.team.wake();
      bool failed = false;
      try {
        for (auto& plan : list->plans) plan->execute(&scratch);
      } catch (...) {  // no memory: waiters get the error, and the device goes on
        failed = true;
      }
      scratch.team.rest();
      std::this_thread::sleep_until(start +
                                    std::chrono::duration<double, std::micro>(list->pace_us));
      const auto spent = std::chrono::steady_clock::now() - start;
      lock.lock();
      ++completed_;
      finished_[static_cast<size_t>(completed_) % kRemembered] = {
          completed_,
          failed ? kFailed : std::chrono::duration_cast<std::chrono::microseconds>(spent).count()};
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;  // a list came, or one has run
  std::deque<dmp_dv_cmdlist> waiting_;
  std::array<Finished, kRemembered> finished_{};
  int64_t submitted_ = 0, completed_ = 0;
  bool started_ = false;
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
