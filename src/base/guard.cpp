// SPDX-License-Identifier: Apache-2.0
#include "base/guard.h"

#include <exception>
#include <new>

namespace dvnn {

Error error_of_exception(const char* what) noexcept {
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

}  // namespace dvnn
