// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/work_share.h"

#include "base/format.h"

namespace dvnn::tools {
namespace {

double part(double own, double other) {
  return own + other > 0 ? own / (own + other) : 1;
}

}  // namespace

double WorkShare::of_macs() const {
  return part(device_macs, cpu_macs);
}

double WorkShare::of_time() const {
  return part(device_us, cpu_us);
}

WorkShare share_of(const network::Model& model, const device::Hardware& hardware) {
  WorkShare share;
  for (const network::Step& step : model.steps) {
    const auto macs = static_cast<double>(network::step_macs(model, step));
    if (step.kind == network::StepKind::kDevice) {
      share.device_macs += macs;
      share.device_us += device::estimate(step.command, hardware).microseconds;
    } else {
      share.cpu_macs += macs;
      share.cpu_us += static_cast<double>(network::step_work(model, step)) / hardware.cpu_mops;
    }
  }
  return share;
}

std::string to_text(const WorkShare& share) {
  return format("device %.0f %% of %.1f MMAC; estimated for a board: %.1f ms device, %.1f ms CPU",
                100 * share.of_macs(), (share.device_macs + share.cpu_macs) / 1e6,
                share.device_us / 1e3, share.cpu_us / 1e3);
}

Json to_json(const WorkShare& share) {
  return {{"of_macs", share.of_macs()},         {"of_time", share.of_time()},
          {"device_macs", share.device_macs},   {"cpu_macs", share.cpu_macs},
          {"device_ms", share.device_us / 1e3}, {"cpu_ms", share.cpu_us / 1e3}};
}

}  // namespace dvnn::tools
