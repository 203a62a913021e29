// SPDX-License-Identifier: Apache-2.0
// For layers whose results depend on elements at several places (spans.h serves those of single
// elements, blocks.h those of one axis, moves.h those that only move): they compute in row-major
// float. FloatReader and FloatWriter read and write tensors of any type and layout: in place if the
// tensor is row-major float, else through the slot's workspace, in tiles that threads share.
// make_float_layer() makes a layer of a function of whole tensors, and walks go over row-major
// arrays.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/nth.h"
#include "layers/attributes.h"
#include "layers/cost.h"
#include "layers/loops/moves.h"
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

/// What such layers have in common.
class FloatTensors : public CpuLayer {
 public:
  FloatTensors(Span<const TensorDesc> inputs, const TensorDesc& output);
  ~FloatTensors() override;
  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) final;
  void input_will_stay(size_t i) final { stays_[i] = true; }

 protected:
  /// Returns whether input `i` is the same each time.
  bool input_stays(size_t i) const { return stays_[i]; }

 private:
  virtual void compute(const float* const* in, float* result) = 0;

  std::vector<FloatReader> readers_;
  FloatWriter writer_;
  std::vector<const float*> in_;
  std::vector<bool> stays_;
};

template <typename Compute>
class FloatLayer final : public FloatTensors {
 public:
  FloatLayer(Span<const TensorDesc> inputs, const TensorDesc& output, Compute compute)
      : FloatTensors(inputs, output), compute_(std::move(compute)) {}

 private:
  void compute(const float* const* in, float* result) override { compute_(in, result); }

  Compute compute_;
};

/// The layer that calls compute(in, result): in[k] is the k-th input. They share no memory.
template <typename Compute>
LayerResult make_float_layer(Span<const TensorDesc> inputs, Span<const TensorDesc> outputs,
                             Compute compute) {
  return std::unique_ptr<CpuLayer>(new FloatLayer<Compute>(inputs, outputs[0], std::move(compute)));
}

/// The cost of such a layer, which looks at `taps` elements for each of its results. What
/// compute() has beside its inputs and its result is the layer's own to add.
Cost float_layer_cost(Span<const TensorDesc> inputs, Span<const TensorDesc> outputs,
                      uint64_t taps = 1);

/// Elements from one index of an axis to the next, per axis.
using Strides = std::array<int64_t, Shape::kMaxRank>;

/// The strides of an array of that shape itself.
Strides strides_of(const Shape& shape);
/// The strides of an operand whose dimensions of 1 (and those that it lacks in front) repeat to
/// `to`.
Strides broadcast_strides(const Shape& from, const Shape& to);

/// Calls visit(index) for each row along the last axis; `index` is that of every other axis.
template <typename Visit>
void for_each_row(const Shape& shape, Visit visit) {
  const int last = shape.rank - 1;
  const int64_t rows = shape.elements() / shape[last];
  int index[Shape::kMaxRank] = {};
  for (int64_t row = 0; row < rows; ++row) {
    visit(static_cast<const int*>(index));
    for (int i = last - 1; i >= 0 && ++index[i] == shape[i]; --i) index[i] = 0;
  }
}

/// Calls visit(offset) for each index of `shape` in row-major order; the offset is `first` and
/// follows `strides`.
template <typename Visit>
void walk(const Shape& shape, const Strides& strides, int64_t first, Visit visit) {
  const int last = shape.rank - 1;
  const int64_t step = nth(strides, last);
  for_each_row(shape, [&](const int* index) {
    int64_t at = first;
    for (int i = 0; i < last; ++i) at += index[i] * nth(strides, i);
    for (int k = 0; k < shape[last]; ++k) visit(at + k * step);
  });
}

/// An array taken apart along some of its axes: each of `outer` begins a group, whose elements lie
/// at `inner` from there. Both are in row-major order.
struct Groups {
  std::vector<uint32_t> outer, inner;
};
Groups group_along(const Shape& shape, const std::vector<int>& axes);

/// Axes that are given, each once and below `rank`, in `axes`; else all of them.
Result<std::vector<int>> axes_or_all(const std::vector<int>& axes, int rank);

}  // namespace dvnn::layers
