// SPDX-License-Identifier: Apache-2.0
// The message by which the process that reads an HDF5 file returns its contents. A damaged file may
// have taken that process over, so its message is parsed without trust.
#pragma once

#include <functional>
#include <string>

#include "import/keras/hdf5_reader.h"
#include "import/sandbox.h"

namespace dvnn::import {

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
