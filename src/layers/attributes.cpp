// SPDX-License-Identifier: Apache-2.0
#include "layers/attributes.h"

#include "base/format.h"
#include "base/result.h"
#include "layers/attributes/fields.h"
#include "layers/factories.h"

namespace dvnn::layers {
namespace {

// Type-erased functions of one struct of attributes.
struct Row {
  const char* name;  // null: the attributes hold the type's name
  Result<LayerAttributes> (*parse)(const Json& params);
  Json (*to_json)(const LayerAttributes& layer);
  DimsResult (*dims_after)(const LayerAttributes& layer, Span<const Shape> inputs);
  Cost (*cost)(const LayerAttributes& layer, Span<const TensorDesc> inputs,
               Span<const TensorDesc> outputs);
  LayerResult (*create)(const LayerAttributes& layer, Span<const TensorDesc> inputs,
                        Span<const TensorDesc> outputs, const CustomLibrary* library);
};

template <typename Attributes>
Result<LayerAttributes> parsed(const Json& params) {
  if constexpr (Attributes::kHasFields) {
    DVNN_ASSIGN(Attributes attributes, read_fields<Attributes>(params));
    return LayerAttributes(std::move(attributes));
  } else {
    DVNN_ASSIGN(Attributes attributes, Attributes::parse(params));
    return LayerAttributes(std::move(attributes));
  }
}

template <typename Attributes>
Json written(const LayerAttributes& layer) {
  if constexpr (Attributes::kHasFields) {
    return write_fields(*layer.as<Attributes>());
  } else {
    return layer.as<Attributes>()->to_json();
  }
}

template <typename Attributes>
DimsResult measured(const LayerAttributes& layer, Span<const Shape> inputs) {
  return layer.as<Attributes>()->dims_after(inputs);
}

template <typename Attributes>
Cost estimated(const LayerAttributes& layer, Span<const TensorDesc> inputs,
               Span<const TensorDesc> outputs) {
  return layer.as<Attributes>()->cost(inputs, outputs);
}

template <typename Attributes>
LayerResult created(const LayerAttributes& layer, Span<const TensorDesc> inputs,
                    Span<const TensorDesc> outputs, const CustomLibrary*) {
  return layer.as<Attributes>()->create(inputs, outputs);
}

LayerResult created_by_library(const LayerAttributes& layer, Span<const TensorDesc> inputs,
                               Span<const TensorDesc> outputs, const CustomLibrary* library) {
  return layer.as<CustomAttributes>()->create(inputs, outputs, library);
}

template <typename Attributes>
constexpr Row kRow = {Attributes::kName,    parsed<Attributes>,    written<Attributes>,
                      measured<Attributes>, estimated<Attributes>, created<Attributes>};
template <>
constexpr Row kRow<CustomAttributes> = {nullptr,
                                        nullptr,
                                        written<CustomAttributes>,
                                        measured<CustomAttributes>,
                                        estimated<CustomAttributes>,
                                        created_by_library};

template <typename... Types>
Span<const Row> rows_of(TypeList<Types...>) {
  static constexpr Row kRows[] = {kRow<Types>...};
  return Span<const Row>(kRows, sizeof...(Types));
}

Span<const Row> rows() {
  return rows_of(LayerTypes());
}

const Row& row_of(const LayerAttributes& layer) {
  return rows()[layer.place()];
}

const Row* find_row(const std::string& name) {
  for (const Row& row : rows()) {
    if (row.name && name == row.name) return &row;
  }
  return nullptr;
}

}  // namespace

Result<LayerAttributes> parse_layer(const std::string& type, const Json& params) {
  static const Json kNone = Json::object();
  const Json& given = params.is_null() ? kNone : params;
  const Row* const row = find_row(type == "Flatten" ? ReshapeAttributes::kName : type);
  auto layer = guarded("reading its parameters", [&]() -> Result<LayerAttributes> {
    if (row) return row->parse(given);
    return LayerAttributes(CustomAttributes{type, given});
  });
  if (!layer.ok()) return layer.error().within(type);
  return layer;
}

Result<LayerPtr> read_layer(const std::string& type, const Json* params) {
  // A reference, because copying JSON ends the process if memory runs out halfway.
  static const Json kNone;
  DVNN_ASSIGN(auto layer, parse_layer(type, params ? *params : kNone));
  return LayerPtr(std::make_shared<LayerAttributes>(std::move(layer)));
}

std::string type_of(const LayerAttributes& attributes) {
  const char* const name = row_of(attributes).name;
  return name ? name : attributes.as<CustomAttributes>()->type;
}

Json params_of(const LayerAttributes& attributes) {
  return row_of(attributes).to_json(attributes);
}

DimsResult dims_after(const LayerAttributes& attributes, Span<const Shape> inputs) {
  return row_of(attributes).dims_after(attributes, inputs);
}

Cost cost_of(const LayerAttributes& attributes, Span<const TensorDesc> inputs,
             Span<const TensorDesc> outputs) {
  return row_of(attributes).cost(attributes, inputs, outputs);
}

LayerResult create_own(const LayerAttributes& attributes, Span<const TensorDesc> inputs,
                       Span<const TensorDesc> outputs, const CustomLibrary* library) {
  return row_of(attributes).create(attributes, inputs, outputs, library);
}

std::vector<std::string> cpu_layer_names() {
  std::vector<std::string> names;
  for (const Row& row : rows()) {
    if (row.name) names.push_back(row.name);
  }
  names.push_back("Flatten");
  return names;
}

Json CustomAttributes::to_json() const {
  return params;
}

DimsResult CustomAttributes::dims_after(Span<const Shape>) const {
  return unsupported("layers of type " + type + " do not say how their size follows the input's");
}

Cost CustomAttributes::cost(Span<const TensorDesc> in, Span<const TensorDesc> out) const {
  return one_look(in, out);  // only the library knows the cost
}

Status expect_inputs(Span<const Shape> inputs, size_t least) {
  if (inputs.size() >= least) return {};
  return unsupported(inputs.empty() ? "has no input"
                                    : format("has %zu inputs, needs %zu", inputs.size(), least));
}

DimsResult same_dims(Span<const Shape> inputs) {
  DVNN_TRY(expect_inputs(inputs, 1));
  return std::vector<int64_t>(inputs[0].dims, inputs[0].dims + inputs[0].rank);
}

}  // namespace dvnn::layers
