// SPDX-License-Identifier: Apache-2.0
// Dynamic quantisation as ONNX Runtime's tools write it. Private to the ONNX front end.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "onnx.pb.h"

namespace dvnn::import {

/// Nodes that can be computed in floating point, without rounding.
struct PlainScalings {
  std::set<std::string> scalings;  // first results of DynamicQuantizeLinear
  std::set<std::string> products;  // results of the ConvInteger and MatMulInteger that read them
};

/// Finds each DynamicQuantizeLinear whose numbers only ConvInteger and MatMulInteger read, whose
/// results are multiplied by the scale again: Cast(y) * (scale * known). Such a chain is a
/// convolution or a product in floating point, except that its input is rounded to 8 bits, which is
/// faster elsewhere but only costs time here.
PlainScalings plain_scalings(const onnx::GraphProto& graph, const std::vector<std::string>& wanted);

}  // namespace dvnn::import
