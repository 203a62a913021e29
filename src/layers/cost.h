// SPDX-License-Identifier: Apache-2.0
// The cost of a CPU layer, which the struct of its attributes states (cost()) before the layer is
// created. The sums over a network are checked against its budgets (base/budget.h).
#pragma once

#include <cstdint>
#include <string>

#include "base/budget.h"
#include "base/result.h"
#include "base/span.h"
#include "layers/any_layer.h"
#include "tensor/tensor.h"

namespace dvnn::layers {

/// Upper bounds; they saturate instead of wrapping. Layers begin with one_look() and add what is
/// their own by the functions that return the cost.
struct Cost {
  uint64_t kept_bytes = 0;    // beside the tensors, as long as the layer lives
  uint64_t shared_bytes = 0;  // of the slot's workspace, while the layer runs
  uint64_t work = 0;          // elements read and written, window taps, products
  uint64_t macs = 0;          // of these, multiply-adds of products and convolutions
  uint64_t candidates = 0;    // boxes that suppression looks at

  Cost& keep_bytes(uint64_t bytes);
  Cost& keep_floats(uint64_t count);
  Cost& borrow_floats(uint64_t count);  // of the workspace
  Cost& add_work(uint64_t elements);
  Cost& add_macs(uint64_t products);  // which are work, too

  /// Layers that run one after the other share their workspace: the largest counts.
  Cost& operator+=(const Cost& other);
};

/// The cost of a layer that may not even be possible with these tensors, as its type says.
Cost cost_of(const LayerAttributes& attributes, Span<const TensorDesc> inputs,
             Span<const TensorDesc> outputs);

/// The least that any layer takes: one look at each element, and a copy in row-major floats of each
/// tensor that is not of these.
Cost one_look(Span<const TensorDesc> inputs, Span<const TensorDesc> outputs);
uint64_t elements_of(const TensorDesc& tensor);
uint64_t elements_of(Span<const TensorDesc> tensors);
/// The shape's last dimension; at least 1.
uint64_t last_extent(const Shape& shape);
/// The bytes of lists of moved parts (moves.h) that make `outputs`.
uint64_t part_bytes(Span<const TensorDesc> outputs);
/// The bytes of tables with an entry for each index of each axis: a few taps with their weights.
uint64_t index_bytes(Span<const TensorDesc> tensors);
/// Returns whether the layer makes one picture of one.
bool are_pictures(Span<const TensorDesc> inputs, Span<const TensorDesc> outputs);

/// Holds the cost of a network's CPU layers against its budgets.
void add_cost(const Cost& cost, BudgetSheet* sheet);

/// Holds the cost of one layer against the budgets. `whose` begins the error: "a layer of type X".
Status check_cost(const Cost& cost, const std::string& whose);

}  // namespace dvnn::layers
