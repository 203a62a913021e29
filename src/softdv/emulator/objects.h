// SPDX-License-Identifier: Apache-2.0
// The software device's objects behind the ABI's opaque handles, and the commands in its lists.
// Each object is reference counted; a memory and a list keep their context, a list keeps the
// memories of its commands.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "base/aligned.h"
#include "device/estimate.h"
#include "device/limits.h"
#include "device/soft_extension.h"
#include "dmp_dv.h"
#include "dmp_dv_cmdraw_v1.h"
#include "softdv/engine/team.h"

namespace dvnn::softdv {

/// A worker's threads and working memory. `lane`: below lanes(), and of no other list that runs.
struct Scratch {
  Scratch(int threads, size_t own_lane) : team(threads), lane(own_lane) {}
  Team team;
  const size_t lane;
  AlignedFloats result;
  std::vector<uint16_t> unified[2], snapshot, operand;
};

/// A command: it is checked when it is added, prepared at commit, and run by the queue's worker.
class Plan {
 public:
  virtual ~Plan() = default;
  /// Decides everything that does not depend on the tensors. False: set_error() was called.
  virtual bool prepare() = 0;
  /// Appends a chain to the command, before prepare(), with the rules and results of
  /// dvnn_soft_follow(). Adds the memories that the chain reads and writes to `memories`.
  virtual int follow(const dvnn_soft_chain& chain, std::vector<dmp_dv_mem>* memories);
  /// Adds the memories that the command writes, if its block runs several lists at once.
  virtual void add_written(std::vector<dmp_dv_mem>*) const {}
  /// Runs the command. Its memories were bounds-checked when it was added.
  virtual void execute(Scratch* scratch) = 0;
  /// Estimates the command's time on that hardware, in microseconds; 0 if there is no model of it.
  virtual double estimate_us(const device::Hardware&) const { return 0; }
};

}  // namespace dvnn::softdv

struct dmp_dv_context_impl {
  std::atomic<int> references{1};
  std::string info;
};

struct dmp_dv_mem_impl {
  std::atomic<int> references{1};
  dmp_dv_context context = nullptr;
  uint8_t* data = nullptr;  // mapped for the object's life; map() only shows it
  size_t size = 0;          // bytes, whole pages
  std::atomic<bool> mapped{false};
  bool syncing = false;
  std::atomic<uint64_t> writes{0};  // number of times that the CPU may have written
  // Of a transient memory: the bytes of each lane, of which the first lane's are `data`. Others'
  // are null until a list needs them. Empty: all lanes have `data`.
  std::vector<uint8_t*> lanes;
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

/// Makes room for a list's transient memories on a lane. Throws if there is none.
void make_room(const dmp_dv_cmdlist_impl& list, size_t lane);

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
