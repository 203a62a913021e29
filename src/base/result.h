// SPDX-License-Identifier: Apache-2.0
// Errors as values: Result<T> is a value or an Error whose message a user can act on.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace dvnn {

enum class ErrorCode {
  kNotFound,         // a file, layer or library that was named does not exist
  kIo,               // reading or writing failed
  kMalformed,        // a file or description breaks its own format
  kUnsupported,      // well formed, but beyond what we can do
  kInvalidArgument,  // the caller's value is out of range
  kLimit,            // larger than a limit that the message names
  kDevice,           // the device refused or was lost
  kNoMemory,
  kCancelled,  // the caller no longer wants the result
  kInternal,
};

/// An error: one sentence that names the file, layer, field or property, the value seen and the
/// value allowed.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;

  /// The same error with "context: " before its message.
  Error within(const std::string& context) const& { return {code, context + ": " + message}; }
};

/// A value or an Error. Check `ok()` before `value()`.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT: implicit by design
  Result(Error error) : state_(std::move(error)) {}  // NOLINT: implicit by design
  bool ok() const { return std::holds_alternative<T>(state_); }
  T& value() { return std::get<T>(state_); }
  const T& value() const { return std::get<T>(state_); }
  const Error& error() const { return std::get<Error>(state_); }

 private:
  std::variant<T, Error> state_;
};

/// Success or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit by design
  bool ok() const { return !error_; }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace dvnn

#define DVNN_CONCAT_(a, b) a##b
#define DVNN_CONCAT(a, b) DVNN_CONCAT_(a, b)

/// Returns from the calling function if `expr` (a Status or Result) is an error, with that error.
#define DVNN_TRY(expr)                                   \
  do {                                                   \
    auto dvnn_status_ = (expr);                          \
    if (!dvnn_status_.ok()) return dvnn_status_.error(); \
  } while (0)

/// Assigns the value of the Result `expr` to `lhs`, which may be a declaration; returns its error
/// if it has one.
#define DVNN_ASSIGN(lhs, expr) DVNN_ASSIGN_(DVNN_CONCAT(dvnn_result_, __LINE__), lhs, expr)
#define DVNN_ASSIGN_(tmp, lhs, expr) \
  auto tmp = (expr);                 \
  if (!tmp.ok()) return tmp.error(); \
  lhs = std::move(tmp.value())
