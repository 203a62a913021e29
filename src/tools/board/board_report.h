// SPDX-License-Identifier: Apache-2.0
// What a machine tells about itself that a network's time on it depends on; and a file that says
// it, and how long a network's steps take there. People send it, and `dvnet inspect --estimate
// --board FILE` corrects its estimate by it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "device/device.h"
#include "device/estimate.h"
#include "network/network.h"

namespace dvnn::tools {

constexpr size_t kMostReportedText = 255;  // bytes, as a file's name may have

struct BoardFacts {
  // --- the machine ---
  std::string system;  // "Linux 5.10.0 aarch64"
  std::string model;   // of the device tree, or empty
  int64_t processors = 0;
  int64_t memory_kb = -1, cma_kb = -1, free_cma_kb = -1;  // negative: not said
  // --- the device ---
  bool software = true;
  std::string library, driver;  // its file's name and its version
  int64_t conv_mhz = 0, ub_bytes = 0, max_kernel = 0;
  int64_t macs = 0;                // 0: not said
  std::string hardware, revision;  // the kernel driver's hw_version, svn_version
};

/// Returns the kilobytes in a line of /proc/meminfo, or -1.
int64_t kilobytes(const std::string& meminfo, const std::string& name);

/// Reads the facts about this machine; the device's from the folder in which its driver has them.
BoardFacts machine_facts(const std::string& sysfs = "/sys/class/dmp_dv/dv_conv");
/// Adds those of an open device.
void add_device(const device::Device& device, BoardFacts* facts);

/// Returns them as two sentences.
std::string to_text(const BoardFacts& facts);

OrderedJson to_json(const BoardFacts& facts);
/// Reads what to_json() wrote; the file may be anyone's.
Result<BoardFacts> facts_from_json(const Json& machine, const Json& device);

/// A step's time, and what the model says for hardware of the board's size.
struct ReportedStep {
  std::string name;
  std::string kind;  // of a command, device::to_string(CommandKind), or "cpu"
  double ms = 0, estimate_ms = 0;
};

struct BoardReport {
  BoardFacts facts;
  std::string network;  // the file's name
  std::vector<ReportedStep> steps;
};

/// Runs the network on its device, and describes both. `path` is the network's file.
Result<BoardReport> measure_board(const std::shared_ptr<network::Network>& network,
                                  const std::string& path);
/// Measures and writes the file, and says on stdout what it is for.
Status write_board_report(const std::shared_ptr<network::Network>& network,
                          const std::string& network_path, const std::string& path);

OrderedJson to_json(const BoardReport& report);
Result<BoardReport> report_from_json(const Json& json);
/// Errors name the file.
Result<BoardReport> read_board_report(const std::string& path);

/// The hardware of a report, with factors by which its times differ from the model's.
///
/// The factor of a kind of command is the sum of its times, divided by the sum of its estimates:
/// long steps, which are measured best, weigh most. It is kept within [kLeastFactor, kMostFactor],
/// as times beyond that are no property of a board. A kind that the report's network does not have
/// gets that of all commands. CPU layers set cpu_mops in the same way.
device::Hardware fit(const BoardReport& report);
constexpr double kLeastFactor = 0.25, kMostFactor = 20;

/// Returns what a reader of an estimate must know about its report: which board it is of, and
/// whether it is none.
std::string describe(const std::string& path, const BoardReport& report,
                     const device::Hardware& fitted);

/// Reads the value of --board: a report's file (*.json), or the text of parse_hardware(). `about`
/// gets describe()'s text, or stays empty.
Result<device::Hardware> read_board(const std::string& value, std::string* about);

}  // namespace dvnn::tools
