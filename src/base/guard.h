// SPDX-License-Identifier: Apache-2.0
// Ends exceptions before they leave our code. Our own code returns errors as values, but the
// standard library, OpenCV and users' libraries throw. No exception may reach C code, the end of a
// thread, or main().
#pragma once

#include <string>
#include <utility>

#include "base/result.h"

namespace dvnn {

/// Turns the exception that is being handled into an error whose message begins with `what`. If
/// there is no memory for the message, it is short enough for a string without an allocation.
Error error_of_exception(const char* what) noexcept;

/// Calls `work`, which returns a Result or Status. An exception becomes an error that begins with
/// `what`, the activity that failed, for example "loading 'a.dvn'".
template <typename Work>
auto guarded(const char* what, Work&& work) noexcept -> decltype(work()) {
  try {
    return work();
  } catch (...) {
    return error_of_exception(what);
  }
}
template <typename Work>
auto guarded(const std::string& what, Work&& work) noexcept -> decltype(work()) {
  return guarded(what.c_str(), std::forward<Work>(work));
}

}  // namespace dvnn
