// SPDX-License-Identifier: Apache-2.0
#include "plan/passes/passes.h"

namespace dvnn::plan {

Status run_sized_passes(Graph* graph, const PlanOptions& options) {
  // A pass over the largest graph takes a tenth of a second.
  const auto go_on = [&] { return check_cancelled(options.cancellation); };
  DVNN_TRY(go_on());
  DVNN_TRY(fit_device(graph, options));
  DVNN_TRY(go_on());
  DVNN_TRY(lower_poolings(graph, options.limits));
  DVNN_TRY(go_on());
  DVNN_TRY(lower_inner_products(graph, options.hwc));
  DVNN_TRY(go_on());
  fuse_elementwise(graph);
  DVNN_TRY(go_on());
  lower_affines(graph, options.limits);
  DVNN_TRY(go_on());
  DVNN_TRY(pool_before_concat(graph));
  DVNN_TRY(go_on());
  fuse_commands(graph, options.limits);
  DVNN_TRY(go_on());
  merge_branches(graph, options.limits);
  DVNN_TRY(go_on());
  DVNN_TRY(lower_rest_to_cpu(graph, options.limits));
  DVNN_TRY(go_on());
  keep_precision(graph, options.hwc);
  return {};
}

}  // namespace dvnn::plan
