// SPDX-License-Identifier: Apache-2.0
// What importing must know of the results of an operator's nodes: the columns of operators.h.
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
