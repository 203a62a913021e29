// SPDX-License-Identifier: Apache-2.0
// Convolutions that the device cannot do.
#include "base/format.h"
#include "device/limits.h"
#include "plan/passes/passes.h"

namespace dvnn::plan {
namespace {

using device::kMaxKernel;

// The reason why the device cannot do a convolution; empty if it can.
std::string why_not(const Node& node, const Shape& in) {
  const device::ConvRun& run = node.run;
  if (run.kernel.x > kMaxKernel || run.kernel.y > kMaxKernel) {
    return format("the kernel of %d x %d exceeds the device's %d x %d", run.kernel.x, run.kernel.y,
                  kMaxKernel, kMaxKernel);
  }
  const device::Dims dims = {in.w(), in.h(), in.c()};
  if (const char* problem = device::dilation_problem(run, dims)) return problem;
  if (device::count_tiles(run, dims, false, device::kUnifiedBufferBytes) > 0) return "";
  return format(
      "an input of %d x %d x %d (width x height x channels) does not fit the device's "
      "unified buffer of %d bytes",
      dims.w, dims.h, dims.c, device::kUnifiedBufferBytes);
}

}  // namespace

layers::ConvolutionParams convolution_params(const Node& node) {
  const device::ConvRun& run = node.run;
  layers::ConvolutionParams p;
  p.groups = node.groups;
  p.kernel_x = run.kernel.x, p.kernel_y = run.kernel.y;
  p.stride_x = run.stride.x, p.stride_y = run.stride.y;
  p.dilation_x = run.dilation.x, p.dilation_y = run.dilation.y;
  p.left = run.conv_pad.left, p.top = run.conv_pad.top;
  p.transposed =
      run.conv == device::ConvKind::kDeconv || run.conv == device::ConvKind::kDepthwiseDeconv;
  return p;
}

void lower_convolutions(Graph* graph) {
  for (Node& node : graph->nodes) {
    if (node.op != Op::kConvolution) continue;
    const std::string why = why_not(node, graph->shape_of(node.inputs[0]));
    if (why.empty()) continue;
    node.op = Op::kCpu;
    node.why = why;
    node.set_layer(
        layers::ConvolutionAttributes{convolution_params(node), node.weights, node.bias});
  }
}

}  // namespace dvnn::plan
