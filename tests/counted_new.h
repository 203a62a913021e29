// SPDX-License-Identifier: Apache-2.0
// Counts what C++ code allocates in the thread that asks, and notes the largest piece of any
// thread, in a program that has counted_new.cpp's operator new.
#pragma once

#include <atomic>
#include <cstddef>

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

}  // namespace dvnn::test
