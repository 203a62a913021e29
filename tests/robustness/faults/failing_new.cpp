// SPDX-License-Identifier: Apache-2.0
#include "failing_new.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

std::atomic<long> until_failure{-1};  // negative: none fails
std::atomic<size_t> largest{SIZE_MAX};

void* allocate(size_t size, size_t alignment) {
  if (until_failure >= 0 && until_failure-- == 0) throw std::bad_alloc();
  if (size > largest) throw std::bad_alloc();
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
  return allocate(size, alignof(std::max_align_t));
}
void* operator new(size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<size_t>(alignment));
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
