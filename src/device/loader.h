// SPDX-License-Identifier: Apache-2.0
// Loads a device library and finds its functions. Private to src/device.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/functions.h"
#include "device/soft_extension.h"
#include "dmp_dv.h"

namespace dvnn::device {

/// The entry points of one library. tests/robustness/faults has a library whose functions fail one
/// by one.
struct Functions {
#define DVNN_MEMBER(name) decltype(&dmp_dv_##name) name = nullptr;
  DVNN_DEVICE_FUNCTIONS(DVNN_MEMBER, DVNN_MEMBER)
#undef DVNN_MEMBER
  // The software device alone has them.
  decltype(&dvnn_soft_run) soft_run = nullptr;
  decltype(&dvnn_soft_share) soft_share = nullptr;
  decltype(&dvnn_soft_follow) soft_follow = nullptr;
  decltype(&dvnn_soft_transient) soft_transient = nullptr;
};

/// A loaded library. Stays loaded for the life of the process: its worker threads may outlive the
/// last handle.
class Library {
 public:
  /// Loads one library by path, or by its name on the system's search path. kNotFound: it does not
  /// exist; kDevice: it exists and cannot be used.
  static Result<std::shared_ptr<const Library>> load(const std::string& path);
  const Functions& fn() const { return functions_; }
  const std::string& path() const { return path_; }
  /// Returns the library's last error message as an Error, after `what`.
  Error error(const std::string& what) const;

 private:
  Functions functions_;
  std::string path_;
};

constexpr const char* kVendorLibrary = "libdmpdv.so";
constexpr const char* kSoftLibrary = "libdmpdv-soft.so";

/// Returns where the software device may be, best first: $DVNN_SOFT_DEVICE if it is set, else its
/// installed place, then the system's search path.
std::vector<std::string> soft_library_candidates();

}  // namespace dvnn::device
