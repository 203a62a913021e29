// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace dvnn::kernels {

/// Why this build cannot run on this processor and what to do, as a clause; empty if it can. A
/// build with -Dinstruction_sets=native may have been taken to another machine, and one for 32-bit
/// Arm needs VFPv4.
std::string unfit_processor();

}  // namespace dvnn::kernels
