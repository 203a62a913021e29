// SPDX-License-Identifier: Apache-2.0
// The front ends' tool to build graphs. Every method checks its arguments, computes the result's
// shape, appends a node and returns the value that the node makes. Images are 1 x C x H x W.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "import/custom_layers.h"
#include "plan/graph/graph.h"

namespace dvnn::import {

using plan::Graph;
using plan::Node;
using plan::Op;
using plan::Value;

using plan::checked_shape;

using plan::dims_of;

struct ConvSpec {
  int64_t outputs = 0;
  int64_t kernel_x = 1, kernel_y = 1, stride_x = 1, stride_y = 1, dilation_x = 1, dilation_y = 1;
  int64_t left = 0, right = 0, top = 0, bottom = 0;  // pads, pixels
  int64_t groups = 1;
};

struct PoolSpec {
  bool average = false;
  int64_t kernel_x = 1, kernel_y = 1, stride_x = 1, stride_y = 1;
  int64_t left = 0, right = 0, top = 0, bottom = 0;
  bool global = false;      // one window over the whole input, whatever its size
  bool ceil = false;        // a partial last window counts
  bool counts_pads = true;  // averages divide by the whole window
};

class GraphBuilder {
 public:
  Graph graph;

  const Shape& shape_of(int value) const { return graph.shape_of(value); }

  /// Adds the input: a picture of 1 or 3 channels, or a tensor of any shape, which comes as a
  /// stream of tensors.
  Result<int> input(const std::string& name, const std::vector<int64_t>& dims);
  /// Adds an input beside the first: a live one, until its `next` is set.
  Result<int> extra_input(const std::string& name, const std::vector<int64_t>& dims);
  /// Adds a convolution. `weights` are (outputs, channels / groups, y, x).
  Result<int> convolution(const std::string& name, int in, const ConvSpec& spec,
                          std::vector<float> weights, std::vector<float> bias);
  /// Adds a transposed convolution. `weights` are (channels, outputs / groups, y, x). The pads are
  /// those of the forward convolution; `extra_x` columns and `extra_y` rows are added at the end.
  Result<int> deconvolution(const std::string& name, int in, const ConvSpec& spec, int64_t extra_x,
                            int64_t extra_y, const std::vector<float>& weights,
                            std::vector<float> bias);
  /// Returns whether inner_product() accepts these numbers of inputs and outputs.
  static bool may_connect(int64_t inputs, int64_t outputs);
  /// Adds a fully connected layer, which reads its input flattened. `weights` are (outputs,
  /// inputs).
  Result<int> inner_product(const std::string& name, int in, int64_t outputs,
                            std::vector<float> weights, std::vector<float> bias);
  /// Adds y = scale[c] x + bias[c] along axis 1.
  Result<int> affine(const std::string& name, int in, std::vector<float> scale,
                     std::vector<float> bias);
  Result<int> activation(const std::string& name, int in, device::Activation activation,
                         float param = 0, std::vector<float> slopes = {});
  Result<int> pooling(const std::string& name, int in, const PoolSpec& spec);
  Result<int> global_pooling(const std::string& name, int in, bool average);
  /// Doubles width and height by repeating pixels.
  Result<int> upsample2(const std::string& name, int in);
  /// Adds the sum of two tensors of one shape.
  Result<int> sum(const std::string& name, int a, int b);
  Result<int> concat(const std::string& name, const std::vector<int>& inputs, int64_t axis);
  /// Gives the same elements, row-major, the shape `dims`.
  Result<int> reshape(const std::string& name, int in, const std::vector<int64_t>& dims);
  Result<int> permute(const std::string& name, int in, const std::vector<int64_t>& order);
  Result<int> softmax(const std::string& name, int in, int64_t axis);
  /// Takes elements begin[i], begin[i] + step[i], ... along each axis, as many as `dims` says.
  Result<int> slice(const std::string& name, int in, const std::vector<int64_t>& begin,
                    const std::vector<int64_t>& step, const std::vector<int64_t>& dims);
  /// Cuts `before` elements off the beginning and `after` off the end of each axis of `in`. Returns
  /// `in` itself if all are 0.
  Result<int> crop(const std::string& name, int in, const std::vector<int64_t>& before,
                   const std::vector<int64_t>& after);
  /// Puts zeros around a picture.
  Result<int> pad(const std::string& name, int in, int64_t left, int64_t right, int64_t top,
                  int64_t bottom);
  /// Adds an operation of two values, with NumPy's broadcasting.
  Result<int> binary(const std::string& name, kernels::Operation operation, int a, int b);
  /// Adds a function of each element, with its parameters.
  Result<int> unary(const std::string& name, kernels::Curve curve, int in, float a = 0,
                    float b = 0);
  /// Multiplies values of one shape by a coefficient each, and combines them one after the other.
  /// No coefficients: all are 1.
  Result<int> combined(const std::string& name, kernels::Operation operation,
                       std::vector<float> coefficients, std::vector<int> inputs);
  /// Adds a constant tensor.
  Result<int> constant(const std::string& name, const std::vector<int64_t>& dims,
                       std::vector<float> values);
  /// Adds a layer of a type that the user declared, with the parameters that the model gives.
  Result<int> custom(const std::string& name, const std::string& type, const CustomLayer& layer,
                     const Json& params, std::vector<int> inputs);
  /// Adds a CPU layer. It reads only the shapes of `shape_inputs`.
  Result<int> cpu(const std::string& name, layers::LayerAttributes attributes,
                  std::vector<int> inputs, std::vector<int> shape_inputs = {});

 private:
  Result<int> append(const std::string& name, Node node);
  Result<int> append(const std::string& name, Node node, const std::vector<int64_t>& dims);
  Status needs_picture(int value) const;
  Result<int> scaled(const std::string& name, int in, const std::pair<float, float>& affine_of);

  // A value that permute() has made, and its source.
  struct Permuted {
    int of;
    std::vector<int> order;
  };
  std::unordered_map<int, Permuted> permutes_;  // by the result
  uint64_t numbers_ = 0;                        // elements of all nodes' weights and constants
};

/// Returns a layer's error with its place added, and a size that may fit if the layer reads several
/// results.
Error refused_layer(const Error& error, const std::string& where, size_t inputs,
                    const Graph& graph);

}  // namespace dvnn::import
