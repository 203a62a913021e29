// SPDX-License-Identifier: Apache-2.0
// The software device's objects behind the ABI's opaque handles. Each is reference counted; a
// memory and a list keep their context, a list keeps the memories of its commands.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "device/limits.h"
#include "dmp_dv_cmdraw_v1.h"
#include "softdv/emulator/command_plan.h"

struct dmp_dv_context_impl {
  std::atomic<int> references{1};
  std::string info;
};

struct dmp_dv_mem_impl {
  std::atomic<int> references{1};
  dmp_dv_context context = nullptr;
  int fd = -1;              // a memfd: the memory can be given to another process
  uint8_t* data = nullptr;  // mapped for the object's life; map() only shows it
  size_t size = 0;          // bytes, whole pages
  std::atomic<bool> mapped{false};
  bool syncing = false;
  std::atomic<uint64_t> writes{0};  // number of times that the CPU may have written
};

struct dmp_dv_cmdlist_impl {
  std::atomic<int> references{1};
  dmp_dv_context context = nullptr;
  bool committed = false;
  int device_type = 0;  // DMP_DV_DEV_CONV, _IPU or _MAXIMIZER; 0 before the first command
  bool mixed = false;   // holds commands of more than one type
  std::vector<std::unique_ptr<dvnn::softdv::Plan>> plans;  // one per accepted command, in order
  std::vector<dmp_dv_mem> memories;                        // retained; from commit on each once
  std::vector<dmp_dv_mem> written;                         // some of them; set by commit
  double pace_us = 0;               // least time of an execution, microseconds
  std::atomic<int64_t> last_id{0};  // id of the newest execution
  std::atomic<int64_t> last_exec_us{0};
};

namespace dvnn::softdv {

/// Formats the process's last error message.
void set_error(const char* format, ...) __attribute__((format(printf, 1, 2)));

/// Calls `work` and keeps its exceptions from C code: lack of memory or of threads becomes the
/// error message ("Not enough memory for `what`"), and `failed` is returned.
template <typename T, typename Work>
T without_exceptions(const char* what, T failed, Work&& work) noexcept {
  try {
    return work();
  } catch (const std::exception& e) {
    set_error("Not enough memory for %s (%s)", what, e.what());
  } catch (...) {
    set_error("Not enough memory for %s", what);
  }
  return failed;
}

/// Properties that the device reports.
using device::kUnifiedBufferBytes;
constexpr int kConvFreqMhz = 100;
constexpr int kMaxFcVectorSize = 16384;

}  // namespace dvnn::softdv

/// Marks the interface's functions; everything else in the library is hidden.
#define DVNN_EXPORT extern "C" __attribute__((visibility("default")))
