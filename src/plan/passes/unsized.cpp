// SPDX-License-Identifier: Apache-2.0
// The passes that do not depend on sizes, in their order.
#include "plan/passes/passes.h"

namespace dvnn::plan {
namespace {

constexpr Pass kPasses[] = {
    {"remove_unused", "nodes that no output needs are dropped", run_pass<remove_unused>},
    {"find_standards",
     "LayerNormalization and RMSNormalization that were exported as the steps of their definition, "
     "or as Keras does as a line through each element, become one layer",
     run_pass<find_standards>},
    {"turn_tokens",
     "products of sequences with known matrices become 1x1 convolutions of pictures of one row, "
     "whose pixels are the tokens; what works on each token by itself, as LayerNormalization and "
     "GELU do, stays in that form between them; attention becomes one step, which also finds the "
     "tokens of windows where they lie",
     run_pass<turn_tokens>},
    {"fold_pads", "zeros around an image become pads of the convolution that reads it",
     run_pass<fold_pads>},
    {"lower_groups",
     "grouped convolutions become depthwise ones, one per group, dense ones with zeros between the "
     "groups, or the CPU's if these would be large",
     run_pass<lower_groups>},
    {"split_at_concat",
     "activations and affine layers after a concatenation move into each of its parts",
     run_pass<split_at_concat>},
    {"fold_affine", "BatchNorm, Scale, Mul and Add by constants go into weights",
     run_pass<fold_affine>},
    {"fold_input_affine", "what is left of them at the input goes into its mean and scale",
     run_pass<fold_input_affine>},
    {"drop_unread_channels",
     "channels that no output needs are left out, by whole chunks of 8, such as those of pruned "
     "networks whose weights are zero",
     run_pass<drop_unread_channels>},
    {"slice_steps", "poolings over channels whose windows are single elements become slices",
     run_pass<slice_steps>},
    {"move_channels",
     "channels that are shuffled, split, sliced or joined (ShuffleNet), and space to depth "
     "(YOLOX's "
     "\"focus\"), are followed to where they come from: a convolution takes them there, by zeros "
     "in "
     "its weights or by a larger kernel and stride, and what else reads them gets them in one step",
     run_pass<move_channels>},
    {"merge_siblings",
     "a detector's heads, convolutions of one value with a few channels each that only the CPU "
     "reads, become one convolution, as the device computes 8 channels at a time",
     run_pass<merge_siblings>},
};

}  // namespace

Span<const Pass> unsized_passes() {
  return kPasses;
}

}  // namespace dvnn::plan
