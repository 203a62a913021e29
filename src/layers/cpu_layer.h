// SPDX-License-Identifier: Apache-2.0
// Layers that run on the CPU; attributes.h makes them. CONTRIBUTING.md shows how to add one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/span.h"
#include "tensor/tensor.h"

namespace dvnn::layers {

class LayerAttributes;

/// The attributes of a CPU layer of any type. Immutable, because networks that are planned from one
/// another share it.
using LayerPtr = std::shared_ptr<const LayerAttributes>;

/// One configured layer of one slot. It may keep scratch memory, sized when it is created.
class CpuLayer {
 public:
  virtual ~CpuLayer() = default;
  /// Reads the inputs, fills the outputs; their descriptions are those given to the factory.
  virtual Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) = 0;
  /// Says that input `i` has the same contents in all runs: it is a constant of the network.
  virtual void input_will_stay(size_t /*i*/) {}
};

/// Names of all built-in layers.
std::vector<std::string> cpu_layer_names();

}  // namespace dvnn::layers
