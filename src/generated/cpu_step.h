// SPDX-License-Identifier: Apache-2.0
// One of our CPU layers in a generated network (LT_CPU), made from its description.
#pragma once

#include <memory>
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
  /// Bytes of constant memory that it reaches.
  size_t constant_bytes() const;
  /// Returns whether it computes constants, so that it needs to run only once.
  bool makes_constants() const { return outputs_[0].constant; }
  /// Makes the layer over these memories, which stay where they are.
  Status bind(uint8_t* io, size_t io_bytes, uint8_t* constants);
  Status run() { return layer_.run(); }

 private:
  struct Tensor {
    TensorDesc desc;
    bool constant = false;
    size_t offset = 0;
  };
  static Status read_tensors(const Json* list, std::vector<Tensor>* tensors);

  layers::LayerPtr attributes_;  // until it is bound
  std::vector<Tensor> inputs_, outputs_;
  layers::BoundLayer layer_;
};

}  // namespace dvnn::generated
