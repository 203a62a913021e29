// SPDX-License-Identifier: Apache-2.0
// A CPU layer of ours in a generated network (LT_CPU), created from its description.
#pragma once

#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "layers/any_layer.h"
#include "layers/bound_layer.h"

namespace dvnn::generated {

class CpuStep {
 public:
  /// `description` is JSON: "type" and "params" of the layer, its "inputs" and "outputs", each with
  /// "type", "layout", "shape", "storage" (io or constant) and "offset" in bytes.
  static Result<CpuStep> parse(const std::string& description);
  /// Returns how many bytes of constant memory it accesses.
  size_t constant_bytes() const;
  /// Whether it computes constants, and so needs to run only once.
  bool makes_constants() const { return outputs_[0].constant; }
  /// Binds the layer to memory, which must outlive it and not move.
  Status bind(uint8_t* io, size_t io_bytes, uint8_t* constants);
  Status run() { return layer_.run(); }

 private:
  struct Tensor {
    TensorDesc desc;
    bool constant = false;
    size_t offset = 0;
  };
  static Status read_tensors(const Json* list, std::vector<Tensor>* tensors);

  layers::LayerPtr attributes_;  // until bind()
  std::vector<Tensor> inputs_, outputs_;
  layers::BoundLayer layer_;
};

}  // namespace dvnn::generated
