// SPDX-License-Identifier: Apache-2.0
#include "plan/passes/passes.h"

namespace dvnn::plan {

void run_unsized_passes(Graph* graph, InputSpec* picture) {
  remove_unused(graph);
  fold_pads(graph);
  lower_groups(graph);
  split_at_concat(graph);
  fold_affine(graph);
  fold_input_affine(graph, picture);
  slice_steps(graph);
  move_channels(graph);
  merge_siblings(graph);
}

}  // namespace dvnn::plan
