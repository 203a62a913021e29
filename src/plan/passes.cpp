// SPDX-License-Identifier: Apache-2.0
#include "plan/passes.h"

namespace dvnn::plan {

void run_unsized_passes(Graph* graph, InputSpec* picture) {
  remove_unused(graph);
  fold_pads(graph);
  lower_groups(graph);
  split_at_concat(graph);
  fold_affine(graph);
  fold_input_affine(graph, picture);
}

Status run_sized_passes(Graph* graph, const PlanOptions& options) {
  lower_convolutions(graph);
  DVNN_TRY(lower_poolings(graph));
  DVNN_TRY(lower_inner_products(graph, options.y_major));
  lower_affines(graph);
  DVNN_TRY(pool_before_concat(graph));
  fuse_commands(graph, options.ub_size);
  merge_branches(graph, options.ub_size);
  return lower_leftovers(graph);
}

}  // namespace dvnn::plan
