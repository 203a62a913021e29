// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/step_text.h"

#include "base/format.h"
#include "layers/attributes.h"

namespace dvnn::tools {

using network::Step;
using network::StepKind;

size_t weight_bytes(const Step& step) {
  size_t bytes = 0;
  device::for_each_run(step.command, [&](const device::ConvRun& run, const device::RunWalk& walk) {
    if (run.conv == device::ConvKind::kNone) return;
    bytes += packed_weights_size(device::run_geometry(run, walk.in().c));
  });
  return bytes;
}

std::string describe(const Step& step) {
  if (step.kind == StepKind::kCpu) return layers::type_of(*step.layer);
  static constexpr const char* kConv[] = {"", "conv",   "", "depthwise",
                                          "", "deconv", "", "dw-deconv"};
  static constexpr const char* kPool[] = {"", "max", "avg", "", "upsample"};
  static constexpr const char* kAct[] = {"", "tanh", "relu", "sigmoid", "prelu", "elu", "relu6"};
  std::string text;
  for (const device::ConvRun& run : step.command.runs) {
    if (!text.empty()) text += " | ";
    if (run.conv != device::ConvKind::kNone) {
      text += format("%s %dx%d", kConv[static_cast<int>(run.conv)], run.kernel.x, run.kernel.y);
      if (run.stride.x > 1 || run.stride.y > 1) text += format("/%d", run.stride.x);
      if (run.dilation.x > 1 || run.dilation.y > 1) text += format(" dil%d", run.dilation.x);
    }
    if (step.command.eltwise_add) text += "+add";
    if (run.pool != device::PoolKind::kNone) {
      text += format("%s%s %dx%d/%d", text.empty() || text.back() == ' ' ? "" : "+",
                     kPool[static_cast<int>(run.pool)], run.pool_size.x, run.pool_size.y,
                     run.pool_stride.x);
    }
    if (run.activation != device::Activation::kNone) {
      text += format("+%s", kAct[static_cast<int>(run.activation)]);
    }
  }
  return text;
}

}  // namespace dvnn::tools
