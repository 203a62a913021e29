// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "convert/hdf5_file.h"

namespace dvnn::convert {

/// All texts and all arrays of real numbers in a file.
struct Hdf5Contents {
  std::map<std::string, std::vector<std::string>> attributes;  // by "object@name"
  std::map<std::string, Hdf5Array> arrays;                     // by path
};

/// Reads them by libhdf5, which a damaged file may crash. False if the file is damaged.
bool read_hdf5(const std::string& path, Hdf5Contents* contents);

}  // namespace dvnn::convert
