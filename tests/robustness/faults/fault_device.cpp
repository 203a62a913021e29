// SPDX-License-Identifier: Apache-2.0
// The software device with faults; see fault_device.h. Every function of the ABI is here: those
// that can be made to fail count themselves first, then all go on to the real library.
#include "fault_device.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "real_device.h"

namespace {

using Clock = std::chrono::steady_clock;

using dvnn::test::real;

enum class Kind { kFail, kRefuse, kDelay, kHang, kCorrupt };

struct Fault {
  std::string call;
  int first = 1, last = 1;
  Kind kind = Kind::kFail;
  std::chrono::microseconds delay{0};
};

// The outcome of one call.
struct Outcome {
  bool fails = false, refused = false, hangs = false, corrupts = false;
  std::chrono::microseconds delay{0};
  bool of_any = false;  // by a plan for any call
  int number = 0;
  int round = 0;  // of hangs: the next release ends it, also one before the call has begun to hang
};

class Faults {
 public:
  Faults() {
    const char* plan = std::getenv("DVNN_FAULT");
    if (plan && !set(plan)) {
      std::fprintf(stderr, "libdmpdv-fault.so: cannot read DVNN_FAULT=%s\n", plan);
      std::abort();
    }
  }

  bool set(const std::string& plan) {
    std::vector<Fault> faults;
    std::istringstream parts(plan);
    for (std::string part; std::getline(parts, part, ',');) {
      Fault fault;
      if (!parse(part, &fault)) return false;
      faults.push_back(fault);
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    faults_ = faults;
    counts_.clear();
    return true;
  }

  Outcome next(const std::string& call) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Outcome outcome;
    outcome.number = ++counts_[call];
    outcome.round = released_;
    add(call, outcome.number, &outcome);
    // An error's text is asked for because of a fault.
    if (call != "error") add("any", ++counts_["any"], &outcome);
    return outcome;
  }

  void hang(const Outcome& outcome) {
    std::unique_lock<std::mutex> lock(mutex_);
    ++hanging_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return released_ != outcome.round; });
    --hanging_;
  }

  void release() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++released_;
    for (size_t i = faults_.size(); i-- > 0;) {
      if (faults_[i].kind == Kind::kHang) faults_.erase(faults_.begin() + static_cast<long>(i));
    }
    changed_.notify_all();
  }

  int count(const std::string& call) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return counts_[call];
  }

  int hanging() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return hanging_;
  }

  bool await_hang(std::chrono::seconds most) {
    std::unique_lock<std::mutex> lock(mutex_);
    return changed_.wait_for(lock, most, [this] { return hanging_ > 0; });
  }

  // The device runs one list after the other: when the execution that is queued now is through.
  void queued(int64_t id, const Outcome& outcome) {
    const std::lock_guard<std::mutex> lock(mutex_);
    free_at_ = std::max(Clock::now(), free_at_) + outcome.delay;
    executions_[id] = {outcome, free_at_};
  }

  // Waits as long as the execution with this id takes, and those before it.
  Outcome through(int64_t id) {
    Clock::time_point ready{};
    Outcome outcome;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto it = executions_.find(id);
      if (it == executions_.end()) return outcome;
      outcome = it->second.outcome;
      ready = it->second.ready;
      executions_.erase(it);
    }
    if (outcome.hangs) hang(outcome);
    std::this_thread::sleep_until(ready);
    return outcome;
  }

  // What the list's last execution took beyond the real device's time.
  void took(dmp_dv_cmdlist list, std::chrono::microseconds delay) {
    const std::lock_guard<std::mutex> lock(mutex_);
    delays_[list] = delay;
  }

  std::chrono::microseconds delay_of(dmp_dv_cmdlist list) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return delays_[list];
  }

  void lives(int change) {
    const std::lock_guard<std::mutex> lock(mutex_);
    live_ += change;
  }

  int live() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return live_;
  }

  // Records where the CPU sees a memory.
  void mapped(dmp_dv_mem mem, uint8_t* data) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (data) {
      data_[mem] = data;
    } else {
      data_.erase(mem);
    }
  }

  void corrupt(dmp_dv_mem mem, size_t offset, size_t size) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto it = data_.find(mem);
    if (it == data_.end()) return;
    constexpr size_t kStep = 7;
    for (size_t i = 0; i < size; i += kStep) it->second[offset + i] ^= 0xff;
  }

 private:
  // The lock is held.
  void add(const std::string& call, int number, Outcome* outcome) const {
    for (const Fault& fault : faults_) {
      if (fault.call != call || number < fault.first || number > fault.last) continue;
      outcome->fails |= fault.kind == Kind::kFail;
      outcome->refused |= fault.kind == Kind::kRefuse;
      outcome->hangs |= fault.kind == Kind::kHang;
      outcome->corrupts |= fault.kind == Kind::kCorrupt;
      outcome->delay += fault.delay;
      outcome->of_any |= call == "any";
      outcome->number = number;
    }
  }

  struct Execution {
    Outcome outcome;
    Clock::time_point ready;
  };

  static bool parse(const std::string& part, Fault* fault) {
    const size_t a = part.find(':'), b = a == std::string::npos ? a : part.find(':', a + 1);
    if (b == std::string::npos) return false;
    fault->call = part.substr(0, a);
    const std::string which = part.substr(a + 1, b - a - 1), what = part.substr(b + 1);
    constexpr int kAll = 1 << 30;
    if (which == "*") {
      fault->last = kAll;
    } else {
      fault->first = fault->last = std::atoi(which.c_str());
      if (fault->first < 1) return false;
      if (which.back() == '+') fault->last = kAll;
    }
    if (what == "fail") {
      fault->kind = Kind::kFail;
    } else if (what == "refuse") {
      fault->kind = Kind::kRefuse;
    } else if (what == "hang") {
      fault->kind = Kind::kHang;
    } else if (what == "corrupt") {
      fault->kind = Kind::kCorrupt;
    } else if (what.rfind("delay=", 0) == 0) {
      fault->kind = Kind::kDelay;
      fault->delay =
          std::chrono::microseconds(static_cast<int64_t>(1000 * std::atof(what.c_str() + 6)));
    } else {
      return false;
    }
    for (const char* call :
         {"exec", "alloc", "list", "add", "commit", "map", "context", "info", "text", "sync",
          "to_device", "to_cpu", "wait", "release", "error", "any"}) {
      if (fault->call == call) return true;
    }
    return false;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Fault> faults_;
  std::map<std::string, int> counts_;
  std::map<int64_t, Execution> executions_;
  Clock::time_point free_at_{};
  std::map<dmp_dv_cmdlist, std::chrono::microseconds> delays_;
  std::map<dmp_dv_mem, uint8_t*> data_;
  int released_ = 0, hanging_ = 0, live_ = 0;
};

