// SPDX-License-Identifier: Apache-2.0
// Reads HDF5 files by libhdf5 in a process of its own, and the message by which that process
// returns their contents. A damaged file may have taken the process over, so its message is parsed
// without trust.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "import/keras/files.h"
#include "import/sandbox.h"

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

/// Returns the message of `contents`. If they are refused, it holds the refusal alone.
std::string write_message(const Hdf5Contents& contents);

/// Parses a message. Returns false if write_message() does not make such a one. Takes no more
/// memory than a few times the message's size.
bool read_message(const std::string& message, Hdf5Contents* contents);

constexpr uint64_t kMaxModelBytes = uint64_t{1} << 30;  // of a file, or of an archive's weights

/// Reads contents as read_hdf5() does. Returns false if the file is damaged or refused.
using ContentsReader = std::function<bool(uint8_t* bytes, size_t size, Hdf5Contents* contents)>;

/// Runs a reader in a sandbox, on a file of at most kMaxModelBytes. Errors: kMalformed, "'PATH'
/// DAMAGE", if the file is damaged, and kUnsupported if it is refused. It forks, so do not call it
/// while other threads run.
Result<Hdf5Contents> read_contents(const std::string& path, const SandboxLimits& limits,
                                   const ContentsReader& reader, const char* damage);

}  // namespace dvnn::import
