// SPDX-License-Identifier: Apache-2.0
// The passes that depend on sizes and on the device's limits, in their order.
#include "plan/passes/passes.h"

namespace dvnn::plan {
namespace {

constexpr Pass kPasses[] = {
    {"merge_moves",
     "reshapes and permutations one after the other become one move (whole pixels where they can), "
     "or none",
     run_pass<merge_moves>},
    {"split_large_kernels",
     "a convolution of 8 to 14 elements along one axis becomes the sum of two, along both of four",
     run_pass<split_large_kernels>},
    {"fit_device",
     "what exceeds the device's limits is [reshaped, cut or left to the "
     "CPU](#beyond-the-devices-limits)",
     run_pass<fit_device>},
    {"lower_poolings",
     "poolings get the device's windows, in several steps if that computes the same (14 x 14 is 7 "
     "x 7 of 2 x 2, an average of 10 with a stride of 2 is 5 of 2)",
     run_pass<lower_poolings>},
    {"lower_inner_products",
     "fully connected layers become convolutions, with weights in the order of the device's "
     "buffers",
     run_pass<lower_inner_products>},
    {"fuse_elementwise",
     "functions of single elements that the CPU computes (SiLU, hard-swish, gates, products, sums "
     "around them) become one step, which reads and writes the device's own layout, and rounds "
     "once",
     run_pass<fuse_elementwise>},
    {"lower_affines", "affine layers that are left become 1x1 depthwise convolutions",
     run_pass<lower_affines>},
    {"pool_before_concat", "a maximum pooling after a concatenation moves into each of its parts",
     run_pass<pool_before_concat>},
    {"fuse_commands", "sums, activations and poolings join the command before them",
     run_pass<fuse_commands>},
    {"merge_branches",
     "convolutions and poolings of one input that are concatenated (Inception, fire modules) "
     "become "
     "runs of one command, if they fit the unified buffer",
     run_pass<merge_branches>},
    {"lower_rest_to_cpu", "what does not suit the device becomes CPU layers",
     run_pass<lower_rest_to_cpu>},
    {"keep_precision", "what is compared has been [rounded alike](#what-is-compared)",
     run_pass<keep_precision>},
};

}  // namespace

Span<const Pass> sized_passes() {
  return kPasses;
}

Status run_passes(Span<const Pass> passes, const PassTarget& target) {
  for (const Pass& pass : passes) {
    // One pass over the largest graph takes a tenth of a second.
    DVNN_TRY(check_cancelled(target.options->cancellation));
    DVNN_TRY(pass.run(target));
  }
  return {};
}

}  // namespace dvnn::plan
