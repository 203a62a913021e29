// SPDX-License-Identifier: Apache-2.0
#include "kernels/instruction_sets.h"

#include <hwy/targets.h>

namespace dvnn::kernels {

const char* missing_instruction_set() {
#ifdef DVNN_NATIVE_SET
  if (!(hwy::SupportedTargets() & DVNN_NATIVE_SET)) return hwy::TargetName(DVNN_NATIVE_SET);
#endif
  return nullptr;
}

}  // namespace dvnn::kernels
