// SPDX-License-Identifier: Apache-2.0
// Declares what every struct of attributes declares; layers/attributes.h says how a type is added.
#pragma once

#include <memory>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "base/span.h"
#include "layers/cpu_layer.h"
#include "tensor/tensor.h"

namespace dvnn::layers {

class Fields;  // layers/attributes/fields.h
struct Cost;   // layers/cost.h

using LayerResult = Result<std::unique_ptr<CpuLayer>>;
using DimsResult = Result<std::vector<int64_t>>;

// fields() lists the parameters for Fields, which reads and writes them, and checks each by itself;
// dims_after() and create() check that they fit the shapes. cost() is called before create(), with
// tensors that may not fit. All run once per network, so they are compiled for size, which makes
// the code of all layers an eighth smaller.
#define DVNN_LAYER_TYPE(name)              \
  static constexpr bool kHasFields = true; \
  [[gnu::cold]] void fields(Fields* f);    \
  DVNN_LAYER_FUNCTIONS(name)

// A type whose parameters are no list of fields reads and writes its JSON itself.
#define DVNN_LAYER_TYPE_IN_JSON(Attributes, name)                    \
  static constexpr bool kHasFields = false;                          \
  [[gnu::cold]] static Result<Attributes> parse(const Json& params); \
  [[gnu::cold]] Json to_json() const;                                \
  DVNN_LAYER_FUNCTIONS(name)

#define DVNN_LAYER_FUNCTIONS(name)                                                                \
  static constexpr const char* kName = name;                                                      \
  [[gnu::cold]] DimsResult dims_after(Span<const Shape> inputs) const;                            \
  [[gnu::cold]] Cost cost(Span<const TensorDesc> inputs, Span<const TensorDesc> outputs) const;   \
  [[gnu::cold]] LayerResult create(Span<const TensorDesc> inputs, Span<const TensorDesc> outputs) \
      const

}  // namespace dvnn::layers
