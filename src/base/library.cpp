// SPDX-License-Identifier: Apache-2.0
#include "base/library.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

namespace dvnn {

Status check_library(const std::string& path) {
  DVNN_TRY(check_regular(path));
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0 || facts.st_size > 0) return {};
  return malformed("'" + path + "' has no bytes: it is no library");
}

Result<void*> open_library(const std::string& path) {
  // Without a slash, dlopen() would search the system's folders.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  DVNN_TRY(check_library(file));
  if (void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
  const char* why = dlerror();
  return Error{access(file.c_str(), F_OK) == 0 ? ErrorCode::kIo : ErrorCode::kNotFound,
               why ? why : "cannot be loaded"};
}

}  // namespace dvnn
