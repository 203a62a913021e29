// SPDX-License-Identifier: Apache-2.0
// libdmpdv-caches.so: the software device behind caches that are not coherent with it, as on most
// boards, in their worst behaviour. Each memory exists twice: the device's view and the CPU cache's
// view. Lines that the CPU has written and not handed over (dirty lines) reach the device's memory
// at random, or never. Data that the device has written are garbage for the CPU until they are
// handed back. A line that both write in between ends the process: on a board, the last write-back
// would win.
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <vector>

#include "real_device.h"

namespace {

constexpr size_t kLine = 64;    // bytes of a cache line
constexpr int kGarbage = 0xff;  // NaN as binary16
constexpr size_t kPage = 4096;  // of what is mapped

using dvnn::test::real;

// A memory during one mapping.
class Mapping {
 public:
  Mapping(uint8_t* memory, size_t size)
      : memory_(memory),
        size_(size),
        cached_(static_cast<uint8_t*>(std::aligned_alloc(kPage, size))),
        in_step_(memory, memory + size) {
    std::memcpy(cached_.get(), memory, size);
  }

  uint8_t* cached() const { return cached_.get(); }

  void clean(size_t begin, size_t end) {
    each_line(begin, end, [&](size_t at) {
      if (is_dirty(at)) write_back(at);
    });
  }

  void invalidate(size_t begin, size_t end) {
    each_line(begin, end, [&](size_t at) { load(at); });
  }

  void clean_at_random(std::mt19937* random) {
    each_line(0, size_, [&](size_t at) {
      if (is_dirty(at) && (*random)() % 2 == 0) write_back(at);
    });
  }

  void begin_run() { before_.assign(memory_, memory_ + size_); }

  void end_run() {
    each_line(0, size_, [&](size_t at) {
      if (std::memcmp(memory_ + at, &before_[at], kLine) == 0) return;
      if (is_dirty(at)) {
        std::fprintf(stderr,
                     "libdmpdv-caches.so: the device wrote the line at byte %zu of a memory of %zu "
                     "bytes, which the CPU had written and not handed over\n",
                     at, size_);
        std::abort();
      }
      std::memset(cached_.get() + at, kGarbage, kLine);
      std::memset(&in_step_[at], kGarbage, kLine);
    });
  }

 private:
  struct Free {
    void operator()(uint8_t* bytes) const { std::free(bytes); }
  };

  template <typename Visit>
  void each_line(size_t begin, size_t end, Visit&& visit) const {
    for (size_t at = begin / kLine * kLine; at < std::min(end, size_); at += kLine) visit(at);
  }
  bool is_dirty(size_t at) const {
    return std::memcmp(cached_.get() + at, &in_step_[at], kLine) != 0;
  }
  // The CPU may go on writing, so the written-back bytes become the new state in step.
  void write_back(size_t at) {
    std::memcpy(&in_step_[at], cached_.get() + at, kLine);
    std::memcpy(memory_ + at, &in_step_[at], kLine);
  }
  void load(size_t at) {
    std::memcpy(&in_step_[at], memory_ + at, kLine);
    std::memcpy(cached_.get() + at, &in_step_[at], kLine);
  }

  uint8_t* const memory_;  // as the device sees it
  const size_t size_;      // bytes, whole pages
  const std::unique_ptr<uint8_t, Free> cached_;
  std::vector<uint8_t> in_step_;  // what the cache had when it last agreed with the memory
  std::vector<uint8_t> before_;   // the run
};

class Caches {
 public:
  void know(dmp_dv_mem mem, size_t size) {
    const std::lock_guard<std::mutex> lock(mutex_);
    sizes_[mem] = size;
  }

  uint8_t* map(dmp_dv_mem mem, uint8_t* memory) {
    const std::lock_guard<std::mutex> lock(mutex_);
    auto& mapping = mappings_[mem];
    if (!mapping) mapping = std::make_unique<Mapping>(memory, sizes_.at(mem));
    return mapping->cached();
  }

  void unmap(dmp_dv_mem mem) {
    const std::lock_guard<std::mutex> lock(mutex_);
    mappings_.erase(mem);
  }

  void to_device(dmp_dv_mem mem, size_t offset, size_t size) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (Mapping* mapping = find(mem)) mapping->clean(offset, offset + size);
  }

