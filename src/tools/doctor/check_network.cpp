// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "base/environment.h"
#include "base/format.h"
#include "network/dvn_file.h"
#include "network/network.h"
#include "tools/doctor/checks.h"
#include "tools/timing.h"

namespace dvnn::tools {
namespace {

std::string remedy_for_network(const std::string& named) {
  if (!named.empty()) return "give --network a file that `dvnet inspect` reads";
  if (environment("DVNN_DEFAULT_NETWORK")) {
    return "DVNN_DEFAULT_NETWORK names this file: correct it, or unset it for the installed "
           "network";
  }
  return "install gst-dvnn's default network, or name a network: dvinfer network=FILE.dvn";
}

Result<double> run_once(network::Network* network) {
  DVNN_ASSIGN(auto slot, network->create_slot());
  const Span<uint8_t> input = slot->input();
  std::memset(input.data(), 0, input.size());
  DVNN_TRY(slot->run());  // the first run may prepare what later runs use
  Status status;
  const double took = time_ms([&] { status = slot->run(); });
  DVNN_TRY(std::move(status));
  return took;
}

}  // namespace

Findings probe_inference(const std::string& named, const std::string& device) {
  const std::string path = named.empty() ? network::default_network() : named;
  const std::string kind = named.empty() ? "the default network" : "the network";
  Findings findings;
  auto loaded = network::Network::load({path, ""}, device);
  if (!loaded.ok() && !network::read_dvn(path).ok()) {
    return {{Level::kFailure, "network", kind + ": " + loaded.error().message,
             remedy_for_network(named)}};
  }
  const std::string chosen = device.empty() ? "" : " of --device";
  if (!loaded.ok()) {
    findings.push_back({Level::kOk, "network", kind + " is " + path, ""});
    findings.push_back({Level::kFailure, "inference", loaded.error().message,
                        "mend the device" + chosen +
                            " (lines 'device' say what is wrong), or choose another by the device "
                            "property or DVNN_DEVICE"});
    return findings;
  }
  network::Network& network = *loaded.value();
  const device::Device& used = network.device();
  findings.push_back(
      {Level::kOk, "network", kind + " is '" + network.model().name + "', " + path, ""});
  if (network.model().decoder.name.empty()) {
    findings.push_back({Level::kWarning, "network", "it names no decoder, so dvdecode refuses it",
                        "convert it with --preset or --decoder, if objects are wanted"});
  }
  for (const device::PassedOver& passed : used.passed_over()) {
    findings.push_back({Level::kWarning, "inference",
                        "device auto uses '" + used.name() + "', as " + passed.library +
                            " does not work: " + passed.why,
                        "mend it as the lines 'device' say, or choose device=" + used.name() +
                            " where that is what you want"});
  }
  const auto took = run_once(&network);
  if (took.ok()) {
    findings.push_back({Level::kOk, "inference",
                        format("one run on device '%s' (%s) takes %.2f ms", used.name().c_str(),
                               used.library_path().c_str(), took.value()),
                        ""});
  } else {
    findings.push_back(
        {Level::kFailure, "inference",
         "the network does not run on device '" + used.name() + "': " + took.error().message,
         "where memory is short, see the line 'memory'; DVNN_DEVICE=soft runs it "
         "without the board"});
  }
  return findings;
}

}  // namespace dvnn::tools
