// SPDX-License-Identifier: Apache-2.0
#include "kernels/instruction_sets.h"

#include <hwy/targets.h>
#ifdef __arm__
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace dvnn::kernels {

std::string unfit_processor() {
#ifdef __arm__
  constexpr unsigned long kNeeded = HWCAP_NEON | HWCAP_VFPv4;
  if ((getauxval(AT_HWCAP) & kNeeded) != kNeeded) {
    return "this build is for processors with NEON and VFPv4, as Cortex-A7 and newer ones have: "
           "use a 64-bit or a "
           "newer board";
  }
#endif
#ifdef DVNN_NATIVE_SET
  if (!(hwy::SupportedTargets() & DVNN_NATIVE_SET)) {
    return std::string("this build is for processors with ") + hwy::TargetName(DVNN_NATIVE_SET) +
           ": configure it with -Dinstruction_sets=all";
  }
#endif
  return "";
}

}  // namespace dvnn::kernels
