// SPDX-License-Identifier: Apache-2.0
#include "plan/graph/graph.h"

#include <iterator>

#include "base/format.h"
#include "base/nth.h"

namespace dvnn::plan {
namespace {

using device::PoolKind;
using layers::count_windows;
using Dims = std::vector<int64_t>;

constexpr size_t kMaxInputs = 4096;

Error misfit(const std::string& message) {
  return {ErrorCode::kUnsupported, message};
}

const Shape& input_of(const Graph& graph, const Node& node, size_t i = 0) {
  return graph.shape_of(node.inputs[i]);
}

bool has_planes(const Shape& shape) {
  return shape.rank == 4 && shape.n() == 1;
}

Result<Dims> dims_of_none(const Graph&, Node*) {
  return Error{ErrorCode::kInternal, "is no operation of a front end"};
}

Result<Dims> dims_of_convolution(const Graph& graph, Node* node) {
  const Shape& in = input_of(graph, *node);
  if (!has_planes(in)) return misfit("needs a picture");
  const device::Dims out = device::conv_output(node->run, {in.w(), in.h(), in.c()});
  return Dims{1, out.c, out.h, out.w};
}

Result<Dims> dims_of_pooling(const Graph& graph, Node* node) {
  const Shape& in = input_of(graph, *node);
  if (!has_planes(in)) return misfit("needs a picture");
  device::ConvRun& run = node->run;
  if (run.pool == PoolKind::kUpsample) {
    return Dims{1, in.c(), int64_t{2} * in.h(), int64_t{2} * in.w()};
  }
  const PoolingRule rule = node->pooling();
  if (rule.global) {
    run.pool_size = {in.w(), in.h()};
    return Dims{1, in.c(), 1, 1};
  }
  const device::Pad& p = run.pool_pad;
  return Dims{
      1, in.c(),
      count_windows(in.h(), p.top, p.bottom, run.pool_size.y, run.pool_stride.y, rule.ceil),
      count_windows(in.w(), p.left, p.right, run.pool_size.x, run.pool_stride.x, rule.ceil)};
}

Result<Dims> dims_of_input(const Graph& graph, Node* node) {
  return dims_of(input_of(graph, *node));
}

Result<Dims> dims_of_sum(const Graph& graph, Node* node) {
  if (input_of(graph, *node) == input_of(graph, *node, 1)) return dims_of_input(graph, node);
  return misfit("adds what differs in size");
}

Result<Dims> dims_of_inner_product(const Graph& graph, Node* node) {
  const Shape& in = input_of(graph, *node);
  const auto* connection = node->as<FullConnection>();
  const int64_t inputs = connection ? connection->inputs : 0;
  if (in.elements() == inputs) return Dims{1, node->run.m};
  return misfit(format("is fully connected: it takes %lld numbers, not %s",
                       static_cast<long long>(inputs), in.to_string().c_str()));
}

// Checks and infers boxes on the grid of one value's pixels over the picture of another's.
Status follow_shapes(const Graph& graph, const std::vector<int>& values,
                     layers::PriorBoxAttributes* box) {
  for (size_t i = 0; i < values.size(); ++i) {
    const Shape& shape = graph.shape_of(values[i]);
    if (shape.rank != 4) return misfit("needs pictures");
    if (i == 0) {
      box->prior.layer_w = shape.w();
      box->prior.layer_h = shape.h();
      box->grid_of_input = false;
    } else {
      box->prior.image_w = static_cast<float>(shape.w());
      box->prior.image_h = static_cast<float>(shape.h());
    }
  }
  return {};
}

Result<Dims> dims_of_layer(const Graph& graph, Node* node) {
  auto* layer = node->as<CpuLayer>();
  if (!layer) return Error{ErrorCode::kInternal, "is a CPU layer without attributes"};
  if (auto* box = layer->attributes.as<layers::PriorBoxAttributes>()) {
    DVNN_TRY(follow_shapes(graph, layer->shape_inputs, box));
  }
  std::vector<Shape> inputs;
  for (int value : node->inputs) inputs.push_back(graph.shape_of(value));
  return layers::dims_after(layer->attributes, inputs);
}

// One row per Op, in its order.
constexpr Operator kOperators[] = {
    {Op::kInput, nullptr, kNoTraits, 0, 0, dims_of_none},
    {Op::kConvolution, "conv", kConvolves | kHasRun | kHasWeights | kOnDevice, 1, 1,
     dims_of_convolution},
    {Op::kAffine, "affine", kNoTraits, 1, 1, dims_of_input},
    {Op::kActivation, "activation", kActivates | kHasRun, 1, 1, dims_of_input},
    {Op::kPooling, "pooling", kPools | kHasRun | kOnDevice, 1, 1, dims_of_pooling},
    {Op::kAdd, "add", kNoTraits, 2, 2, dims_of_sum},
    {Op::kConcat, "concat", kNoTraits, 1, kMaxInputs, dims_of_layer},
    {Op::kInnerProduct, "fully_connected", kHasRun | kHasWeights, 1, 1, dims_of_inner_product},
    {Op::kReshape, "reshape", kNoTraits, 1, 1, dims_of_layer},
    {Op::kCpu, "cpu", kNoTraits, 0, kMaxInputs, dims_of_layer},
    {Op::kBranches, nullptr, kOnDevice, 1, 1, dims_of_none},
};

constexpr bool every_operation_has_its_row() {
  for (size_t i = 0; i < std::size(kOperators); ++i) {
    if (kOperators[i].op != static_cast<Op>(i)) return false;
  }
  return std::size(kOperators) == static_cast<size_t>(Op::kBranches) + 1;  // the last
}
static_assert(every_operation_has_its_row());

}  // namespace

const Operator& operator_of(Op op) {
  return nth(kOperators, op);
}

Result<Op> find_operator(const std::string& name) {
  for (const Operator& row : kOperators) {
    if (row.name && name == row.name) return row.op;
  }
  return malformed("'" + short_text(name, 40) + "' is no operation");
}

Result<std::vector<int64_t>> dims_after(const Graph& graph, Node* node) {
  const Operator& row = operator_of(node->op);
  if (node->inputs.size() < row.least_inputs) return misfit("has no input");
  return row.dims_after(graph, node);
}

}  // namespace dvnn::plan
