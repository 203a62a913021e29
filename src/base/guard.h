// SPDX-License-Identifier: Apache-2.0
// Where exceptions end. Our own code returns errors as values, but the standard library, OpenCV and
// code that users bring throw: nothing of that may reach C code, a thread's end or main().
#pragma once

#include <exception>
#include <new>
#include <utility>

#include "base/result.h"

namespace dvnn {

/// Calls `work`, which returns a Result or Status; an exception becomes an error that begins with
/// `what`, the doing that failed: "loading 'a.dvn'".
template <typename Work>
auto guarded(const std::string& what, Work work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kNoMemory, what + ": there is not enough memory for it"};
  } catch (const std::exception& e) {
    return Error{ErrorCode::kInternal, what + ": " + e.what()};
  } catch (...) {
    return Error{ErrorCode::kInternal, what + ": an exception of an unknown kind"};
  }
}

}  // namespace dvnn
