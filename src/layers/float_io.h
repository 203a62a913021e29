// SPDX-License-Identifier: Apache-2.0
// Layers whose results depend on elements at several places compute in row-major float
// (element_spans.h serves the others). These classes read and write tensors of any type and layout:
// in place if the tensor is row-major float, else through the slot's workspace.
#pragma once

#include "layers/workspace.h"
#include "tensor/tensor.h"

namespace dvnn::layers {

inline bool is_plain_float(const TensorDesc& desc) {
  return desc.type == ElementType::kFloat32 && desc.layout == Layout::kNchw;
}

class FloatReader {
 public:
  explicit FloatReader(const TensorDesc& desc)
      : count_(is_plain_float(desc) ? 0 : static_cast<size_t>(desc.shape.elements())) {}
  /// Valid until the layer's run ends.
  const float* read(const ConstTensorView& view) {
    if (count_ == 0) return reinterpret_cast<const float*>(view.data);
    float* const floats = Workspace::current().floats(count_);
    read_nchw(view, floats);
    return floats;
  }

 private:
  size_t count_;  // 0: in place
};

class FloatWriter {
 public:
  explicit FloatWriter(const TensorDesc& desc)
      : count_(is_plain_float(desc) ? 0 : static_cast<size_t>(desc.shape.elements())) {}
  /// Returns the memory to compute in; finish() copies the result to the tensor.
  float* begin(const TensorView& view) {
    floats_ =
        count_ == 0 ? reinterpret_cast<float*>(view.data) : Workspace::current().floats(count_);
    return floats_;
  }
  void finish(const TensorView& view) {
    if (count_ != 0) write_nchw(floats_, view);
  }

 private:
  size_t count_;  // 0: in place
  float* floats_ = nullptr;
};

}  // namespace dvnn::layers
