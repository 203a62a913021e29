// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/file.h"
#include "base/format.h"
#include "device/device.h"
#include "tools/board/board_report.h"
#include "tools/doctor/checks.h"

namespace dvnn::tools {
namespace {

// Device nodes of the DV driver, and of drivers that provide device memory.
constexpr const char* kDeviceNodes[] = {"dv_conv", "dv_ipu", "dv_maximizer", "dv_fc"};
constexpr const char* kMemoryNodes[] = {"ion", "udmabuf", "dma_heap/"};

std::string name_of(uid_t user) {
  const passwd* entry = getpwuid(user);
  return entry ? entry->pw_name : format("user %u", user);
}

std::string name_of_group(gid_t group) {
  const ::group* entry = getgrgid(group);
  return entry ? entry->gr_name : format("group %u", group);
}

// Formats a file's mode, owner and group like `ls -l`.
std::string owners(const struct stat& st) {
  return format("mode %04o, %s:%s", st.st_mode & 07777u, name_of(st.st_uid).c_str(),
                name_of_group(st.st_gid).c_str());
}

Finding check_node(const std::string& path) {
  struct stat st;
  if (stat(path.c_str(), &st) != 0) {
    return {Level::kWarning, "device node", path + ": " + std::strerror(errno),
            "load the driver's kernel module again; dmesg may tell more"};
  }
  if (faccessat(AT_FDCWD, path.c_str(), R_OK, AT_EACCESS) == 0) {
    return {Level::kOk, "device node", path + " can be opened (" + owners(st) + ")", ""};
  }
  const std::string group = name_of_group(st.st_gid);
  const std::string remedy = (st.st_mode & S_IRGRP) != 0 && st.st_gid != 0
                                 ? "add yourself to the group: usermod -aG " + group + " " +
                                       name_of(geteuid()) + " as root, and log in again"
                                 : "a udev rule gives it to a group of yours: KERNEL==\"" +
                                       base_name(path) +
                                       "\", GROUP=\"video\", MODE=\"0660\" in /etc/udev/rules.d";
  return {Level::kWarning, "device node",
          path + " cannot be opened by " + name_of(geteuid()) + ": " + std::strerror(EACCES) +
              " (" + owners(st) + ")",
          remedy};
}

std::vector<std::string> entries(const std::string& folder) {
  std::vector<std::string> names;
  DIR* opened = opendir(folder.c_str());
  if (!opened) return names;
  while (const dirent* entry = readdir(opened)) {
    if (entry->d_name[0] != '.') names.push_back(entry->d_name);
  }
  closedir(opened);
  std::sort(names.begin(), names.end());
  return names;
}

bool is_there(const std::string& path) {
  struct stat st;
  return stat(path.c_str(), &st) == 0;
}

bool is_board(const std::string& dev) {
  return std::any_of(std::begin(kDeviceNodes), std::end(kDeviceNodes),
                     [&](const char* node) { return is_there(dev + "/" + node); });
}

// Without a board, a missing vendor's library is not a problem.
Finding without_library(const std::string& selector, const std::string& why) {
  if (selector == "soft") {
    return {Level::kWarning, "device", "the software device is not there: " + why,
            "install gst-dvnn's software device, or set DVNN_SOFT_DEVICE to the path of "
            "libdmpdv-soft.so"};
  }
  if (!is_board("/dev")) {
    return {Level::kOk, "device",
            "the vendor's libdmpdv.so is not installed: networks run on the software device", ""};
  }
  return {Level::kWarning, "device",
          "the driver's device nodes are here, but the vendor's libdmpdv.so is not: " + why,
          "install the board's user-space driver, then run ldconfig as root"};
}

}  // namespace

Findings check_device_nodes(const std::string& dev) {
  Findings findings;
  for (const char* node : kDeviceNodes) {
    const std::string path = dev + "/" + node;
    if (is_there(path)) findings.push_back(check_node(path));
  }
  if (findings.empty()) {
    return {{Level::kOk, "device node", "no DV device here: no " + dev + "/dv_conv", ""}};
  }
  const size_t devices = findings.size();
  for (const std::string node : kMemoryNodes) {
    const std::string path = dev + "/" + node;
    if (node.back() != '/') {
      if (is_there(path)) findings.push_back(check_node(path));
      continue;
    }
    for (const std::string& entry : entries(path)) findings.push_back(check_node(path + entry));
  }
  if (findings.size() == devices) {
    findings.push_back({Level::kWarning, "device node",
                        "nothing that device memory could come from: no " + dev + "/ion",
                        "load the board's memory driver, as its manual says"});
  }
  return findings;
}

Finding check_contiguous_memory(const std::string& meminfo, bool board) {
  constexpr long kLeastKilobytes = 16 * 1024;  // for a small network and a few frames in flight
  const auto total = static_cast<long>(kilobytes(meminfo, "CmaTotal"));
  const auto free = static_cast<long>(kilobytes(meminfo, "CmaFree"));
  if (total <= 0) {
    return {board ? Level::kWarning : Level::kOk, "memory",
            "no contiguous memory (CMA) is set aside, which the FPGA needs and the software device "
            "does not",
            board ? "boot with cma=256M on the kernel's command line" : ""};
  }
  const std::string says =
      format("%ld of %ld MB of contiguous memory (CMA) are free", free / 1024, total / 1024);
  if (!board || free >= kLeastKilobytes) return {Level::kOk, "memory", says, ""};
  return {Level::kWarning, "memory", says + ": few for a network",
          "end other programs that hold it, lower dvinfer's max-in-flight, or boot with a larger "
          "cma="};
}

Findings check_devices() {
  Findings findings = {{Level::kOk, "machine", to_text(machine_facts()), ""}};
  for (Finding& finding : check_device_nodes("/dev")) findings.push_back(std::move(finding));
  constexpr uint64_t kMostBytes = 65536;
  const auto meminfo = read_file("/proc/meminfo", kMostBytes);
  findings.push_back(
      check_contiguous_memory(meminfo.ok() ? meminfo.value() : std::string(), is_board("/dev")));
  return findings;
}

Findings probe_library(const std::string& selector) {
  const auto device = device::Device::open(selector);
  if (device.ok()) {
    return {{Level::kOk, "device",
             device.value()->library_path() + ": " + device.value()->info().description, ""}};
  }
  const Error& error = device.error();
  if (error.code == ErrorCode::kNotFound) return {without_library(selector, error.message)};
  std::string remedy = remedy_for_library(error.message);
  if (remedy.empty()) {
    remedy = selector == "fpga" ? "see the lines 'device node' and 'memory', and dmesg"
                                : "install gst-dvnn again";
  }
  return {{Level::kWarning, "device", error.message, remedy}};
}

}  // namespace dvnn::tools
