// SPDX-License-Identifier: Apache-2.0
// Parameters of convolutions for the CPU's layers.
#include "plan/passes/passes.h"

namespace dvnn::plan {
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

void to_cpu_convolution(Node* node) {
  node->op = Op::kCpu;
  node->set_layer(
      layers::ConvolutionAttributes{convolution_params(*node), node->weights, node->bias});
}

}  // namespace dvnn::plan
