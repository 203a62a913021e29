// SPDX-License-Identifier: Apache-2.0
#include "plan/graph/graph.h"

#include <algorithm>

#include "base/format.h"
#include "tensor/tensor.h"

namespace dvnn::plan {

int Graph::add_value(const std::string& value_name, const Shape& shape) {
  values.push_back({value_name, shape});
  return static_cast<int>(values.size()) - 1;
}

std::vector<int> Graph::consumers(int value) const {
  std::vector<int> list;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const auto& in = nodes[i].inputs;
    if (!nodes[i].dead && std::find(in.begin(), in.end(), value) != in.end()) {
      list.push_back(static_cast<int>(i));
    }
  }
  return list;
}

bool Graph::is_input(int value) const {
  return value == input || std::any_of(extra_inputs.begin(), extra_inputs.end(),
                                       [&](const ExtraInput& e) { return e.value == value; });
}

bool Graph::is_output(int value) const {
  return std::find(outputs.begin(), outputs.end(), value) != outputs.end();
}

void Graph::sweep() {
  nodes.erase(std::remove_if(nodes.begin(), nodes.end(), [](const Node& n) { return n.dead; }),
              nodes.end());
}

namespace {

// A slice that counts backwards begins at a position that is right for one size only.
Status check_resizable(const Node& node) {
  const auto* slice = node.layer<layers::SliceAttributes>();
  if (slice && std::any_of(slice->step.begin(), slice->step.end(), [](int s) { return s < 1; })) {
    return unsupported("steps backwards, which holds for one size");
  }
  return {};
}

Status infer_shape(Graph* graph, Node* node) {
  DVNN_TRY(check_resizable(*node));
  DVNN_ASSIGN(const auto dims, dims_after(*graph, node));
  DVNN_ASSIGN(nth(graph->values, node->output).shape, checked_shape(dims));
  return {};
}

}  // namespace

std::vector<int64_t> dims_of(const Shape& shape) {
  return std::vector<int64_t>(shape.dims, shape.dims + shape.rank);
}

Result<Shape> checked_shape(const std::vector<int64_t>& dims) {
  if (dims.empty() || dims.size() > Shape::kMaxRank) {
    return too_large(format("%zu dimensions, not 1..%d", dims.size(), Shape::kMaxRank));
  }
  Shape shape;
  shape.rank = static_cast<int>(dims.size());
  int64_t elements = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 1 || dims[i] > kMaxTensorElements || (elements *= dims[i]) > kMaxTensorElements) {
      return too_large(format("dimension %zu is %lld; a tensor has 1 to %lld elements", i,
                              static_cast<long long>(dims[i]),
                              static_cast<long long>(kMaxTensorElements)));
    }
    shape.dims[i] = static_cast<int>(dims[i]);
  }
  return shape;
}

Status infer_shapes(Graph* graph, int channels, int height, int width,
                    const Cancellation* cancellation) {
  DVNN_ASSIGN(nth(graph->values, graph->input).shape, checked_shape({1, channels, height, width}));
  for (Node& node : graph->nodes) {
    DVNN_TRY(check_cancelled(cancellation));
    if (Status s = infer_shape(graph, &node); !s.ok()) {
      return s.error().within("layer '" + node.name + "'");
    }
  }
  return {};
}

}  // namespace dvnn::plan
