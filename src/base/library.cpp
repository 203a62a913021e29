// SPDX-License-Identifier: Apache-2.0
#include "base/library.h"

#include <dlfcn.h>
#include <unistd.h>

#include "base/file.h"

namespace dvnn {

Result<void*> open_library(const std::string& path) {
  // Without a slash, dlopen() would search the system's folders.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  // dlopen() would wait for who writes to a named pipe.
  DVNN_TRY(check_regular(file));
  if (void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
  const char* why = dlerror();
  return Error{access(file.c_str(), F_OK) == 0 ? ErrorCode::kIo : ErrorCode::kNotFound,
               why ? why : "cannot be loaded"};
}

}  // namespace dvnn
