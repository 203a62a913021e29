// SPDX-License-Identifier: Apache-2.0
// The attributes of each type of CPU layer, one struct per type. A struct has all of its type: its
// name in files, its form in JSON, the shape of its result, its cost, and the layer itself. A new
// type is a struct in a file of attributes/, its name in LayerTypes, and a file with its functions;
// a missing function does not link. CONTRIBUTING.md has an example. Names and parameters are
// Caffe's if Caffe has the layer. Shapes are row-major; axes count from 0.
#pragma once

#include <any>
#include <string>
#include <type_traits>
#include <utility>

#include "base/json.h"
#include "base/result.h"
#include "base/span.h"
#include "layers/attributes/arithmetic.h"
#include "layers/attributes/detection.h"
#include "layers/attributes/movement.h"
#include "layers/attributes/sequences.h"
#include "layers/attributes/windows.h"
#include "layers/cpu_layer.h"
#include "tensor/tensor.h"

namespace dvnn::layers {

class CustomLibrary;

/// A layer of a user's library (custom_library.h); only the library knows its parameters.
struct CustomAttributes {
  static constexpr bool kHasFields = false;
  std::string type;
  Json params;
  Json to_json() const;
  DimsResult dims_after(Span<const Shape> inputs) const;
  Cost cost(Span<const TensorDesc> inputs, Span<const TensorDesc> outputs) const;
  LayerResult create(Span<const TensorDesc> inputs, Span<const TensorDesc> outputs,
                     const CustomLibrary* library) const;
};

template <typename... Types>
struct TypeList {
  template <typename Type>
  static constexpr size_t place_of() {
    size_t place = 0;
    (void)((std::is_same_v<Type, Types> || (++place, false)) || ...);
    return place;
  }
};

/// All types in the order of names; the last one stands for types that are not built in.
using LayerTypes =
    TypeList<ArgReduceAttributes, AttentionAttributes, BorderAttributes, ChannelGatherAttributes,
             ConcatAttributes, ConstantAttributes, ConvolutionAttributes, CumSumAttributes,
             DetectionOutputAttributes, ElementwiseAttributes, GatherAttributes,
             GridSampleAttributes, LrnAttributes, MatMulAttributes, NormalizeAttributes,
             PadAttributes, PermuteAttributes, PixelGatherAttributes, PoolingAttributes,
             PriorBoxAttributes, RecurrentAttributes, ReduceAttributes, ReshapeAttributes,
             ResizeAttributes, ScatterAttributes, SliceAttributes, SoftmaxAttributes,
             StandardizeAttributes, TileAttributes, TopKAttributes, WhereAttributes,
             WindowPoolAttributes, CustomAttributes>;

/// The attributes of a layer of any type. It is no std::variant, whose visitors would be compiled
/// for each pair of types.
class LayerAttributes {
 public:
  template <typename Attributes, typename = decltype(&Attributes::dims_after)>
  LayerAttributes(Attributes attributes)  // NOLINT: implicit by design
      : place_(LayerTypes::place_of<Attributes>()), own_(std::move(attributes)) {}

  /// Returns the attributes if the layer is of that type, else null.
  template <typename Attributes>
  const Attributes* as() const {
    return std::any_cast<Attributes>(&own_);
  }
  template <typename Attributes>
  Attributes* as() {
    return std::any_cast<Attributes>(&own_);
  }
  /// Returns the type's index in LayerTypes.
  size_t place() const { return place_; }

 private:
  size_t place_;
  std::any own_;
};

/// Reads the parameters of layer type `type`; `params` is null if it has none. Errors name the type
/// and the parameter.
Result<LayerAttributes> parse_layer(const std::string& type, const Json& params);
/// Reads shared attributes; `params` may be null.
Result<LayerPtr> read_layer(const std::string& type, const Json* params);
/// Return the type's name in files, and its parameters there.
std::string type_of(const LayerAttributes& attributes);
Json params_of(const LayerAttributes& attributes);
/// Returns the result's dimensions, not yet checked against a tensor's limits. Error: kUnsupported
/// if the inputs do not fit.
DimsResult dims_after(const LayerAttributes& attributes, Span<const Shape> inputs);

/// Creates the layer, and checks its cost against the budgets. Errors name the type. `library` has
/// the types that are not built in; it may be null.
LayerResult create_cpu_layer(const LayerAttributes& attributes, Span<const TensorDesc> inputs,
                             Span<const TensorDesc> outputs,
                             const CustomLibrary* library = nullptr);

/// Helpers for dims_after(): check that there are at least `least` inputs; return the first one's
/// dimensions.
Status expect_inputs(Span<const Shape> inputs, size_t least);
DimsResult same_dims(Span<const Shape> inputs);

}  // namespace dvnn::layers
