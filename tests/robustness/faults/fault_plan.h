// SPDX-License-Identifier: Apache-2.0
// A plan of faults for the lifetime of an object.
#pragma once

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "fault_device.h"

namespace dvnn::test {

/// Sets a plan of the fault device (fault_device.h). Its destructor releases all calls that hang
/// and resets the device. Networks run on the device with `device=` path().
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
