// SPDX-License-Identifier: Apache-2.0
#include "kernel/ids.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iterator>
#include <thread>

#include "kernel/libc.h"

namespace dvnn::kernel {
namespace {

constexpr long kLook = 20000;  // microseconds between looks at what other processes did

int64_t now_us() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * int64_t{1000000} + time.tv_nsec / 1000;
}

void die(const char* what) {
  std::perror(what);
  std::abort();
}

}  // namespace

class Ids::Lock {
 public:
  explicit Lock(Shared* shared) : shared_(shared) { settle(pthread_mutex_lock(&shared->mutex)); }
  ~Lock() { pthread_mutex_unlock(&shared_->mutex); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  // Waits until something changes, or a while. The mutex is free meanwhile. (A process that is
  // killed while it waits for a pthread_cond_t leaves that unusable.)
  void wait() {
    const uint32_t seen = shared_->changes;
    pthread_mutex_unlock(&shared_->mutex);
    struct {
      long seconds, nanoseconds;
    } const most = {0, kLook * 1000};
    syscall(SYS_futex, &shared_->changes, FUTEX_WAIT, seen, &most, nullptr, 0);
    settle(pthread_mutex_lock(&shared_->mutex));
  }
  void changed() {
    ++shared_->changes;
    syscall(SYS_futex, &shared_->changes, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  }

 private:
  // A process that died with the mutex changed single numbers only.
  void settle(int result) {
    if (result == EOWNERDEAD) pthread_mutex_consistent(&shared_->mutex);
  }
  Shared* const shared_;
};

Ids::Ids(const std::string& file, int period_ms) : period_us_(period_ms * int64_t{1000}) {
  int fd = -1;
  if (!file.empty()) {
    fd = libc().open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || lockf(fd, F_LOCK, 0) != 0 || ftruncate(fd, sizeof(Shared)) != 0) {
      die(file.c_str());
    }
  }
  void* memory = libc().mmap64(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                               MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);
  if (memory == MAP_FAILED) die("the emulated kernel's state");
  shared_ = static_cast<Shared*>(memory);
  if (shared_->ready == 0) {
    pthread_mutexattr_t mutex;
    pthread_mutexattr_init(&mutex);
    pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&mutex, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&shared_->mutex, &mutex);
    shared_->ready = 1;
  }
  if (fd >= 0) libc().close(fd);  // and the lock goes
}

uint64_t Ids::next(int device) {
  const Lock lock(shared_);
  const uint64_t id = ++shared_->given[device];
  shared_->owners[device][id % kOwners] = getpid();
  return id;
}

// The real kernel runs what a process has queued before it died; here its turn passes. Returns
// whether it did.
bool Ids::skip_dead_owner(int device) {
  const uint64_t next = shared_->done[device] + 1;
  if (next > shared_->given[device]) return false;
  if (kill(shared_->owners[device][next % kOwners], 0) == 0 || errno != ESRCH) return false;
  ++shared_->done[device];
  ++shared_->interrupts[device];
  return true;
}

void Ids::await_turn(int device, uint64_t id) {
  Lock lock(shared_);
  while (held_ || shared_->done[device] + 1 != id) {
    if (!held_ && skip_dead_owner(device)) {
      lock.changed();
    } else {
      lock.wait();
    }
  }
  shared_->starts[device][id % kStartTimes] = now_us();
}

void Ids::interrupt(int device, uint64_t) {
  Lock lock(shared_);
  ++shared_->interrupts[device];
  ++shared_->done[device];
  lock.changed();
}

void Ids::give_up(int device, uint64_t id) {
  Lock lock(shared_);
  const uint64_t period = periods_ + kMostWaits;
  const int64_t deadline = now_us() + kMostWaits * period_us_;
  while (shared_->interrupts[device] < id && periods_ < period &&
         (period_us_ == 0 || now_us() < deadline)) {
    lock.wait();
  }
  ++given_up_;
  ++shared_->done[device];
  lock.changed();
}

int Ids::wait(int device, uint64_t id) {
  const int event = eventfd(0, EFD_CLOEXEC);
  if (event < 0) die("eventfd");
  std::list<Waiter>::iterator waiter;
  {
    Lock lock(shared_);
    if (shared_->interrupts[device] >= id) {
      libc().close(event);
      return 0;
    }
    waiters_.push_back({device, id, event, now_us() + period_us_, periods_, false});
    waiter = std::prev(waiters_.end());
    if (!watching_) std::thread(&Ids::watch, this).detach();
    watching_ = true;
    lock.changed();
  }
  uint64_t count = 0;
  const bool interrupted = read(event, &count, sizeof count) < 0;
  const Lock lock(shared_);
  const bool timed_out = waiter->timed_out;
  waiters_.erase(waiter);
  libc().close(event);
  return interrupted ? EINTR : timed_out ? EBUSY : 0;
}

// Wakes those that wait, on a thread that lives as long as the process.
void Ids::watch() {
  const Inside inside;
  Lock lock(shared_);
  while (true) {
    for (int device = 0; device < kDevices; ++device) {
      while (!held_ && skip_dead_owner(device)) lock.changed();
    }
    for (Waiter& waiter : waiters_) {
      const bool came = shared_->interrupts[waiter.device] >= waiter.id;
      const bool late =
          periods_ > waiter.period || (period_us_ > 0 && now_us() >= waiter.deadline_us);
      if (!came && !late) continue;
      waiter.timed_out = !came;
      const uint64_t one = 1;
      if (write(waiter.event, &one, sizeof one) < 0) die("eventfd");
    }
    lock.wait();
  }
}

int64_t Ids::microseconds_since_start(int device, uint64_t id) {
  const Lock lock(shared_);
  return now_us() - shared_->starts[device][id % kStartTimes];
}

void Ids::hold(bool held) {
  Lock lock(shared_);
  held_ = held;
  lock.changed();
}

void Ids::expire() {
  Lock lock(shared_);
  ++periods_;
  lock.changed();
}

int Ids::waiting() {
  const Lock lock(shared_);
  return static_cast<int>(waiters_.size());
}

int Ids::given_up() {
  const Lock lock(shared_);
  return given_up_;
}

}  // namespace dvnn::kernel
