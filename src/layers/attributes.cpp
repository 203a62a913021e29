// SPDX-License-Identifier: Apache-2.0
#include "layers/attributes.h"

#include "base/format.h"
#include "base/guard.h"
#include "base/json.h"

namespace dvnn::layers {
namespace {

using Parse = Result<LayerAttributes> (*)(const Json& params);

// Told which alternative it is: the constructor that finds out is compiled for every pair of types.
template <typename Attributes>
Result<LayerAttributes> parsed(const Json& params) {
  DVNN_ASSIGN(Attributes attributes, Attributes::parse(params));
  return LayerAttributes(std::in_place_type<Attributes>, std::move(attributes));
}

// The reader of the type with that name, or null.
template <size_t... I>
Parse find_parse(const std::string& name, std::index_sequence<I...>) {
  Parse found = nullptr;
  (void)((name == std::variant_alternative_t<I, AnyAttributes>::kName &&
          (found = parsed<std::variant_alternative_t<I, AnyAttributes>>)) ||
         ...);
  return found;
}

// All types but the last one, which has no name of its own.
using BuiltIn = std::make_index_sequence<std::variant_size_v<AnyAttributes> - 1>;

template <size_t... I>
std::vector<std::string> names_of(std::index_sequence<I...>) {
  return {std::variant_alternative_t<I, AnyAttributes>::kName...};
}

}  // namespace

LayerAttributes::LayerAttributes(const LayerAttributes& other) = default;
LayerAttributes::LayerAttributes(LayerAttributes&& other) noexcept = default;
LayerAttributes& LayerAttributes::operator=(const LayerAttributes& other) = default;
LayerAttributes& LayerAttributes::operator=(LayerAttributes&& other) noexcept = default;
LayerAttributes::~LayerAttributes() = default;

Result<LayerAttributes> parse_layer(const std::string& type, const Json& params) {
  static const Json kNone = Json::object();
  const Json& given = params.is_null() ? kNone : params;
  const Parse parse = find_parse(type == "Flatten" ? ReshapeAttributes::kName : type, BuiltIn());
  auto layer = guarded("reading its parameters", [&]() -> Result<LayerAttributes> {
    if (parse) return parse(given);
    return LayerAttributes(std::in_place_type<CustomAttributes>, CustomAttributes{type, given});
  });
  if (!layer.ok()) return layer.error().within(type);
  return layer;
}

Result<LayerPtr> read_layer(const std::string& type, const Json* params) {
  // Not a copy of what is there: one that fails halfway for want of memory ends the process.
  static const Json kNone;
  DVNN_ASSIGN(auto layer, parse_layer(type, params ? *params : kNone));
  return LayerPtr(std::make_shared<LayerAttributes>(std::move(layer)));
}

std::string type_of(const LayerAttributes& attributes) {
  return std::visit(
      [](const auto& a) -> std::string {
        if constexpr (std::is_same_v<std::decay_t<decltype(a)>, CustomAttributes>) {
          return a.type;
        } else {
          return a.kName;
        }
      },
      attributes);
}

Json params_of(const LayerAttributes& attributes) {
  return std::visit([](const auto& a) { return a.to_json(); }, attributes);
}

DimsResult dims_after(const LayerAttributes& attributes, Span<const Shape> inputs) {
  return std::visit([&](const auto& a) { return a.dims_after(inputs); }, attributes);
}

std::vector<std::string> cpu_layer_names() {
  auto names = names_of(BuiltIn());
  names.push_back("Flatten");
  return names;
}

Json CustomAttributes::to_json() const {
  return params;
}

DimsResult CustomAttributes::dims_after(Span<const Shape>) const {
  return Error{ErrorCode::kUnsupported,
               "layers of type " + type + " do not say how their size follows the input's"};
}

Status expect_inputs(Span<const Shape> inputs, size_t least) {
  if (inputs.size() >= least) return {};
  return Error{
      ErrorCode::kUnsupported,
      inputs.empty() ? "has no input" : format("has %zu inputs, needs %zu", inputs.size(), least)};
}

DimsResult same_dims(Span<const Shape> inputs) {
  DVNN_TRY(expect_inputs(inputs, 1));
  return std::vector<int64_t>(inputs[0].dims, inputs[0].dims + inputs[0].rank);
}

}  // namespace dvnn::layers
