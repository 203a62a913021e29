// SPDX-License-Identifier: Apache-2.0
// libdmpdv-caches.so: the software device behind caches that are not coherent with it, as on most
// boards (cached_mapping.h). libdmpdv-caches-whole.so is built from this, too: it hands over whole
// memories only.
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <utility>

#include "cached_mapping.h"
#include "real_device.h"

namespace {

using dvnn::test::kMappedPage;
using dvnn::test::real;
using Mapping = dvnn::test::CachedMapping;

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
    access_.erase(mem);
  }

  void to_device(dmp_dv_mem mem, size_t offset, size_t size) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (Mapping* mapping = find(mem)) mapping->clean(offset, offset + size);
  }

  void to_cpu(dmp_dv_mem mem, size_t offset, size_t size) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (Mapping* mapping = find(mem)) mapping->invalidate(offset, offset + size);
  }

  enum Access { kRead = 1, kWrite = 2 };

  // Begins an access to a whole memory, unless one with as many rights goes on; else that ends.
  int begin_access(dmp_dv_mem mem, int access) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      Mapping* const mapping = find(mem);
      if (!mapping || access == 0) return EINVAL;
      if ((access_[mem] | access) == access_[mem]) return 0;
    }
    end_access(mem);
    const std::lock_guard<std::mutex> lock(mutex_);
    access_[mem] = access;
    if ((access & kRead) != 0) find(mem)->invalidate(0, sizes_.at(mem));
    return 0;
  }

  int end_access(dmp_dv_mem mem) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Mapping* const mapping = find(mem);
    const int access = std::exchange(access_[mem], 0);
    if (!mapping || access == 0) return 0;
    if ((access & kWrite) != 0) {
      mapping->clean(0, sizes_.at(mem));
    } else {
      mapping->invalidate(0, sizes_.at(mem));
    }
    return 0;
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
  std::map<dmp_dv_mem, int> access_;  // that goes on
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
  const size_t pages = (size + kMappedPage - 1) / kMappedPage * kMappedPage;
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

#ifdef DVNN_WHOLE_MEMORY
// As the vendor's first releases, and as its ioctls.
DVNN_EXPORT int dmp_dv_mem_sync_start(dmp_dv_mem mem, int rd, int wr) {
  return caches().begin_access(mem, (rd ? Caches::kRead : 0) | (wr ? Caches::kWrite : 0));
}

DVNN_EXPORT int dmp_dv_mem_sync_end(dmp_dv_mem mem) {
  return caches().end_access(mem);
}
#else
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
#endif

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
  // Signals end some waits.
  static std::atomic<int> waits{0};
  if (++waits % 2 == 0) {
    errno = EINTR;
    return -1;
  }
  return caches().result(exec_id);
}

DVNN_EXPORT int64_t dmp_dv_cmdlist_get_last_exec_time(dmp_dv_cmdlist list) {
  return real().cmdlist_get_last_exec_time(list);
}

DVNN_EXPORT int dmp_dv_device_exists(dmp_dv_context ctx, int device_type) {
  return real().device_exists(ctx, device_type);
}
