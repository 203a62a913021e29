// SPDX-License-Identifier: Apache-2.0
#include "softdv/emulator/queue.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/environment.h"
#include "softdv/emulator/objects.h"

namespace dvnn::softdv {
namespace {

constexpr size_t kRemembered = 64;  // number of executions whose times are kept

// Whether one of two sorted lists has a memory of the other.
bool meet(const std::vector<dmp_dv_mem>& a, const std::vector<dmp_dv_mem>& b) {
  for (auto i = a.begin(), k = b.begin(); i != a.end() && k != b.end();) {
    if (*i == *k) return true;
    *i < *k ? ++i : ++k;
  }
  return false;
}

// Whether two lists have the same results in any order and at once.
bool independent(const dmp_dv_cmdlist_impl& a, const dmp_dv_cmdlist_impl& b) {
  return &a != &b && !meet(a.written, b.memories) && !meet(b.written, a.memories);
}

// Runs one block's lists: one after the other, with the team of all threads, so that a list takes
// the least time. If there are as many independent ones as lanes for some time, without a pause,
// they run at once, each on one thread: then no thread waits for the others at the end of each
// layer, and all lists together take the least time.
//
// A caller that finds a free lane and nothing waiting runs its list itself. While lists wait, each
// worker runs one after the other: to wake another thread for each would let the block idle in
// between.
class Queue {
 public:
  int64_t submit(dmp_dv_cmdlist list) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return enqueue({list, {}, nullptr});
  }

  int64_t run(dmp_dv_cmdlist list, Span<int64_t> command_ns) {
    std::unique_lock<std::mutex> lock(mutex_);
    prepare(list->device_type);
    if (Lane* const lane =
            waiting_.empty() && can_run(*list, submitted_ + 1, 0) ? free_lane() : nullptr) {
      list->last_id = ++submitted_;
      const int64_t spent = lead({list, command_ns, nullptr, submitted_}, lane, &lock, false);
      offer();
      return spent;
    }
    Caller caller;
    enqueue({list, command_ns, &caller});
    caller.done.wait(lock, [&] { return caller.spent.has_value(); });
    return *caller.spent;
  }

  void share(int device_type, int count, void (*call)(void* work, int i), void* work) {
    Lane* const team = take_team(device_type);
    if (!team) {
      for (int i = 0; i < count; ++i) call(work, i);
      return;
    }
    team->scratch.team.wake();
    team->scratch.team.run(count, [=](int i) { call(work, i); });
    team->scratch.team.rest();
    const std::lock_guard<std::mutex> lock(mutex_);
    team->busy = false;
    offer();
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
    int64_t id = 0;
  };
  // Threads that run one list at a time, with their working memory.
  struct Lane {
    // The team is a lane of its own, but runs nothing beside another.
    Lane(int threads, size_t number) : scratch(threads, number) {}
    Scratch scratch;
    bool busy = false;
    const dmp_dv_cmdlist_impl* list = nullptr;  // the one that runs; null: work without a list
  };

  void prepare(int device_type) {
    if (team_) return;
    const bool convolves = device_type == DMP_DV_DEV_CONV;
    lane_count_ = convolves ? static_cast<size_t>(lanes()) : 1;
    team_ = std::make_unique<Lane>(convolves ? thread_count() : 1, 0);
  }

  // Leaves a list to the workers; returns the execution's id.
  int64_t enqueue(Waiting waiting) {
    waiting.id = submitted_ + 1;
    waiting_.push_back(waiting);  // may throw, as the next may: then nothing was submitted
    try {
      prepare(waiting.list->device_type);
      if (workers_ < lane_count_ && idle_ < waiting_.size()) {
        std::thread(&Queue::work, this).detach();
        ++workers_;
      }
    } catch (...) {
      // A worker that exists runs the list in its turn.
      if (workers_ == 0) {
        waiting_.pop_back();
        throw;
      }
    }
    waiting.list->last_id = ++submitted_;
    offer();
    return submitted_;
  }

  // Whether a list depends neither on one that runs nor on one of the first `before` that wait, and
  // there is room for its time.
  bool can_run(const dmp_dv_cmdlist_impl& list, int64_t id, size_t before) const {
    if (id - completed_ > static_cast<int64_t>(kRemembered)) return false;
    const auto goes_beside = [&](const Lane& lane) {
      return !lane.busy || !lane.list || independent(*lane.list, list);
    };
    if (!goes_beside(*team_)) return false;
    for (const auto& lane : single_) {
      if (!goes_beside(*lane)) return false;
    }
    return std::all_of(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(before),
                       [&](const Waiting& first) { return independent(*first.list, list); });
  }

  size_t count_busy() const {
    const auto count =
        std::count_if(single_.begin(), single_.end(), [](const auto& lane) { return lane->busy; });
    return static_cast<size_t>(count) + team_->busy;
  }

  // Returns where a list may run now, or null.
  Lane* free_lane() {
    if (team_->busy) return nullptr;
    const size_t busy = count_busy();
    if (busy == 0 && pressed_ < kPressed) return team_.get();
    if (busy == lane_count_) return nullptr;
    for (const auto& lane : single_) {
      if (!lane->busy) return lane.get();
    }
    try {
      single_.push_back(std::make_unique<Lane>(1, single_.size()));
    } catch (...) {  // without memory for another lane the others go on
      return busy == 0 ? team_.get() : nullptr;
    }
    return single_.back().get();
  }

