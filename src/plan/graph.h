// SPDX-License-Identifier: Apache-2.0
// The converter's one graph: front ends make it, passes rewrite it, assemble() reads it.
#pragma once

#include <string>
#include <vector>

#include "base/nth.h"
#include "base/result.h"
#include "device/command.h"
#include "plan/attributes.h"
#include "tensor/tensor.h"

namespace dvnn::plan {

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
  kBranches,      // several convolutions and poolings of one input, `parts`, concatenated along
                  // channels
};

/// One operation with one result.
struct Node {
  Op op = Op::kCpu;
  std::string name;                 // of the (last) source layer
  std::vector<std::string> layers;  // every source layer in it, in order
  std::vector<int> inputs;          // values
  int output = -1;                  // value
  device::ConvRun run;
  int groups = 1;
  std::vector<float> weights, bias, slopes;  // kAffine: `weights` is the scale
  bool adds = false;  // kConvolution, kPooling: adds inputs[1] (before pooling)
  Attributes attributes;
  bool in_chunks =
      false;  // kCpu: an Elementwise that reads and writes the device's layout as it is
  std::vector<int> shape_inputs;  // kCpu: inputs of which only the shape is read
  int saved = -1;                 // index among the nodes that a network file keeps; saved_graph.h
  std::vector<Node> parts;        // kBranches: the runs of one command, in order
  uint32_t topo = 1;              // kBranches: bit i: part i is a branch's last; device/command.h
  // The width and height in which a command counts its input's pixels, where the input's own exceed
  // the device's limits; 0: the input's own.
  device::Extent fold = {0, 0};
  std::string why;            // why it is not one command of the device, where a pass decided so
  bool half_weights = false;  // weights keep 16 bits where others get 8; weight_bits.h
  bool dead = false;          // removed by a pass

  /// The attributes of a CPU layer of that type, if it is one; else null.
  template <typename Layer>
  const Layer* layer() const {
    const auto* any = std::get_if<layers::LayerAttributes>(&attributes);
    return any ? any->as<Layer>() : nullptr;
  }
  void set_layer(layers::LayerAttributes layer) { attributes = std::move(layer); }
  /// The name of the CPU layer's type; empty if it is none.
  std::string layer_type() const {
    const auto* any = std::get_if<layers::LayerAttributes>(&attributes);
    return any ? layers::type_of(*any) : "";
  }
  /// The input as the node's command counts it.
  device::Dims input_dims(const Shape& in) const {
    if (fold.x > 0) return {fold.x, fold.y, in.c()};
    return {in.w(), in.h(), in.c()};
  }
  bool flattens() const { return std::holds_alternative<FlatInput>(attributes); }
  PoolingRule pooling() const {
    const auto* rule = std::get_if<PoolingRule>(&attributes);
    return rule ? *rule : PoolingRule();
  }
};

/// Returns whether frames can become it: one picture of one or three channels. All else comes as
/// tensors.
inline bool is_picture(const Shape& shape) {
  return shape.rank == 4 && shape.n() == 1 && (shape.c() == 1 || shape.c() == 3);
}

struct Value {
  std::string name;
  Shape shape;
};

struct Graph {
  std::string name;
  std::vector<Node> nodes;  // in an order in which every input is made before it is read
  std::vector<Value> values;
  int input = -1;            // value
  std::vector<int> outputs;  // values
  std::vector<std::string> output_names;

  int add_value(const std::string& name, const Shape& shape);
  /// Index of the live node that makes `value`, or -1. This and what follows searches all nodes:
  /// for single questions. Passes ask a Rewriter.
  int producer(int value) const;
  /// Indices of the live nodes that read `value`.
  std::vector<int> consumers(int value) const;
  bool is_output(int value) const;
  /// Drops nodes that passes have marked dead.
  void sweep();
  const Shape& shape_of(int value) const { return nth(values, value).shape; }
};

}  // namespace dvnn::plan
