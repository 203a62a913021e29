// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/nth.h"
#include "layers/loops/floats.h"
#include "layers/loops/moves.h"
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

namespace {

// Indices `to`, `to` + 1, ..., whose places are `step` apart.
struct Series {
  int to, count, from, step;
};

std::vector<Series> series_of(const std::vector<int>& places) {
  std::vector<Series> all;
  const int size = static_cast<int>(places.size());
  for (int k = 0; k < size;) {
    const int from = nth(places, k);
    Series series = {k++, 1, from, 1};
    if (from == kOutside) continue;
    const int step = k < size && nth(places, k) != kOutside ? nth(places, k) - from : 1;
    if (std::abs(step) <= 1) series.step = step;
    for (; k < size && nth(places, k) != kOutside &&
           nth(places, k) == from + series.step * series.count;
         ++k) {
      ++series.count;
    }
    all.push_back(series);
  }
  return all;
}

// Adds each series of each axis with each of the others'.
void add_parts(const std::vector<std::vector<Series>>& series, MoveLayer* layer) {
  const size_t rank = series.size();
  std::vector<size_t> which(rank, 0);
  for (bool more = true; more;) {
    MovedPart part;
    for (size_t i = 0; i < rank; ++i) {
      const Series& one = series[i][which[i]];
      part.to[i] = one.to;
      part.count[i] = one.count;
      part.from[i] = one.from;
      part.step[i] = one.step;
      part.follows[i] = static_cast<int>(i);
    }
    layer->add(0, part);
    more = false;
    for (size_t i = rank; !more && i-- > 0;) {
      more = ++which[i] < series[i].size();
      if (!more) which[i] = 0;
    }
  }
}

void add_outside(const AxisPlaces& places, float value, MoveLayer* layer) {
  MovedPart::Axes begin = {}, count = {};
  for (size_t i = 0; i < places.size(); ++i) {
    const auto outside = std::count(places[i].begin(), places[i].end(), kOutside);
    const auto first = std::find_if(places[i].begin(), places[i].end(),
                                    [](int place) { return place != kOutside; });
    begin[i] = static_cast<int>(first - places[i].begin());
    count[i] = static_cast<int>(places[i].size()) - static_cast<int>(outside);
  }
  layer->add_border(begin, count, value);
}

// Element by element, for what would be too many parts.
LayerResult make_plain_layer(Span<const TensorDesc> inputs, Span<const TensorDesc> outputs,
                             AxisPlaces places) {
  return make_float_layer(
      inputs, outputs,
      [places = std::move(places), out = outputs[0].shape, strides = strides_of(inputs[0].shape)](
          const float* const* in, float* result) {
        for_each_row(out, [&](const int* index) {
          const float* from = in[0];
          for (size_t i = 0; i + 1 < places.size(); ++i) {
            from += nth(places[i], index[i]) * strides[i];
          }
          for (int place : places.back()) *result++ = from[place];
        });
      });
}

}  // namespace

LayerResult make_places_layer(Span<const TensorDesc> inputs, const TensorDesc& output,
                              AxisPlaces places, float value) {
  constexpr size_t kMostParts = 1024;
  std::vector<std::vector<Series>> series;
  size_t parts = 1;
  for (const std::vector<int>& axis : places) {
    series.push_back(series_of(axis));
    parts = std::min(kMostParts + 1, parts * series.back().size());
  }
  if (parts > kMostParts) return make_plain_layer(inputs, {&output, 1}, std::move(places));
  auto layer = std::make_unique<MoveLayer>(inputs, output);
  if (parts > 0) add_parts(series, layer.get());
  add_outside(places, value, layer.get());
  return std::unique_ptr<CpuLayer>(std::move(layer));
}

}  // namespace dvnn::layers
