// SPDX-License-Identifier: Apache-2.0
// Counts what C++ code allocates in the thread that asks, and notes the largest piece of any
// thread. One source of a program alone may include it: it replaces the program's operator new.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace dvnn::test {

inline thread_local size_t counted_news = 0;
inline std::atomic<size_t> largest_piece{0};

/// Notes a piece of memory that other allocators than operator new give, too.
inline void note_piece(size_t size) {
  size_t before = largest_piece;
  while (size > before && !largest_piece.compare_exchange_weak(before, size)) {
  }
}

inline void count_new(size_t size) {
  ++counted_news;
  note_piece(size);
}

inline void* counted_new(size_t size, size_t alignment) {
  count_new(size);
  const size_t whole = (size + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, whole > 0 ? whole : alignment);
  if (!memory) throw std::bad_alloc();
  return memory;
}

}  // namespace dvnn::test

void* operator new(size_t size) {
  return dvnn::test::counted_new(size, alignof(std::max_align_t));
}
void* operator new(size_t size, std::align_val_t alignment) {
  return dvnn::test::counted_new(size, static_cast<size_t>(alignment));
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
