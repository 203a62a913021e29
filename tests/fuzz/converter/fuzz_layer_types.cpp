// SPDX-License-Identifier: Apache-2.0
// Declarations of custom layers (--layer-types): {"types": the declaration, "given": parameters of
// a layer in a model, "input": its input's shape}.
#include "base/json.h"
#include "import/custom_layers.h"
#include "json_mutator.h"
#include "target.h"
#include "tensor/tensor.h"

namespace dvnn::fuzz::layer_types_target {

DVNN_FUZZ_JSON("types", "given", "input", "Spread", "params", "output", "amount", "sizes", "n",
               "int", "float", "bool", "int[2]", "float[3]", "bool[1]", "int[65536]", "int[0]",
               "int[-1]", "n", "c", "h", "w", "d0", "d3", "count(sizes)", "(h + 1) / 2 - n",
               "c * count(sizes)", "((((h))))", "1 / 0", "2147483647 * 2147483647", "- 1", "0 - h",
               "99999999999999999999", "c *", "count(")

namespace {

Shape shape_of(const Json& parsed) {
  JsonReader in(parsed, "it");
  const auto dims = in.integers("input", 1, 4096, Shape::kMaxRank);
  Shape shape;
  shape.rank = static_cast<int>(dims.size());
  std::copy(dims.begin(), dims.end(), shape.dims);
  return in.ok() && check_shape(shape).ok() ? shape : Shape{1, 3, 8, 9};
}

}  // namespace

static void prepare() {}

static void try_input(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto parsed = parse_json(text, "it");
  const Json* declaration = nullptr;
  const Json* given = nullptr;
  if (parsed.ok() && parsed.value().is_object()) {
    JsonReader in(parsed.value(), "it");
    declaration = in.member("types");
    given = in.member("given");
  }
  const auto types = import::parse_custom_layers(declaration ? declaration->dump() : text);
  if (!fuzz::is_good(types)) return;
  for (const auto& [name, type] : types.value()) {
    const auto params = type.take_params(given ? *given : Json::object());
    if (!fuzz::is_good(params)) continue;
    const auto dims = type.output_dims(shape_of(parsed.value()), params.value());
    fuzz::accepted += fuzz::is_good(dims);
  }
}

DVNN_FUZZ_JSON_TARGET(layer_types)

}  // namespace dvnn::fuzz::layer_types_target
