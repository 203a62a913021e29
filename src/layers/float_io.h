// SPDX-License-Identifier: Apache-2.0
// Layers whose elements depend on others than those at the same place (element_spans.h has these)
// compute in row-major float. Here they read and write tensors of any type and layout, in place
// where the tensor already is row-major float, through the slot's workspace where not.
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
  /// Where to compute; finish() brings it home.
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
