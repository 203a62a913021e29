// SPDX-License-Identifier: Apache-2.0
// A process that reads untrusted files with a library that a damaged file may take over. It keeps
// only what computing takes, and one descriptor for its result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/file.h"
#include "base/result.h"

namespace dvnn::import {

struct SandboxLimits {
  uint64_t memory_bytes = uint64_t{1} << 30;  // beyond what the process has when it enters
  uint64_t result_bytes = uint64_t{1} << 30;  // that can be written
  unsigned seconds = 20;
};

/// Called by a forked process; there is no way back. From then on it has no descriptors but
/// `result`, and standard ones that lead nowhere; it can open no file, reach no network, start no
/// process, signal nobody, and make no memory executable: such calls fail with EPERM (seccomp) or
/// EMFILE. False if the kernel refuses what it knows. A kernel without seccomp (qemu's emulation of
/// one) leaves the limits on descriptors and time alone.
bool enter_sandbox(int result, const SandboxLimits& limits);

/// Makes a message of a file's bytes, which are a private copy. False if the file is damaged.
using SandboxReader = std::function<bool(uint8_t* bytes, size_t size, std::string* message)>;

/// Runs `reader` on the bytes of `file` in a process of its own, which is a sandbox by then, and
/// returns its message. A damaged file may have taken the reader over: take the message apart
/// without trust. kMalformed, "'PATH' DAMAGE", if the reader returns false or dies. Not to be
/// called while other threads run: it forks.
Result<std::string> read_in_sandbox(const File& file, const std::string& path, const char* damage,
                                    const SandboxLimits& limits, const SandboxReader& reader);

}  // namespace dvnn::import
