// SPDX-License-Identifier: Apache-2.0
#include "kernel/board.h"

#include <cstdlib>
#include <cstring>
#include <sstream>

#include "kernel/libc.h"

namespace dvnn::kernel {
namespace {

constexpr const char* kSysfs = "/sys/class/dmp_dv/";
constexpr const char* kConvFolder = "/sys/class/dmp_dv/dv_conv/";

// Returns the machine's own lines, without those about contiguous memory.
std::string own_meminfo() {
  std::string text;
  FILE* file = libc().fopen("/proc/meminfo", "re");
  if (!file) return text;
  char line[256];
  while (std::fgets(line, sizeof line, file)) {
    if (std::strncmp(line, "Cma", 3) != 0) text += line;
  }
  std::fclose(file);
  return text;
}

bool begins(const std::string& text, const std::string& with) {
  return text.compare(0, with.size(), with) == 0;
}

}  // namespace

Board board_of_environment() {
  Board board;
  board.conv_values = {{"conv_freq", "100"},     {"conv_kick_count", "0"}, {"ub_size", "655360"},
                       {"max_kernel_size", "7"}, {"hw_version", "0700"},   {"svn_version", "93"},
                       {"mac_num", "576"}};
  const auto value = [](const char* name) {
    const char* text = std::getenv(name);
    return std::string(text ? text : "");
  };
  board.only_conv = value("DVNN_KERNEL_SYSTEM") == "CONV";
  board.coherent = value("DVNN_KERNEL_COHERENT") == "1";
  board.state = value("DVNN_KERNEL_STATE");
  if (const std::string bytes = value("DVNN_KERNEL_CMA"); !bytes.empty()) {
    board.cma_bytes = std::strtoull(bytes.c_str(), nullptr, 10);
  }
  if (const std::string ms = value("DVNN_KERNEL_PERIOD_MS"); !ms.empty()) {
    board.period_ms = std::atoi(ms.c_str());
  }
  std::istringstream values(value("DVNN_KERNEL_SYSFS"));
  for (std::string part; std::getline(values, part, ',');) {
    const size_t equals = part.find('=');
    if (equals != std::string::npos) {
      board.conv_values[part.substr(0, equals)] = part.substr(equals + 1);
    }
  }
  return board;
}

std::optional<int> device_of(const Board& board, const std::string& path) {
  if (path == "/dev/ion") return kIon;
  if (path == "/dev/dv_conv") return 0;
  if (board.only_conv) return std::nullopt;
  if (path == "/dev/dv_ipu") return 1;
  if (path == "/dev/dv_maximizer") return 2;
  return std::nullopt;
}

std::optional<std::string> text_of(const Board& board, const std::string& path,
                                   uint64_t free_bytes) {
  if (path == "/proc/meminfo") {
    std::ostringstream lines;
    lines << own_meminfo() << "CmaTotal: " << board.cma_bytes / 1024
          << " kB\nCmaFree: " << free_bytes / 1024 << " kB\n";
    return lines.str();
  }
  if (!begins(path, kSysfs)) return std::nullopt;
  if (!begins(path, kConvFolder)) return "";
  const auto found = board.conv_values.find(path.substr(std::strlen(kConvFolder)));
  return found == board.conv_values.end() ? std::string() : found->second + "\n";
}

}  // namespace dvnn::kernel
