// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <hwy/targets.h>

namespace dvnn::test {

/// Calls f(name) on every instruction set that this CPU and this build have.
template <typename F>
void on_every_target(F f) {
  for (int64_t left = hwy::SupportedTargets(); left != 0; left &= left - 1) {
    const int64_t target = left & -left;
    hwy::SetSupportedTargetsForTest(target);
    f(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(0);
  }
}

}  // namespace dvnn::test
