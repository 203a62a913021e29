// SPDX-License-Identifier: Apache-2.0
#include "device/loader.h"

#include <dlfcn.h>

#include <cstdlib>

namespace dvnn::device {

Result<std::shared_ptr<const Library>> Library::load(const std::string& path) {
  // RTLD_LOCAL: two device libraries with the same symbols may be loaded side by side.
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* why = dlerror();
    return Error{ErrorCode::kNotFound, why ? why : path + ": cannot be loaded"};
  }
  auto library = std::make_shared<Library>();
  library->path_ = path;
  Functions& fn = library->functions_;
  std::string missing;
#define DVNN_FIND(name) \
  fn.name = reinterpret_cast<decltype(fn.name)>(dlsym(handle, "dmp_dv_" #name));
#define DVNN_DEMAND(name) \
  DVNN_FIND(name)         \
  if (!fn.name && missing.empty()) missing = "dmp_dv_" #name;
  DVNN_DEVICE_FUNCTIONS(DVNN_DEMAND, DVNN_FIND)
#undef DVNN_DEMAND
#undef DVNN_FIND
  if (!missing.empty()) {
    dlclose(handle);
    return Error{ErrorCode::kDevice,
                 path + " is not a DV device library: it has no function " + missing};
  }
  return std::shared_ptr<const Library>(std::move(library));
}

Error Library::error(const std::string& what) const {
  const char* text = functions_.get_last_error_message();
  return {ErrorCode::kDevice, what + ": " + (text && *text ? text : "the device gives no reason")};
}

std::vector<std::string> soft_library_candidates() {
  std::vector<std::string> paths;
  if (const char* path = secure_getenv("DVNN_SOFT_DEVICE"); path && *path) return {path};
  paths.push_back(std::string(DVNN_DEVICE_DIR) + "/" + kSoftLibrary);
  paths.push_back(kSoftLibrary);
  return paths;
}

}  // namespace dvnn::device
