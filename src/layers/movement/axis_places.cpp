// SPDX-License-Identifier: Apache-2.0
#include "layers/movement/axis_places.h"

#include <algorithm>
#include <cstdlib>

#include "base/nth.h"
#include "layers/float_layer.h"
#include "layers/move_layer.h"
#include "layers/strides.h"

namespace dvnn::layers {
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
    for (; k < size && nth(places, k) == from + series.step * series.count; ++k) ++series.count;
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
