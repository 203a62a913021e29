// SPDX-License-Identifier: Apache-2.0
#include "layers/cpu_layer.h"

#include <algorithm>

#include "base/format.h"
#include "base/result.h"
#include "layers/cost.h"
#include "layers/custom_library.h"
#include "layers/factories.h"
#include "layers/workspace.h"

namespace dvnn::layers {
namespace {

// Wraps every layer: returns the memory that it borrowed when its run ends, and holds exceptions
// back, which come from users' libraries, most of which are C++.
class EnclosedLayer final : public CpuLayer {
 public:
  EnclosedLayer(std::string type, std::unique_ptr<CpuLayer> layer)
      : type_(std::move(type)), layer_(std::move(layer)) {}
  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    const Workspace::Run run;
    return guarded(type_, [&]() -> Status { return layer_->run(inputs, outputs); });
  }
  void input_will_stay(size_t i) override { layer_->input_will_stay(i); }

 private:
  std::string type_;
  std::unique_ptr<CpuLayer> layer_;
};

LayerResult create_enclosed(const LayerAttributes& attributes, Span<const TensorDesc> inputs,
                            Span<const TensorDesc> outputs, const CustomLibrary* library) {
  const std::string type = type_of(attributes);
  auto layer =
      guarded("making it", [&] { return create_own(attributes, inputs, outputs, library); });
  if (!layer.ok()) return layer.error().within(type);
  return LayerResult(std::make_unique<EnclosedLayer>(type, std::move(layer.value())));
}

}  // namespace

LayerResult create_cpu_layer(const LayerAttributes& attributes, Span<const TensorDesc> inputs,
                             Span<const TensorDesc> outputs, const CustomLibrary* library) {
  const std::string type = type_of(attributes);
  // Comes before any memory is taken. validate() has checked a model's layers together; those of
  // generated sources are checked here one by one.
  DVNN_TRY(check_cost(cost_of(attributes, inputs, outputs), "a layer of type " + type));
  return create_enclosed(attributes, inputs, outputs, library);
}

LayerResult CustomAttributes::create(Span<const TensorDesc> inputs, Span<const TensorDesc> outputs,
                                     const CustomLibrary* library) const {
  if (library) {
    DVNN_ASSIGN(auto layer, library->create(type, params, inputs, outputs));
    if (layer) return LayerResult(std::move(layer));
  }
  return unsupported("unknown CPU layer type '" + short_text(type, 64) +
                     "': name the library that has it by custom-layers, or convert the model again "
                     "if an older dvnet made the file (built in: " +
                     joined(cpu_layer_names()) + ")");
}

Status expect_arity(Span<const TensorDesc> inputs, size_t min_inputs, size_t max_inputs,
                    Span<const TensorDesc> outputs) {
  if (inputs.size() < min_inputs || inputs.size() > max_inputs || outputs.size() != 1) {
    return malformed(format("takes %zu..%zu inputs and 1 output, has %zu and %zu", min_inputs,
                            max_inputs, inputs.size(), outputs.size()));
  }
  return {};
}

std::vector<Shape> shapes_of(Span<const TensorDesc> tensors) {
  std::vector<Shape> shapes;
  for (const TensorDesc& tensor : tensors) shapes.push_back(tensor.shape);
  return shapes;
}

Status expect_dims(const DimsResult& dims, const TensorDesc& output) {
  if (!dims.ok()) return dims.error();
  const Shape& shape = output.shape;
  const std::vector<int64_t>& wanted = dims.value();
  if (std::equal(wanted.begin(), wanted.end(), shape.dims, shape.dims + shape.rank)) return {};
  return malformed("the output " + shape.to_string() + " does not fit");
}

Status expect_same_elements(const TensorDesc& a, const TensorDesc& b) {
  if (a.shape.elements() == b.shape.elements()) return {};
  return malformed("the input's shape " + a.shape.to_string() + " and the output's " +
                   b.shape.to_string() + " differ in size");
}

Result<int> axis_in(const Shape& shape, const std::optional<int>& axis) {
  const int along = axis ? *axis : std::min(1, shape.rank - 1);
  if (along >= 0 && along < shape.rank) return along;
  return malformed(
      format("field 'axis': %d does not exist in %s", along, shape.to_string().c_str()));
}

AxisSplit split_at(const Shape& shape, int axis) {
  AxisSplit split = {1, 1, 1};
  for (int i = 0; i < shape.rank; ++i) {
    const size_t d = shape.extent(i);
    (i < axis ? split.outer : i == axis ? split.count : split.inner) *= d;
  }
  return split;
}

}  // namespace dvnn::layers
