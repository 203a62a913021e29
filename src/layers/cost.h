// SPDX-License-Identifier: Apache-2.0
// The cost of a CPU layer, computed from its attributes before it is created. The sums over a
// network are checked against its budgets (base/budget.h).
#pragma once

#include <cstdint>
#include <string>

#include "base/budget.h"
#include "base/result.h"
#include "base/span.h"
#include "layers/any_layer.h"
#include "tensor/tensor.h"

namespace dvnn::layers {

/// Upper bounds; they saturate instead of wrapping.
struct Cost {
  uint64_t kept_bytes = 0;    // beside the tensors, as long as the layer lives
  uint64_t shared_bytes = 0;  // of the slot's workspace, while the layer runs
  uint64_t work = 0;          // elements read and written, window taps, products
  uint64_t macs = 0;          // of these, multiply-adds of products and convolutions
  uint64_t candidates = 0;    // boxes that suppression looks at

  /// Layers that run one after the other share their workspace: the largest counts.
  Cost& operator+=(const Cost& other);
};

/// The cost of a layer that may not even be possible with these tensors.
Cost cost_of(const LayerAttributes& attributes, Span<const TensorDesc> inputs,
             Span<const TensorDesc> outputs);

/// Holds the cost of a network's CPU layers against its budgets.
void add_cost(const Cost& cost, BudgetSheet* sheet);

/// Holds the cost of one layer against the budgets. `whose` begins the error: "a layer of type X".
Status check_cost(const Cost& cost, const std::string& whose);

}  // namespace dvnn::layers
