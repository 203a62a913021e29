// SPDX-License-Identifier: Apache-2.0
// The converter's one graph: front ends make it, passes rewrite it, assemble() reads it. Each
// operation has a row of what is known of it.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "base/cancel.h"
#include "base/nth.h"
#include "base/result.h"
#include "device/command.h"
#include "layers/attributes.h"
#include "tensor/tensor.h"

namespace dvnn::plan {

struct Node;

// Attributes that only some operations' nodes have, beside the numbers of the device's command.

/// A fully connected layer as a convolution over one pixel, whose channels are the whole input.
struct FlatInput {
  bool reordered = false;  // its weights follow the order of elements in an input of this one size
};

/// Says how a pooling follows its input's size, and how it averages.
struct PoolingRule {
  bool ceil = false;        // a partial last window counts
  bool global = false;      // one window over the whole input
  bool counts_pads = true;  // an average divides by the whole window
};

/// A fully connected layer's number of inputs, which does not follow the image's size.
struct FullConnection {
  int64_t inputs = 0;
};

/// kCpu, kConcat and kReshape: a CPU layer.
struct CpuLayer {
  layers::LayerAttributes attributes;
  std::vector<int> shape_inputs;  // values of which only the shape is read
  bool in_chunks = false;  // an Elementwise that reads and writes the device's layout as it is
};

/// kBranches: the runs of one command, in order.
struct Branches {
  std::vector<Node> parts;
  uint32_t topo = 0;  // bit i: part i is a branch's last; device/command.h
};

/// A node has none if its run describes it completely.
using Attributes =
    std::variant<std::monostate, FlatInput, PoolingRule, FullConnection, CpuLayer, Branches>;

enum class Op {
  kInput,
  kConvolution,   // `run` has kernel, stride, dilation, pads; weights (m, c/groups, ky, kx), bias
  kAffine,        // y = scale[c] * x + bias[c]: BatchNorm, Scale, Power
  kActivation,    // run.activation, run.activation_param; slopes for PReLU
  kPooling,       // run.pool, pool_size, pool_stride, pool_pad, pool_scale
  kAdd,           // sum of two equal shapes
  kConcat,        // of tensors along an axis
  kInnerProduct,  // weights (m, inputs), bias; reads its input flattened
  kReshape,       // the same elements, row-major, in another shape
  kCpu,           // a CPU layer
  kBranches,      // several convolutions and poolings of one input, concatenated along channels
};

/// One operation with one result. What a command computes stands beside its run, as passes turn one
/// command into another (an activation into a convolution, which takes a sum and a pooling in);
/// what belongs to one kind of node alone is in its attributes.
struct Node {
  Op op = Op::kCpu;
  std::string name;                 // of the (last) source layer
  std::vector<std::string> layers;  // every source layer in it, in order
  std::vector<int> inputs;          // values; kConvolution and kPooling add the second, if there is
                                    // one (before pooling)
  int output = -1;                  // value
  Attributes attributes;
  int saved = -1;     // index among the nodes that a network file keeps; saved_graph.h
  std::string why;    // reason why a pass decided that it is not one command of the device
  bool dead = false;  // removed by a pass
  // Which part of the saved node's channels this one is, of how many; limits.cpp.
  int part = 0, parts = 1;

  // Of commands, and what becomes one.
  device::ConvRun run;
  int groups = 1;
  std::vector<float> weights, bias, slopes;  // kAffine: `weights` is the scale
  bool half_weights = false;  // weights keep 16 bits where others get 8; choose_weight_bits()
  // The width and height in which a command counts its input's pixels, where the input's own exceed
  // the device's limits; 0: the input's own.
  device::Extent fold = {0, 0};

