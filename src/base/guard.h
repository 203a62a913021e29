// SPDX-License-Identifier: Apache-2.0
// Stops exceptions before they leave our code. Our functions return errors as values, but the
// standard library, OpenCV and users' libraries throw. No exception may reach C code, the end of a
// thread, or main().
#pragma once

#include <string>
#include <utility>

#include "base/result.h"

namespace dvnn {

/// Converts the current exception to an error whose message begins with `what`. Without memory for
/// that, the message is short enough to need no allocation.
Error error_of_exception(const char* what) noexcept;

/// Calls `work`, which returns a Result or Status. An exception becomes an error that begins with
/// `what`, the failed activity, such as "loading 'a.dvn'".
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