  // Counts the lists, up to `most`, that are independent of all that run or wait before them, and
  // finds the place of the first in the queue. Looks at a few more than can run, as there may be
  // thousands.
  size_t count_ready(size_t most, size_t* first) const {
    const size_t looks = std::min(waiting_.size(), 2 * lane_count_ + 8);
    size_t count = 0;
    for (size_t i = 0; i < looks && count < most; ++i) {
      if (can_run(*waiting_[i].list, waiting_[i].id, i) && count++ == 0) *first = i;
    }
    return count;
  }

  // Returns the place in the queue of the first list that may run now, and its lane; null: none.
  Lane* next(size_t* place) {
    return !team_->busy && count_ready(1, place) > 0 ? free_lane() : nullptr;
  }

  // Reserves the team for work without a list. Null if a list runs or waits, or memory is short.
  Lane* take_team(int device_type) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    try {
      prepare(device_type);
    } catch (...) {
      return nullptr;
    }
    if (count_busy() > 0 || !waiting_.empty()) return nullptr;
    team_->busy = true;
    team_->list = nullptr;
    return team_.get();
  }

  // Wakes a worker if a list may run now.
  void offer() {
    size_t place = 0;
    if (next(&place)) listed_.notify_one();
  }

  void work() {
    pthread_setname_np(pthread_self(), "softdv");
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      size_t place = 0;
      Lane* lane = nullptr;
      ++idle_;
      listed_.wait(lock, [&] { return (lane = next(&place)) != nullptr; });
      --idle_;
      const Waiting chosen = waiting_[place];
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(place));
      lead(chosen, lane, &lock, true);
    }
  }

  // Notes, when a list starts, whether there are as many as lanes: those that run, those that
  // could, and, if this one `waited`, the one before it, as callers who wait for their lists come
  // again. One that finds the block idle tells of a pause, or nothing.
  void note_start(bool waited) {
    constexpr std::chrono::microseconds kPause{500};
    size_t first = 0;
    const size_t running = count_busy();
    if (running == 1 && !waited) {
      if (Clock::now() - ended_ > kPause) pressed_ = 0;
    } else if (lane_count_ > 1 &&
               running + count_ready(lane_count_, &first) + waited >= lane_count_) {
      pressed_ = std::min(pressed_ + 1, 2 * kPressed);
    } else {
      pressed_ = std::max(pressed_ - 1, 0);
    }
  }

  // Runs a list that has left the queue; returns what wait_for() does.
  int64_t lead(const Waiting& next, Lane* lane, std::unique_lock<std::mutex>* lock, bool waited) {
    lane->busy = true;
    lane->list = next.list;
    note_start(waited);
    offer();  // there may be another lane
    lock->unlock();
    const auto start = Clock::now();
    const bool failed = !execute(next.list, next.command_ns, &lane->scratch);
    const int64_t spent =
        failed
            ? kFailed
            : std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start).count();
    lock->lock();
    complete(next.id, spent);
    if (next.caller) {
      next.caller->spent = spent;
      next.caller->done.notify_one();
    }
    completed_one_.notify_all();
    lane->busy = false;
    ended_ = Clock::now();
    return spent;
  }

  // Lists may end in another order than that of their ids.
  void complete(int64_t id, int64_t spent) {
    const auto of = [this](int64_t i) -> Finished& {
      return finished_[static_cast<size_t>(i) % kRemembered];
    };
    of(id) = {id, spent};
    while (of(completed_ + 1).id == completed_ + 1) ++completed_;
  }

  // Runs the list's commands. False for lack of memory: waiters get the error, the device goes on.
  bool execute(dmp_dv_cmdlist list, Span<int64_t> command_ns, Scratch* scratch) {
    const auto start = Clock::now();
    scratch->team.wake();
    bool done = true;
    try {
      make_room(*list, scratch->lane);
      for (size_t i = 0; i < list->plans.size(); ++i) {
        if (i >= command_ns.size()) {
          list->plans[i]->execute(scratch);
          continue;
        }
        const auto before = Clock::now();
        list->plans[i]->execute(scratch);
        command_ns[i] = std::chrono::nanoseconds(Clock::now() - before).count();
      }
    } catch (...) {
      done = false;
    }
    scratch->team.rest();
    if (list->pace_us > 0) {
      std::this_thread::sleep_until(start +
                                    std::chrono::duration<double, std::micro>(list->pace_us));
    }
    return done;
  }

  using Clock = std::chrono::steady_clock;
  std::mutex mutex_;
  std::condition_variable listed_;         // workers wait for a list that they may run
  std::condition_variable completed_one_;  // others wait for a list to have run
  std::deque<Waiting> waiting_;
  std::array<Finished, kRemembered> finished_{};
  int64_t submitted_ = 0;
  int64_t completed_ = 0;  // all ids up to this one have run
  static constexpr int kPressed = 8;
  int pressed_ = 0;          // from kPressed on, each list has one thread
  Clock::time_point ended_;  // when the newest list ended
  size_t workers_ = 0, idle_ = 0;
  size_t lane_count_ = 1;
  std::unique_ptr<Lane> team_;
  std::vector<std::unique_ptr<Lane>> single_;  // lanes of one thread, made when they are needed
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

int lanes() {
  const auto hardware = pace();
  return hardware.ok() && hardware.value() ? 1 : thread_count();
}

int thread_count() {
  constexpr uint64_t kMost = 256;
  const uint64_t wanted = environment_number("DVNN_SOFT_THREADS").value_or(0);
  const int processors = static_cast<int>(std::thread::hardware_concurrency());
  return wanted >= 1 && wanted <= kMost ? static_cast<int>(wanted) : std::max(processors, 1);
}

}  // namespace dvnn::softdv
