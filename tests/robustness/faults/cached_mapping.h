// SPDX-License-Identifier: Apache-2.0
// A cache that is not coherent with the device, in its worst behaviour. A memory exists twice: as
// the device sees it and as the CPU's cache does. Lines that the CPU has written and not handed
// over (dirty lines) reach the device's memory at random, or never. Data that the device has
// written are garbage for the CPU until they are handed back. A line that both write in between
// ends the process: on a board, the last write-back would win.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

namespace dvnn::test {

constexpr size_t kCacheLine = 64;     // bytes
constexpr size_t kMappedPage = 4096;  // bytes of what is mapped

/// A memory that is mapped for the CPU. It knows no locks: one thread at a time.
class CachedMapping {
  static constexpr int kGarbage = 0xff;  // NaN as binary16

 public:
  CachedMapping(uint8_t* memory, size_t size)
      : memory_(memory),
        size_(size),
        cached_(static_cast<uint8_t*>(std::aligned_alloc(kMappedPage, size))),
        in_step_(memory, memory + size) {
    std::memcpy(cached_.get(), memory, size);
  }

  /// What the CPU reads and writes.
  uint8_t* cached() const { return cached_.get(); }

  /// Writes dirty lines back.
  void clean(size_t begin, size_t end) {
    each_line(begin, end, [&](size_t at) {
      if (is_dirty(at)) write_back(at);
    });
  }

  /// Reads lines anew, and loses what was dirty.
  void invalidate(size_t begin, size_t end) {
    each_line(begin, end, [&](size_t at) { load(at); });
  }

  void clean_at_random(std::mt19937* random) {
    each_line(0, size_, [&](size_t at) {
      if (is_dirty(at) && (*random)() % 2 == 0) write_back(at);
    });
  }

  /// Call these around what the device does.
  void begin_run() { before_.assign(memory_, memory_ + size_); }

  void end_run() {
    each_line(0, size_, [&](size_t at) {
      if (std::memcmp(memory_ + at, &before_[at], kCacheLine) == 0) return;
      if (is_dirty(at)) {
        std::fprintf(stderr,
                     "caches: the device wrote the line at byte %zu of a memory of %zu "
                     "bytes, which the CPU had written and not handed over\n",
                     at, size_);
        std::abort();
      }
      std::memset(cached_.get() + at, kGarbage, kCacheLine);
      std::memset(&in_step_[at], kGarbage, kCacheLine);
    });
    before_.clear();
  }

 private:
  struct Free {
    void operator()(uint8_t* bytes) const { std::free(bytes); }
  };

  template <typename Visit>
  void each_line(size_t begin, size_t end, Visit&& visit) const {
    for (size_t at = begin / kCacheLine * kCacheLine; at < std::min(end, size_); at += kCacheLine)
      visit(at);
  }
  bool is_dirty(size_t at) const {
    return std::memcmp(cached_.get() + at, &in_step_[at], kCacheLine) != 0;
  }
  // The CPU may go on writing, so the written-back bytes become the new state in step.
  void write_back(size_t at) {
    std::memcpy(&in_step_[at], cached_.get() + at, kCacheLine);
    std::memcpy(memory_ + at, &in_step_[at], kCacheLine);
    if (!before_.empty()) std::memcpy(&before_[at], &in_step_[at], kCacheLine);
  }
  void load(size_t at) {
    std::memcpy(&in_step_[at], memory_ + at, kCacheLine);
    std::memcpy(cached_.get() + at, &in_step_[at], kCacheLine);
  }

  uint8_t* const memory_;  // as the device sees it
  const size_t size_;      // bytes, whole pages
  const std::unique_ptr<uint8_t, Free> cached_;
  std::vector<uint8_t> in_step_;  // what the cache had when it last agreed with the memory
  std::vector<uint8_t> before_;   // the run, and written back during it; empty: none runs
};

}  // namespace dvnn::test
