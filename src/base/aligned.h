// SPDX-License-Identifier: Apache-2.0
// Vectors that begin on a cache line, so that no load or store of a vector register straddles two
// lines.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace dvnn {

template <typename T>
struct CacheLineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kAlign{64};

  CacheLineAllocator() = default;
  template <typename U>
  CacheLineAllocator(const CacheLineAllocator<U>&) {}
  T* allocate(size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), kAlign)); }
  void deallocate(T* data, size_t) { ::operator delete(data, kAlign); }
  template <typename U>
  bool operator==(const CacheLineAllocator<U>&) const {
    return true;
  }
  template <typename U>
  bool operator!=(const CacheLineAllocator<U>&) const {
    return false;
  }
};

template <typename T>
using AlignedVector = std::vector<T, CacheLineAllocator<T>>;

}  // namespace dvnn
