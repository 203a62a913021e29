// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

#include <exception>
#include <new>

namespace dvnn {

Error::Error() = default;
Error::Error(ErrorCode code, std::string message) : code(code), message(std::move(message)) {}
Error::Error(const Error& other) = default;
Error::Error(Error&& other) noexcept = default;
Error& Error::operator=(const Error& other) = default;
Error& Error::operator=(Error&& other) noexcept = default;
Error::~Error() = default;

Error Error::within(const std::string& context) const& {
  return Error(code, context + ": " + message);
}

Error malformed(std::string message) {
  return {ErrorCode::kMalformed, std::move(message)};
}
Error unsupported(std::string message) {
  return {ErrorCode::kUnsupported, std::move(message)};
}
Error invalid_argument(std::string message) {
  return {ErrorCode::kInvalidArgument, std::move(message)};
}
Error too_large(std::string message) {
  return {ErrorCode::kLimit, std::move(message)};
}

namespace {

// The error that replaces one for which there is no memory. It is static, so that reporting a lack
// of memory needs none.
Error* no_memory() {
  static Error error(ErrorCode::kNoMemory, "no memory");
  return &error;
}

}  // namespace

Failure::Failure(Error&& error) {
  try {
    error_ = new Error(std::move(error));
  } catch (const std::bad_alloc&) {
    error_ = no_memory();
  }
}

Error* Failure::copy(const Error& error) {
  try {
    return &error == no_memory() ? no_memory() : new Error(error);
  } catch (const std::bad_alloc&) {
    return no_memory();
  }
}

void Failure::drop(Error* error) {
  if (error != no_memory()) delete error;
}

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
