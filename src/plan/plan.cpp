// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.h"

#include <algorithm>

#include "plan/graph/saved_graph.h"
#include "plan/passes/passes.h"
#include "plan/reference/measure.h"
#include "plan/replan.h"

namespace dvnn::plan {
namespace {

Status keep_in_range(Graph* graph, const PlanOptions& options, const InputSpec& picture,
                     PlanReport* report) {
  DVNN_ASSIGN(const std::vector<float> largest, measure_ranges(*graph, options, picture));
  const int rescaled = rescale(graph, largest);
  if (report) {
    report->rescaled = rescaled;
    for (float value : largest) report->largest = std::max(report->largest, value);
  }
  return {};
}

// Records the affine layer that passes have merged into the picture's mean and scale: (v / scale +
// mean - mean') scale'.
void tell_folded(const InputSpec& given, network::InputInfo* input) {
  const InputSpec& now = input->picture;
  if (given.mean == now.mean && given.scale == now.scale) return;
  for (size_t c = 0; c < now.mean.size(); ++c) {
    input->folded_scale.push_back(now.scale[c] / given.scale[c]);
    input->folded_bias.push_back((given.mean[c] - now.mean[c]) * now.scale[c]);
  }
}

}  // namespace

Result<network::Model> plan(Graph graph, const PlanOptions& options, InputSpec picture,
                            PlanReport* report) {
  const InputSpec given = picture;
  DVNN_TRY(run_passes(unsized_passes(), {&graph, &picture, &options, report}));
  if (options.rescale) DVNN_TRY(keep_in_range(&graph, options, picture, report));
  if (options.quantise && options.measure_bits) {
    DVNN_ASSIGN(const WeightBits bits, choose_weight_bits(&graph, options, picture));
    if (report) report->bits = bits;
  }
  network::SavedGraph saved;
  saved.graph = save_graph(&graph);
  DVNN_ASSIGN(network::Model model,
              plan_sized(std::move(graph), options, picture, std::move(saved), report));
  tell_folded(given, &model.input);
  return model;
}

}  // namespace dvnn::plan
