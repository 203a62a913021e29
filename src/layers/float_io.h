// SPDX-License-Identifier: Apache-2.0
// CPU layers compute in row-major float. These read and write tensors of any type and layout, in
// place where the tensor already is row-major float, through memory of their own where not.
#pragma once

#include <vector>

#include "tensor/tensor.h"

namespace dvnn::layers {

inline bool is_plain_float(const TensorDesc& desc) {
  return desc.type == ElementType::kFloat32 && desc.layout == Layout::kNchw;
}

class FloatReader {
 public:
  explicit FloatReader(const TensorDesc& desc)
      : scratch_(is_plain_float(desc) ? 0 : static_cast<size_t>(desc.shape.elements())) {}
  const float* read(const ConstTensorView& view) {
    if (scratch_.empty()) return reinterpret_cast<const float*>(view.data);
    read_nchw(view, scratch_.data());
    return scratch_.data();
  }

 private:
  std::vector<float> scratch_;
};

class FloatWriter {
 public:
  explicit FloatWriter(const TensorDesc& desc)
      : scratch_(is_plain_float(desc) ? 0 : static_cast<size_t>(desc.shape.elements())) {}
  /// Where to compute; finish() brings it home.
  float* begin(const TensorView& view) {
    return scratch_.empty() ? reinterpret_cast<float*>(view.data) : scratch_.data();
  }
  void finish(const TensorView& view) {
    if (!scratch_.empty()) write_nchw(scratch_.data(), view);
  }

 private:
  std::vector<float> scratch_;
};

}  // namespace dvnn::layers
