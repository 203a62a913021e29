// SPDX-License-Identifier: Apache-2.0
#include "network/slot_plan.h"

#include <vector>

#include "device/soft_extension.h"
#include "kernels/arithmetic/elementwise.h"
#include "layers/attributes.h"

namespace dvnn::network {
namespace {

using layers::ElementwiseAttributes;

dvnn_soft_step soft_step(const ElementwiseAttributes::Step& step) {
  const auto function =
      step.combines ? static_cast<int32_t>(step.operation) : static_cast<int32_t>(step.curve);
  return {step.combines, function, step.a, step.b, step.x, step.y};
}

dvnn_soft_operand values_of(const std::vector<float>& values) {
  dvnn_soft_operand operand = {};
  operand.kind = DVNN_SOFT_VALUES;
  operand.count = static_cast<int32_t>(values.size());
  operand.values = values.data();
  return operand;
}

}  // namespace

Status follow(ModelNetwork* network, const SlotPlan& plan, const Act& act,
              const TensorMemory& memory, device::CommandList* list) {
  const Step& layer = *act.follower;
  const auto& attributes = *layer.layer->as<ElementwiseAttributes>();
  const Model& model = network->model();
  auto buffer = [&](int tensor) {
    const device::BufferRef place = plan.place(memory, tensor);
    return dmp_dv_buf{{static_cast<dmp_dv_mem>(place.memory->handle())}, place.offset};
  };
  std::vector<std::vector<float>> constants;
  constants.reserve(layer.inputs.size());  // the chain points to them
  std::vector<dvnn_soft_operand> operands;
  for (int input : layer.inputs) {
    const TensorInfo& info = model.tensor(input);
    dvnn_soft_operand operand = {};
    if (info.storage == Storage::kConstant) {
      constants.emplace_back(info.desc.shape.count());
      read_nchw({info.desc, network->constants() + info.offset}, constants.back().data());
      operand = values_of(constants.back());
    } else if (input != act.sums) {
      operand.kind = DVNN_SOFT_TENSOR;
      operand.tensor = buffer(input);
    }
    operands.push_back(operand);
  }
  for (const auto& values : attributes.constants) operands.push_back(values_of(values));
  std::vector<dvnn_soft_step> steps;
  for (const auto& step : attributes.steps) steps.push_back(soft_step(step));
  const dvnn_soft_chain chain = {sizeof chain,
                                 DVNN_SOFT_FUNCTIONS,
                                 operands.data(),
                                 steps.data(),
                                 static_cast<int32_t>(operands.size()),
                                 static_cast<int32_t>(steps.size()),
                                 buffer(layer.outputs[0]),
                                 act.keeps_own};
  return list->follow(chain);
}

}  // namespace dvnn::network
