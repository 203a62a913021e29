// SPDX-License-Identifier: Apache-2.0
#include "layers/spans.h"

#include "layers/strides.h"

namespace dvnn::layers {
namespace {

bool is_in_rows(const TensorDesc& desc) {
  return is_float(desc.type) && plain_layout(desc) == Layout::kNchw;
}

}  // namespace

Repeated::Repeated(const Shape& from, const Shape& to) {
  const Strides strides = broadcast_strides(from, to);
  for (int i = 0; i < to.rank; ++i) {
    const size_t count = to.extent(i);
    const auto step = static_cast<size_t>(nth(strides, i));
    if (count == 1) continue;
    // One axis with the one before it, where a step along that is as far as all steps along this.
    if (!axes_.empty() && axes_.back().step == step * count) {
      axes_.back() = {axes_.back().count * count, step};
    } else {
      axes_.push_back({count, step});
    }
  }
  if (axes_.empty()) axes_.push_back({1, 0});
}

void Repeated::fill(const float* from, size_t begin, size_t count, float* to) const {
  const Axis& inner = axes_.back();
  size_t index[Shape::kMaxRank] = {};
  size_t row = begin / inner.count, at = 0;
  for (size_t i = axes_.size() - 1; i-- > 0; row /= axes_[i].count) {
    index[i] = row % axes_[i].count;
    at += index[i] * axes_[i].step;
  }
  size_t within = begin % inner.count;
  for (const float* const end = to + count; to < end;) {
    const size_t run = std::min(inner.count - within, static_cast<size_t>(end - to));
    const float* const first = from + at + within * inner.step;
    if (inner.step == 0) {
      std::fill(to, to + run, *first);
    } else {
      std::copy(first, first + run, to);
    }
    to += run;
    within = 0;
    for (size_t i = axes_.size() - 1; i-- > 0;) {
      at += axes_[i].step;
      if (++index[i] < axes_[i].count) break;
      at -= index[i] * axes_[i].step;
      index[i] = 0;
    }
  }
}

Spans::Spans(Span<const TensorDesc> inputs, const TensorDesc& output)
    : count_(output.shape.count()), out_in_rows_(is_in_rows(output)), whole_(inputs.size()) {
  for (const TensorDesc& input : inputs) {
    const bool repeats = input.shape.elements() != output.shape.elements();
    in_step_ = in_step_ && !repeats && lie_in_step(input, output);
  }
  if (in_step_) return;
  for (const TensorDesc& input : inputs) {
    const bool repeats = input.shape.elements() != output.shape.elements();
    operands_.push_back({!repeats && is_in_rows(input), repeats,
                         Repeated(input.shape, output.shape), FloatReader(input)});
  }
  if (!is_float(output.type)) return;
  moves_.emplace(plain_float(output.shape), output);
  moves_->add(whole_part(output.shape));
}

bool Spans::begin(Span<const ConstTensorView> inputs, const TensorView& output) {
  bool apart = !in_step_ && !out_in_rows_;
  for (size_t k = 0; k < inputs.size(); ++k) {
    const ConstTensorView& input = inputs[k];
    if (!in_step_ && !operands_[k].in_rows) whole_[k] = operands_[k].reader.read(input);
    // A span may be written where the same span has been read, but no other.
    const bool same = in_step_ && input.data == output.data && input.desc == output.desc;
    apart = apart || (!same && share_memory(input, output));
  }
  return apart;
}

void Spans::write(const float* made, const TensorView& view) const {
  if (in_step_) {
    put_span(made, view, 0, count_);
  } else if (moves_) {
    moves_->run(reinterpret_cast<const uint8_t*>(made), view.data);
  } else {
    write_nchw(made, view);
  }
}

Cost spans_cost(Span<const TensorDesc> inputs, Span<const TensorDesc> outputs) {
  // The result, where it must not lie where an input does.
  return one_look(inputs, outputs).borrow_floats(elements_of(outputs));
}

}  // namespace dvnn::layers
