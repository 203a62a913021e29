// SPDX-License-Identifier: Apache-2.0
// `dvnet doctor`: reports what works and what does not, one line each, with remedies.
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <iterator>

#include "base/format.h"
#include "base/json.h"
#include "network/dvn_file.h"
#include "network/network.h"
#include "tools/board/board_report.h"
#include "tools/commands.h"
#include "tools/doctor/checks.h"
#include "tools/doctor/child.h"
#include "tools/options.h"
#include "tools/progress.h"

namespace dvnn::tools {
namespace {

struct DoctorOptions {
  std::string network, device;
  int seconds;
};

// Marks the line with the findings in a probe's output, because libraries print, too.
constexpr const char* kProbeMark = "dvnn-findings:";

std::string own_path() {
  char path[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof path);
  return size > 0 ? std::string(path, static_cast<size_t>(size)) : "dvnet";
}

Findings probe(const std::string& name, const DoctorOptions& options) {
  if (name == "run") return probe_inference(options.network, options.device);
  return probe_library(name);
}

// Runs a probe in its own process.
Findings run_probe(const std::string& name, const std::string& topic,
                   const DoctorOptions& options) {
  std::vector<std::string> arguments = {own_path(), "doctor", "--probe=" + name};
  if (!options.network.empty()) arguments.push_back("--network=" + options.network);
  if (!options.device.empty()) arguments.push_back("--device=" + options.device);
  const ChildEnd end = run_child(arguments, options.seconds);
  const size_t at = end.output.find(kProbeMark);
  if (at != std::string::npos) {
    const size_t from = at + std::string(kProbeMark).size();
    Findings findings =
        findings_from_json(end.output.substr(from, end.output.find('\n', from) - from));
    if (!findings.empty()) return findings;
  }
  const Level level = name == "run" ? Level::kFailure : Level::kWarning;
  const std::string what = name == "run"    ? "an inference"
                           : name == "fpga" ? "loading the vendor's libdmpdv.so"
                                            : "loading the software device";
  return {{level, topic, what + " " + end.how(),
           name == "soft"
               ? "install gst-dvnn again"
               : "DVNN_DEVICE=soft does without the vendor's library; dmesg may tell more"}};
}

void append(Findings* to, Findings more) {
  to->insert(to->end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

// Runs a check, and meanwhile shows what is checked.
template <typename Look>
Findings looked_at(const char* what, const Look& look) {
  const Progress progress(std::string("looking at ") + what, 0);
  return look();
}

Findings examine(const DoctorOptions& options) {
  Findings all = {check_build()};
  append(&all, looked_at("the plugin", [&] { return check_plugin(options.seconds); }));
  const bool has_plugin = can_run(all);
  append(&all, check_processor());
  append(&all,
         looked_at("the vendor's library", [&] { return run_probe("fpga", "device", options); }));
  append(&all, check_devices());
  append(&all,
         looked_at("the software device", [&] { return run_probe("soft", "device", options); }));
  append(&all, looked_at("the network", [&] { return run_probe("run", "inference", options); }));
  if (!has_plugin) return all;
  append(&all, looked_at("a pipeline", [&]() -> Findings {
    return {check_pipeline(options.network, options.device, options.seconds)};
  }));
  return all;
}

void print(const Findings& findings, bool quiet) {
  for (const Finding& f : findings) {
    if (quiet && f.level == Level::kOk) continue;
    std::printf("%-8s %-12s %s\n", to_string(f.level), f.topic.c_str(), printable(f.says).c_str());
    if (!f.remedy.empty()) std::printf("%22sdo: %s\n", "", printable(f.remedy).c_str());
  }
  if (quiet && can_run(findings)) return;
  std::printf("\n%s\n", can_run(findings) ? "A pipeline can run." : "No pipeline can run.");
}

Status report_board(const DoctorOptions& options, const std::string& path) {
  const std::string file = options.network.empty() ? network::default_network() : options.network;
  DVNN_ASSIGN(const auto network, network::Network::load({file, ""}, options.device));
  return write_board_report(network, file, path);
}

int diagnose(const Arguments& arguments) {
  const DoctorOptions options = {arguments.text("network"), arguments.text("device"),
                                 arguments.number("timeout")};
  const Command& command = arguments.command();
  if (!arguments.files().empty()) return wrong_usage(command, "takes no files but by --network");
  if (options.seconds < 1) return wrong_usage(command, "--timeout must be positive");
  if (arguments.given("probe")) {
    const auto found = findings_to_json(probe(arguments.text("probe"), options));
    std::printf("\n%s%s\n", kProbeMark, json_text(found, -1, true).c_str());
    return 0;
  }
  if (arguments.given("board-report")) {
    const Status written = report_board(options, arguments.text("board-report"));
    return written.ok() ? 0 : fail(written.error());
  }
  const Findings findings = examine(options);
  if (arguments.given("json")) {
    const OrderedJson out = {{"can_run", can_run(findings)},
                             {"findings", findings_to_json(findings)}};
    std::printf("%s\n", json_text(out, 1, true).c_str());
  } else {
    print(findings, arguments.given("quiet"));
  }
  return can_run(findings) ? 0 : 1;
}

constexpr Option kDoctorOptions[] = {
    {"json", 0, Takes::kNothing, nullptr, "Print one JSON object"},
    {"network", 0, Takes::kFile, "FILE", "The network to try (default: the installed one)"},
    kDeviceOption,
    {"quiet", 'q', Takes::kNothing, nullptr, "Print only what is wrong"},
    {"board-report", 0, Takes::kFile, "FILE.json",
     "Instead, time the network's steps, and write them with what this board is: for "
     "`dvnet inspect --estimate --board FILE.json`, and for us"},
    {"timeout", 0, Takes::kNumber, "SECONDS", "Seconds that each check may take", "20"},
    {"probe", 0, Takes::kText, "NAME", nullptr}};

}  // namespace

const Command kDoctorCommand = {
    "doctor",
    "say what works here, and what does not",
    "",
    "Says what works and what does not, and what to do about it. Status 0: a pipeline can run.",
    kDoctorOptions,
    diagnose};

}  // namespace dvnn::tools