// Never destroyed: calls may hang when the process ends.
Faults& faults() {
  static Faults* const all = new Faults;
  return *all;
}

// Counts a call, and delays it or lets it hang if the plan says so.
Outcome begin(const char* call) {
  const Outcome outcome = faults().next(call);
  if (outcome.hangs) faults().hang(outcome);
  std::this_thread::sleep_for(outcome.delay);
  return outcome;
}

// Returns whether the call goes on; calls that cannot be corrupted fail.
bool passes(const char* call, const Outcome& outcome, bool corruptible = false) {
  if (!outcome.fails && !outcome.refused && (!outcome.corrupts || corruptible)) return true;
  dmp_dv_set_last_error_message("fault: %s number %d fails as planned", call, outcome.number);
  return false;
}

bool passes(const char* call) {
  return passes(call, begin(call));
}

// Counts what a call made as alive.
template <typename Handle>
Handle made(Handle handle) {
  if (handle) faults().lives(1);
  return handle;
}

// Releases in any case: nothing can be done about one that fails.
template <typename Release>
int released(Release&& release) {
  const bool good = passes("release");
  faults().lives(-1);
  const int status = release();
  return good ? status : -1;
}

thread_local std::string last_error;

}  // namespace

#define DVNN_EXPORT extern "C" __attribute__((visibility("default")))

DVNN_EXPORT int dmp_dv_fault_set(const char* plan) {
  return faults().set(plan ? plan : "") ? 0 : -1;
}

DVNN_EXPORT void dmp_dv_fault_release(void) {
  faults().release();
}

DVNN_EXPORT int dmp_dv_fault_count(const char* call) {
  return faults().count(call);
}

DVNN_EXPORT int dmp_dv_fault_await_hang(int most_seconds) {
  return faults().await_hang(std::chrono::seconds(most_seconds));
}

DVNN_EXPORT int dmp_dv_fault_hanging(void) {
  return faults().hanging();
}

DVNN_EXPORT int dmp_dv_fault_live(void) {
  return faults().live();
}

DVNN_EXPORT const char* dmp_dv_get_version_string(void) {
  return passes("text") ? real().get_version_string() : nullptr;
}

DVNN_EXPORT const char* dmp_dv_get_last_error_message(void) {
  const Outcome outcome = begin("error");
  if (outcome.fails) return nullptr;
  if (outcome.corrupts) return "fails as planned\n\xff\x01 %s %n\r\t";
  return last_error.empty() ? real().get_last_error_message() : last_error.c_str();
}

DVNN_EXPORT void dmp_dv_set_last_error_message(const char* format, ...) {
  char text[256];
  va_list list;
  va_start(list, format);
  std::vsnprintf(text, sizeof text, format, list);
  va_end(list);
  last_error = text;
}

DVNN_EXPORT dmp_dv_context dmp_dv_context_create(void) {
  return passes("context") ? made(real().context_create()) : nullptr;
}

DVNN_EXPORT const char* dmp_dv_context_get_info_string(dmp_dv_context ctx) {
  return passes("text") ? real().context_get_info_string(ctx) : nullptr;
}

DVNN_EXPORT int dmp_dv_context_get_info(dmp_dv_context ctx, dmp_dv_info* info) {
  const Outcome outcome = begin("info");
  if (!passes("info", outcome, true)) return -1;
  const int status = real().context_get_info(ctx, info);
  if (outcome.corrupts) std::memset(info + 1, 0xff, info->size - sizeof *info);
  return status;
}

