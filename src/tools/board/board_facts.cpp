// SPDX-License-Identifier: Apache-2.0
#include "tools/board/board_facts.h"

#include <sys/utsname.h>

#include <cstdlib>
#include <thread>

#include "base/file.h"
#include "base/format.h"
#include "base/json.h"
#include "device/estimate.h"

namespace dvnn::tools {
namespace {

constexpr uint64_t kMostFactBytes = 65536;         // of a file that the kernel makes
constexpr int64_t kMostNumber = int64_t{1} << 40;  // of a number in a report

// Returns a file's first line, or an empty string.
std::string line_in(const std::string& path) {
  const auto text = read_file(path, kMostFactBytes);
  if (!text.ok()) return "";
  return text.value().substr(0, text.value().find_first_of(std::string("\n\0", 2)));
}

int64_t number_in(const std::string& path) {
  return std::strtoll(line_in(path).c_str(), nullptr, 10);
}

// Reads a text that a report may not make long.
std::string text_of(JsonReader* in, const char* name) {
  std::string text = in->text(name, "");
  if (text.size() > kMostReportedText) in->fail(name, "must be shorter");
  return text;
}

}  // namespace

int64_t kilobytes(const std::string& meminfo, const std::string& name) {
  const size_t at = ("\n" + meminfo).find("\n" + name + ":");
  if (at == std::string::npos) return -1;
  return std::strtoll(meminfo.c_str() + at + name.size() + 1, nullptr, 10);
}

BoardFacts machine_facts(const std::string& sysfs) {
  BoardFacts facts;
  utsname system = {};
  if (uname(&system) == 0) {
    facts.system = std::string(system.sysname) + " " + system.release + " " + system.machine;
  }
  facts.model = line_in("/proc/device-tree/model");
  facts.processors = std::thread::hardware_concurrency();
  if (const auto meminfo = read_file("/proc/meminfo", kMostFactBytes); meminfo.ok()) {
    facts.memory_kb = kilobytes(meminfo.value(), "MemTotal");
    facts.cma_kb = kilobytes(meminfo.value(), "CmaTotal");
    facts.free_cma_kb = kilobytes(meminfo.value(), "CmaFree");
  }
  facts.conv_mhz = number_in(sysfs + "/conv_freq");
  facts.ub_bytes = number_in(sysfs + "/ub_size");
  facts.max_kernel = number_in(sysfs + "/max_kernel_size");
  facts.macs = number_in(sysfs + "/mac_num");
  facts.hardware = line_in(sysfs + "/hw_version");
  facts.revision = line_in(sysfs + "/svn_version");
  return facts;
}

void add_device(const device::Device& device, BoardFacts* facts) {
  const device::Info& info = device.info();
  facts->software = device.is_software();
  facts->library = base_name(device.library_path());
  facts->driver = info.version;
  facts->conv_mhz = info.conv_freq;
  facts->ub_bytes = info.ub_size;
  facts->max_kernel = info.max_kernel_size;
  if (!facts->software) return;
  facts->macs = 0;  // what the machine's own board has is not what runs
  facts->hardware = facts->revision = "";
}

std::string to_text(const BoardFacts& facts) {
  std::string text = facts.system;
  if (!facts.model.empty()) text += ", " + facts.model;
  text += format(", %d processor%s, %.0f MB", static_cast<int>(facts.processors),
                 facts.processors == 1 ? "" : "s", static_cast<double>(facts.memory_kb) / 1024);
  if (facts.cma_kb > 0) {
    text += format(", %.0f MB of them contiguous", static_cast<double>(facts.cma_kb) / 1024);
  }
  if (facts.software && !facts.library.empty()) return text + "; the software device, not a board";
  if (facts.conv_mhz == 0) return text + "; no DV device";
  text += format("; DV device at %d MHz, unified buffer %d bytes", static_cast<int>(facts.conv_mhz),
                 static_cast<int>(facts.ub_bytes));
  if (facts.macs > 0) text += format(", %d multipliers", static_cast<int>(facts.macs));
  if (!facts.hardware.empty()) text += ", hardware " + facts.hardware;
  if (!facts.revision.empty()) text += " revision " + facts.revision;
  if (!facts.driver.empty()) text += ", driver " + facts.driver;
  return text;
}

OrderedJson to_json(const BoardFacts& facts) {
  return {{"machine",
           {{"system", facts.system},
            {"model", facts.model},
            {"processors", facts.processors},
            {"memory_kb", facts.memory_kb},
            {"cma_kb", facts.cma_kb},
            {"free_cma_kb", facts.free_cma_kb}}},
          {"device",
           {{"software", facts.software},
            {"library", facts.library},
            {"driver", facts.driver},
            {"conv_mhz", facts.conv_mhz},
            {"ub_bytes", facts.ub_bytes},
            {"max_kernel", facts.max_kernel},
            {"macs", facts.macs},
            {"hardware", facts.hardware},
            {"revision", facts.revision}}}};
}

Result<BoardFacts> facts_from_json(const Json& machine, const Json& device) {
  DVNN_TRY(check_members(machine, "machine",
                         {"system", "model", "processors", "memory_kb", "cma_kb", "free_cma_kb"}));
  DVNN_TRY(check_members(device, "device",
                         {"software", "library", "driver", "conv_mhz", "ub_bytes", "max_kernel",
                          "macs", "hardware", "revision"}));
  BoardFacts facts;
  JsonReader of_machine(machine, "machine");
  facts.system = text_of(&of_machine, "system");
  facts.model = text_of(&of_machine, "model");
  facts.processors = of_machine.integer("processors", 0, 1 << 16);
  facts.memory_kb = of_machine.integer("memory_kb", -1, kMostNumber, -1);
  facts.cma_kb = of_machine.integer("cma_kb", -1, kMostNumber, -1);
  facts.free_cma_kb = of_machine.integer("free_cma_kb", -1, kMostNumber, -1);
  DVNN_TRY(of_machine.status());
  JsonReader of_device(device, "device");
  facts.software = of_device.boolean("software", true);
  facts.library = text_of(&of_device, "library");
  facts.driver = text_of(&of_device, "driver");
  facts.conv_mhz = of_device.integer("conv_mhz", 1, 10000);
  facts.ub_bytes = of_device.integer("ub_bytes", 1024, 1 << 30);
  facts.max_kernel = of_device.integer("max_kernel", 1, 255);
  facts.macs = of_device.integer("macs", 0, 1 << 20, 0);
  if (facts.macs > 0 && facts.macs < device::kUnitMacs) {
    of_device.fail("macs", format("%d are less than a unit's %d", static_cast<int>(facts.macs),
                                  device::kUnitMacs));
  }
  facts.hardware = text_of(&of_device, "hardware");
  facts.revision = text_of(&of_device, "revision");
  DVNN_TRY(of_device.status());
  return facts;
}

}  // namespace dvnn::tools
