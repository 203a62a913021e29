// SPDX-License-Identifier: Apache-2.0
// Table of the ONNX operators: a row is an operator's name, the function that imports it, which
// stands among similar ones in a file of this folder, and traits of its results: whether
// they are whole numbers; whether they have no dimensions, unless that follows from its inputs; and
// other special properties. Names have their domain, unless that is ONNX's own.
#pragma once

#include <cstdint>

#include "import/onnx/import.h"

namespace dvnn::import {

/// Decides a property of a node's results from its inputs and attributes.
using OnnxTest = bool (*)(const OnnxNode& node);

bool never(const OnnxNode& node);
bool always(const OnnxNode& node);

// Tests for whole numbers, which matter because they divide without a rest.
bool whole_as_first(const OnnxNode& node);    // as the first input is
bool whole_as_second(const OnnxNode& node);   // as the second input is
bool whole_as_third(const OnnxNode& node);    // as the third input is
bool whole_as_all(const OnnxNode& node);      // if all inputs are
bool whole_as_chosen(const OnnxNode& node);   // if all inputs but the condition are
bool whole_as_sampled(const OnnxNode& node);  // as the first input is, if its elements are taken
bool whole_as_type(const OnnxNode& node);     // as attribute "to" says

// Tests for a result without dimensions: the graph has none of rank 0.
bool scalar_of_scalars(const OnnxNode& node);    // if no input has dimensions
bool scalar_if_reduced(const OnnxNode& node);    // if all dimensions are reduced
bool scalar_if_searched(const OnnxNode& node);   // if the only dimension is
bool scalar_if_squeezed(const OnnxNode& node);   // if all dimensions go
bool scalar_if_gathered(const OnnxNode& node);   // if one element is taken
bool scalar_if_one_place(const OnnxNode& node);  // if the places are those of one element
bool scalar_if_vectors(const OnnxNode& node);    // if both factors are vectors
bool scalar_if_summed(const OnnxNode& node);     // if the equation names no axis of the result
bool scalar_if_shaped(const OnnxNode& node);     // if the shape has no dimensions

/// Other properties that set an operator apart.
enum class OnnxTrait : uint8_t {
  kNone,
  kItself,      // makes numbers by itself, of any size: running it would round them to 24 bits
  kThenPlaces,  // its second result is indices, which are whole numbers for any input
};

}  // namespace dvnn::import

