// SPDX-License-Identifier: Apache-2.0
#include "device/loader.h"

#include <dlfcn.h>

#include <cerrno>
#include <cstring>

#include "base/environment.h"
#include "base/file.h"
#include "base/format.h"

namespace dvnn::device {
namespace {

// Returns whether the loader's message means that this library itself is missing, rather than one
// that it needs, or that it is broken. The message depends on the locale, as strerror()'s does.
bool says_not_there(const std::string& why, const std::string& path) {
  const std::string reason = std::strerror(ENOENT);
  return starts_with(why, path + ": ") && ends_with(why, reason);
}

}  // namespace

Result<std::shared_ptr<const Library>> Library::load(const std::string& path) {
  DVNN_TRY(check_library(path));
  // RTLD_LOCAL: two device libraries with the same symbols may be loaded side by side.
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* text = dlerror();
    const std::string why = text ? text : path + ": cannot be loaded";
    return Error{says_not_there(why, path) ? ErrorCode::kNotFound : ErrorCode::kDevice, why};
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
  fn.soft_run = reinterpret_cast<decltype(fn.soft_run)>(dlsym(handle, "dvnn_soft_run"));
  fn.soft_share = reinterpret_cast<decltype(fn.soft_share)>(dlsym(handle, "dvnn_soft_share"));
  fn.soft_follow = reinterpret_cast<decltype(fn.soft_follow)>(dlsym(handle, "dvnn_soft_follow"));
  fn.soft_transient =
      reinterpret_cast<decltype(fn.soft_transient)>(dlsym(handle, "dvnn_soft_transient"));
#if defined(__arm__)
  // There the vendor's two functions only reach the point of unification of data and instructions
  // (__clear_cache), short of the memory where the processor has a second-level cache, and discard
  // nothing. Its ioctls on whole memories do.
  if (!fn.soft_run) fn.mem_to_device = nullptr;
  if (!fn.soft_run) fn.mem_to_cpu = nullptr;
#endif
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
  if (const char* path = environment("DVNN_SOFT_DEVICE")) return {path};
  paths.push_back(std::string(DVNN_DEVICE_DIR) + "/" + kSoftLibrary);
  paths.push_back(kSoftLibrary);
  return paths;
}

}  // namespace dvnn::device
