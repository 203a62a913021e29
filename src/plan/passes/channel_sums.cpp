// SPDX-License-Identifier: Apache-2.0
#include "plan/passes/channel_sums.h"

#include <algorithm>
#include <optional>

#include "base/nth.h"
#include "plan/graph/saved_graph.h"

namespace dvnn::plan {
namespace {

// Returns how many channels a part may have, so that the fewest parts fit; empty if none does.
std::optional<int> channels_that_fit(const Node& node, const Shape& in,
                                     const device::Limits& limits) {
  constexpr auto kMost = static_cast<int>(network::kMostWeightParts) + 1;
  for (int parts = 2; parts <= kMost; ++parts) {
    const int channels = channels_of_part(in.c(), parts);
    if (channels >= in.c()) break;
    if (device::misfit(node.run, {in.w(), in.h(), channels}, limits).empty()) return channels;
  }
  return std::nullopt;
}

// Returns the weights (m, count, ky, kx) of the channels from `first` on.
std::vector<float> weights_of(const Node& node, int channels, int first, int count) {
  const size_t outputs = node.run.outputs(), all = node.weights.size() / outputs;
  const size_t taps = all / static_cast<size_t>(channels);
  std::vector<float> part;
  for (size_t m = 0; m < outputs; ++m) {
    const auto begin =
        node.weights.begin() + static_cast<ptrdiff_t>(m * all + static_cast<size_t>(first) * taps);
    part.insert(part.end(), begin, begin + static_cast<ptrdiff_t>(taps) * count);
  }
  return part;
}

}  // namespace

bool sum_over_channels(Rewriter* rewriter, size_t index, const device::Limits& limits) {
  const Node& whole = rewriter->node(index);
  if (whole.op != Op::kConvolution || whole.groups != 1 || whole.inputs.size() != 1 ||
      device::is_depthwise(whole.run.conv)) {
    return false;
  }
  const Shape in = rewriter->graph().shape_of(whole.inputs[0]);
  const Shape out = rewriter->graph().shape_of(whole.output);
  const auto channels = channels_that_fit(whole, in, limits);
  if (!channels) return false;
  const Node node = rewriter->take(index);
  int sum = -1;
  for (int first = 0; first < in.c(); first += *channels) {
    const int count = std::min(*channels, in.c() - first);
    const bool last = first + count == in.c();
    const std::string name = node.name + "_channels" + std::to_string(first);
    Node slice;
    slice.op = Op::kCpu;
    slice.name = name + "_in";
    slice.layers = node.layers;
    slice.set_layer(channels_from(first, count));
    slice.inputs = {node.inputs[0]};
    slice.output = rewriter->add_value(slice.name, {1, count, in.h(), in.w()});
    Node part = node;
    part.name = name;
    part.inputs = {slice.output};
    part.weights = weights_of(node, in.c(), first, count);
    part.part = first / *channels;
    part.parts = (in.c() + *channels - 1) / *channels;
    if (first > 0) std::fill(part.bias.begin(), part.bias.end(), 0.0f);
    part.output = rewriter->add_value(name, out);
    Node add;
    add.op = Op::kAdd;
    add.name = last ? node.name : name + "_sum";
    add.layers = node.layers;
    add.inputs = {part.output, sum};  // the part adds what is there already
    rewriter->insert_before(index, std::move(slice));
    rewriter->insert_before(index, std::move(part));
    if (first == 0) {
      sum = add.inputs[0];
    } else if (last) {
      add.output = node.output;
      rewriter->replace(index, std::move(add));
    } else {
      sum = add.output = rewriter->add_value(add.name, out);
      rewriter->insert_before(index, std::move(add));
    }
  }
  return true;
}

}  // namespace dvnn::plan
