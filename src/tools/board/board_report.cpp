// SPDX-License-Identifier: Apache-2.0
#include "tools/board/board_report.h"

#include <sys/utsname.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "base/file.h"
#include "base/format.h"
#include "base/json.h"
#include "base/nth.h"
#include "tools/page/step_times.h"

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

namespace {

constexpr const char* kFormat = "dvnn-board-report";
constexpr const char* kCpu = "cpu";
constexpr int kVersion = 1;
constexpr uint64_t kMostReportBytes = 16 << 20;
constexpr size_t kMostSteps = 100000;
constexpr double kMostMs = 1e7;

// The board, before it is corrected.
device::Hardware plain_hardware(const BoardFacts& facts) {
  device::Hardware hardware;
  if (facts.conv_mhz > 0) hardware.clock_mhz = static_cast<double>(facts.conv_mhz);
  if (facts.ub_bytes > 0) hardware.ub_bytes = static_cast<int>(facts.ub_bytes);
  if (facts.macs > 0) hardware.macs = static_cast<int>(facts.macs);
  return hardware;
}

ReportedStep reported(const network::Model& model, const network::Step& step, double ms,
                      const device::Hardware& hardware) {
  if (step.kind == network::StepKind::kDevice) {
    return {step.name, device::to_string(device::kind_of(step.command)), ms,
            device::estimate(step.command, hardware).microseconds / 1e3};
  }
  const auto work = static_cast<double>(network::step_work(model, step));
  return {step.name, kCpu, ms, work / hardware.cpu_mops / 1e3};
}

// Sums of the steps of one kind.
struct Sums {
  double ms = 0, estimate_ms = 0;
  void add(const ReportedStep& step) {
    if (step.ms <= 0 || step.estimate_ms <= 0) return;  // not measured by itself
    ms += step.ms;
    estimate_ms += step.estimate_ms;
  }
  double factor(double otherwise) const {
    return estimate_ms > 0 ? std::clamp(ms / estimate_ms, kLeastFactor, kMostFactor) : otherwise;
  }
};

bool is_kind(const std::string& name) {
  for (int i = 0; i < device::kCommandKinds; ++i) {
    if (name == device::to_string(static_cast<device::CommandKind>(i))) return true;
  }
  return name == kCpu;
}

Result<ReportedStep> step_from_json(const Json& json, const std::string& what) {
  DVNN_TRY(check_members(json, what, {"name", "kind", "ms", "estimate_ms"}));
  JsonReader in(json, what);
  ReportedStep step = {in.text("name"), in.text("kind"), in.number("ms"), in.number("estimate_ms")};
  if (!is_kind(step.kind)) in.fail("kind", "must be a kind of command or cpu");
  for (const auto& [name, ms] : {std::pair("ms", step.ms), {"estimate_ms", step.estimate_ms}}) {
    if (!(ms >= 0 && ms <= kMostMs)) in.fail(name, format("%g is not from 0 to %g", ms, kMostMs));
  }
  DVNN_TRY(in.status());
  return step;
}

}  // namespace

Result<BoardReport> measure_board(const std::shared_ptr<network::Network>& network,
                                  const std::string& path) {
  BoardReport report;
  report.facts = machine_facts();
  add_device(network->device(), &report.facts);
  report.network = base_name(path);
  const device::Hardware hardware = plain_hardware(report.facts);
  const network::Model& model = network->model();
  DVNN_ASSIGN(const auto ms, measure_steps(network));
  for (size_t i = 0; i < ms.size(); ++i) {
    report.steps.push_back(reported(model, model.steps[i], ms[i], hardware));
  }
  return report;
}

Status write_board_report(const std::shared_ptr<network::Network>& network,
                          const std::string& network_path, const std::string& path) {
  DVNN_ASSIGN(const BoardReport report, measure_board(network, network_path));
  DVNN_TRY(write_file(path, json_text(to_json(report), 1) + "\n"));
  std::printf("%s: %s\n", printable(path).c_str(),
              printable(describe(path, report, fit(report))).c_str());
  return {};
}

