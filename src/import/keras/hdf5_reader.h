// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "import/keras/hdf5_file.h"

namespace dvnn::import {

/// All strings and all arrays of real numbers in a file.
struct Hdf5Contents {
  std::string config;  // of a .keras archive: the architecture beside the file
  std::map<std::string, std::vector<std::string>> attributes;  // by "object@name"
  std::map<std::string, Hdf5Array> arrays;                     // by path
  std::string refusal;  // why the file is not read, where that can be told
};

/// Reads them by libhdf5, which a damaged file may crash, from a file's bytes in memory: libhdf5
/// opens no file. False if the file is damaged or refused.
///
/// Refused is what makes a file more than its bytes: data kept in other files (external storage,
/// virtual data sets), data sets larger than the file (never written, or filtered: compression
/// expands a thousand times and loads plugins).
bool read_hdf5(uint8_t* bytes, size_t size, Hdf5Contents* contents);

}  // namespace dvnn::import
