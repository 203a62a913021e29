// SPDX-License-Identifier: Apache-2.0
// Board reports of anybody. One is refused by a sentence that names the file and the field, or
// taken as it stands: each figure of the estimate is one that `--board` could have been told, and
// what is written of it is read as the same report.
#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/nth.h"
#include "json_mutator.h"
#include "target.h"
#include "tools/board/board_report.h"

namespace dvnn::fuzz::board_report_target {

namespace {

constexpr size_t kMostMessage = 700, kMostAbout = 4000;  // bytes

bool has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

void check_refusal(const Error& error, const std::string& path, const std::string& text) {
  const std::string& message = error.message;
  fuzz::expect(message.size() < kMostMessage, "a refusal is longer than a sentence");
  fuzz::expect(has(message, path.c_str()), "a refusal names no file");
  const bool names_a_place = has(message, "field '") || has(message, "must be a JSON object");
  if (!names_a_place && parse_json(text, "it").ok()) {
    std::fprintf(stderr, "%s\n", message.c_str());
    fuzz::expect(false, "a refusal names no field");
  }
}

bool within(double value, double low, double high) {
  return value >= low && value <= high;
}

void check_hardware(const tools::BoardReport& report) {
  const device::Hardware hardware = tools::fit(report), usual;
  fuzz::expect(hardware.clock_mhz == static_cast<double>(report.facts.conv_mhz) &&
                   hardware.ub_bytes == report.facts.ub_bytes,
               "the clock or the buffer is not the report's");
  fuzz::expect(hardware.macs == (report.facts.macs ? report.facts.macs : usual.macs),
               "multipliers are not the report's");
  for (const double factor : hardware.factors) {
    fuzz::expect(within(factor, tools::kLeastFactor, tools::kMostFactor), "a factor is wild");
  }
  fuzz::expect(within(usual.cpu_mops / hardware.cpu_mops, tools::kLeastFactor * 0.999,
                      tools::kMostFactor * 1.001),
               "the processor's speed is wild");
  // What a command line could have said, from which estimates are computed.
  const auto same = device::parse_hardware("clock=" + std::to_string(report.facts.conv_mhz) +
                                           ",macs=" + std::to_string(hardware.macs) +
                                           ",ub=" + std::to_string(hardware.ub_bytes));
  fuzz::expect(same.ok(), "a report says what the command line may not");
  const std::string about = tools::describe("x.json", report, hardware);
  fuzz::expect(about.size() < kMostAbout, "what is said about a report is long");
}

}  // namespace

static void prepare() {}

static void try_input(const uint8_t* data, size_t size) {
  static MemoryFile file;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::string path = file.with(text);
  const auto report = tools::read_board_report(path);
  if (!fuzz::is_good(report)) return check_refusal(report.error(), path, text);
  ++fuzz::accepted;
  check_hardware(report.value());
  const std::string written = json_text(tools::to_json(report.value()));
  const auto again = tools::read_board_report(file.with(written));
  fuzz::expect(again.ok() && json_text(tools::to_json(again.value())) == written,
               "what is written of a report is read as another");
}

DVNN_FUZZ_JSON("dvnn-board-report", "format", "version", "network", "machine", "device", "steps",
               "name", "kind", "ms", "estimate_ms", "convolution", "depthwise", "pooling",
               "transposed", "cpu", "conv_mhz", "ub_bytes", "macs", "max_kernel", "software",
               "processors", "cma_kb")
DVNN_FUZZ_JSON_TARGET(board_report)

}  // namespace dvnn::fuzz::board_report_target
