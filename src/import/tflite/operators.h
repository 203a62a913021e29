// SPDX-License-Identifier: Apache-2.0
// Table of TensorFlow Lite's operators: a row is an operator's name and the function that imports
// it, which stands among similar ones in a file of the folder `operators`. Operators that are one
// ONNX operator on single elements have a table there (elementwise.cpp).
#pragma once

#include "import/tflite/import.h"

#define DVNN_TFLITE_OPERATORS(ROW)                                     \
  ROW("ABS", import_tflite_elementwise)                                \
  ROW("ADD", import_tflite_arithmetic)                                 \
  ROW("ADD_N", import_tflite_elementwise)                              \
  ROW("ARG_MAX", import_tflite_arg)                                    \
  ROW("ARG_MIN", import_tflite_arg)                                    \
  ROW("AVERAGE_POOL_2D", import_tflite_pool)                           \
  ROW("BATCH_MATMUL", import_tflite_batch_matmul)                      \
  ROW("BATCH_TO_SPACE_ND", import_tflite_batch_to_space)               \
  ROW("BROADCAST_ARGS", import_tflite_broadcast_args)                  \
  ROW("BROADCAST_TO", import_tflite_broadcast_to)                      \
  ROW("CAST", import_tflite_cast)                                      \
  ROW("CEIL", import_tflite_elementwise)                               \
  ROW("CONCATENATION", import_tflite_concatenation)                    \
  ROW("CONV_2D", import_tflite_conv)                                   \
  ROW("COS", import_tflite_elementwise)                                \
  ROW("CUMSUM", import_tflite_cumsum)                                  \
  ROW("Convolution2DTransposeBias", import_tflite_transpose_conv_bias) \
  ROW("DENSIFY", import_tflite_same)                                   \
  ROW("DEPTHWISE_CONV_2D", import_tflite_depthwise_conv)               \
  ROW("DEPTH_TO_SPACE", import_tflite_depth)                           \
  ROW("DEQUANTIZE", import_tflite_same)                                \
  ROW("DIV", import_tflite_arithmetic)                                 \
  ROW("ELU", import_tflite_elementwise)                                \
  ROW("EQUAL", import_tflite_elementwise)                              \
  ROW("EXP", import_tflite_elementwise)                                \
  ROW("EXPAND_DIMS", import_tflite_expand_dims)                        \
  ROW("FILL", import_tflite_fill)                                      \
  ROW("FLOOR", import_tflite_elementwise)                              \
  ROW("FLOOR_DIV", import_tflite_floor_div)                            \
  ROW("FLOOR_MOD", import_tflite_elementwise)                          \
  ROW("FULLY_CONNECTED", import_tflite_fully_connected)                \
  ROW("GATHER", import_tflite_gather)                                  \
  ROW("GATHER_ND", import_tflite_gather_nd)                            \
  ROW("GELU", import_tflite_gelu)                                      \
  ROW("GREATER", import_tflite_elementwise)                            \
  ROW("GREATER_EQUAL", import_tflite_elementwise)                      \
  ROW("HARD_SWISH", import_tflite_elementwise)                         \
  ROW("L2_NORMALIZATION", import_tflite_l2_normalization)              \
  ROW("LEAKY_RELU", import_tflite_leaky_relu)                          \
  ROW("LESS", import_tflite_elementwise)                               \
  ROW("LESS_EQUAL", import_tflite_elementwise)                         \
  ROW("LOCAL_RESPONSE_NORMALIZATION", import_tflite_lrn)               \
  ROW("LOG", import_tflite_elementwise)                                \
  ROW("LOGICAL_AND", import_tflite_elementwise)                        \
  ROW("LOGICAL_NOT", import_tflite_elementwise)                        \
  ROW("LOGICAL_OR", import_tflite_elementwise)                         \
  ROW("LOGISTIC", import_tflite_elementwise)                           \
  ROW("LOG_SOFTMAX", import_tflite_softmax)                            \
  ROW("Landmarks2TransformMatrix", import_tflite_landmarks_to_matrix)  \
  ROW("MAXIMUM", import_tflite_elementwise)                            \
  ROW("MAX_POOL_2D", import_tflite_pool)                               \
  ROW("MEAN", import_tflite_reduce)                                    \
  ROW("MINIMUM", import_tflite_elementwise)                            \
  ROW("MIRROR_PAD", import_tflite_mirror_pad)                          \
  ROW("MUL", import_tflite_arithmetic)                                 \
  ROW("MaxPoolingWithArgmax2D", import_tflite_pool_with_places)        \
  ROW("MaxUnpooling2D", import_tflite_unpool)                          \
  ROW("NEG", import_tflite_elementwise)                                \
  ROW("NOT_EQUAL", import_tflite_not_equal)                            \
  ROW("ONE_HOT", import_tflite_one_hot)                                \
  ROW("PACK", import_tflite_pack)                                      \
  ROW("PAD", import_tflite_pad)                                        \
  ROW("PADV2", import_tflite_pad)                                      \
  ROW("POW", import_tflite_elementwise)                                \
  ROW("PRELU", import_tflite_prelu)                                    \
  ROW("QUANTIZE", import_tflite_same)                                  \
  ROW("RANGE", import_tflite_range)                                    \
  ROW("RANK", import_tflite_rank)                                      \
  ROW("REDUCE_MAX", import_tflite_reduce)                              \
  ROW("REDUCE_MIN", import_tflite_reduce)                              \
  ROW("REDUCE_PROD", import_tflite_reduce)                             \
  ROW("RELU", import_tflite_elementwise)                               \
  ROW("RELU6", import_tflite_clip)                                     \
  ROW("RELU_0_TO_1", import_tflite_clip)                               \
  ROW("RELU_N1_TO_1", import_tflite_clip)                              \
  ROW("RESHAPE", import_tflite_reshape)                                \
  ROW("RESIZE_BILINEAR", import_tflite_resize)                         \
  ROW("RESIZE_NEAREST_NEIGHBOR", import_tflite_resize)                 \
  ROW("REVERSE_V2", import_tflite_reverse)                             \
  ROW("ROUND", import_tflite_elementwise)                              \
  ROW("RSQRT", import_tflite_rsqrt)                                    \
  ROW("SELECT", import_tflite_select)                                  \
  ROW("SELECT_V2", import_tflite_select)                               \
  ROW("SHAPE", import_tflite_shape)                                    \
  ROW("SIGN", import_tflite_elementwise)                               \
  ROW("SIN", import_tflite_elementwise)                                \
  ROW("SLICE", import_tflite_slice)                                    \
  ROW("SOFTMAX", import_tflite_softmax)                                \
  ROW("SPACE_TO_BATCH_ND", import_tflite_space_to_batch)               \
  ROW("SPACE_TO_DEPTH", import_tflite_depth)                           \
  ROW("SPLIT", import_tflite_split)                                    \
  ROW("SPLIT_V", import_tflite_split)                                  \
  ROW("SQRT", import_tflite_elementwise)                               \
  ROW("SQUARE", import_tflite_square)                                  \
  ROW("SQUARED_DIFFERENCE", import_tflite_squared_difference)          \
  ROW("SQUEEZE", import_tflite_squeeze)                                \
  ROW("STRIDED_SLICE", import_tflite_strided_slice)                    \
  ROW("SUB", import_tflite_arithmetic)                                 \
  ROW("SUM", import_tflite_reduce)                                     \
  ROW("TANH", import_tflite_elementwise)                               \
  ROW("TILE", import_tflite_tile)                                      \
  ROW("TOPK_V2", import_tflite_top_k)                                  \
  ROW("TRANSPOSE", import_tflite_transpose)                            \
  ROW("TRANSPOSE_CONV", import_tflite_transpose_conv)                  \
  ROW("TransformLandmarks", import_tflite_transform_landmarks)         \
  ROW("TransformTensorBilinear", import_tflite_transform_tensor)       \
  ROW("UNPACK", import_tflite_unpack)                                  \
  ROW("ZEROS_LIKE", import_tflite_zeros_like)
namespace dvnn::import {

// A function that imports several operators is declared several times.
#define DVNN_DECLARE(type, import) Status import(const TfliteNode& node);
DVNN_TFLITE_OPERATORS(DVNN_DECLARE)
#undef DVNN_DECLARE

}  // namespace dvnn::import
