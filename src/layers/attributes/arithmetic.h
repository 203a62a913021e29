// SPDX-License-Identifier: Apache-2.0
// Layers that compute element by element, or over an axis.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/arithmetic/elementwise.h"
#include "layers/attributes/layer_type.h"

namespace dvnn::layers {

/// Index of the largest or smallest element along {axis}: {operation: max|min, keep: keep the axis
/// as a dimension of 1, last: of equal elements take the last, not the first}.
struct ArgReduceAttributes {
  DVNN_LAYER_TYPE("ArgReduce");
  bool smallest = false;
  int axis = 0;
  bool keep = true, last = false;
};

/// {values: [...]}, row-major. The layer has no input, so it runs only once.
struct ConstantAttributes {
  DVNN_LAYER_TYPE("Constant");
  std::vector<float> values;
  Shape shape;  // of the values; a saved graph stores it beside the parameters
};

/// Running sums along {axis}: {exclusive: without the element itself, reverse: from the end}.
struct CumSumAttributes {
  DVNN_LAYER_TYPE("CumSum");
  int axis = 0;
  bool exclusive = false, reverse = false;
};

/// Elementwise functions, one after the other in one pass: {inputs: their number, constants:
/// [[...]] with a value per channel or one for all, steps: [{function: a curve (parameters a, b) or
/// an operation, of: [...] its one or two operands}]}. Operands are numbered: the inputs, the
/// constants, the results of earlier steps. The last step's result is the layer's. Inputs'
/// dimensions of 1 repeat, as in NumPy; channels are the second axis, or the only one. {wide}:
/// results may exceed binary16, so they must not be stored in it.
struct ElementwiseAttributes {
  DVNN_LAYER_TYPE_IN_JSON(ElementwiseAttributes, "Elementwise");
  static constexpr size_t kMostInputs = 8, kMostConstants = 16, kMostSteps = 16;
  static constexpr size_t kMostValues = 24;  // inputs, constants and steps
  struct Step {
    bool combines = false;  // `operation` of x and y; else `curve` of x
    kernels::Curve curve = kernels::Curve::kLine;
    float a = 0, b = 0;  // the curve's parameters
    kernels::Operation operation = kernels::Operation::kAdd;
    int x = 0, y = 0;  // operands

    static Step of(kernels::Curve curve, float a, float b, int x) {
      return {false, curve, a, b, kernels::Operation::kAdd, x, x};
    }
    static Step of(kernels::Operation operation, int x, int y) {
      return {true, kernels::Curve::kLine, 0, 0, operation, x, y};
    }
  };
  int inputs = 1;
  std::vector<std::vector<float>> constants;
  std::vector<Step> steps;
  bool wide = false;

  /// Returns a layer of a single function of one input, or of two.
  static ElementwiseAttributes of(kernels::Curve curve, float a = 0, float b = 0) {
    return {1, {}, {Step::of(curve, a, b, 0)}};
  }
  static ElementwiseAttributes of(kernels::Operation operation) {
    return {2, {}, {Step::of(operation, 0, 1)}};
  }
};

/// Returns the function with that name in steps: ONNX's name in lower case.
Result<kernels::Curve> parse_curve(const std::string& name);
Result<kernels::Operation> parse_operation(const std::string& name);

/// Divides each element by (bias + alpha / size * the sum of squares of {size} channels around it)
/// ^ beta. Source: Krizhevsky et al. (2012), in the form of Caffe and ONNX.
struct LrnAttributes {
  DVNN_LAYER_TYPE("LRN");
  int size = 5;
  float alpha = 1e-4f, beta = 0.75f, bias = 1;
};

/// Products of matrices (..., m, k) and (..., k, n); dimensions of 1 before them repeat.
struct MatMulAttributes {
  DVNN_LAYER_TYPE("MatMul");
};

/// L2 normalisation over channels (or everything, with across_spatial), then a scale per channel:
/// {across_spatial, channel_shared, eps, scale: [...]}. Source: Liu et al., "ParseNet" (2015).
struct NormalizeAttributes {
  DVNN_LAYER_TYPE("Normalize");
  bool across_spatial = true, channel_shared = true;
  float eps = 1e-10f;
  std::vector<float> scale;
};

enum class Reduction : uint8_t {
  kL1,
  kL2,
  kLogSum,
  kLogSumExp,
  kMax,
  kMean,
  kMin,
  kProduct,
  kSum,
  kSumSquare
};
Result<Reduction> parse_reduction(const std::string& name);

/// Reduces each group of elements along {axes} (none: all) to one number: {operation:
/// l1|l2|logsum|logsumexp|max|mean|min|prod|sum|sumsquare, keep: keep the axes as dimensions of 1}.
struct ReduceAttributes {
  DVNN_LAYER_TYPE("Reduce");
  Reduction operation = Reduction::kMean;
  std::vector<int> axes;
  bool keep = true;
};

/// Softmax along {axis} (default 1).
struct SoftmaxAttributes {
  DVNN_LAYER_TYPE("Softmax");
  std::optional<int> axis;
};

/// (x - mean) / sqrt(variance + {epsilon}) of each group of elements along {axes} (none: all);
/// without {centre}, x / sqrt(mean square + epsilon).
struct StandardizeAttributes {
  DVNN_LAYER_TYPE("Standardize");
  std::vector<int> axes;
  float epsilon = 1e-5f;
  bool centre = true;
};

/// The {k} largest elements along {axis}, largest first, or the smallest: {smallest, places: return
/// their indices instead of their values}. Of equal elements the first comes first.
struct TopKAttributes {
  DVNN_LAYER_TYPE("TopK");
  int axis = 0, k = 1;
  bool smallest = false, places = false;
};

/// The second input's elements where the first's are not 0, else the third's; dimensions of 1
/// repeat. It is no part of Elementwise, whose steps have at most two operands.
struct WhereAttributes {
  DVNN_LAYER_TYPE("Where");
};

}  // namespace dvnn::layers
