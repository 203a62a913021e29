// SPDX-License-Identifier: Apache-2.0
// Passes rewrite the graph. Each leaves a graph that computes the same outputs. Their order is that
// of two tables, unsized_passes() and sized_passes().
#pragma once

#include <type_traits>

#include "base/result.h"
#include "base/span.h"
#include "device/limits.h"
#include "layers/attributes/windows.h"
#include "plan/graph/graph.h"
#include "plan/plan.h"
#include "tensor/input_spec.h"

namespace dvnn::plan {

/// Drops nodes that no output needs.
void remove_unused(Graph* graph);

/// Replaces the steps of LayerNormalization and RMSNormalization, (x - mean) / sqrt(variance +
/// epsilon) in any of the forms that exporters write, by one layer.
void find_standards(Graph* graph);

/// Turns sequences of tokens into pictures of one row, on which products with known matrices are
/// 1x1 convolutions, together with the operations between two of these; merges attention into one
/// step, and turns patches that are too large for the device's kernels into pixels before they
/// become tokens.
Status turn_tokens(Graph* graph, const device::Limits& limits);

/// Turns zeros around a picture into pads of the convolution that alone reads them.
void fold_pads(Graph* graph);

/// Merges consecutive affine layers; one right after a convolution goes into its weights and bias.
void fold_affine(Graph* graph);

/// Merges an affine layer that alone reads the input into the input's mean and scale.
void fold_input_affine(Graph* graph, InputSpec* picture);

/// Turns a remaining affine layer into a 1x1 depthwise convolution if the device has its input.
void lower_affines(Graph* graph, const device::Limits& limits);

/// Turns activations that follow no convolution or addition into 1x1 depthwise convolutions, and
/// operations that do not suit the device into CPU layers.
Status lower_rest_to_cpu(Graph* graph, const device::Limits& limits);

/// Returns the CPU layer of an activation that no command does.
layers::ElementwiseAttributes activation_layer(const Node& node);

/// Lowers grouped convolutions: one group per channel becomes the device's depthwise kind; groups
/// of whole chunks of 8 channels become a convolution each; others one dense convolution, with
/// zeros between the groups, or the CPU's if that would be large.
void lower_groups(Graph* graph);

/// Returns how a convolution is computed in FP32.
layers::ConvolutionParams convolution_params(const Node& node);
/// Makes a convolution the CPU's.
void to_cpu_convolution(Node* node);

/// Merges chains of reshapes and permutations into one move, or one reshape.
void merge_moves(Graph* graph);

/// Splits kernels of up to twice the device's length along one axis or both: the sum of two or four
/// convolutions by some taps each. `options.as_vendor`: leaves them to fit_device().
Status split_large_kernels(Graph* graph, const PlanOptions& options);

/// Fits nodes to the device's limits: those that work pixel by pixel count pixels in another width
/// and height; windows over pictures become strips, which overlap; others become CPU layers. With
/// `options.as_vendor`, a picture or a number of channels beyond a limit is an error.
Status fit_device(Graph* graph, const PlanOptions& options);

/// Fits a node's future command to the limits, if necessary by Node::fold. Returns false if that is
/// impossible.
bool fold(Node* node, const Graph& graph, const device::Limits& limits);

/// Turns a pooling into a CPU layer. `out`: shape of its result.
void to_cpu_pooling(Node* node, const Shape& out);

/// Lowers poolings: Caffe's rounding becomes pads on the right and at the bottom; windows beyond
/// the device's become several poolings if these compute the same; others become CPU layers.
Status lower_poolings(Graph* graph, const device::Limits& limits);

/// Turns a pooling over channels with windows of one element into a slice with steps, and drops the
/// permutations around it.
void slice_steps(Graph* graph);

/// Follows shuffles, splits and space to depth: convolutions read channels where they are; for
/// other readers one step moves them.
void move_channels(Graph* graph, const device::Limits& limits);

/// Leaves out channels that no output needs, by whole chunks: all weights that read them are zero,
/// or they are zero themselves. `report` may be null.
void drop_unread_channels(Graph* graph, PlanReport* report);

/// Merges convolutions of one value with few channels each that only the CPU reads, and likewise
/// the convolutions that work on each of these channels alone.
void merge_siblings(Graph* graph);

/// Merges elementwise functions on the CPU with those around them into one step.
void fuse_elementwise(Graph* graph);

/// Moves sums, activations and maximum poolings into the convolution (or sum, or average pooling)
/// before them, if the device's order of operations allows it.
void fuse_commands(Graph* graph, const device::Limits& limits);

/// Moves an activation or affine layer after concatenated convolutions into each of them.
void split_at_concat(Graph* graph);

/// Moves a maximum pooling after concatenated convolutions into each of them.
Status pool_before_concat(Graph* graph);

/// Merges convolutions and poolings of one input, each alone or two in a row, that are concatenated
/// along channels, into one command of several runs, if all of it fits the unified buffer.
void merge_branches(Graph* graph, const device::Limits& limits);

/// Turns fully connected layers into 1x1 convolutions over one pixel.
Status lower_inner_products(Graph* graph, bool hwc);

/// Stores values whose measured largest magnitude exceeds binary16 divided by a power of two.
/// Returns how many.
int rescale(Graph* graph, const std::vector<float>& largest);

/// Returns whether a node's result depends on small differences between its inputs' elements: a
/// comparison, a difference, a choice.
bool chooses(const Node& node);

/// Rounds all inputs of a comparison or choice at the same place, whichever way they came; else a
/// value would differ from itself. Poolings in between become CPU layers if that avoids the
/// rounding; otherwise the value is rounded for all its readers.
void keep_precision(Graph* graph, bool hwc);

/// The graph that passes rewrite, and their arguments. `picture`: the input's mean and scale; null
/// for the passes that depend on sizes. `report` may be null.
struct PassTarget {
  Graph* graph;
  InputSpec* picture;
  const PlanOptions* options;
  PlanReport* report = nullptr;
};

/// A row of a table: a pass, and what it does, in the words of docs/converter.md.
struct Pass {
  const char* name;
  const char* does;
  Status (*run)(const PassTarget& target);
};

/// Returns the passes that do not depend on sizes. After them, the graph can be saved and planned
/// for another size.
Span<const Pass> unsized_passes();

/// Returns the passes that depend on sizes.
Span<const Pass> sized_passes();

/// Runs the passes one after the other. Returns early, with an error, if planning is cancelled.
Status run_passes(Span<const Pass> passes, const PassTarget& target);

// Adapts passes to the tables' rows: a pass takes only those members of a PassTarget that it needs.

/// Calls a pass, which returns a Status or nothing.
template <auto pass, typename... Arguments>
Status call_pass(Arguments&&... arguments) {
  if constexpr (std::is_void_v<std::invoke_result_t<decltype(pass), Arguments...>>) {
    pass(std::forward<Arguments>(arguments)...);
    return {};
  } else {
    return pass(std::forward<Arguments>(arguments)...);
  }
}

/// Gives a pass the graph and, if it takes one, the picture, the report, the limits, the options,
/// or whether buffers are in the order HWC.
template <auto pass>
Status run_pass(const PassTarget& target) {
  using Function = decltype(pass);
  const PlanOptions& options = *target.options;
  if constexpr (std::is_invocable_v<Function, Graph*>) {
    return call_pass<pass>(target.graph);
  } else if constexpr (std::is_invocable_v<Function, Graph*, InputSpec*> &&
                       !std::is_invocable_v<Function, Graph*, bool>) {
    return call_pass<pass>(target.graph, target.picture);
  } else if constexpr (std::is_invocable_v<Function, Graph*, PlanReport*> &&
                       !std::is_invocable_v<Function, Graph*, bool>) {
    return call_pass<pass>(target.graph, target.report);
  } else if constexpr (std::is_invocable_v<Function, Graph*, const device::Limits&>) {
    return call_pass<pass>(target.graph, options.limits);
  } else if constexpr (std::is_invocable_v<Function, Graph*, const PlanOptions&>) {
    return call_pass<pass>(target.graph, options);
  } else {
    return call_pass<pass>(target.graph, options.hwc);
  }
}

}  // namespace dvnn::plan