#define DVNN_ONNX_OPERATORS(ROW)                                                                  \
  ROW("Abs", import_onnx_unary, whole_as_first)                                                   \
  ROW("Acos", import_onnx_unary, never)                                                           \
  ROW("Acosh", import_onnx_unary, never)                                                          \
  ROW("Add", import_onnx_binary, whole_as_all)                                                    \
  ROW("And", import_onnx_binary, always)                                                          \
  ROW("ArgMax", import_onnx_arg_reduce, always, scalar_if_searched)                               \
  ROW("ArgMin", import_onnx_arg_reduce, always, scalar_if_searched)                               \
  ROW("Asin", import_onnx_unary, never)                                                           \
  ROW("Asinh", import_onnx_unary, never)                                                          \
  ROW("Atan", import_onnx_unary, never)                                                           \
  ROW("Atanh", import_onnx_unary, never)                                                          \
  ROW("AffineGrid", import_onnx_affine_grid, never)                                               \
  ROW("Attention", import_onnx_attention, never)                                                  \
  ROW("AveragePool", import_onnx_average_pool, never)                                             \
  ROW("BatchNormalization", import_onnx_batch_norm, never)                                        \
  ROW("Cast", import_onnx_cast, whole_as_type)                                                    \
  ROW("CastLike", import_onnx_cast, whole_as_second)                                              \
  ROW("Ceil", import_onnx_unary, never)                                                           \
  ROW("Celu", import_onnx_unary, never)                                                           \
  ROW("Clip", import_onnx_clip, whole_as_first)                                                   \
  ROW("Col2Im", import_onnx_col2im, never)                                                        \
  ROW("Compress", import_onnx_compress, whole_as_first)                                           \
  ROW("Concat", import_onnx_concat, whole_as_all)                                                 \
  ROW("Constant", import_onnx_constant, whole_as_first, scalar_of_scalars, OnnxTrait::kItself)    \
  ROW("Conv", import_onnx_conv, never)                                                            \
  ROW("ConvTranspose", import_onnx_conv_transpose, never)                                         \
  ROW("Cos", import_onnx_unary, never)                                                            \
  ROW("Cosh", import_onnx_unary, never)                                                           \
  ROW("CumSum", import_onnx_cum_sum, whole_as_first)                                              \
  ROW("DeformConv", import_onnx_deform_conv, never)                                               \
  ROW("DepthToSpace", import_onnx_depth, whole_as_first)                                          \
  ROW("DequantizeLinear", import_onnx_dequantize, never)                                          \
  ROW("Div", import_onnx_binary, whole_as_all)                                                    \
  ROW("Dropout", import_onnx_identity, whole_as_first)                                            \
  ROW("Einsum", import_onnx_einsum, whole_as_first, scalar_if_summed)                             \
  ROW("Elu", import_onnx_activation, never)                                                       \
  ROW("Equal", import_onnx_binary, always)                                                        \
  ROW("Erf", import_onnx_unary, never)                                                            \
  ROW("Exp", import_onnx_unary, never)                                                            \
  ROW("Expand", import_onnx_expand, whole_as_first)                                               \
  ROW("Flatten", import_onnx_flatten, whole_as_first, never)                                      \
  ROW("Floor", import_onnx_unary, never)                                                          \
  ROW("Gather", import_onnx_gather, whole_as_first, scalar_if_gathered)                           \
  ROW("GatherElements", import_onnx_gather_elements, whole_as_first)                              \
  ROW("GatherND", import_onnx_gather_nd, whole_as_first, scalar_if_one_place)                     \
  ROW("GRU", import_onnx_recurrent, never)                                                        \
  ROW("Gelu", import_onnx_unary, never)                                                           \
  ROW("Gemm", import_onnx_gemm, never)                                                            \
  ROW("GlobalAveragePool", import_onnx_global_pool, never)                                        \
  ROW("GlobalMaxPool", import_onnx_global_pool, never)                                            \
  ROW("Greater", import_onnx_binary, always)                                                      \
  ROW("GreaterOrEqual", import_onnx_binary, always)                                               \
  ROW("GridSample", import_onnx_grid_sample, never)                                               \
  ROW("GroupNormalization", import_onnx_group_norm, never)                                        \
  ROW("HardSigmoid", import_onnx_unary, never)                                                    \
  ROW("HardSwish", import_onnx_unary, never)                                                      \
  ROW("Hardmax", import_onnx_softmax, never)                                                      \
  ROW("Identity", import_onnx_identity, whole_as_first)                                           \
  ROW("InstanceNormalization", import_onnx_instance_norm, never)                                  \
  ROW("IsNaN", import_onnx_unary, always)                                                         \
  ROW("LRN", import_onnx_lrn, never)                                                              \
  ROW("LSTM", import_onnx_recurrent, never)                                                       \
  ROW("LayerNormalization", import_onnx_layer_norm, never)                                        \
  ROW("LeakyRelu", import_onnx_activation, never)                                                 \
  ROW("Less", import_onnx_binary, always)                                                         \
  ROW("LessOrEqual", import_onnx_binary, always)                                                  \
  ROW("Log", import_onnx_unary, never)                                                            \
  ROW("LogSoftmax", import_onnx_softmax, never)                                                   \
  ROW("LpNormalization", import_onnx_lp_norm, never)                                              \
  ROW("LpPool", import_onnx_lp_pool, never)                                                       \
  ROW("MatMul", import_onnx_matmul, whole_as_first, scalar_if_vectors)                            \
  ROW("Max", import_onnx_binary, whole_as_all)                                                    \
  ROW("MaxPool", import_onnx_max_pool, whole_as_first, scalar_of_scalars, OnnxTrait::kThenPlaces) \
  ROW("MaxUnpool", import_onnx_max_unpool, never)                                                 \
  ROW("Mean", import_onnx_binary, never)                                                          \
  ROW("MeanVarianceNormalization", import_onnx_mean_variance, never)                              \
  ROW("Min", import_onnx_binary, whole_as_all)                                                    \
  ROW("Mish", import_onnx_unary, never)                                                           \
  ROW("Mod", import_onnx_binary, whole_as_first)                                                  \
  ROW("Mul", import_onnx_binary, whole_as_all)                                                    \
  ROW("Neg", import_onnx_unary, whole_as_first)                                                   \
  ROW("Not", import_onnx_unary, always)                                                           \
  ROW("OneHot", import_onnx_one_hot, whole_as_third)                                              \
  ROW("Or", import_onnx_binary, always)                                                           \
  ROW("PRelu", import_onnx_activation, never)                                                     \
  ROW("Pad", import_onnx_pad, whole_as_first)                                                     \
  ROW("Pow", import_onnx_binary, whole_as_first)                                                  \
  ROW("QuantizeLinear", import_onnx_quantize, always)                                             \
  ROW("RNN", import_onnx_recurrent, never)                                                        \
  ROW("RMSNormalization", import_onnx_layer_norm, never)                                          \
  ROW("Reciprocal", import_onnx_unary, never)                                                     \
  ROW("ReduceL1", import_onnx_reduce, whole_as_first, scalar_if_reduced)                          \
  ROW("ReduceL2", import_onnx_reduce, whole_as_first, scalar_if_reduced)                          \
  ROW("ReduceLogSum", import_onnx_reduce, whole_as_first, scalar_if_reduced)                      \
  ROW("ReduceLogSumExp", import_onnx_reduce, whole_as_first, scalar_if_reduced)                   \
  ROW("ReduceMax", import_onnx_reduce, whole_as_first, scalar_if_reduced)                         \
  ROW("ReduceMean", import_onnx_reduce, whole_as_first, scalar_if_reduced)                        \
  ROW("ReduceMin", import_onnx_reduce, whole_as_first, scalar_if_reduced)                         \
  ROW("ReduceProd", import_onnx_reduce, whole_as_first, scalar_if_reduced)                        \
  ROW("ReduceSum", import_onnx_reduce, whole_as_first, scalar_if_reduced)                         \
  ROW("ReduceSumSquare", import_onnx_reduce, whole_as_first, scalar_if_reduced)                   \
  ROW("Relu", import_onnx_activation, whole_as_first)                                             \
  ROW("Reshape", import_onnx_reshape, whole_as_first, scalar_if_shaped)                           \
  ROW("Resize", import_onnx_resize, whole_as_sampled)                                             \
  ROW("ReverseSequence", import_onnx_reverse_sequence, whole_as_first)                            \
  ROW("RotaryEmbedding", import_onnx_rotary, never)                                               \
  ROW("Round", import_onnx_unary, never)                                                          \
  ROW("Scatter", import_onnx_scatter_elements, whole_as_first)                                    \
  ROW("ScatterElements", import_onnx_scatter_elements, whole_as_first)                            \
  ROW("ScatterND", import_onnx_scatter_nd, whole_as_first)                                        \
  ROW("Selu", import_onnx_unary, never)                                                           \
  ROW("Shape", import_onnx_shape, always, scalar_of_scalars, OnnxTrait::kItself)                  \
  ROW("Shrink", import_onnx_unary, never)                                                         \
  ROW("Sigmoid", import_onnx_activation, never)                                                   \
  ROW("Sign", import_onnx_unary, whole_as_first)                                                  \
  ROW("Sin", import_onnx_unary, never)                                                            \
  ROW("Sinh", import_onnx_unary, never)                                                           \
  ROW("Size", import_onnx_shape, always, scalar_of_scalars, OnnxTrait::kItself)                   \
  ROW("Slice", import_onnx_slice, whole_as_first)                                                 \
  ROW("Softmax", import_onnx_softmax, never)                                                      \
  ROW("Softplus", import_onnx_unary, never)                                                       \
  ROW("Softsign", import_onnx_unary, never)                                                       \
  ROW("SpaceToDepth", import_onnx_depth, whole_as_first)                                          \
  ROW("Split", import_onnx_split, whole_as_first)                                                 \
  ROW("Sqrt", import_onnx_unary, never)                                                           \
  ROW("Squeeze", import_onnx_squeeze, whole_as_first, scalar_if_squeezed)                         \
  ROW("Sub", import_onnx_binary, whole_as_all)                                                    \
  ROW("Sum", import_onnx_binary, whole_as_first)                                                  \
  ROW("Swish", import_onnx_unary, never)                                                          \
  ROW("Tan", import_onnx_unary, never)                                                            \
  ROW("Tanh", import_onnx_activation, never)                                                      \
  ROW("ThresholdedRelu", import_onnx_unary, never)                                                \
  ROW("Tile", import_onnx_tile, whole_as_first)                                                   \
  ROW("TopK", import_onnx_top_k, whole_as_first, scalar_of_scalars, OnnxTrait::kThenPlaces)       \
  ROW("Transpose", import_onnx_transpose, whole_as_first)                                         \
  ROW("Trilu", import_onnx_trilu, whole_as_first)                                                 \
  ROW("Unsqueeze", import_onnx_squeeze, whole_as_first, never)                                    \
  ROW("Upsample", import_onnx_resize, whole_as_sampled)                                           \
  ROW("Where", import_onnx_where, whole_as_chosen)                                                \
  ROW("Xor", import_onnx_binary, always)                                                          \
  ROW("com.microsoft.Attention", import_microsoft_attention, never)                               \
  ROW("com.microsoft.FusedMatMul", import_microsoft_fused_matmul, never)                          \
  ROW("com.microsoft.GroupQueryAttention", import_microsoft_group_query_attention, never)         \
  ROW("com.microsoft.MatMulNBits", import_microsoft_matmul_nbits, never)                          \
  ROW("com.microsoft.MultiHeadAttention", import_microsoft_multi_head_attention, never)           \
  ROW("com.microsoft.RotaryEmbedding", import_onnx_rotary, never)
namespace dvnn::import {

// A function that imports several operators is declared several times.
#define DVNN_DECLARE(type, import, ...) Status import(const OnnxNode& node);
DVNN_ONNX_OPERATORS(DVNN_DECLARE)
#undef DVNN_DECLARE

/// Returns the product of `in` (..., k) and known weights (k, n). Several operators use it.
Result<int> onnx_product(const OnnxNode& node, const std::string& name, int in,
                         const OnnxConstant& weights);

}  // namespace dvnn::import
