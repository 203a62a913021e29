// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace dvnn::kernels {

/// The instruction set that this build's vector code needs and this processor lacks; null if it
/// lacks none. Only a build with -Dinstruction_sets=native, taken to another machine, can lack one.
const char* missing_instruction_set();

}  // namespace dvnn::kernels
