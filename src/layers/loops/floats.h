// SPDX-License-Identifier: Apache-2.0
// For layers whose results depend on elements at several places (spans.h serves single elements,
// blocks.h one axis, moves.h pure movement): they compute on row-major floats. FloatReader and
// FloatWriter convert tensors of any type and layout: row-major floats are used in place, others go
// through the slot's workspace, in tiles that threads share. make_float_layer() makes a layer of a
// function of whole tensors. The walks iterate over row-major arrays.
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
#include "tensor/half.h"
#include "tensor/tensor.h"

namespace dvnn::layers {

inline TensorDesc plain_float(const Shape& shape) {
  return {ElementType::kFloat32, Layout::kNchw, shape};
}

inline bool is_plain_float(const TensorDesc& desc) {
  return desc.type == ElementType::kFloat32 && desc.layout == Layout::kNchw;
}

/// Returns the form in which a tensor's elements are moved and computed with: floats of either size
/// as they are, bytes as floats.
inline TensorDesc moved_form(const TensorDesc& desc) {
  return is_float(desc.type) ? desc : plain_float(desc.shape);
}

/// Returns the tensor in that form, valid until the layer's run ends.
inline const uint8_t* read_moved(const ConstTensorView& view) {
  if (is_float(view.desc.type)) return view.data;
  float* const floats = Workspace::current().floats(view.desc.shape.count());
  read_nchw(view, floats);
  return reinterpret_cast<const uint8_t*>(floats);
}

/// Returns memory for a result in that form; finish_moved() converts it to the tensor.
inline uint8_t* begin_moved(const TensorView& view) {
  if (is_float(view.desc.type)) return view.data;
  return Workspace::current().bytes(moved_form(view.desc).bytes());
}

inline void finish_moved(const uint8_t* made, const TensorView& view) {
  if (!is_float(view.desc.type)) write_nchw(reinterpret_cast<const float*>(made), view);
}

/// Returns elements at..at+count-1 of a tensor of floats, in memory order: in place, or converted
/// to `room`.
inline const float* span_of(const ConstTensorView& view, size_t at, size_t count, float* room) {
  if (view.desc.type == ElementType::kFloat32) {
    return reinterpret_cast<const float*>(view.data) + at;
  }
  half_to_float(reinterpret_cast<const half_t*>(view.data) + at, room, count);
  return room;
}

/// Writes elements at..at+count-1 of such a tensor.
inline void put_span(const float* floats, const TensorView& view, size_t at, size_t count) {
  if (view.desc.type == ElementType::kFloat32) {
    std::copy(floats, floats + count, reinterpret_cast<float*>(view.data) + at);
  } else {
    float_to_half(floats, reinterpret_cast<half_t*>(view.data) + at, count);
  }
}

/// Returns whether elements at the same place in memory have the same index in both tensors.
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
  /// Returns the tensor as floats, valid until the layer's run ends.
  const float* read(const ConstTensorView& view) const {
    if (count_ == 0) return reinterpret_cast<const float*>(view.data);
    return copy(view, Workspace::current().floats(count_));
  }
  /// As read(), but always copies to `to`.
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
  /// As begin(), for a result that is written while the inputs, which may share its memory, are
  /// read.
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
  size_t count_;        // 0: the tensor's memory is used
  bool apart_ = false;  // the result overlaps an input, so its memory is not used
  float* floats_ = nullptr;
  std::optional<Moves> moves_;
};

/// The common part of layers on floats.
class FloatTensors : public CpuLayer {
 public:
  FloatTensors(Span<const TensorDesc> inputs, const TensorDesc& output);
  ~FloatTensors() override;
  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) final;
  void input_will_stay(size_t i) final { stays_[i] = true; }

 protected:
  /// Returns whether input `i` has the same contents in all runs.
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

/// Creates a layer that calls compute(in, result): in[k] is input k. No two share memory.
template <typename Compute>
LayerResult make_float_layer(Span<const TensorDesc> inputs, Span<const TensorDesc> outputs,
                             Compute compute) {
  return std::unique_ptr<CpuLayer>(new FloatLayer<Compute>(inputs, outputs[0], std::move(compute)));
}

/// Returns the cost of such a layer, which reads `taps` elements for each result. The layer adds
/// the memory that compute() needs besides inputs and result.
Cost float_layer_cost(Span<const TensorDesc> inputs, Span<const TensorDesc> outputs,
                      uint64_t taps = 1);

/// Elements from one index of an axis to the next, for each axis.
using Strides = std::array<int64_t, Shape::kMaxRank>;

/// Returns the strides of a row-major array of that shape.
Strides strides_of(const Shape& shape);
/// Returns the strides of an operand of shape `from` whose dimensions of 1, and missing ones in
/// front, repeat to shape `to`.
Strides broadcast_strides(const Shape& from, const Shape& to);

/// Calls visit(index) for each row along the last axis; `index` has the indices of the other axes.
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

/// Calls visit(offset) for each index of `shape` in row-major order; the offset begins at `first`
/// and follows `strides`.
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

/// Groups of elements along some axes: a group begins at each offset in `outer`, and has its
/// elements at the offsets `inner` from there. Both are in row-major order.
struct Groups {
  std::vector<uint32_t> outer, inner;
};
Groups group_along(const Shape& shape, const std::vector<int>& axes);

/// Returns `axes`, checked to be distinct and below `rank`, or all axes if it is empty.
Result<std::vector<int>> axes_or_all(const std::vector<int>& axes, int rank);

}  // namespace dvnn::layers
