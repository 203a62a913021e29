// SPDX-License-Identifier: Apache-2.0
// libdmpdv-fault.so: the software device, but its calls take long, fail or never return on demand.
//
// A plan is a list of faults, separated by commas: CALL:WHICH:FAULT.
//   CALL   exec   an execution: queueing it, running it and waiting for it
//          alloc  dmp_dv_mem_alloc()
//          list   dmp_dv_cmdlist_create()
//          add    dmp_dv_cmdlist_add_raw()
//          commit dmp_dv_cmdlist_commit()
//          map    dmp_dv_mem_map()
//          context dmp_dv_context_create()
//          info   dmp_dv_context_get_info()
//          text   dmp_dv_context_get_info_string(), dmp_dv_get_version_string()
//          sync   dmp_dv_mem_sync_start() and _end()
//          to_device, to_cpu  dmp_dv_mem_to_...()
//          wait   dmp_dv_cmdlist_wait()
//          release  what releases or unmaps; one that "fails" has released all the same
//          error  dmp_dv_get_last_error_message(), which is no call of "any"
//          any    each of these, counted together
//   WHICH  5 (the fifth call since the plan was set), 5+ (from the fifth on), or * (every one)
//   FAULT  fail (texts are null); delay=MILLISECONDS; hang (until dmp_dv_fault_release()); corrupt
//          (bytes change on their way: of memory, commands, the information; others fail); for exec
//          also refuse (fail when it is queued, where fail is when it is waited for)
//
// Executions run one after the other, as on a board: delays add up. DVNN_FAULT in the environment
// is the first plan. The real library is DVNN_SOFT_DEVICE or libdmpdv-soft.so.
#pragma once

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>

extern "C" {
/// Replaces the plan and starts counting anew; calls that hang go on hanging. 0, or -1 for a plan
/// that cannot be read.
int dmp_dv_fault_set(const char* plan);
/// Lets every call that hangs go on, and takes the faults that hang out of the plan.
void dmp_dv_fault_release();
/// How often that call was made since the plan was set.
int dmp_dv_fault_count(const char* call);
/// How many calls hang now.
int dmp_dv_fault_hanging();
/// Waits until a call hangs, for that time at most. Whether one does.
int dmp_dv_fault_await_hang(int most_seconds);
/// How many contexts, memories and lists are there.
int dmp_dv_fault_live();
}

namespace dvnn::test {

/// A plan of faults for the lifetime of an object, which sets it. Its destructor releases all calls
/// that hang and resets the device. Networks run on the device with `device=` path().
class FaultPlan {
 public:
  explicit FaultPlan(const std::string& plan) {
    // Never closed: the device's threads may outlive the test.
    void* handle = dlopen(path().c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) abort_with(dlerror());
    set_ = find<decltype(&dmp_dv_fault_set)>(handle, "dmp_dv_fault_set");
    release_ = find<decltype(&dmp_dv_fault_release)>(handle, "dmp_dv_fault_release");
    count_ = find<decltype(&dmp_dv_fault_count)>(handle, "dmp_dv_fault_count");
    hanging_ = find<decltype(&dmp_dv_fault_hanging)>(handle, "dmp_dv_fault_hanging");
    await_hang_ = find<decltype(&dmp_dv_fault_await_hang)>(handle, "dmp_dv_fault_await_hang");
    live_ = find<decltype(&dmp_dv_fault_live)>(handle, "dmp_dv_fault_live");
    set(plan);
  }
  ~FaultPlan() {
    set_("");
    release_();
  }
  FaultPlan(const FaultPlan&) = delete;
  FaultPlan& operator=(const FaultPlan&) = delete;

  void set(const std::string& plan) {
    if (set_(plan.c_str()) != 0) abort_with(plan.c_str());
  }
  void release() { release_(); }
  int count(const char* call) const { return count_(call); }
  int hanging() const { return hanging_(); }
  /// Waits until a call hangs.
  void await_hang() const {
    constexpr int kMostSeconds = 60;
    if (!await_hang_(kMostSeconds)) abort_with("no call hangs");
  }
  int live() const { return live_(); }

  static std::string path() {
    const char* path = std::getenv("DVNN_FAULT_DEVICE");
    return path && *path ? path : "libdmpdv-fault.so";
  }
  /// Returns the property that runs a dvinfer on the fault device.
  static std::string device() { return "device=" + path(); }

 private:
  template <typename Function>
  static Function find(void* handle, const char* name) {
    auto function = reinterpret_cast<Function>(dlsym(handle, name));
    if (!function) abort_with(name);
    return function;
  }
  [[noreturn]] static void abort_with(const char* what) {
    std::fprintf(stderr, "fault device: %s\n", what);
    std::abort();
  }

  decltype(&dmp_dv_fault_set) set_ = nullptr;
  decltype(&dmp_dv_fault_release) release_ = nullptr;
  decltype(&dmp_dv_fault_count) count_ = nullptr;
  decltype(&dmp_dv_fault_hanging) hanging_ = nullptr;
  decltype(&dmp_dv_fault_await_hang) await_hang_ = nullptr;
  decltype(&dmp_dv_fault_live) live_ = nullptr;
};

}  // namespace dvnn::test
