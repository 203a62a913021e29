// SPDX-License-Identifier: Apache-2.0
// The cells of a mask: memory of its own, which is reused, or shared memory, because masks may be
// as large as frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace dvnn::objects {

class MaskCells {
 public:
  MaskCells() = default;
  MaskCells(std::initializer_list<uint8_t> cells) : own_(cells), size_(cells.size()) {}
  /// Allocates `count` cells of its own for the caller to write.
  uint8_t* resize(size_t count) {
    shared_.reset();
    own_.resize(count);
    size_ = count;
    return own_.data();
  }
  /// Shares `count` cells with other owners. None of them may change the cells from now on.
  void share(std::shared_ptr<const uint8_t> cells, size_t count) {
    clear();
    shared_ = std::move(cells);
    size_ = shared_ ? count : 0;
  }
  /// Removes the cells, but keeps its own memory for the next ones.
  void clear() {
    shared_.reset();
    own_.clear();
    size_ = 0;
  }

  const uint8_t* data() const { return shared_ ? shared_.get() : own_.data(); }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const uint8_t* begin() const { return data(); }
  const uint8_t* end() const { return data() + size_; }
  uint8_t operator[](size_t i) const { return data()[i]; }

 private:
  std::vector<uint8_t> own_;
  std::shared_ptr<const uint8_t> shared_;
  size_t size_ = 0;
};

}  // namespace dvnn::objects
