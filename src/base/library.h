// SPDX-License-Identifier: Apache-2.0
// Shared libraries that users bring.
#pragma once

#include <dlfcn.h>

#include <string>

#include "base/result.h"

namespace dvnn {

/// An error for what dlopen() would wait for or cannot load: named pipes, devices, and files
/// without bytes, as those of /proc, of which some wait for their next line. What is not there is
/// none.
Status check_library(const std::string& path);

/// Loads the library at `path`, and never one of the system's of that name. kNotFound: no such file
/// exists; kIo: the file cannot be loaded, and why.
Result<void*> open_library(const std::string& path);

/// Loads the library at `path` and returns the list of its classes, that which the function called
/// `symbol` gives; `header` declares it. Errors begin with `where`. The code stays loaded for the
/// life of the process, because C++ libraries cannot be unloaded safely.
template <typename Class>
Result<const Class* const*> open_classes(const std::string& where, const std::string& path,
                                         const char* symbol, const char* header) {
  const auto opened = open_library(path);
  if (!opened.ok()) return opened.error().within(where);
  using Classes = const Class* const* (*)();
  const auto classes = reinterpret_cast<Classes>(dlsym(opened.value(), symbol));
  const Class* const* list = classes ? classes() : nullptr;
  if (list) return list;
  return Error{ErrorCode::kMalformed, where + ": exports no " + symbol + "() (see " + header + ")"};
}

}  // namespace dvnn
