// SPDX-License-Identifier: Apache-2.0
#include "layers/cpu_layer.h"

#include "base/format.h"
#include "base/guard.h"
#include "layers/cost.h"
#include "layers/custom_library.h"
#include "layers/factories.h"
#include "layers/workspace.h"

namespace dvnn::layers {
namespace {

struct Entry {
  const char* name;
  CpuLayerFactory create;
};

constexpr Entry kLayers[] = {
    {"Binary", create_binary_layer},
    {"Concat", create_concat_layer},
    {"Constant", create_constant_layer},
    {"Convolution", create_convolution_layer},
    {"DetectionOutput", create_detection_output_layer},
    {"ELU", create_elu_layer},
    {"Eltwise", create_eltwise_layer},
    {"Flatten", create_reshape_layer},
    {"Normalize", create_normalize_layer},
    {"PReLU", create_prelu_layer},
    {"Pad", create_pad_layer},
    {"Permute", create_permute_layer},
    {"Pooling", create_pooling_layer},
    {"PriorBox", create_prior_box_layer},
    {"ReLU", create_relu_layer},
    {"Reshape", create_reshape_layer},
    {"Scale", create_scale_layer},
    {"Sigmoid", create_sigmoid_layer},
    {"Slice", create_slice_layer},
    {"Softmax", create_softmax_layer},
    {"TanH", create_tanh_layer},
    {"Unary", create_unary_layer},
};

// Around every layer: what it borrows ends with its run, and no exception leaves it. Layers of
// users' libraries, which are C++ as a rule, are the ones that throw.
class EnclosedLayer final : public CpuLayer {
 public:
  EnclosedLayer(std::string type, std::unique_ptr<CpuLayer> layer)
      : type_(std::move(type)), layer_(std::move(layer)) {}
  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    const Workspace::Run run;
    return guarded(type_, [&]() -> Status { return layer_->run(inputs, outputs); });
  }

 private:
  std::string type_;
  std::unique_ptr<CpuLayer> layer_;
};

LayerResult enclosed(const std::string& type, std::unique_ptr<CpuLayer> layer) {
  return LayerResult(std::make_unique<EnclosedLayer>(type, std::move(layer)));
}

}  // namespace

LayerResult create_cpu_layer(const std::string& type, const nlohmann::json& params,
                             Span<const TensorDesc> inputs, Span<const TensorDesc> outputs) {
  static const nlohmann::json kNoParams = nlohmann::json::object();
  const nlohmann::json& given = params.is_null() ? kNoParams : params;
  // Before any memory is taken. A model's layers were held against the budgets together
  // (validate()); those of generated sources come here one by one.
  DVNN_TRY(check_cost(cost_of(type, given, inputs, outputs), "a layer of type " + type + ":"));
  std::string known;
  for (const Entry& entry : kLayers) {
    if (type == entry.name) {
      auto layer = guarded("making it", [&] { return entry.create(given, inputs, outputs); });
      if (!layer.ok()) return layer.error().within(type);
      return enclosed(type, std::move(layer.value()));
    }
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  auto module_layer = [&] { return create_module_layer(type, params, inputs, outputs); };
  DVNN_ASSIGN(auto layer, guarded("making it", module_layer));
  if (layer) return enclosed(type, std::move(layer));
  return Error{ErrorCode::kUnsupported, "unknown CPU layer type '" + short_text(type, 64) +
                                            "': name the library that has it by "
                                            "custom-layers (built in: " +
                                            known + ")"};
}

std::vector<std::string> cpu_layer_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kLayers) names.push_back(entry.name);
  return names;
}

Status expect_arity(Span<const TensorDesc> inputs, size_t min_inputs, size_t max_inputs,
                    Span<const TensorDesc> outputs) {
  if (inputs.size() < min_inputs || inputs.size() > max_inputs || outputs.size() != 1) {
    return Error{ErrorCode::kMalformed,
                 format("takes %zu..%zu inputs and 1 output, has %zu and %zu", min_inputs,
                        max_inputs, inputs.size(), outputs.size())};
  }
  return {};
}

Status expect_same_elements(const TensorDesc& a, const TensorDesc& b) {
  if (a.shape.elements() == b.shape.elements()) return {};
  return Error{ErrorCode::kMalformed, "the input's shape " + a.shape.to_string() +
                                          " and the output's " + b.shape.to_string() +
                                          " differ in size"};
}

AxisSplit split_at(const Shape& shape, int axis) {
  AxisSplit split = {1, 1, 1};
  for (int i = 0; i < shape.rank; ++i) {
    const size_t d = static_cast<size_t>(shape[i]);
    (i < axis ? split.outer : i == axis ? split.count : split.inner) *= d;
  }
  return split;
}

}  // namespace dvnn::layers
