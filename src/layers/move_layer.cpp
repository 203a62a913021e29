// SPDX-License-Identifier: Apache-2.0
#include "layers/move_layer.h"

#include <cstring>

#include "base/nth.h"
#include "layers/float_io.h"
#include "tensor/half.h"

namespace dvnn::layers {

MoveLayer::MoveLayer(Span<const TensorDesc> inputs, const TensorDesc& output)
    : output_(moved_form(output)), sources_(inputs.size()) {
  for (const TensorDesc& input : inputs) moves_.emplace_back(moved_form(input), output_);
}

void MoveLayer::add_border(const MovedPart::Axes& begin, const MovedPart::Axes& count,
                           float value) {
  if (output_.type == ElementType::kFloat16) {
    value_ = float_to_half(value);
  } else {
    std::memcpy(&value_, &value, sizeof value_);
  }
  const TensorDesc one = {output_.type, Layout::kNchw, {1}};
  border_.emplace_back(one, output_);
  const Shape& shape = output_.shape;
  MovedPart part;
  part.follows.fill(MovedPart::kStays);
  for (int i = 0; i < shape.rank; ++i) nth(part.count, i) = shape[i];
  // Slices before and after the box along each axis, within the box along the axes before it.
  for (int i = 0; i < shape.rank; ++i) {
    nth(part.to, i) = 0;
    nth(part.count, i) = nth(begin, i);
    border_[0].add(part);
    nth(part.to, i) = nth(begin, i) + nth(count, i);
    nth(part.count, i) = shape[i] - nth(part.to, i);
    border_[0].add(part);
    nth(part.to, i) = nth(begin, i);
    nth(part.count, i) = nth(count, i);
  }
}

const uint8_t* MoveLayer::source(const ConstTensorView& input,
                                 Span<const TensorView> outputs) const {
  const bool apart = !is_float(input.desc.type) || !share_memory(input, outputs[0]);
  if (apart) return read_moved(input);
  const size_t bytes = input.desc.bytes();
  uint8_t* const copy = Workspace::current().bytes(bytes);
  std::memcpy(copy, input.data, bytes);
  return copy;
}

Status MoveLayer::run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) {
  const TensorView& output = outputs[0];
  for (size_t i = 0; i < sources_.size(); ++i) sources_[i] = source(inputs[i], outputs);
  uint8_t* const to = begin_moved(output);
  for (const Moves& moves : border_) moves.run(reinterpret_cast<const uint8_t*>(&value_), to);
  for (size_t i = 0; i < sources_.size(); ++i) moves_[i].run(sources_[i], to);
  finish_moved(to, output);
  return {};
}

LayerResult make_move_layer(const TensorDesc& input, const TensorDesc& output,
                            const MovedPart& part) {
  auto layer = std::make_unique<MoveLayer>(Span<const TensorDesc>(&input, 1), output);
  layer->add(0, part);
  return std::unique_ptr<CpuLayer>(std::move(layer));
}

}  // namespace dvnn::layers
