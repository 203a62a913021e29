// SPDX-License-Identifier: Apache-2.0
// Where exceptions end. Our own code returns errors as values, but the standard library, OpenCV and
// code that users bring throw: nothing of that may reach C code, a thread's end or main().
#pragma once

#include <exception>
#include <new>
#include <string>
#include <utility>

#include "base/result.h"

namespace dvnn {

/// The exception that is being handled as an error that begins with `what`. There may be no memory
/// for that either: then the message is as short as strings are without memory.
inline Error error_of_exception(const char* what) noexcept {
  try {
    try {
      throw;
    } catch (const std::bad_alloc&) {
      return {ErrorCode::kNoMemory, std::string(what) + ": there is not enough memory for it"};
    } catch (const std::exception& e) {
      return {ErrorCode::kInternal, std::string(what) + ": " + e.what()};
    } catch (...) {
      return {ErrorCode::kInternal, std::string(what) + ": an exception of an unknown kind"};
    }
  } catch (...) {
    return {ErrorCode::kNoMemory, "no memory"};
  }
}

/// Calls `work`, which returns a Result or Status; an exception becomes an error that begins with
/// `what`, the doing that failed: "loading 'a.dvn'".
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
