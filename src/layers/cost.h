// SPDX-License-Identifier: Apache-2.0
// The cost of a CPU layer, which its attributes' cost() states before the layer is created. The
// sums over a network are checked against its budgets (base/budget.h).
#pragma once

#include <cstdint>
#include <string>

#include "base/budget.h"
#include "base/result.h"
#include "base/span.h"
#include "layers/cpu_layer.h"
#include "tensor/tensor.h"

namespace dvnn::layers {

/// Upper bounds; they saturate instead of wrapping. A layer begins with one_look() and adds its own
/// costs by the functions that return the cost.
struct Cost {
  uint64_t kept_bytes = 0;    // memory besides the tensors, as long as the layer lives
  uint64_t shared_bytes = 0;  // memory of the slot's workspace, while the layer runs
  uint64_t work = 0;          // elements read and written, window taps, products
  uint64_t macs = 0;          // multiply-adds of products and convolutions, part of `work`
  uint64_t candidates = 0;    // boxes that suppression looks at

  Cost& keep_bytes(uint64_t bytes);
  Cost& keep_floats(uint64_t count);
  Cost& borrow_floats(uint64_t count);  // of the workspace
  Cost& add_work(uint64_t elements);
  Cost& add_macs(uint64_t products);  // counts as work, too

  /// Adds a layer that runs after the others. They share their workspace: the largest counts.
  Cost& operator+=(const Cost& other);
};

/// Returns the cost of a layer by its type's rules, even if it cannot exist with these tensors.
Cost cost_of(const LayerAttributes& attributes, Span<const TensorDesc> inputs,
             Span<const TensorDesc> outputs);

/// The least cost of any layer: one look at each element, and a row-major float copy of each tensor
/// that has another form.
Cost one_look(Span<const TensorDesc> inputs, Span<const TensorDesc> outputs);
uint64_t elements_of(const TensorDesc& tensor);
uint64_t elements_of(Span<const TensorDesc> tensors);
/// The shape's last dimension; at least 1.
uint64_t last_extent(const Shape& shape);
/// Bytes of the lists of moved parts (moves.h) that make `outputs`.
uint64_t part_bytes(Span<const TensorDesc> outputs);
/// Bytes of tables with an entry for each index of each axis: a few taps with their weights.
uint64_t index_bytes(Span<const TensorDesc> tensors);
/// Returns whether the layer has one picture as input and one as output.
bool are_pictures(Span<const TensorDesc> inputs, Span<const TensorDesc> outputs);

/// Adds the cost of a network's CPU layers to its budgets.
void add_cost(const Cost& cost, BudgetSheet* sheet);

/// Checks the cost of one layer against the budgets. `whose` begins the error: "a layer of type X".
Status check_cost(const Cost& cost, const std::string& whose);

}  // namespace dvnn::layers
