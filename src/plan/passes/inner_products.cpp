// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "base/nth.h"
#include "plan/passes/passes.h"
#include "plan/passes/rewriter.h"

namespace dvnn::plan {
namespace {

// Returns the address of each element of a 4-D tensor, in the order of its shape.
std::vector<size_t> places_of(const Shape& shape, Layout layout) {
  std::vector<size_t> places;
  for (int n = 0; n < shape.n(); ++n) {
    for (int c = 0; c < shape.c(); ++c) {
      for (int h = 0; h < shape.h(); ++h) {
        for (int w = 0; w < shape.w(); ++w) {
          places.push_back(static_cast<size_t>(element_offset(layout, shape, n, c, h, w)));
        }
      }
    }
  }
  return places;
}

}  // namespace

Status lower_inner_products(Graph* graph, bool hwc) {
  // For each value, the value before all reshapes; itself if no reshape makes it.
  std::vector<int> unshaped(graph->values.size());
  std::iota(unshaped.begin(), unshaped.end(), 0);
  for (Node& node : graph->nodes) {
    if (node.op == Op::kReshape) {
      nth(unshaped, node.output) = nth(unshaped, node.inputs[0]);
    }
    if (node.op != Op::kInnerProduct) continue;
    // A flattening before this layer does what the layer does anyway, so the layer reads the
    // picture before it.
    const int in = nth(unshaped, node.inputs[0]);
    const Shape shape = graph->shape_of(in);
    const size_t inputs = shape.count();
    FlatInput flat;
    if (shape.rank == 4 && shape.elements() > shape.c()) {
      // Weights follow the order of the picture's elements in the device's buffer.
      const std::vector<size_t> places = places_of(shape, hwc ? Layout::kHwc8 : Layout::kWhc8);
      std::vector<float> ordered(node.weights.size());
      for (size_t m = 0; m < node.run.outputs(); ++m) {
        for (size_t i = 0; i < inputs; ++i) {
          ordered[m * inputs + places[i]] = node.weights[m * inputs + i];
        }
      }
      node.weights = std::move(ordered);
      flat.reordered = true;
    }
    node.op = Op::kConvolution;
    node.run.conv = device::ConvKind::kConv;
    node.attributes = flat;
    node.inputs[0] = in;
  }
  // Drops reshapes without readers, the last one first, because only such ones may read the others.
  Rewriter rewriter(graph);
  for (size_t i = rewriter.count(); i-- > 0;) {
    const Node& node = rewriter.node(i);
    const bool unread = node.op == Op::kReshape && rewriter.readers(node.output) == 0;
    if (unread && !rewriter.is_output(node.output)) rewriter.take(i);
  }
  rewriter.finish();
  return {};
}

}  // namespace dvnn::plan
