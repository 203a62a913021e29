// SPDX-License-Identifier: Apache-2.0
// The ONNX operators, listed once: a row is an operator's name, the function that imports it, which
// stands among its kin in a file of this folder, and the kind of numbers that it makes (Numbers).
#pragma once

#include "import/onnx/import.h"

#define DVNN_ONNX_OPERATORS(ROW)                                     \
  ROW("Abs", import_onnx_unary, kAsInputs)                           \
  ROW("Acos", import_onnx_unary, kReal)                              \
  ROW("Acosh", import_onnx_unary, kReal)                             \
  ROW("Add", import_onnx_binary, kAsInputs)                          \
  ROW("And", import_onnx_binary, kWhole)                             \
  ROW("ArgMax", import_onnx_arg_reduce, kWhole)                      \
  ROW("ArgMin", import_onnx_arg_reduce, kWhole)                      \
  ROW("Asin", import_onnx_unary, kReal)                              \
  ROW("Asinh", import_onnx_unary, kReal)                             \
  ROW("Atan", import_onnx_unary, kReal)                              \
  ROW("Atanh", import_onnx_unary, kReal)                             \
  ROW("AveragePool", import_onnx_average_pool, kReal)                \
  ROW("BatchNormalization", import_onnx_batch_norm, kReal)           \
  ROW("Cast", import_onnx_cast, kAsInputs)                           \
  ROW("CastLike", import_onnx_cast, kAsInputs)                       \
  ROW("Ceil", import_onnx_unary, kReal)                              \
  ROW("Celu", import_onnx_unary, kReal)                              \
  ROW("Clip", import_onnx_clip, kAsInputs)                           \
  ROW("Compress", import_onnx_compress, kAsInputs)                   \
  ROW("Concat", import_onnx_concat, kAsInputs)                       \
  ROW("Constant", import_onnx_constant, kAsInputs)                   \
  ROW("Conv", import_onnx_conv, kReal)                               \
  ROW("ConvTranspose", import_onnx_conv_transpose, kReal)            \
  ROW("Cos", import_onnx_unary, kReal)                               \
  ROW("Cosh", import_onnx_unary, kReal)                              \
  ROW("CumSum", import_onnx_cum_sum, kAsInputs)                      \
  ROW("DepthToSpace", import_onnx_depth, kAsInputs)                  \
  ROW("DequantizeLinear", import_onnx_dequantize, kReal)             \
  ROW("Div", import_onnx_binary, kAsInputs)                          \
  ROW("Dropout", import_onnx_identity, kAsInputs)                    \
  ROW("Einsum", import_onnx_einsum, kAsInputs)                       \
  ROW("Elu", import_onnx_activation, kReal)                          \
  ROW("Equal", import_onnx_binary, kWhole)                           \
  ROW("Erf", import_onnx_unary, kReal)                               \
  ROW("Exp", import_onnx_unary, kReal)                               \
  ROW("Expand", import_onnx_expand, kAsInputs)                       \
  ROW("Flatten", import_onnx_flatten, kAsInputs)                     \
  ROW("Floor", import_onnx_unary, kReal)                             \
  ROW("Gather", import_onnx_gather, kAsInputs)                       \
  ROW("GatherElements", import_onnx_gather_elements, kAsInputs)      \
  ROW("GatherND", import_onnx_gather_nd, kAsInputs)                  \
  ROW("GRU", import_onnx_recurrent, kReal)                           \
  ROW("Gelu", import_onnx_unary, kReal)                              \
  ROW("Gemm", import_onnx_gemm, kReal)                               \
  ROW("GlobalAveragePool", import_onnx_global_pool, kReal)           \
  ROW("GlobalMaxPool", import_onnx_global_pool, kReal)               \
  ROW("Greater", import_onnx_binary, kWhole)                         \
  ROW("GreaterOrEqual", import_onnx_binary, kWhole)                  \
  ROW("GridSample", import_onnx_grid_sample, kReal)                  \
  ROW("GroupNormalization", import_onnx_group_norm, kReal)           \
  ROW("HardSigmoid", import_onnx_unary, kReal)                       \
  ROW("HardSwish", import_onnx_unary, kReal)                         \
  ROW("Hardmax", import_onnx_softmax, kReal)                         \
  ROW("Identity", import_onnx_identity, kAsInputs)                   \
  ROW("InstanceNormalization", import_onnx_instance_norm, kReal)     \
  ROW("IsNaN", import_onnx_unary, kWhole)                            \
  ROW("LRN", import_onnx_lrn, kReal)                                 \
  ROW("LSTM", import_onnx_recurrent, kReal)                          \
  ROW("LayerNormalization", import_onnx_layer_norm, kReal)           \
  ROW("LeakyRelu", import_onnx_activation, kReal)                    \
  ROW("Less", import_onnx_binary, kWhole)                            \
  ROW("LessOrEqual", import_onnx_binary, kWhole)                     \
  ROW("Log", import_onnx_unary, kReal)                               \
  ROW("LogSoftmax", import_onnx_softmax, kReal)                      \
  ROW("LpNormalization", import_onnx_lp_norm, kReal)                 \
  ROW("LpPool", import_onnx_lp_pool, kReal)                          \
  ROW("MatMul", import_onnx_matmul, kAsInputs)                       \
  ROW("Max", import_onnx_binary, kAsInputs)                          \
  ROW("MaxPool", import_onnx_max_pool, kAsInputs)                    \
  ROW("MaxUnpool", import_onnx_max_unpool, kReal)                    \
  ROW("Mean", import_onnx_binary, kReal)                             \
  ROW("MeanVarianceNormalization", import_onnx_mean_variance, kReal) \
  ROW("Min", import_onnx_binary, kAsInputs)                          \
  ROW("Mish", import_onnx_unary, kReal)                              \
  ROW("Mod", import_onnx_binary, kAsInputs)                          \
  ROW("Mul", import_onnx_binary, kAsInputs)                          \
  ROW("Neg", import_onnx_unary, kAsInputs)                           \
  ROW("Not", import_onnx_unary, kWhole)                              \
  ROW("OneHot", import_onnx_one_hot, kAsInputs)                      \
  ROW("Or", import_onnx_binary, kWhole)                              \
  ROW("PRelu", import_onnx_activation, kReal)                        \
  ROW("Pad", import_onnx_pad, kAsInputs)                             \
  ROW("Pow", import_onnx_binary, kAsInputs)                          \
  ROW("QuantizeLinear", import_onnx_quantize, kWhole)                \
  ROW("RNN", import_onnx_recurrent, kReal)                           \
  ROW("RMSNormalization", import_onnx_layer_norm, kReal)             \
  ROW("Reciprocal", import_onnx_unary, kReal)                        \
  ROW("ReduceL1", import_onnx_reduce, kAsInputs)                     \
  ROW("ReduceL2", import_onnx_reduce, kAsInputs)                     \
  ROW("ReduceLogSum", import_onnx_reduce, kAsInputs)                 \
  ROW("ReduceLogSumExp", import_onnx_reduce, kAsInputs)              \
  ROW("ReduceMax", import_onnx_reduce, kAsInputs)                    \
  ROW("ReduceMean", import_onnx_reduce, kAsInputs)                   \
  ROW("ReduceMin", import_onnx_reduce, kAsInputs)                    \
  ROW("ReduceProd", import_onnx_reduce, kAsInputs)                   \
  ROW("ReduceSum", import_onnx_reduce, kAsInputs)                    \
  ROW("ReduceSumSquare", import_onnx_reduce, kAsInputs)              \
  ROW("Relu", import_onnx_activation, kAsInputs)                     \
  ROW("Reshape", import_onnx_reshape, kAsInputs)                     \
  ROW("Resize", import_onnx_resize, kAsInputs)                       \
  ROW("ReverseSequence", import_onnx_reverse_sequence, kAsInputs)    \
  ROW("Round", import_onnx_unary, kReal)                             \
  ROW("Scatter", import_onnx_scatter_elements, kAsInputs)            \
  ROW("ScatterElements", import_onnx_scatter_elements, kAsInputs)    \
  ROW("ScatterND", import_onnx_scatter_nd, kAsInputs)                \
  ROW("Selu", import_onnx_unary, kReal)                              \
  ROW("Shape", import_onnx_shape, kWhole)                            \
  ROW("Shrink", import_onnx_unary, kReal)                            \
  ROW("Sigmoid", import_onnx_activation, kReal)                      \
  ROW("Sign", import_onnx_unary, kAsInputs)                          \
  ROW("Sin", import_onnx_unary, kReal)                               \
  ROW("Sinh", import_onnx_unary, kReal)                              \
  ROW("Size", import_onnx_shape, kWhole)                             \
  ROW("Slice", import_onnx_slice, kAsInputs)                         \
  ROW("Softmax", import_onnx_softmax, kReal)                         \
  ROW("Softplus", import_onnx_unary, kReal)                          \
  ROW("Softsign", import_onnx_unary, kReal)                          \
  ROW("SpaceToDepth", import_onnx_depth, kAsInputs)                  \
  ROW("Split", import_onnx_split, kAsInputs)                         \
  ROW("Sqrt", import_onnx_unary, kReal)                              \
  ROW("Squeeze", import_onnx_squeeze, kAsInputs)                     \
  ROW("Sub", import_onnx_binary, kAsInputs)                          \
  ROW("Sum", import_onnx_binary, kAsInputs)                          \
  ROW("Swish", import_onnx_unary, kReal)                             \
  ROW("Tan", import_onnx_unary, kReal)                               \
  ROW("Tanh", import_onnx_activation, kReal)                         \
  ROW("ThresholdedRelu", import_onnx_unary, kReal)                   \
  ROW("Tile", import_onnx_tile, kAsInputs)                           \
  ROW("TopK", import_onnx_top_k, kAsInputs)                          \
  ROW("Transpose", import_onnx_transpose, kAsInputs)                 \
  ROW("Trilu", import_onnx_trilu, kAsInputs)                         \
  ROW("Unsqueeze", import_onnx_squeeze, kAsInputs)                   \
  ROW("Upsample", import_onnx_resize, kAsInputs)                     \
  ROW("Where", import_onnx_where, kAsInputs)                         \
  ROW("Xor", import_onnx_binary, kWhole)

namespace dvnn::import {

// A function may import several operators: then this declares it as often.
#define DVNN_DECLARE(type, import, makes) Status import(const OnnxNode& node);
DVNN_ONNX_OPERATORS(DVNN_DECLARE)
#undef DVNN_DECLARE

}  // namespace dvnn::import
