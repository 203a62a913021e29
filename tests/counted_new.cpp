// SPDX-License-Identifier: Apache-2.0
// Replaces the program's operator new by one that counts. Pieces are as large as they are asked
// for, so that AddressSanitizer sees their ends.
#include "counted_new.h"

#include <cstdlib>
#include <new>

void* operator new(size_t size) {
  dvnn::test::count_new(size);
  void* memory = std::malloc(size > 0 ? size : 1);
  if (!memory) throw std::bad_alloc();
  return memory;
}
void* operator new(size_t size, std::align_val_t alignment) {
  dvnn::test::count_new(size);
  const auto step = static_cast<size_t>(alignment);
  const size_t whole = (size + step - 1) / step * step;
  void* memory = std::aligned_alloc(step, whole > 0 ? whole : step);
  if (!memory) throw std::bad_alloc();
  return memory;
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  dvnn::test::count_new(size);
  return std::malloc(size);
}
// Not inlined: the compiler would see free() of what a new expression made, and warn.
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}
