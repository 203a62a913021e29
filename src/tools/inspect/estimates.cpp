// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/estimates.h"

#include <cstdio>

#include "base/format.h"
#include "base/json.h"
#include "base/nth.h"

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

using device::Estimate;
using network::Step;
using network::StepKind;

void print_estimate(const network::Model& model, const device::Hardware& hardware,
                    const std::string& about) {
  std::printf(
      "estimate for %d multipliers at %g MHz, %g bytes per clock, unified buffer %d bytes\n",
      hardware.macs, hardware.clock_mhz, hardware.bus_bytes, hardware.ub_bytes);
  std::printf("\n%4s %-28s %10s %5s %12s %12s %10s %s\n", "step", "name", "MMAC", "tiles", "clocks",
              "bus bytes", "us", "bound by");
  Estimate total;
  double macs = 0;
  for (size_t i = 0; i < model.steps.size(); ++i) {
    const Step& step = model.steps[i];
    if (step.kind != StepKind::kDevice) continue;
    const Estimate e = device::estimate(step.command, hardware);
    const double step_macs = static_cast<double>(network::step_macs(model, step));
    std::printf("%4zu %-28.28s %10.2f %5d %12.0f %12.0f %10.1f %s\n", i, step.name.c_str(),
                step_macs / 1e6, e.tiles, e.clocks, e.bus_bytes, e.microseconds,
                e.waits_for_memory ? "memory" : "multipliers");
    total.clocks += e.clocks;
    total.bus_bytes += e.bus_bytes;
    total.microseconds += e.microseconds;
    macs += step_macs;
  }
  const double most = total.microseconds * hardware.clock_mhz * hardware.macs;
  std::printf(
      "\ntotal %.3f ms on the device, %.1f frames/s at the most, %.0f %% of the multipliers "
      "busy, %.1f MB over the bus\n",
      total.microseconds / 1e3, total.microseconds > 0 ? 1e6 / total.microseconds : 0,
      most > 0 ? 100 * macs / most : 0, total.bus_bytes / 1e6);
  std::printf("%s\n", to_text(share_of(model, hardware)).c_str());
  std::printf("%s\n", about.empty() ? "A lower bound by a model that no board was measured "
                                      "against: docs/software-device.md"
                                    : printable(about).c_str());
}

Json estimate_to_json(const network::Model& model, const device::Hardware& hardware,
                      const std::string& about) {
  Json out = {{"hardware",
               {{"clock_mhz", hardware.clock_mhz},
                {"macs", hardware.macs},
                {"bus_bytes", hardware.bus_bytes},
                {"ub_bytes", hardware.ub_bytes},
                {"command_us", hardware.command_us},
                {"cpu_mops", hardware.cpu_mops}}},
              {"steps", Json::array()}};
  double us = 0;
  for (const Step& step : model.steps) {
    if (step.kind != StepKind::kDevice) continue;
    const Estimate e = device::estimate(step.command, hardware);
    out["steps"].push_back({{"name", step.name},
                            {"us", e.microseconds},
                            {"clocks", e.clocks},
                            {"bus_bytes", e.bus_bytes},
                            {"tiles", e.tiles},
                            {"waits_for_memory", e.waits_for_memory}});
    us += e.microseconds;
  }
  Json factors = Json::object();
  for (int i = 0; i < device::kCommandKinds; ++i) {
    factors[device::to_string(static_cast<device::CommandKind>(i))] = nth(hardware.factors, i);
  }
  out["hardware"]["factors"] = std::move(factors);
  if (!about.empty()) out["corrected_by"] = about;
  out["device_ms"] = us / 1e3;
  out["device_share"] = to_json(share_of(model, hardware));
  return out;
}

}  // namespace dvnn::tools
