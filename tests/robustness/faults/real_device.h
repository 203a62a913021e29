// SPDX-License-Identifier: Apache-2.0
// The software device behind a library that replaces it in tests.
#pragma once

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "device/functions.h"
#include "dmp_dv.h"

namespace dvnn::test {

struct RealFunctions {
#define DVNN_MEMBER(name) decltype(&dmp_dv_##name) name = nullptr;
  DVNN_DEVICE_FUNCTIONS(DVNN_MEMBER, DVNN_MEMBER)
#undef DVNN_MEMBER
};

/// Returns the functions of the library that DVNN_SOFT_DEVICE names, loaded at the first call. Ends
/// the process if that fails.
inline const RealFunctions& real() {
  static const RealFunctions functions = [] {
    const char* path = std::getenv("DVNN_SOFT_DEVICE");
    void* handle = dlopen(path && *path ? path : "libdmpdv-soft.so", RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      std::fprintf(stderr, "the device behind the tests' own: %s\n", dlerror());
      std::abort();
    }
    RealFunctions found;
#define DVNN_FIND(name) \
  found.name = reinterpret_cast<decltype(found.name)>(dlsym(handle, "dmp_dv_" #name));
    DVNN_DEVICE_FUNCTIONS(DVNN_FIND, DVNN_FIND)
#undef DVNN_FIND
    return found;
  }();
  return functions;
}

}  // namespace dvnn::test
