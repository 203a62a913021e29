// SPDX-License-Identifier: Apache-2.0
// The checks of `dvnet doctor`, and what they find: one line each, with a remedy. Checks of the
// machine only read files. Checks that load libraries or run a network (probes) run in their own
// process, because a library may crash or hang.
#pragma once

#include <string>
#include <vector>

#include "base/json_fwd.h"

namespace dvnn::tools {

enum class Level {
  kOk,
  kWarning,  // something is wrong, but pipelines run
  kFailure,  // pipelines do not run
};

struct Finding {
  Level level = Level::kOk;
  std::string topic;   // subject of the line: "plugin", "device"
  std::string says;    // one sentence
  std::string remedy;  // what to do; empty: nothing
};

using Findings = std::vector<Finding>;

const char* to_string(Level level);
OrderedJson findings_to_json(const Findings& findings);
/// Parses a probe's output; entries that are not findings are ignored.
Findings findings_from_json(const std::string& text);
/// Whether no finding is a failure.
bool can_run(const Findings& findings);

/// Returns the remedy for a library that cannot be loaded, according to the loader's message.
std::string remedy_for_library(const std::string& why);

// --- check_installation.cpp ---
/// Reports versions and features of the build.
Finding check_build();
/// Reports the vector instructions in use and the software device's threads.
Findings check_processor();

// Checks whether GStreamer is installed and loads the plugin, and if not, why; and whether the
// other elements of pipelines are installed.
Findings check_plugin(int seconds);
/// Checks that a short pipeline runs.
Finding check_pipeline(const std::string& network, const std::string& device, int seconds);

// --- check_devices.cpp ---
/// Checks the device nodes of the driver in `dev` ("/dev"), and whether this user may open them.
Findings check_device_nodes(const std::string& dev);
/// Checks contiguous memory, given the text of /proc/meminfo. `board`: the machine has a device
/// that needs it.
Finding check_contiguous_memory(const std::string& meminfo, bool board);
/// Reports what the machine tells about device memory and nodes.
Findings check_devices();
/// Loads the vendor's library ("fpga"), or the software device ("soft").
Findings probe_library(const std::string& selector);

// --- check_network.cpp ---
/// Reads the network (empty: the default one) and runs it once on `device`.
Findings probe_inference(const std::string& network, const std::string& device);

}  // namespace dvnn::tools
