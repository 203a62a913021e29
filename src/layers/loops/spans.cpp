// SPDX-License-Identifier: Apache-2.0
#include "layers/loops/spans.h"

#include "base/numbers.h"
#include "layers/loops/floats.h"

namespace dvnn::layers {
namespace {

constexpr size_t kChunk = 8;  // channels

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
    // Joins an axis with the one before it if a step along that is as long as all steps along this.
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

Status Spans::check(Span<const TensorDesc> inputs, const TensorDesc& output) {
  const Shape& out = output.shape;
  for (const TensorDesc& input : inputs) {
    const Shape& shape = input.shape;
    if (shape.elements() == out.elements()) continue;
    bool fits = shape.rank <= out.rank;
    for (int i = 0; fits && i < shape.rank; ++i) {
      const int have = shape[shape.rank - 1 - i];
      fits = have == 1 || have == out[out.rank - 1 - i];
    }
    if (!fits) {
      return malformed("the input " + shape.to_string() + " does not repeat to " + out.to_string());
    }
  }
  return {};
}

Spans::Spans(Span<const TensorDesc> inputs, const TensorDesc& output,
             Span<const std::vector<float>> constants)
    : shape_(output.shape), count_(output.shape.count()) {
  in_memory_ = walks_memory(inputs, constants, output);
  out_in_step_ = in_memory_ || is_in_rows(output);
  for (size_t i = 0; i < inputs.size(); ++i) add_operand(i, inputs[i], nullptr);
  const int axis = channel_axis(shape_);
  for (const std::vector<float>& values : constants) {
    Shape shape;  // the channels, then 1 for each dimension behind them
    shape.rank = values.size() == 1 ? 1 : shape_.rank - axis;
    std::fill(shape.dims, shape.dims + shape.rank, 1);
    shape[0] = static_cast<int>(values.size());
    add_operand(0, plain_float(shape), values.data());
  }
  make_tasks();
  if (out_in_step_ || !is_float(output.type)) return;
  moves_.emplace(plain_float(output.shape), output);
  moves_->add(whole_part(output.shape));
}

// Returns whether an order other than rows, which may be memory's order, too, serves all tensors.
bool Spans::walks_memory(Span<const TensorDesc> inputs, Span<const std::vector<float>> constants,
                         const TensorDesc& output) const {
  const Layout layout = plain_layout(output);
  if (layout == Layout::kNchw || !is_float(output.type)) return false;
  // With a single chunk, the other layouts have the same order.
  const bool in_chunks = lies_in_chunks(layout) || shape_.c() <= static_cast<int>(kChunk);
  for (const std::vector<float>& values : constants) {
    if (values.size() != 1 && !in_chunks) return false;
  }
  return std::all_of(inputs.begin(), inputs.end(), [&](const TensorDesc& input) {
    const Shape& shape = input.shape;
    if (shape.elements() == shape_.elements()) return lie_in_step(input, output);
    return shape.elements() == 1 || (in_chunks && is_per_channel(shape, shape_));
  });
}

void Spans::add_operand(size_t input, const TensorDesc& desc, const float* values) {
  Operand operand = {Kind::kSingle, input, values, {}, {}};
  if (!values && desc.shape.elements() == shape_.elements()) {
    operand.kind = in_memory_ || is_in_rows(desc) ? Kind::kInStep : Kind::kRows;
  } else if (desc.shape.elements() != 1) {
    operand.kind = in_memory_ ? Kind::kChannels : Kind::kRepeated;
    if (!in_memory_) operand.places.emplace(desc.shape, shape_);
  }
  if (!values && operand.kind != Kind::kInStep) operand.reader.emplace(desc);
  operands_.push_back(std::move(operand));
}

void Spans::make_tasks() {
  const bool chunked = std::any_of(operands_.begin(), operands_.end(),
                                   [](const Operand& o) { return o.kind == Kind::kChannels; });
  if (!chunked) return add_tasks(0, count_, 0, 1);
  const size_t all = shape_.channels();
  size_t at = 0;
  for (int n = 0; n < shape_.n(); ++n) {
    for (size_t c = 0; c < all; c += kChunk) {
      const size_t channels = std::min(kChunk, all - c);
      add_tasks(at, shape_.pixels() * channels, c, channels);
      at += shape_.pixels() * channels;
    }
  }
}

void Spans::add_tasks(size_t begin, size_t count, size_t first_channel, size_t channels) {
  constexpr size_t kTask = 16 * kElements;  // least elements that are worth a thread's time
  for (size_t done = 0; done < count; done += kTask) {
    tasks_.push_back({begin + done, std::min(kTask, count - done), first_channel, channels});
  }
}

bool Spans::begin(Span<const ConstTensorView> inputs, const TensorView& output) {
  bool apart = !out_in_step_;
  for (Operand& operand : operands_) {
    if (operand.reader) operand.values = operand.reader->read(inputs[operand.input]);
    if (operand.values && !operand.reader) continue;  // a constant
    // A span may overwrite the same span of an input, but no other.
    const ConstTensorView& input = inputs[operand.input];
    const bool same = operand.kind == Kind::kInStep && input.data == output.data &&
                      element_size(input.desc.type) == element_size(output.desc.type);
    apart = apart || (!same && share_memory(input, output));
  }
  return apart;
}

// Returns the operand's elements: in memory if they are there in the needed form, else in `room`.
// Elements that are the same in all spans of a task are written once.
const float* Spans::read(const Operand& operand, const Task& task, size_t first, size_t count,
                         Span<const ConstTensorView> inputs, float* room) const {
  const float* const values = operand.values;
  const size_t most = first == task.begin ? std::min(kElements, task.count) : 0;
  switch (operand.kind) {
    case Kind::kInStep:
      return span_of(inputs[operand.input], first, count, room);
    case Kind::kRows:
      return values + first;
    case Kind::kSingle:
      std::fill(room, room + most, values[0]);
      break;
    case Kind::kChannels:
      for (size_t k = 0; k < most; k += task.channels) {
        std::copy_n(values + task.first_channel, task.channels, room + k);
      }
      break;
    case Kind::kRepeated:
      operand.places->fill(values, first, count, room);
      break;
  }
  return room;
}

void Spans::write(const float* made, const TensorView& view) const {
  if (out_in_step_) {
    put_span(made, view, 0, count_);
  } else if (moves_) {
    moves_->run(reinterpret_cast<const uint8_t*>(made), view.data);
  } else {
    write_nchw(made, view);
  }
}

Cost spans_cost(Span<const TensorDesc> inputs, Span<const TensorDesc> outputs) {
  Cost cost = one_look(inputs, outputs);
  // Floats of all tensors, even of float tensors, because their order may differ.
  cost.shared_bytes = 0;
  return cost.borrow_floats(saturating_sum(elements_of(inputs), elements_of(outputs)));
}

int channel_axis(const Shape& shape) {
  return std::min(1, shape.rank - 1);
}

bool is_per_channel(const Shape& shape, const Shape& whole) {
  const int axis = channel_axis(whole);
  if (shape.rank > whole.rank || shape.elements() != whole[axis]) return false;
  const int at = axis - (whole.rank - shape.rank);
  return at >= 0 && shape[at] == whole[axis];
}

DimsResult broadcast_dims(Span<const Shape> inputs) {
  std::vector<int64_t> dims;
  for (const Shape& shape : inputs) {
    const size_t rank = shape.axes();
    if (dims.size() < rank) dims.insert(dims.begin(), rank - dims.size(), 1);
    for (size_t i = 0; i < rank; ++i) {
      int64_t& d = dims[dims.size() - rank + i];
      const int64_t own = shape[static_cast<int>(i)];
      if (own != d && own != 1 && d != 1) {
        return unsupported(inputs[0].to_string() + " and " + shape.to_string() +
                           " do not go together");
      }
      d = std::max(d, own);
    }
  }
  return dims;
}

}  // namespace dvnn::layers
