// SPDX-License-Identifier: Apache-2.0
// Working memory in cache lines of its own, so that no vector straddles two. It grows and never
// shrinks; growing loses its contents.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace dvnn::softdv {

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

}  // namespace dvnn::softdv