OrderedJson to_json(const BoardReport& report) {
  OrderedJson out = {{"format", kFormat}, {"version", kVersion}, {"network", report.network}};
  out.update(to_json(report.facts));
  out["steps"] = OrderedJson::array();
  for (const ReportedStep& step : report.steps) {
    out["steps"].push_back({{"name", step.name},
                            {"kind", step.kind},
                            {"ms", step.ms},
                            {"estimate_ms", step.estimate_ms}});
  }
  return out;
}

Result<BoardReport> report_from_json(const Json& json) {
  DVNN_TRY(check_members(json, "the report",
                         {"format", "version", "network", "machine", "device", "steps"}));
  JsonReader in(json, "the report");
  if (in.text("format") != kFormat) in.fail("format", std::string("must be ") + kFormat);
  in.integer("version", kVersion, kVersion);
  BoardReport report;
  report.network = in.text("network");
  if (report.network.size() > kMostReportedText) in.fail("network", "must be shorter");
  const Json* machine = in.member("machine");
  const Json* device = in.member("device");
  const Json* steps = in.member("steps");
  if (!steps || !steps->is_array() || steps->size() > kMostSteps)
    in.fail("steps", format("must be a list of at most %zu steps", kMostSteps));
  if (!machine) in.fail("machine", "is missing");
  if (!device) in.fail("device", "is missing");
  DVNN_TRY(in.status());
  DVNN_ASSIGN(report.facts, facts_from_json(*machine, *device));
  for (size_t i = 0; i < steps->size(); ++i) {
    DVNN_ASSIGN(ReportedStep step, step_from_json((*steps)[i], format("step %zu", i)));
    report.steps.push_back(std::move(step));
  }
  return report;
}

Result<BoardReport> read_board_report(const std::string& path) {
  const std::string what = "board report '" + path + "'";
  DVNN_ASSIGN(const std::string text, read_file(path, kMostReportBytes));
  DVNN_ASSIGN(const Json json, parse_json(text, what));
  auto report = report_from_json(json);
  if (!report.ok()) return report.error().within(what);
  return report;
}

device::Hardware fit(const BoardReport& report) {
  device::Hardware hardware = plain_hardware(report.facts);
  Sums all, cpu, kinds[device::kCommandKinds];
  for (const ReportedStep& step : report.steps) {
    if (step.kind == kCpu) {
      cpu.add(step);
      continue;
    }
    all.add(step);
    for (int i = 0; i < device::kCommandKinds; ++i) {
      if (step.kind == device::to_string(static_cast<device::CommandKind>(i)))
        nth(kinds, i).add(step);
    }
  }
  for (int i = 0; i < device::kCommandKinds; ++i) {
    nth(hardware.factors, i) = nth(kinds, i).factor(all.factor(1));
  }
  hardware.cpu_mops /= cpu.factor(1);
  return hardware;
}

std::string describe(const std::string& path, const BoardReport& report,
                     const device::Hardware& fitted) {
  std::string text = "times of " + report.network + " on " + to_text(report.facts) +
                     ". Measured by estimated time:";
  for (int i = 0; i < device::kCommandKinds; ++i) {
    text += format(" %s %.2f,", device::to_string(static_cast<device::CommandKind>(i)),
                   nth(fitted.factors, i));
  }
  text += format(" CPU layers %.2f", device::Hardware().cpu_mops / fitted.cpu_mops);
  if (report.facts.software) {
    text +=
        ". This says how fast the software device is on that machine, and nothing about a board";
  } else {
    text += ". Please send us '" + path + "': no board's times are published yet";
  }
  return text;
}

Result<device::Hardware> read_board(const std::string& value, std::string* about) {
  if (!ends_with(value, ".json")) return device::parse_hardware(value);
  DVNN_ASSIGN(const BoardReport report, read_board_report(value));
  const device::Hardware hardware = fit(report);
  *about = "corrected by " + value + ": " + describe(value, report, hardware);
  return hardware;
}

}  // namespace dvnn::tools
