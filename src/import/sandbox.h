// SPDX-License-Identifier: Apache-2.0
// Runs a reader of untrusted files in a process of its own, because a damaged file may take over
// the library that reads it. The process can only compute, and write to one descriptor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/file.h"
#include "base/result.h"

namespace dvnn::import {

struct SandboxLimits {
  uint64_t memory_bytes = uint64_t{1} << 30;  // more than the process has when it enters
  uint64_t result_bytes = uint64_t{1} << 30;  // largest result
  unsigned seconds = 20;
};

/// Turns a forked process into a sandbox, for good. From then on it has no descriptors but
/// `result`, and standard ones that lead nowhere; it can open no file, reach no network, start no
/// process, send no signal, and make no memory executable: such calls fail with EPERM (seccomp) or
/// EMFILE. Returns false if the kernel refuses a limit or filter that it supports. A kernel without
/// seccomp (qemu's emulation of one) applies only the limits on descriptors and time.
bool enter_sandbox(int result, const SandboxLimits& limits);

/// Makes a message from a file's bytes, which are a private copy. Returns false if it is damaged.
using SandboxReader = std::function<bool(uint8_t* bytes, size_t size, std::string* message)>;

/// Runs `reader` on the bytes of `file` in a process that has entered the sandbox, and returns its
/// message. A damaged file may have taken the reader over, so parse the message without trust.
/// Errors: kMalformed, "'PATH' DAMAGE", if the reader returns false or dies. It forks, so do not
/// call it while other threads run.
Result<std::string> read_in_sandbox(const File& file, const std::string& path, const char* damage,
                                    const SandboxLimits& limits, const SandboxReader& reader);

}  // namespace dvnn::import