DVNN_EXPORT int dmp_dv_context_release(dmp_dv_context ctx) {
  return released([=] { return real().context_release(ctx); });
}

DVNN_EXPORT dmp_dv_mem dmp_dv_mem_alloc(dmp_dv_context ctx, size_t size) {
  return passes("alloc") ? made(real().mem_alloc(ctx, size)) : nullptr;
}

DVNN_EXPORT int dmp_dv_mem_release(dmp_dv_mem mem) {
  faults().mapped(mem, nullptr);
  return released([=] { return real().mem_release(mem); });
}

DVNN_EXPORT uint8_t* dmp_dv_mem_map(dmp_dv_mem mem) {
  if (!passes("map")) return nullptr;
  uint8_t* data = real().mem_map(mem);
  faults().mapped(mem, data);
  return data;
}

DVNN_EXPORT void dmp_dv_mem_unmap(dmp_dv_mem mem) {
  passes("release");
  faults().mapped(mem, nullptr);
  real().mem_unmap(mem);
}

DVNN_EXPORT int dmp_dv_mem_sync_start(dmp_dv_mem mem, int rd, int wr) {
  return passes("sync") ? real().mem_sync_start(mem, rd, wr) : -1;
}

DVNN_EXPORT int dmp_dv_mem_sync_end(dmp_dv_mem mem) {
  return passes("sync") ? real().mem_sync_end(mem) : -1;
}

DVNN_EXPORT int dmp_dv_mem_to_device(dmp_dv_mem mem, size_t offs, size_t size, int flags) {
  const Outcome outcome = begin("to_device");
  if (!passes("to_device", outcome, true)) return -1;
  if (outcome.corrupts) faults().corrupt(mem, offs, size);
  return real().mem_to_device(mem, offs, size, flags);
}

DVNN_EXPORT int dmp_dv_mem_to_cpu(dmp_dv_mem mem, size_t offs, size_t size, int flags) {
  const Outcome outcome = begin("to_cpu");
  if (!passes("to_cpu", outcome, true)) return -1;
  const int status = real().mem_to_cpu(mem, offs, size, flags);
  if (outcome.corrupts) faults().corrupt(mem, offs, size);
  return status;
}

DVNN_EXPORT dmp_dv_cmdlist dmp_dv_cmdlist_create(dmp_dv_context ctx) {
  return passes("list") ? made(real().cmdlist_create(ctx)) : nullptr;
}

DVNN_EXPORT int dmp_dv_cmdlist_release(dmp_dv_cmdlist list) {
  return released([=] { return real().cmdlist_release(list); });
}

DVNN_EXPORT int dmp_dv_cmdlist_add_raw(dmp_dv_cmdlist list, dmp_dv_cmdraw* cmd) {
  const Outcome outcome = begin("add");
  if (!passes("add", outcome, true)) return -1;
  if (!outcome.corrupts) return real().cmdlist_add_raw(list, cmd);
  std::vector<uint8_t> copy(cmd->size);
  std::memcpy(copy.data(), cmd, copy.size());
  for (size_t i = sizeof *cmd; i < copy.size(); ++i) copy[i] ^= 0xa5;
  return real().cmdlist_add_raw(list, reinterpret_cast<dmp_dv_cmdraw*>(copy.data()));
}

DVNN_EXPORT int dmp_dv_cmdlist_commit(dmp_dv_cmdlist list) {
  return passes("commit") ? real().cmdlist_commit(list) : -1;
}

DVNN_EXPORT int64_t dmp_dv_cmdlist_exec(dmp_dv_cmdlist list) {
  // A plan for any call affects this one; a plan for "exec" affects the call that waits for it.
  const Outcome outcome = faults().next("exec");
  if (outcome.refused || (outcome.of_any && (outcome.fails || outcome.corrupts))) {
    dmp_dv_set_last_error_message("fault: exec number %d fails as planned", outcome.number);
    return -1;
  }
  const bool hangs_here = outcome.of_any && outcome.hangs;
  if (hangs_here) faults().hang(outcome);
  const int64_t id = real().cmdlist_exec(list);
  if (id >= 0) faults().queued(id, hangs_here ? Outcome() : outcome);
  return id;
}

DVNN_EXPORT int dmp_dv_cmdlist_wait(dmp_dv_cmdlist list, int64_t exec_id) {
  const bool passed = passes("wait");
  const int status = real().cmdlist_wait(list, exec_id);
  const Outcome outcome = faults().through(exec_id);
  faults().took(list, outcome.delay);
  if (!passed) return -1;
  if (!outcome.fails) return status;
  dmp_dv_set_last_error_message("fault: exec number %d fails as planned", outcome.number);
  return -1;
}

DVNN_EXPORT int64_t dmp_dv_cmdlist_get_last_exec_time(dmp_dv_cmdlist list) {
  return real().cmdlist_get_last_exec_time(list) + faults().delay_of(list).count();
}

DVNN_EXPORT int dmp_dv_device_exists(dmp_dv_context ctx, int device_type) {
  return real().device_exists(ctx, device_type);
}
