// SPDX-License-Identifier: Apache-2.0
// Memory that begins on a cache line, so that no load or store of a vector register straddles two
// lines.
#pragma once

#include <cstddef>
#include <memory>
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

/// Working memory that grows and never shrinks; growing loses its contents.
class AlignedFloats {
 public:
  /// The memory, of at least `count` floats.
  float* room(size_t count) {
    if (count > size_) {
      data_.reset();
      data_.reset(static_cast<float*>(::operator new(count * sizeof(float), kAlign)));
      size_ = count;
    }
    return data_.get();
  }
  float* data() const { return data_.get(); }

 private:
  static constexpr std::align_val_t kAlign{64};
  struct Free {
    void operator()(float* data) const { ::operator delete(data, kAlign); }
  };
  std::unique_ptr<float, Free> data_;
  size_t size_ = 0;
};

}  // namespace dvnn
