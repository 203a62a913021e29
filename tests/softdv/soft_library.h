// SPDX-License-Identifier: Apache-2.0
// The software device's functions, loaded once.
#pragma once

#include <cstdio>
#include <cstdlib>

#include "device/loader.h"

namespace dvnn::test {

inline const device::Functions& fn() {
  static const auto library = device::Library::load(std::getenv("DVNN_SOFT_DEVICE"));
  if (!library.ok()) {
    std::fprintf(stderr, "%s\n", library.error().message.c_str());
    std::abort();
  }
  return library.value()->fn();
}

}  // namespace dvnn::test
