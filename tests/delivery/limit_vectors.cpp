// SPDX-License-Identifier: Apache-2.0
// Loaded before a program: it and its libraries see a processor with no better instruction set than
// DVNN_VECTORS (AVX3, AVX2, SSE4, SSE2; libhwy, which decides, is one for all of them). For
// tests/same_numbers.
#include <hwy/targets.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

__attribute__((constructor)) static void limit_vectors() {
  const char* wanted = std::getenv("DVNN_VECTORS");
  if (!wanted) return;
  // Better ones have lower bits.
  for (int64_t left = hwy::SupportedTargets(); left != 0; left &= left - 1) {
    const int64_t target = left & -left;
    if (std::strcmp(hwy::TargetName(target), wanted) != 0) continue;
    hwy::DisableTargets(target - 1);
    return;
  }
  std::fprintf(stderr, "this processor has no %s\n", wanted);
  std::exit(77);
}
