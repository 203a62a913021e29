// SPDX-License-Identifier: Apache-2.0
// Layers whose results depend on elements at several places compute in row-major float
// (spans.h serves those of single elements, move_layer.h those that only move). These
// classes read and write tensors of any type and layout: in place if the tensor is row-major float,
// else through the slot's workspace, in tiles that threads share.
#pragma once

#include <algorithm>
#include <optional>

#include "layers/moves.h"
#include "layers/workspace.h"
#include "tensor/convert_tensor.h"
#include "tensor/half.h"
#include "tensor/tensor.h"

namespace dvnn::layers {

inline TensorDesc plain_float(const Shape& shape) {
  return {ElementType::kFloat32, Layout::kNchw, shape};
}

inline bool is_plain_float(const TensorDesc& desc) {
  return desc.type == ElementType::kFloat32 && desc.layout == Layout::kNchw;
}

/// How the elements of a tensor are moved and computed with: floats of either size as they are,
/// bytes as floats.
inline TensorDesc moved_form(const TensorDesc& desc) {
  return is_float(desc.type) ? desc : plain_float(desc.shape);
}

/// The tensor in that form, valid until the layer's run ends.
inline const uint8_t* read_moved(const ConstTensorView& view) {
  if (is_float(view.desc.type)) return view.data;
  float* const floats = Workspace::current().floats(view.desc.shape.count());
  read_nchw(view, floats);
  return reinterpret_cast<const uint8_t*>(floats);
}

/// The memory for a result in that form, which finish_moved() brings to the tensor.
inline uint8_t* begin_moved(const TensorView& view) {
  if (is_float(view.desc.type)) return view.data;
  return Workspace::current().bytes(moved_form(view.desc).bytes());
}

inline void finish_moved(const uint8_t* made, const TensorView& view) {
  if (!is_float(view.desc.type)) write_nchw(reinterpret_cast<const float*>(made), view);
}

/// Elements at..at+count-1 of a tensor of floats, in the order of its memory: where they are, or
/// converted in `room`.
inline const float* span_of(const ConstTensorView& view, size_t at, size_t count, float* room) {
  if (view.desc.type == ElementType::kFloat32) {
    return reinterpret_cast<const float*>(view.data) + at;
  }
  half_to_float(reinterpret_cast<const half_t*>(view.data) + at, room, count);
  return room;
}

/// Writes these elements of such a tensor.
inline void put_span(const float* floats, const TensorView& view, size_t at, size_t count) {
  if (view.desc.type == ElementType::kFloat32) {
    std::copy(floats, floats + count, reinterpret_cast<float*>(view.data) + at);
  } else {
    float_to_half(floats, reinterpret_cast<half_t*>(view.data) + at, count);
  }
}

/// Returns whether elements at one place of the tensors' memory are those of one index.
inline bool lie_in_step(const TensorDesc& a, const TensorDesc& b) {
  if (!is_float(a.type) || !is_float(b.type) || plain_layout(a) != plain_layout(b)) return false;
  return plain_layout(a) == Layout::kNchw || a.shape == b.shape;
}

class FloatReader {
 public:
  explicit FloatReader(const TensorDesc& desc)
      : count_(is_plain_float(desc) ? 0 : desc.shape.count()) {
    if (count_ == 0 || !is_float(desc.type)) return;
    moves_.emplace(desc, plain_float(desc.shape));
    moves_->add(whole_part(desc.shape));
  }
  /// Valid until the layer's run ends.
  const float* read(const ConstTensorView& view) const {
    if (count_ == 0) return reinterpret_cast<const float*>(view.data);
    return copy(view, Workspace::current().floats(count_));
  }
  /// Also copies what is row-major float already.
  const float* copy(const ConstTensorView& view, float* to) const {
    if (moves_) {
      moves_->run(view.data, reinterpret_cast<uint8_t*>(to));
    } else {
      read_nchw(view, to);
    }
    return to;
  }

 private:
  size_t count_;  // 0: in place
  std::optional<Moves> moves_;
};

class FloatWriter {
 public:
  explicit FloatWriter(const TensorDesc& desc)
      : count_(is_plain_float(desc) ? 0 : desc.shape.count()) {
    if (count_ == 0 || !is_float(desc.type)) return;
    moves_.emplace(plain_float(desc.shape), desc);
    moves_->add(whole_part(desc.shape));
  }
  /// Returns the memory to compute in; finish() copies the result to the tensor.
  float* begin(const TensorView& view) {
    floats_ =
        count_ == 0 ? reinterpret_cast<float*>(view.data) : Workspace::current().floats(count_);
    return floats_;
  }
  /// The same for a result that is made while the inputs are read, which may have its memory.
  float* begin_apart(Span<const ConstTensorView> inputs, const TensorView& view) {
    apart_ = false;
    for (const ConstTensorView& input : inputs) {
      apart_ = apart_ || (count_ == 0 && share_memory(input, view));
    }
    if (!apart_) return begin(view);
    floats_ = Workspace::current().floats(view.desc.shape.count());
    return floats_;
  }
  void finish(const TensorView& view) const {
    if (moves_) {
      moves_->run(reinterpret_cast<const uint8_t*>(floats_), view.data);
    } else if (count_ != 0 || apart_) {
      write_nchw(floats_, view);
    }
  }

 private:
  size_t count_;        // 0: in place
  bool apart_ = false;  // not even then
  float* floats_ = nullptr;
  std::optional<Moves> moves_;
};

}  // namespace dvnn::layers
