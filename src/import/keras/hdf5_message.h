// SPDX-License-Identifier: Apache-2.0
// The message in which the process that reads an HDF5 file tells what it found. A damaged file may
// have taken that process over: its message is taken apart without trust.
#pragma once

#include <functional>
#include <string>

#include "import/keras/hdf5_reader.h"
#include "import/sandbox.h"

namespace dvnn::import {

/// The message of refused contents is the refusal alone.
std::string write_message(const Hdf5Contents& contents);

/// False if the message is not one that write_message() makes. It takes no more memory than a few
/// times the message's.
bool read_message(const std::string& message, Hdf5Contents* contents);

constexpr uint64_t kMaxModelBytes = uint64_t{1} << 30;  // of a file, or of weights in an archive

/// As read_hdf5(): false if the file is damaged, or refused.
using ContentsReader = std::function<bool(uint8_t* bytes, size_t size, Hdf5Contents* contents)>;

/// Runs a reader in a sandbox, on a file of at most kMaxModelBytes. kMalformed, "'PATH' DAMAGE",
/// where it is damaged, and kUnsupported where it is refused. Not to be called while other threads
/// run: it forks.
Result<Hdf5Contents> read_contents(const std::string& path, const SandboxLimits& limits,
                                   const ContentsReader& reader, const char* damage);

}  // namespace dvnn::import
