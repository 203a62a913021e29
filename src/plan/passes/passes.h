// SPDX-License-Identifier: Apache-2.0
// Rewrites of the graph. Each leaves a graph that computes the same outputs. Their order is that of
// two tables, unsized_passes() and sized_passes().
#pragma once

#include "base/result.h"
#include "base/span.h"
#include "device/limits.h"
#include "layers/windows/convolution.h"
#include "plan/graph/graph.h"
#include "plan/options.h"
#include "tensor/input_spec.h"

namespace dvnn::plan {

/// Drops nodes that no output needs.
void remove_unused(Graph* graph);

/// Sequences of tokens become pictures of one row, on which products with known matrices are 1x1
/// convolutions, and what stands between two of them follows; attention becomes one step, and
/// patches too large for the device's kernels become pixels before they are tokens.
Status turn_tokens(Graph* graph, const device::Limits& limits);

/// Zeros around an image become pads of the convolution that is their only reader.
void fold_pads(Graph* graph);

/// Consecutive affine layers become one; one right after a convolution goes into its weights and
/// bias.
void fold_affine(Graph* graph);

/// An affine layer that is the input's only reader goes into the input's mean and scale.
void fold_input_affine(Graph* graph, InputSpec* picture);

/// A remaining affine layer becomes a 1x1 depthwise convolution if the device has its input.
void lower_affines(Graph* graph, const device::Limits& limits);

/// Activations that follow no convolution or addition become 1x1 depthwise convolutions, and what
/// does not suit the device becomes CPU layers.
Status lower_rest_to_cpu(Graph* graph, const device::Limits& limits);

/// The CPU layer that an activation is where no command takes it.
layers::ElementwiseAttributes activation_layer(const Node& node);

/// Grouped convolutions: one group per channel is the device's depthwise kind; groups of whole
/// chunks of 8 channels become a convolution each; others one dense convolution, with zeros between
/// the groups.
void lower_groups(Graph* graph);

/// Returns how a convolution is computed in FP32.
layers::ConvolutionParams convolution_params(const Node& node);

/// What exceeds a limit of the device: what works pixel by pixel counts its pixels in another width
/// and height; windows over pictures become strips, with what they share; the rest becomes CPU
/// layers. Where `options.as_vendor`, a picture or a number of channels beyond a limit is an error.
Status fit_device(Graph* graph, const PlanOptions& options);

/// Lets the command that a node will be fit the limits, if need be by Node::fold. False if it
/// cannot.
bool fold(Node* node, const Graph& graph, const device::Limits& limits);

/// The node becomes a CPU layer. Of a pooling that has `out` as its result's shape.
void to_cpu_convolution(Node* node);
void to_cpu_pooling(Node* node, const Shape& out);

/// Poolings: Caffe's rounding becomes pads on the right and at the bottom; windows beyond the
/// device's are split into several poolings where that computes the same; the rest goes to the CPU.
Status lower_poolings(Graph* graph, const device::Limits& limits);

/// A pooling over channels whose windows are single elements becomes a slice with steps, and the
/// permutations around it go.
void slice_steps(Graph* graph);

/// Shuffles, splits and space to depth: convolutions take channels from where they are; what else
/// reads them gets them in one step.
void move_channels(Graph* graph, const device::Limits& limits);

/// Convolutions of one value whose few channels only the CPU reads become one, and so do those that
/// work on each of these channels alone.
void merge_siblings(Graph* graph);

/// Functions of single elements that the CPU computes become one step with those around them.
void fuse_elementwise(Graph* graph);

/// Sums, activations and maximum poolings move into the convolution (or sum, or average pooling)
/// before them, where the device's order of operations allows it.
void fuse_commands(Graph* graph, const device::Limits& limits);

/// An activation or affine layer after concatenated convolutions moves into each of them.
void split_at_concat(Graph* graph);

/// A maximum pooling after concatenated convolutions moves into each of them.
Status pool_before_concat(Graph* graph);

/// Convolutions and poolings of one input, each alone or two in a row, that are concatenated along
/// channels become one command of several runs, if all of it fits the unified buffer.
void merge_branches(Graph* graph, const device::Limits& limits);

/// Fully connected layers become 1x1 convolutions over one pixel.
Status lower_inner_products(Graph* graph, bool hwc);

/// Values whose measured largest magnitude exceeds binary16 are stored divided by a power of two.
/// Returns how many.
int rescale(Graph* graph, const std::vector<float>& largest);

/// Returns whether a node's result depends on small differences between its inputs' elements: a
/// comparison, a difference, a choice.
bool chooses(const Node& node);

/// What a comparison or choice reads has been rounded at the same place whichever way it came; else
/// a value would differ from itself. The poolings in between become CPU layers where that spares
/// the rounding, and the value is rounded for all its readers where it does not.
void keep_precision(Graph* graph, bool hwc);

/// What a pass rewrites. `picture` is the input's mean and scale; null for the passes that depend
/// on sizes.
struct PassTarget {
  Graph* graph;
  InputSpec* picture;
  const PlanOptions* options;
};

/// A row: a pass, and what it does, which docs/converter.md says in the same words.
struct Pass {
  const char* name;
  const char* does;
  Status (*run)(const PassTarget& target);
};

/// The passes that do not depend on sizes. The graph after them can be saved and planned for
/// another size.
Span<const Pass> unsized_passes();

/// The passes that depend on sizes.
Span<const Pass> sized_passes();

/// Runs the passes one after the other. Ends early, with an error, where planning is cancelled.
Status run_passes(Span<const Pass> passes, const PassTarget& target);

}  // namespace dvnn::plan
