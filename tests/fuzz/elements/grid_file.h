// SPDX-License-Identifier: Apache-2.0
// Networks in files, for elements that load one.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "grid_network.h"
#include "network/dvn_file.h"

namespace dvnn::fuzz {

/// Returns the path of a grid network, which exists until the program ends.
inline std::string write_network(const test::GridVariant& variant = {}) {
  static auto* const paths = new std::vector<std::string>();
  if (paths->empty()) {
    std::atexit([] {
      for (const std::string& path : *paths) unlink(path.c_str());
    });
  }
  std::string path = "/tmp/dvnn-fuzz-XXXXXX.dvn";
  close(mkstemps(path.data(), 4));
  if (!network::write_dvn(test::grid_network(variant), path).ok()) std::abort();
  paths->push_back(path);
  return path;
}

}  // namespace dvnn::fuzz
