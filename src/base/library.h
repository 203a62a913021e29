// SPDX-License-Identifier: Apache-2.0
// Loads shared libraries that users provide.
#pragma once

#include <dlfcn.h>

#include <string>

#include "base/result.h"

namespace dvnn {

/// Returns an error for paths on which dlopen() would block or fail: named pipes, devices and empty
/// files (those of /proc have size 0, and some block until the next line). A missing file is not an
/// error.
Status check_library(const std::string& path);

/// Loads the library at `path`, and never a system library of that name. Returns kNotFound if there
/// is no such file, kIo with the reason if it cannot be loaded.
Result<void*> open_library(const std::string& path);

/// Loads the library at `path` and returns the list of classes that its function `symbol` returns;
/// `header` declares that function. Errors begin with `where`. The code stays loaded for the life
/// of the process, because C++ libraries cannot be unloaded safely.
template <typename Class>
Result<const Class* const*> open_classes(const std::string& where, const std::string& path,
                                         const char* symbol, const char* header) {
  const auto opened = open_library(path);
  if (!opened.ok()) return opened.error().within(where);
  using Classes = const Class* const* (*)();
  const auto classes = reinterpret_cast<Classes>(dlsym(opened.value(), symbol));
  const Class* const* list = classes ? classes() : nullptr;
  if (list) return list;
  return malformed(where + ": exports no " + symbol + "() (see " + header + ")");
}

}  // namespace dvnn
