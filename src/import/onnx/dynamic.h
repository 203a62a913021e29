// SPDX-License-Identifier: Apache-2.0
// Dynamic quantisation as ONNX Runtime's tools write it. Private to the ONNX front end.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "onnx.pb.h"

namespace dvnn::import {

/// Nodes that need no rounding to be what they stand for.
struct PlainScalings {
  std::set<std::string> scalings;  // first results of DynamicQuantizeLinear
  std::set<std::string> products;  // results of the ConvInteger and MatMulInteger that read them
};

/// Finds the DynamicQuantizeLinear whose numbers are read by nothing but ConvInteger and
/// MatMulInteger, the results of which are multiplied by the scale again: Cast(y) * (scale *
/// known). Such a chain is a convolution or a product in floating point, but for the rounding of
/// its input to 8 bits, which served speed elsewhere and only costs here.
PlainScalings plain_scalings(const onnx::GraphProto& graph, const std::vector<std::string>& wanted);

}  // namespace dvnn::import
