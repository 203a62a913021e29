// SPDX-License-Identifier: Apache-2.0
#include "plan/size_advice.h"

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "base/nth.h"

namespace dvnn::plan {
namespace {

constexpr double kMostStride = 1024;  // of any model; larger numbers are no sizes of images

double stride_of_layer(const Node& node) {
  if (const auto* resize = node.layer<layers::ResizeAttributes>()) {
    if (resize->scales.empty() || !(resize->scales.back() > 0)) return 1;
    return 1 / static_cast<double>(resize->scales.back());
  }
  if (const auto* pool = node.layer<layers::WindowPoolAttributes>()) {
    return pool->stride.empty() ? 1 : pool->stride.back();
  }
  if (const auto* pool = node.layer<layers::PoolingAttributes>()) {
    return pool->global ? 1 : pool->x.stride;
  }
  if (const auto* slice = node.layer<layers::SliceAttributes>()) {
    return slice->step.size() == 4 ? std::max(slice->step.back(), 1) : 1;
  }
  return 1;
}

// Returns by what factor a node's result is smaller than its input.
double stride_of(const Node& node) {
  const device::ConvRun& run = node.run;
  if (node.op == Op::kConvolution) {
    const double stride = std::max(run.stride.x, 1);
    return device::is_deconv(run.conv) ? 1 / stride : stride;
  }
  if (node.op == Op::kPooling && run.pool == device::PoolKind::kUpsample) return 0.5;
  if (node.op == Op::kPooling) return node.pooling().global ? 1 : std::max(run.pool_stride.x, 1);
  return node.op == Op::kCpu ? stride_of_layer(node) : 1;
}

}  // namespace

int largest_stride(const Graph& graph) {
  std::vector<double> strides(graph.values.size(), 1);
  double largest = 1;
  for (const Node& node : graph.nodes) {
    double stride = 0;
    for (int input : node.inputs) stride = std::max(stride, nth(strides, input));
    stride = std::min(stride * stride_of(node), kMostStride);
    if (stride <= 0) continue;  // computed from no image
    nth(strides, node.output) = stride;
    largest = std::max(largest, stride);
  }
  return static_cast<int>(std::lround(largest));
}

std::string size_advice(const Graph& graph, int width, int height) {
  const int stride = largest_stride(graph);
  if (width % stride == 0 && height % stride == 0) return "";
  auto nearest = [stride](int size) { return std::max((size + stride / 2) / stride, 1) * stride; };
  return format(": try a multiple of %d, such as --size %dx%d", stride, nearest(width),
                nearest(height));
}

}  // namespace dvnn::plan
