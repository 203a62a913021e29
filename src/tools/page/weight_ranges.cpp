// SPDX-License-Identifier: Apache-2.0
#include "tools/page/weight_ranges.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace dvnn::tools {

WeightRange weight_range(const network::Model& model, const network::Step& step) {
  WeightRange range;
  double squares = 0;
  size_t count = 0, zeros = 0;
  device::for_each_run(step.command, [&](const device::ConvRun& run, const device::RunWalk& walk) {
    if (run.conv == device::ConvKind::kNone) return;
    const PackedGeometry geometry = device::run_geometry(run, walk.in().c);
    // Generated sources have their weights in another file.
    if (run.weight_offset + packed_weights_size(geometry) > model.weights.size()) return;
    std::vector<float> weights(geometry.weights());
    std::vector<float> bias(geometry.outputs());
    unpack_weights(geometry, model.weights.data() + run.weight_offset, weights.data(), bias.data(),
                   nullptr);
    for (const float w : weights) {
      range.least = count ? std::min(range.least, w) : w;
      range.most = count ? std::max(range.most, w) : w;
      squares += double{w} * double{w};
      zeros += w == 0;
      ++count;
    }
    for (const float b : bias) range.largest_bias = std::max(range.largest_bias, std::fabs(b));
    range.quantised |= geometry.quantised;
  });
  if (count == 0) return range;
  range.known = true;
  range.rms = std::sqrt(squares / static_cast<double>(count));
  range.zeros = static_cast<double>(zeros) / static_cast<double>(count);
  return range;
}

}  // namespace dvnn::tools
