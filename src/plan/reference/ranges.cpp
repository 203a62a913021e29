// SPDX-License-Identifier: Apache-2.0
#include "plan/reference/ranges.h"

#include <algorithm>
#include <cmath>

#include "base/nth.h"
#include "plan/reference/reference.h"
#include "plan/reference/samples.h"

namespace dvnn::plan {

Result<std::vector<float>> measure_ranges(const Graph& graph, const PlanOptions& options,
                                          const InputSpec& picture) {
  if (!can_be_measured(graph)) return std::vector<float>();
  DVNN_ASSIGN(const auto samples, sample_inputs(graph, options, picture));
  DVNN_ASSIGN(const auto reference, Reference::over(graph));
  std::vector<float> largest(graph.values.size(), 0.0f);
  // A state takes some frames to grow from its zeros.
  constexpr size_t kFrames = 8;
  const size_t frames =
      graph.extra_inputs.empty() ? samples.size() : std::max(samples.size(), kFrames);
  for (size_t frame = 0; frame < frames; ++frame) {
    DVNN_TRY(check_cancelled(options.cancellation));
    const auto see = [&](int value, const std::vector<float>& numbers) {
      float& most = nth(largest, value);
      for (float v : numbers) {
        if (std::isfinite(v)) most = std::max(most, std::fabs(v));
      }
    };
    DVNN_TRY(reference->run_past(samples[frame % samples.size()].data(), see));
    reference->keep_states();
  }
  return largest;
}

}  // namespace dvnn::plan
