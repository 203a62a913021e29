// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

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

Failure::Failure(Error&& error) : error_(new Error(std::move(error))) {}

Error* Failure::copy(const Error& error) {
  return new Error(error);
}

void Failure::drop(Error* error) {
  delete error;
}

}  // namespace dvnn
