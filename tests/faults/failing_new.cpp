// SPDX-License-Identifier: Apache-2.0
#include "failing_new.h"

#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

std::atomic<long> until_failure{-1};  // negative: none fails
std::atomic<size_t> largest{SIZE_MAX};

// nlohmann's JSON takes memory to destroy nested values, and cannot do without: what a destructor
// throws ends the process. That is known, and not what is tested: its allocations do not fail.
bool is_for_json(const void* caller) {
  Dl_info info;
  return dladdr(caller, &info) != 0 && info.dli_sname && std::strstr(info.dli_sname, "nlohmann");
}

void* allocate(size_t size, size_t alignment, const void* caller) {
  if (until_failure >= 0 && !is_for_json(caller) && until_failure-- == 0) throw std::bad_alloc();
  if (size > largest && !is_for_json(caller)) throw std::bad_alloc();
  const size_t whole = (size + alignment) / alignment * alignment;
  if (void* memory = std::aligned_alloc(alignment, whole)) return memory;
  throw std::bad_alloc();
}

}  // namespace

namespace dvnn::test {

void fail_allocation(long after) {
  until_failure = after;
}

bool has_failed_allocation() {
  return until_failure < 0;
}

void limit_allocations(size_t bytes) {
  largest = bytes;
}

}  // namespace dvnn::test

void* operator new(size_t size) {
  return allocate(size, alignof(std::max_align_t), __builtin_return_address(0));
}
void* operator new(size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<size_t>(alignment), __builtin_return_address(0));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  std::free(memory);
}
