// SPDX-License-Identifier: Apache-2.0
// A CPU layer bound to the memory of its tensors: the form in which slots, constant steps,
// generated networks and the FP32 reference run CPU layers.
#pragma once

#include <memory>
#include <vector>

#include "base/span.h"
#include "layers/attributes.h"
#include "layers/cpu_layer.h"

namespace dvnn::layers {

class BoundLayer {
 public:
  /// Adds an input or output, in the layer's order. The caller keeps the memory.
  void add_input(const ConstTensorView& view) { inputs_.push_back(view); }
  void add_output(const TensorView& view) { outputs_.push_back(view); }

  /// Creates the layer over these tensors. Errors are create_cpu_layer()'s.
  Status create(const LayerAttributes& attributes, const CustomLibrary* library = nullptr) {
    std::vector<TensorDesc> in, out;
    for (const ConstTensorView& view : inputs_) in.push_back(view.desc);
    for (const TensorView& view : outputs_) out.push_back(view.desc);
    DVNN_ASSIGN(layer_, create_cpu_layer(attributes, in, out, library));
    return {};
  }
  /// Marks input `i` as a constant of the network: the same contents in all runs.
  void input_will_stay(size_t i) { layer_->input_will_stay(i); }
  explicit operator bool() const { return layer_ != nullptr; }

  /// Moves input or output `i` to other memory that holds the same tensor.
  void move_input(size_t i, const uint8_t* data) { inputs_[i].data = data; }
  void move_output(size_t i, uint8_t* data) { outputs_[i].data = data; }

  Status run() { return layer_->run(inputs_, outputs_); }

 private:
  std::unique_ptr<CpuLayer> layer_;
  std::vector<ConstTensorView> inputs_;
  std::vector<TensorView> outputs_;
};

}  // namespace dvnn::layers
