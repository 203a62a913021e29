// SPDX-License-Identifier: Apache-2.0
// A process that reads untrusted files with a library that a damaged file may take over. It keeps
// only what computing takes, and one descriptor for its result.
#pragma once

#include <sys/types.h>

#include <cstdint>

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

}  // namespace dvnn::import
