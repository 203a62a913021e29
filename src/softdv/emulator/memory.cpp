// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "softdv/emulator/objects.h"
#include "softdv/emulator/queue.h"

using namespace dvnn::softdv;

namespace {

constexpr size_t kPage = 4096;
constexpr size_t kHugePage = 2 * 1024 * 1024;
constexpr size_t kGuard = 64 * 1024;  // bytes, whole pages
std::atomic<int64_t> total_size{0};

// The checks that dmp_dv_mem_to_device() and _to_cpu() share.
int check_range(dmp_dv_mem mem, size_t offs, size_t size) {
  if (!mem) {
    set_error("Invalid argument: mem is NULL");
    return EINVAL;
  }
  if (offs > mem->size || size > mem->size - offs) {
    set_error("Invalid argument: offs %zu + size %zu exceeds the memory's %zu bytes", offs, size,
              mem->size);
    return EINVAL;
  }
  if (size != 0 && !mem->mapped) {
    set_error("Memory must be mapped before it is handed over");
    return EINVAL;
  }
  return 0;
}

// Returns memory between two stretches that are inaccessible, so that an access beyond it faults
// instead of spoiling a neighbour. Where a huge page fits, it begins at one: a layer's tensors take
// more pages than a processor remembers the places of, and with huge ones whole networks took up to
// a tenth less time. A forked process does not get it: else each page would be copied when either
// of the two writes.
uint8_t* map_guarded(size_t size) {
  const size_t align = size >= kHugePage ? kHugePage : kPage;
  const size_t room = size + 2 * kGuard + align;
  void* const reserved =
      mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<uint8_t*>(reserved);
  const uintptr_t first = reinterpret_cast<uintptr_t>(begin) + kGuard;
  uint8_t* const data = begin + kGuard + (align - first % align) % align;
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
  if (mmap(data, size, PROT_READ | PROT_WRITE, kFlags, -1, 0) == MAP_FAILED) {
    const int reason = errno;
    munmap(reserved, room);
    errno = reason;
    return nullptr;
  }
  // What was reserved in order to choose.
  uint8_t* const end = data + size + kGuard;
  if (data - kGuard > begin) munmap(begin, static_cast<size_t>(data - kGuard - begin));
  if (begin + room > end) munmap(end, static_cast<size_t>(begin + room - end));
  madvise(data, size, MADV_DONTFORK);
  if (align == kHugePage) madvise(data, size, MADV_HUGEPAGE);
  total_size += static_cast<int64_t>(size);
  return data;
}

void unmap_guarded(uint8_t* data, size_t size) {
  munmap(data - kGuard, size + 2 * kGuard);
  total_size -= static_cast<int64_t>(size);
}

void destroy(dmp_dv_mem mem) {
  for (uint8_t* const bytes : mem->lanes) {
    if (bytes && bytes != mem->data) unmap_guarded(bytes, mem->size);
  }
  unmap_guarded(mem->data, mem->size);
  dmp_dv_context_release(mem->context);
  delete mem;
}

}  // namespace

DVNN_EXPORT dmp_dv_mem dmp_dv_mem_alloc(dmp_dv_context ctx, size_t size) {
  if (!ctx || size == 0 || size > SIZE_MAX - kPage - 2 * kGuard - kHugePage) {
    set_error("Invalid argument: %s", ctx ? "size is 0 or too large" : "ctx is NULL");
    return nullptr;
  }
  const size_t real = (size + kPage - 1) / kPage * kPage;
  uint8_t* data = map_guarded(real);
  if (!data) {
    set_error("Not enough memory for %zu bytes: %s", real, std::strerror(errno));
    return nullptr;
  }
  auto* mem = new (std::nothrow) dmp_dv_mem_impl();
  if (!mem) {
    set_error("Not enough memory to describe %zu bytes", real);
    unmap_guarded(data, real);
    return nullptr;
  }
  mem->context = ctx;
  mem->data = data;
  mem->size = real;
  dmp_dv_context_retain(ctx);
  return mem;
}

DVNN_EXPORT int dvnn_soft_transient(dmp_dv_mem mem) {
  if (!mem || mem->references > 1 || !mem->lanes.empty()) {
    set_error("Invalid argument: mem is %s", !mem                 ? "NULL"
                                             : mem->lanes.empty() ? "in use"
                                                                  : "transient");
    return EINVAL;
  }
  return without_exceptions("the lanes of a memory", ENOMEM, [&] {
    mem->lanes.assign(static_cast<size_t>(lanes()), nullptr);
    mem->lanes.front() = mem->data;
    return 0;
  });
}

void dvnn::softdv::make_room(const dmp_dv_cmdlist_impl& list, size_t lane) {
  for (dmp_dv_mem mem : list.memories) {
    if (mem->lanes.empty() || mem->lanes[lane]) continue;
    mem->lanes[lane] = map_guarded(mem->size);
    if (!mem->lanes[lane]) throw std::bad_alloc();
  }
}

DVNN_EXPORT int dmp_dv_mem_retain(dmp_dv_mem mem) {
  return mem ? mem->references.fetch_add(1) + 1 : 0;
}

DVNN_EXPORT int dmp_dv_mem_release(dmp_dv_mem mem) {
  if (!mem) return 0;
  const int left = mem->references.fetch_sub(1) - 1;
  if (left == 0) destroy(mem);
  return left;
}

DVNN_EXPORT uint8_t* dmp_dv_mem_map(dmp_dv_mem mem) {
  if (!mem) {
    set_error("Invalid argument: mem is NULL");
    return nullptr;
  }
  mem->mapped = true;
  ++mem->writes;
  return mem->data;
}

DVNN_EXPORT void dmp_dv_mem_unmap(dmp_dv_mem mem) {
  if (!mem) {
    set_error("Invalid argument: mem is NULL");
    return;
  }
  mem->syncing = false;
  mem->mapped = false;
  ++mem->writes;
}

DVNN_EXPORT int dmp_dv_mem_sync_start(dmp_dv_mem mem, int rd, int wr) {
  if (!mem || !mem->mapped || (!rd && !wr)) {
    set_error(!mem          ? "Invalid argument: mem is NULL"
              : mem->mapped ? "Invalid argument: neither reading nor writing is asked for"
                            : "Memory must be mapped before starting synchronization");
    return EINVAL;
  }
  mem->syncing = true;
  ++mem->writes;
  return 0;
}

DVNN_EXPORT int dmp_dv_mem_sync_end(dmp_dv_mem mem) {
  if (!mem) {
    set_error("Invalid argument: mem is NULL");
    return EINVAL;
  }
  if (mem->syncing) ++mem->writes;
  mem->syncing = false;
  return 0;
}

DVNN_EXPORT int dmp_dv_mem_to_device(dmp_dv_mem mem, size_t offs, size_t size, int) {
  const int rc = check_range(mem, offs, size);
  if (rc == 0) ++mem->writes;
  return rc;
}

DVNN_EXPORT int dmp_dv_mem_to_cpu(dmp_dv_mem mem, size_t offs, size_t size, int flags) {
  if (mem && (flags & DMP_DV_MEM_CPU_HADNT_READ)) return 0;
  return check_range(mem, offs, size);
}

DVNN_EXPORT size_t dmp_dv_mem_get_size(dmp_dv_mem mem) {
  if (mem) return mem->size;
  set_error("Invalid argument: mem is NULL");
  return 0;
}

DVNN_EXPORT int64_t dmp_dv_mem_get_total_size(void) {
  return total_size;
}