  bool adds() const { return (op == Op::kConvolution || op == Op::kPooling) && inputs.size() > 1; }
  /// Returns the attributes of that kind, or null if the node has others.
  template <typename Kind>
  const Kind* as() const {
    return std::get_if<Kind>(&attributes);
  }
  template <typename Kind>
  Kind* as() {
    return std::get_if<Kind>(&attributes);
  }
  /// Returns the attributes of a CPU layer of that type, or null for other nodes.
  template <typename Layer>
  const Layer* layer() const {
    const auto* any = as<CpuLayer>();
    return any ? any->attributes.as<Layer>() : nullptr;
  }
  void set_layer(layers::LayerAttributes layer, std::vector<int> shape_inputs = {}) {
    attributes = CpuLayer{std::move(layer), std::move(shape_inputs)};
  }
  /// Returns the name of the CPU layer's type; empty if the node is none.
  std::string layer_type() const {
    const auto* any = as<CpuLayer>();
    return any ? layers::type_of(any->attributes) : "";
  }
  /// Returns the input's size as the node's command counts it.
  device::Dims input_dims(const Shape& in) const {
    if (fold.x > 0) return {fold.x, fold.y, in.c()};
    return {in.w(), in.h(), in.c()};
  }
  bool flattens() const { return as<FlatInput>() != nullptr; }
  PoolingRule pooling() const { return as<PoolingRule>() ? *as<PoolingRule>() : PoolingRule(); }
};

/// Returns whether frames can become this input: one picture of one or three channels. Other inputs
/// come as tensors.
inline bool is_picture(const Shape& shape) {
  return shape.rank == 4 && shape.n() == 1 && (shape.c() == 1 || shape.c() == 3);
}

struct Value {
  std::string name;
  Shape shape;
};

/// An input beside the first, as network::ExtraInput has it.
struct ExtraInput {
  int value = -1;
  int next = -1;  // index of the output that is the state's next value; -1: a live input
};

struct Graph {
  std::string name;
  std::vector<Node> nodes;  // in an order in which every input is made before it is read
  std::vector<Value> values;
  int input = -1;            // value
  std::vector<int> outputs;  // values
  std::vector<std::string> output_names;
  std::vector<ExtraInput> extra_inputs;
  size_t hidden_outputs = 0;  // the last outputs, which are states' next values and nothing else

  int add_value(const std::string& name, const Shape& shape);
  /// Returns the indices of the live nodes that read `value`. It searches all nodes, which is meant
  /// for single queries; passes use a Rewriter.
  std::vector<int> consumers(int value) const;
  bool is_output(int value) const;
  bool is_input(int value) const;
  /// Drops nodes that passes have marked dead.
  void sweep();
  const Shape& shape_of(int value) const { return nth(values, value).shape; }
};

/// Returns a shape of 1 to Shape::kMaxRank positive dimensions and at most 2^28 elements, or an
/// error that names the dimension.
Result<Shape> checked_shape(const std::vector<int64_t>& dims);
std::vector<int64_t> dims_of(const Shape& shape);

/// Computes every value's shape (and the parameters that follow from shapes) for an input of
/// `height` x `width` pixels. The graph is as front ends made it, or as the passes that do not look
/// at sizes left it; it may come from a hostile file. Errors name the layer: kUnsupported where the
/// model holds numbers for one size.
Status infer_shapes(Graph* graph, int channels, int height, int width,
                    const Cancellation* cancellation = nullptr);

/// Traits of an operation's nodes.
enum OperatorTrait : unsigned {
  kNoTraits = 0,
  // Of the run that front ends make.
  kConvolves = 1 << 0,
  kPools = 1 << 1,
  kActivates = 1 << 2,
  // Of what a saved graph keeps of the node.
  kHasRun = 1 << 3,
  kHasWeights = 1 << 4,
  // After all passes it is a command of the device.
  kOnDevice = 1 << 5,
};

/// A row per operation of the graph (operators.cpp): its name in files, what its command does, and
/// the shape of its result. Front ends, saved graphs, placement and re-planning ask the row.
struct Operator {
  Op op;
  const char* name;  // in a saved graph; null: not kept there
  unsigned traits;   // OperatorTraits
  size_t least_inputs, most_inputs;
  Result<std::vector<int64_t>> (*dims_after)(const Graph& graph, Node* node);

  constexpr bool is(OperatorTrait trait) const { return (traits & trait) != 0; }
};

const Operator& operator_of(Op op);
/// Returns the operation with this name in saved graphs.
Result<Op> find_operator(const std::string& name);

/// Returns the result's dimensions from the shapes of the node's inputs, and sets attributes that
/// follow from shapes. kUnsupported if the node does not fit them.
Result<std::vector<int64_t>> dims_after(const Graph& graph, Node* node);

}  // namespace dvnn::plan
