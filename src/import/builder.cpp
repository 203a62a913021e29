// SPDX-License-Identifier: Apache-2.0
#include "import/builder.h"

#include <algorithm>

#include "base/budget.h"
#include "base/format.h"
#include "base/json.h"
#include "base/nth.h"
#include "device/limits.h"
#include "plan/graph/graph.h"
#include "plan/replan.h"
#include "tensor/tensor.h"

namespace dvnn::import {
namespace {

using device::kMaxChannels;
using device::kMaxStride;
constexpr int64_t kMaxPad = device::kMaxPadLeftTop;  // on any side
constexpr int64_t kMaxKernel = 64;     // larger ones than device::kMaxKernel run on the CPU
constexpr int64_t kMaxWindow = 65535;  // larger ones than the device's run on the CPU

Status check_range(const char* what, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return {};
  return too_large(format("%s is %lld, the device takes %lld to %lld", what,
                          static_cast<long long>(value), static_cast<long long>(least),
                          static_cast<long long>(most)));
}

Status check_count(const char* what, size_t have, int64_t want) {
  if (static_cast<int64_t>(have) == want) return {};
  return malformed(format("%zu %s, %lld are needed", have, what, static_cast<long long>(want)));
}

// A layer without biases gets zeros.
Status check_biases(int64_t outputs, std::vector<float>* bias) {
  if (bias->empty()) bias->assign(static_cast<size_t>(outputs), 0.0f);
  return check_count("biases", bias->size(), outputs);
}

Status check_spec(const ConvSpec& s, const Shape& in) {
  for (int64_t kernel : {s.kernel_x, s.kernel_y}) {
    if (kernel < 1 || kernel > kMaxKernel) {
      return too_large(format("the kernel's size is %lld, not 1 to %lld",
                              static_cast<long long>(kernel), static_cast<long long>(kMaxKernel)));
    }
  }
  for (int64_t stride : {s.stride_x, s.stride_y}) {
    DVNN_TRY(check_range("the stride", stride, 1, kMaxStride));
  }
  for (int64_t dilation : {s.dilation_x, s.dilation_y}) {
    DVNN_TRY(check_range("the dilation", dilation, 1, kMaxStride));
  }
  for (int64_t pad : {s.left, s.right, s.top, s.bottom}) {
    DVNN_TRY(check_range("a pad", pad, 0, kMaxPad));
  }
  DVNN_TRY(check_range("the number of outputs", s.outputs, 1, kMaxChannels));
  if (s.groups < 1 || in.c() % s.groups != 0 || s.outputs % s.groups != 0) {
    return malformed(format("%lld groups do not fit %d input and %lld output channels",
                            static_cast<long long>(s.groups), in.c(),
                            static_cast<long long>(s.outputs)));
  }
  return {};
}

// Returns a list as ints; its numbers fit.
std::vector<int> ints(const std::vector<int64_t>& list) {
  std::vector<int> result;
  for (int64_t v : list) result.push_back(static_cast<int>(v));
  return result;
}

device::Extent extent(int64_t x, int64_t y) {
  return {static_cast<int>(x), static_cast<int>(y)};
}

device::Pad pads(int64_t left, int64_t right, int64_t top, int64_t bottom) {
  return {static_cast<int>(left), static_cast<int>(right), static_cast<int>(top),
          static_cast<int>(bottom)};
}

}  // namespace

Result<int> GraphBuilder::append(const std::string& name, Node node) {
  DVNN_ASSIGN(const auto dims, plan::dims_after(graph, &node));
  return append(name, std::move(node), dims);
}

Result<int> GraphBuilder::append(const std::string& name, Node node,
                                 const std::vector<int64_t>& dims) {
  constexpr size_t kMaxNodes = 20000;
  if (graph.nodes.size() >= kMaxNodes) {
    return too_large(format("more than %zu operations", kMaxNodes));
  }
  const auto* constant = node.layer<layers::ConstantAttributes>();
  numbers_ += node.weights.size() + node.bias.size() + (constant ? constant->values.size() : 0);
  DVNN_TRY(check_budget(Budget::kImportNumbers, numbers_, "the layers' weights and constants"));
  DVNN_ASSIGN(const Shape shape, checked_shape(dims));
  node.name = name;
  node.layers = {name};
  node.output = graph.add_value(name, shape);
  graph.nodes.push_back(std::move(node));
  return graph.nodes.back().output;
}

Status GraphBuilder::needs_picture(int value) const {
  const Shape& shape = shape_of(value);
  if (shape.rank == 4 && shape.n() == 1) return {};
  return unsupported("needs a picture, 1 x C x H x W, has " + shape.to_string());
}

Result<int> GraphBuilder::input(const std::string& name, const std::vector<int64_t>& dims) {
  if (graph.input >= 0) return unsupported("a second input '" + name + "': one is supported");
  auto shape = checked_shape(dims);
  if (!shape.ok()) return shape.error().within("input '" + name + "'");
  graph.input = graph.add_value(name, shape.value());
  return graph.input;
}

Result<int> GraphBuilder::extra_input(const std::string& name, const std::vector<int64_t>& dims) {
  auto shape = checked_shape(dims);
  if (!shape.ok()) return shape.error().within("input '" + name + "'");
  graph.extra_inputs.push_back({graph.add_value(name, shape.value())});
  return graph.extra_inputs.back().value;
}

Result<int> GraphBuilder::convolution(const std::string& name, int in, const ConvSpec& spec,
                                      std::vector<float> weights, std::vector<float> bias) {
  DVNN_TRY(needs_picture(in));
  const Shape shape = shape_of(in);
  DVNN_TRY(check_spec(spec, shape));
  DVNN_TRY(check_count("weights", weights.size(),
                       spec.outputs * (shape.c() / spec.groups) * spec.kernel_x * spec.kernel_y));
  DVNN_TRY(check_biases(spec.outputs, &bias));
  Node node;
  node.op = Op::kConvolution;
  node.inputs = {in};
  node.groups = static_cast<int>(spec.groups);
  node.weights = std::move(weights);
  node.bias = std::move(bias);
  node.run.m = static_cast<int>(spec.outputs);
  node.run.conv = device::ConvKind::kConv;
  node.run.kernel = extent(spec.kernel_x, spec.kernel_y);
  node.run.stride = extent(spec.stride_x, spec.stride_y);
  node.run.dilation = extent(spec.dilation_x, spec.dilation_y);
  node.run.conv_pad = pads(spec.left, spec.right, spec.top, spec.bottom);
  return append(name, std::move(node));
}

Result<int> GraphBuilder::deconvolution(const std::string& name, int in, const ConvSpec& spec,
                                        int64_t extra_x, int64_t extra_y,
                                        const std::vector<float>& weights,
                                        std::vector<float> bias) {
  DVNN_TRY(needs_picture(in));
  const Shape shape = shape_of(in);
  DVNN_TRY(check_spec(spec, shape));
  const int64_t kx = spec.kernel_x, ky = spec.kernel_y, m = spec.outputs;
  const int64_t c = shape.c() / spec.groups, m_in = m / spec.groups;  // channels of a group
  DVNN_TRY(check_count("weights", weights.size(), m * c * kx * ky));
  DVNN_TRY(check_biases(m, &bias));
  Node node;
  node.op = Op::kConvolution;
  node.inputs = {in};
  node.groups = static_cast<int>(spec.groups);
  node.bias = std::move(bias);
  // The device convolves the stretched picture: kernels are turned by 180 degrees.
  for (int64_t o = 0; o < m; ++o) {
    for (int64_t i = 0; i < c; ++i) {
      for (int64_t k = kx * ky - 1; k >= 0; --k) {
        const int64_t from = o / m_in * c + i;  // input channel
        node.weights.push_back(nth(weights, (from * m_in + o % m_in) * kx * ky + k));
      }
    }
  }
  node.run.m = static_cast<int>(m);
  node.run.conv = device::ConvKind::kDeconv;
  node.run.kernel = extent(kx, ky);
  node.run.stride = extent(spec.stride_x, spec.stride_y);
  node.run.dilation = extent(spec.dilation_x, spec.dilation_y);
  const int64_t reach_x = (kx - 1) * spec.dilation_x, reach_y = (ky - 1) * spec.dilation_y;
  const int64_t left = reach_x - spec.left, right = reach_x - spec.right + extra_x;
  const int64_t top = reach_y - spec.top, bottom = reach_y - spec.bottom + extra_y;
  for (int64_t pad : {left, right, top, bottom}) {
    DVNN_TRY(check_range("what is left of the kernel beside a pad", pad, 0, kMaxPad));
  }
  node.run.conv_pad = pads(left, right, top, bottom);
  return append(name, std::move(node));
}

bool GraphBuilder::may_connect(int64_t inputs, int64_t outputs) {
  return inputs <= kMaxChannels && outputs <= kMaxChannels;
}

Result<int> GraphBuilder::inner_product(const std::string& name, int in, int64_t outputs,
                                        std::vector<float> weights, std::vector<float> bias) {
  const int64_t inputs = shape_of(in).elements();
  DVNN_TRY(check_range("the number of inputs", inputs, 1, kMaxChannels));
  DVNN_TRY(check_range("the number of outputs", outputs, 1, kMaxChannels));
  DVNN_TRY(check_count("weights", weights.size(), inputs * outputs));
  DVNN_TRY(check_biases(outputs, &bias));
  Node node;
  node.op = Op::kInnerProduct;
  node.inputs = {in};
  node.attributes = plan::FullConnection{inputs};
  node.run.m = static_cast<int>(outputs);
  node.weights = std::move(weights);
  node.bias = std::move(bias);
  return append(name, std::move(node));
}

Result<int> GraphBuilder::affine(const std::string& name, int in, std::vector<float> scale,
                                 std::vector<float> bias) {
  const Shape shape = shape_of(in);
  if (shape.rank < 2) return unsupported("the input " + shape.to_string() + " has no channels");
  DVNN_TRY(check_count("scales", scale.size(), shape[1]));
  DVNN_TRY(check_count("biases", bias.size(), shape[1]));
  Node node;
  node.op = Op::kAffine;
  node.inputs = {in};
  node.weights = std::move(scale);
  node.bias = std::move(bias);
  return append(name, std::move(node));
}

Result<int> GraphBuilder::activation(const std::string& name, int in, device::Activation activation,
                                     float param, std::vector<float> slopes) {
  const Shape shape = shape_of(in);
  if (activation == device::Activation::kPrelu) {
    if (shape.rank < 2) return unsupported("the input " + shape.to_string() + " has no channels");
    if (slopes.size() == 1) slopes.resize(shape.channels(), slopes[0]);
    DVNN_TRY(check_count("slopes", slopes.size(), shape[1]));
  }
  Node node;
  node.op = Op::kActivation;
  node.inputs = {in};
  node.run.activation = activation;
  node.run.activation_param = param;
  node.slopes = std::move(slopes);
  return append(name, std::move(node));
}

Result<int> GraphBuilder::pooling(const std::string& name, int in, const PoolSpec& spec) {
  DVNN_TRY(needs_picture(in));
  const Shape shape = shape_of(in);
  for (int64_t size : {spec.kernel_x, spec.kernel_y, spec.stride_x, spec.stride_y}) {
    DVNN_TRY(check_range("the window or its stride", size, 1, kMaxWindow));
  }
  if (spec.left >= spec.kernel_x || spec.right >= spec.kernel_x || spec.top >= spec.kernel_y ||
      spec.bottom >= spec.kernel_y ||
      std::min({spec.left, spec.right, spec.top, spec.bottom}) < 0) {
    return malformed("pads must be smaller than the window");
  }
  Node node;
  node.op = Op::kPooling;
  node.inputs = {in};
  node.run.pool = spec.average ? device::PoolKind::kAverage : device::PoolKind::kMax;
  node.run.pool_size = extent(spec.kernel_x, spec.kernel_y);
  node.run.pool_stride = extent(spec.stride_x, spec.stride_y);
  node.run.pool_pad = pads(spec.left, spec.right, spec.top, spec.bottom);
  node.run.m = shape.c();
  const bool padded = spec.left + spec.right + spec.top + spec.bottom > 0;
  node.attributes =
      plan::PoolingRule{spec.ceil, spec.global, !spec.average || spec.counts_pads || !padded};
  return append(name, std::move(node));
}

Result<int> GraphBuilder::global_pooling(const std::string& name, int in, bool average) {
  DVNN_TRY(needs_picture(in));
  PoolSpec spec;
  spec.average = average;
  spec.global = true;
  spec.kernel_x = shape_of(in).w();
  spec.kernel_y = shape_of(in).h();
  return pooling(name, in, spec);
}

Result<int> GraphBuilder::upsample2(const std::string& name, int in) {
  DVNN_TRY(needs_picture(in));
  const Shape shape = shape_of(in);
  Node node;
  node.op = Op::kPooling;
  node.inputs = {in};
  node.run.pool = device::PoolKind::kUpsample;
  node.run.m = shape.c();
  return append(name, std::move(node));
}

Result<int> GraphBuilder::sum(const std::string& name, int a, int b) {
  const Shape shape = shape_of(a);
  if (shape != shape_of(b)) return binary(name, kernels::Operation::kAdd, a, b);
  if (shape.rank != 4 || shape.n() != 1) {
    return binary(name, kernels::Operation::kAdd, a, b);
  }
  Node node;
  node.op = Op::kAdd;
  node.inputs = {a, b};
  return append(name, std::move(node));
}

Result<int> GraphBuilder::concat(const std::string& name, const std::vector<int>& inputs,
                                 int64_t axis) {
  if (inputs.empty()) return malformed("has no inputs");
  const Shape first = shape_of(inputs[0]);
  if (axis < 0) axis += first.rank;
  if (axis < 0 || axis >= first.rank) {
    return malformed("the axis does not exist in " + first.to_string());
  }
  Node node;
  node.op = Op::kConcat;
  node.inputs = inputs;
  node.set_layer(layers::ConcatAttributes{static_cast<int>(axis)});
  return append(name, std::move(node));
}

Result<int> GraphBuilder::reshape(const std::string& name, int in,
                                  const std::vector<int64_t>& dims) {
  DVNN_ASSIGN(const Shape shape, checked_shape(dims));
  if (shape.elements() != shape_of(in).elements()) {
    return malformed(shape.to_string() + " does not hold the elements of " +
                     shape_of(in).to_string());
  }
  // Rule for inputs of another size: dimensions equal to the input's stay equal, and the largest
  // other one takes the remaining elements.
  std::vector<int> rule = ints(dims);
  size_t largest = rule.size();
  for (size_t i = 0; i < rule.size(); ++i) {
    const bool same =
        static_cast<int>(i) < shape_of(in).rank && dims[i] == shape_of(in)[static_cast<int>(i)];
    if (same) rule[i] = 0;
    if (!same && (largest == rule.size() || dims[i] > dims[largest])) largest = i;
  }
  if (largest < rule.size()) rule[largest] = -1;
  Node node;
  node.op = Op::kReshape;
  node.inputs = {in};
  node.set_layer(layers::ReshapeAttributes{std::move(rule)});
  return append(name, std::move(node));
}

Result<int> GraphBuilder::permute(const std::string& name, int in,
                                  const std::vector<int64_t>& order) {
  // The composition below indexes by these axes, so they are checked first.
  const auto rank = static_cast<int64_t>(order.size());
  if (rank > Shape::kMaxRank || std::any_of(order.begin(), order.end(), [rank](int64_t axis) {
        return axis < 0 || axis >= rank;
      })) {
    return malformed("the order does not name each axis of " + shape_of(in).to_string() + " once");
  }
  std::vector<int> axes = ints(order);
  // Two permutations in a row become one: exporters permute the input, and we permute it back.
  const auto before = permutes_.find(in);
  if (before != permutes_.end() && before->second.order.size() == axes.size()) {
    for (int& axis : axes) axis = nth(before->second.order, axis);
    in = before->second.of;
  }
  bool moves = axes.size() != shape_of(in).axes();
  for (size_t i = 0; i < axes.size(); ++i) moves |= axes[i] != static_cast<int>(i);
  if (!moves) return in;
  DVNN_ASSIGN(const int out, cpu(name, layers::PermuteAttributes{axes}, {in}));
  permutes_[out] = {in, std::move(axes)};
  return out;
}

Result<int> GraphBuilder::softmax(const std::string& name, int in, int64_t axis) {
  const Shape shape = shape_of(in);
  if (axis < 0) axis += shape.rank;
  if (axis < 0 || axis >= shape.rank) {
    return malformed("the axis does not exist in " + shape.to_string());
  }
  return cpu(name, layers::SoftmaxAttributes{static_cast<int>(axis)}, {in});
}

Result<int> GraphBuilder::crop(const std::string& name, int in, const std::vector<int64_t>& before,
                               const std::vector<int64_t>& after) {
  const Shape shape = shape_of(in);
  const std::vector<int64_t> all = dims_of(shape);
  std::vector<int64_t> dims = all;
  for (size_t i = 0; i < dims.size(); ++i) {
    dims[i] -= before[i] + after[i];
    if (dims[i] < 1) return malformed("the pads leave no result of " + shape.to_string());
  }
  if (dims == all) return in;
  return slice(name, in, before, std::vector<int64_t>(dims.size(), 1), dims);
}

Result<int> GraphBuilder::slice(const std::string& name, int in, const std::vector<int64_t>& begin,
                                const std::vector<int64_t>& step,
                                const std::vector<int64_t>& dims) {
  // For inputs of another size: a slice up to the end still ends there.
  std::vector<int64_t> count = dims;
  const Shape shape = shape_of(in);
  for (size_t i = 0; i < count.size() && i < begin.size() && i < step.size(); ++i) {
    const int64_t size = shape[static_cast<int>(i)];
    if (step[i] > 0 && count[i] == (size - begin[i] + step[i] - 1) / step[i]) count[i] = -1;
  }
  const std::vector<int64_t>* const lists[] = {&begin, &step, &count};
  for (const auto* list : lists) {
    for (int64_t v : *list) {
      if (v < -kMaxTensorElements || v > kMaxTensorElements) {
        return too_large("slices beyond the largest tensor");
      }
    }
  }
  return cpu(name, layers::SliceAttributes{ints(begin), ints(step), ints(count)}, {in});
}

Result<int> GraphBuilder::pad(const std::string& name, int in, int64_t left, int64_t right,
                              int64_t top, int64_t bottom) {
  DVNN_TRY(needs_picture(in));
  for (int64_t pad : {left, right, top, bottom}) {
    DVNN_TRY(check_range("a pad", pad, 0, kMaxPad));
  }
  return cpu(name,
             layers::PadAttributes{static_cast<int>(left), static_cast<int>(right),
                                   static_cast<int>(top), static_cast<int>(bottom)},
             {in});
}

Result<int> GraphBuilder::constant(const std::string& name, const std::vector<int64_t>& dims,
                                   std::vector<float> values) {
  DVNN_ASSIGN(const Shape shape, checked_shape(dims));
  DVNN_TRY(check_count("values", values.size(), shape.elements()));
  return cpu(name, layers::ConstantAttributes{std::move(values), shape}, {});
}

Result<int> GraphBuilder::custom(const std::string& name, const std::string& type,
                                 const CustomLayer& layer, const Json& params,
                                 std::vector<int> inputs) {
  if (layer.affine && !inputs.empty()) return scaled(name, inputs[0], *layer.affine);
  DVNN_ASSIGN(Json taken, layer.take_params(params));
  const Shape first = inputs.empty() ? Shape() : shape_of(inputs[0]);
  DVNN_ASSIGN(const auto dims, layer.output_dims(first, taken));
  Node node;
  node.op = Op::kCpu;
  node.inputs = std::move(inputs);
  std::vector<int> shape_inputs;
  if (type == layers::PriorBoxAttributes::kName && first.rank == 4) {
    // Its boxes depend only on the size of its input, so they are computed once.
    taken["layer_w"] = first.w();
    taken["layer_h"] = first.h();
    shape_inputs = {node.inputs[0]};
    node.inputs.clear();
  }
  DVNN_ASSIGN(auto attributes, layers::parse_layer(type, taken));
  node.set_layer(std::move(attributes), std::move(shape_inputs));
  return append(name, std::move(node), dims);
}

Result<int> GraphBuilder::cpu(const std::string& name, layers::LayerAttributes attributes,
                              std::vector<int> inputs, std::vector<int> shape_inputs) {
  Node node;
  node.op = Op::kCpu;
  node.set_layer(std::move(attributes), std::move(shape_inputs));
  node.inputs = std::move(inputs);
  return append(name, std::move(node));
}

Error refused_layer(const Error& error, const std::string& where, size_t inputs,
                    const Graph& graph) {
  Error refused = error.within(where);
  if (inputs < 2 || graph.input < 0) return refused;
  const Shape& input = graph.shape_of(graph.input);
  if (input.rank == 4) refused.message += plan::size_advice(graph, input.w(), input.h());
  return refused;
}

}  // namespace dvnn::import
