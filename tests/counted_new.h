// SPDX-License-Identifier: Apache-2.0
// Counts the allocations of C++ code in the calling thread, and the largest block in any thread, in
// a program that has counted_new.cpp's operator new.
#pragma once

#include <atomic>
#include <cstddef>

namespace dvnn::test {

inline thread_local size_t counted_news = 0;
inline std::atomic<size_t> largest_piece{0};

/// Notes a block that another allocator than operator new returned.
inline void note_piece(size_t size) {
  size_t before = largest_piece;
  while (size > before && !largest_piece.compare_exchange_weak(before, size)) {
  }
}

inline void count_new(size_t size) {
  ++counted_news;
  note_piece(size);
}

}  // namespace dvnn::test
