// SPDX-License-Identifier: Apache-2.0
// Names the best instruction set of this processor for which there is vector code; run while Meson
// configures, for -Dinstruction_sets=native. Says nothing where there is but one, as on arm64.
#include <hwy/targets.h>

#include <cstdio>

int main() {
#if HWY_ARCH_X86
  const auto sets = hwy::SupportedTargets();
  if (sets & HWY_AVX3_DL) {
    std::puts("HWY_AVX3_DL");
  } else if (sets & HWY_AVX3) {
    std::puts("HWY_AVX3");
  } else if (sets & HWY_AVX2) {
    std::puts("HWY_AVX2");
  } else if (sets & HWY_SSE4) {
    std::puts("HWY_SSE4");
  }
#endif
}