  void to_cpu(dmp_dv_mem mem, size_t offset, size_t size) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (Mapping* mapping = find(mem)) mapping->invalidate(offset, offset + size);
  }

  // Notes the memories that a command names: those whose handles are among its words.
  void note(dmp_dv_cmdlist list, const dmp_dv_cmdraw* command) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (size_t at = 0; at + sizeof(dmp_dv_mem) <= command->size; at += sizeof(dmp_dv_mem)) {
      dmp_dv_mem mem = nullptr;
      std::memcpy(&mem, reinterpret_cast<const char*>(command) + at, sizeof mem);
      if (mappings_.count(mem) != 0) lists_[list].insert(mem);
    }
  }

  void forget(dmp_dv_cmdlist list) {
    const std::lock_guard<std::mutex> lock(mutex_);
    lists_.erase(list);
  }

  // Runs lists one at a time, so that a changed memory was changed by this run.
  int64_t run(dmp_dv_cmdlist list) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (dmp_dv_mem mem : lists_[list]) {
      Mapping* const mapping = find(mem);
      if (!mapping) continue;
      mapping->clean_at_random(&random_);
      mapping->begin_run();
    }
    const int64_t id = real().cmdlist_exec(list);
    if (id < 0) return id;
    results_[id] = real().cmdlist_wait(list, id);
    for (dmp_dv_mem mem : lists_[list]) {
      Mapping* const mapping = find(mem);
      if (!mapping) continue;
      mapping->end_run();
      mapping->clean_at_random(&random_);
    }
    return id;
  }

  int result(int64_t id) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = results_.find(id);
    if (found == results_.end()) return 0;
    const int result = found->second;
    results_.erase(found);
    return result;
  }

 private:
  Mapping* find(dmp_dv_mem mem) {
    const auto found = mappings_.find(mem);
    return found == mappings_.end() ? nullptr : found->second.get();
  }

  std::mutex mutex_;
  std::mt19937 random_{std::random_device{}()};
  std::map<dmp_dv_mem, size_t> sizes_;
  std::map<dmp_dv_mem, std::unique_ptr<Mapping>> mappings_;
  std::map<dmp_dv_cmdlist, std::set<dmp_dv_mem>> lists_;
  std::map<int64_t, int> results_;  // of runs that no thread has waited for yet
};

// Never destroyed: other threads may run when the process ends.
Caches& caches() {
  static Caches* const all = new Caches;
  return *all;
}

}  // namespace

#define DVNN_EXPORT extern "C" __attribute__((visibility("default")))

DVNN_EXPORT const char* dmp_dv_get_version_string(void) {
  return real().get_version_string();
}

DVNN_EXPORT const char* dmp_dv_get_last_error_message(void) {
  return real().get_last_error_message();
}

DVNN_EXPORT dmp_dv_context dmp_dv_context_create(void) {
  return real().context_create();
}

DVNN_EXPORT const char* dmp_dv_context_get_info_string(dmp_dv_context ctx) {
  return real().context_get_info_string(ctx);
}

DVNN_EXPORT int dmp_dv_context_get_info(dmp_dv_context ctx, dmp_dv_info* info) {
  return real().context_get_info(ctx, info);
}

DVNN_EXPORT int dmp_dv_context_release(dmp_dv_context ctx) {
  return real().context_release(ctx);
}

DVNN_EXPORT dmp_dv_mem dmp_dv_mem_alloc(dmp_dv_context ctx, size_t size) {
  const size_t pages = (size + kPage - 1) / kPage * kPage;
  const dmp_dv_mem mem = real().mem_alloc(ctx, pages);
  if (mem) caches().know(mem, pages);
  return mem;
}

DVNN_EXPORT int dmp_dv_mem_release(dmp_dv_mem mem) {
  caches().unmap(mem);
  return real().mem_release(mem);
}

DVNN_EXPORT uint8_t* dmp_dv_mem_map(dmp_dv_mem mem) {
  uint8_t* const memory = real().mem_map(mem);
  return memory ? caches().map(mem, memory) : nullptr;
}

DVNN_EXPORT void dmp_dv_mem_unmap(dmp_dv_mem mem) {
  caches().unmap(mem);
  real().mem_unmap(mem);
}

DVNN_EXPORT int dmp_dv_mem_sync_start(dmp_dv_mem mem, int rd, int wr) {
  return real().mem_sync_start(mem, rd, wr);
}

DVNN_EXPORT int dmp_dv_mem_sync_end(dmp_dv_mem mem) {
  return real().mem_sync_end(mem);
}

DVNN_EXPORT int dmp_dv_mem_to_device(dmp_dv_mem mem, size_t offs, size_t size, int flags) {
  const int status = real().mem_to_device(mem, offs, size, flags);
  if (status == 0) caches().to_device(mem, offs, size);
  return status;
}

DVNN_EXPORT int dmp_dv_mem_to_cpu(dmp_dv_mem mem, size_t offs, size_t size, int flags) {
  const int status = real().mem_to_cpu(mem, offs, size, flags);
  if (status == 0) caches().to_cpu(mem, offs, size);
  return status;
}

DVNN_EXPORT dmp_dv_cmdlist dmp_dv_cmdlist_create(dmp_dv_context ctx) {
  return real().cmdlist_create(ctx);
}

DVNN_EXPORT int dmp_dv_cmdlist_release(dmp_dv_cmdlist list) {
  caches().forget(list);
  return real().cmdlist_release(list);
}

DVNN_EXPORT int dmp_dv_cmdlist_add_raw(dmp_dv_cmdlist list, dmp_dv_cmdraw* cmd) {
  caches().note(list, cmd);
  return real().cmdlist_add_raw(list, cmd);
}

DVNN_EXPORT int dmp_dv_cmdlist_commit(dmp_dv_cmdlist list) {
  return real().cmdlist_commit(list);
}

DVNN_EXPORT int64_t dmp_dv_cmdlist_exec(dmp_dv_cmdlist list) {
  return caches().run(list);
}

DVNN_EXPORT int dmp_dv_cmdlist_wait(dmp_dv_cmdlist, int64_t exec_id) {
  return caches().result(exec_id);
}

DVNN_EXPORT int64_t dmp_dv_cmdlist_get_last_exec_time(dmp_dv_cmdlist list) {
  return real().cmdlist_get_last_exec_time(list);
}

DVNN_EXPORT int dmp_dv_device_exists(dmp_dv_context ctx, int device_type) {
  return real().device_exists(ctx, device_type);
}
