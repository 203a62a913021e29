// SPDX-License-Identifier: Apache-2.0
// The factories of the built-in CPU layers; cpu_layer.cpp holds the table of names. Layer names and
// parameters are Caffe's where Caffe has the layer. Shapes are row-major, axes count from 0.
#pragma once

#include "layers/cpu_layer.h"

namespace dvnn::layers {

using LayerResult = Result<std::unique_ptr<CpuLayer>>;

#define DVNN_LAYER_FACTORY(name)                                                \
  LayerResult name(const nlohmann::json& params, Span<const TensorDesc> inputs, \
                   Span<const TensorDesc> outputs)

/// {operation: add|sub|mul|div|pow|min|max} of two inputs; dimensions of 1 repeat, as in NumPy.
DVNN_LAYER_FACTORY(create_binary_layer);
/// {values: [...]}, row-major; no input, so it is made once.
DVNN_LAYER_FACTORY(create_constant_layer);
/// For kernels and dilations that the device cannot do: {kernel_w, kernel_h, stride_w, stride_h,
/// dilation_w, dilation_h, pad_left, pad_top, groups, transposed, weights: (m, c / groups, y, x),
/// bias: [one per output]}; convolution.h.
DVNN_LAYER_FACTORY(create_convolution_layer);
/// Zeros around a picture: {left, right, top, bottom}.
DVNN_LAYER_FACTORY(create_pad_layer);
/// Elements begin[i], begin[i] + step[i], ... along each axis: {begin: [...], step: [...]}.
DVNN_LAYER_FACTORY(create_slice_layer);
/// y = f(x) for {function: abs|ceil|clip (min, max)|exp|floor|hardsigmoid (alpha, beta)|hardswish|
/// log|neg|reciprocal|softplus|sqrt}.
DVNN_LAYER_FACTORY(create_unary_layer);
/// Joins the inputs along {axis}.
DVNN_LAYER_FACTORY(create_concat_layer);
/// SSD post-processing: inputs loc, conf, priors {1, 2, 4P}; output {1, 1, N, 7}, rows (image_id,
/// label, confidence, x0, y0, x1, y1), image_id -1 where unused. Parameters: parse_ssd_params.
DVNN_LAYER_FACTORY(create_detection_output_layer);
/// Element by element: {operation: sum|prod|max, coeff: [one per input, sum only]}.
DVNN_LAYER_FACTORY(create_eltwise_layer);
/// y = f(x): ReLU {slope}, Sigmoid, TanH, ELU {alpha}, Power is a Scale. One factory per function.
DVNN_LAYER_FACTORY(create_relu_layer);
DVNN_LAYER_FACTORY(create_sigmoid_layer);
DVNN_LAYER_FACTORY(create_tanh_layer);
DVNN_LAYER_FACTORY(create_elu_layer);
/// {slope: [one per channel, or one]}: negative values are multiplied by it.
DVNN_LAYER_FACTORY(create_prelu_layer);
/// L2 normalisation over channels (or everything, with across_spatial), then a scale per channel:
/// {across_spatial, channel_shared, eps, scale: [...]}. Source: Liu et al., "ParseNet" (2015).
DVNN_LAYER_FACTORY(create_normalize_layer);
/// Reorders axes: output axis i is input axis order[i].
DVNN_LAYER_FACTORY(create_permute_layer);
/// {method: max|average, kernel_w, kernel_h, stride_w, stride_h, pad_w, pad_h, global}: Caffe's
/// rules: windows are clipped to the padded input, averages divide by the clipped window or, with
/// counts_pads false, by what of it lies in the input.
DVNN_LAYER_FACTORY(create_pooling_layer);
/// Default boxes: output {1, 2, 4P}, row 0 boxes, row 1 variances. See decode/priors.h.
DVNN_LAYER_FACTORY(create_prior_box_layer);
/// The same elements under another shape, type or layout (also called Flatten).
DVNN_LAYER_FACTORY(create_reshape_layer);
/// y = x * scale + bias along {axis} (default 1): {scale: [...], bias: [...]}, either may be
/// absent.
DVNN_LAYER_FACTORY(create_scale_layer);
/// Softmax along {axis} (default 1).
DVNN_LAYER_FACTORY(create_softmax_layer);

/// Checks the number of inputs and outputs.
Status expect_arity(Span<const TensorDesc> inputs, size_t min_inputs, size_t max_inputs,
                    Span<const TensorDesc> outputs);
/// Checks that two tensors hold equally many elements.
Status expect_same_elements(const TensorDesc& a, const TensorDesc& b);
/// Elements before `axis`, along it, and after it.
struct AxisSplit {
  size_t outer, count, inner;
};
AxisSplit split_at(const Shape& shape, int axis);

}  // namespace dvnn::layers
