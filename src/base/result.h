// SPDX-License-Identifier: Apache-2.0
// Errors as values: Result<T> is a value or an Error whose message a user can act on.
//
// Our functions return errors as values, but the standard library, OpenCV and users' libraries
// throw. No exception may reach C code, the end of a thread, or main(): guarded() stops them.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace dvnn {

enum class ErrorCode {
  kNotFound,         // a file, layer or library that was named does not exist
  kIo,               // reading or writing failed
  kMalformed,        // a file or description breaks its own format
  kUnsupported,      // well formed, but not supported
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

  Error();
  Error(ErrorCode code, std::string message);
  Error(const Error& other);
  Error(Error&& other) noexcept;
  Error& operator=(const Error& other);
  Error& operator=(Error&& other) noexcept;
  ~Error();

  /// Returns the error with "context: " in front of its message.
  Error within(const std::string& context) const&;
};

/// The errors that are returned most.
Error malformed(std::string message);
Error unsupported(std::string message);
Error invalid_argument(std::string message);
Error too_large(std::string message);  // kLimit

/// The error of a Result, or none. It is on the heap, because Results are passed at every call and
/// rarely have an error; its code is compiled once, for all types of Result.
class Failure {
 public:
  Failure() = default;
  explicit Failure(Error&& error);
  Failure(Failure&& other) noexcept : error_(std::exchange(other.error_, nullptr)) {}
  Failure& operator=(Failure&& other) noexcept {
    std::swap(error_, other.error_);
    return *this;
  }
  Failure(const Failure& other) : error_(other.error_ ? copy(*other.error_) : nullptr) {}
  Failure& operator=(const Failure& other) { return *this = Failure(other); }
  ~Failure() {
    if (error_) drop(error_);
  }
  explicit operator bool() const { return error_ != nullptr; }
  const Error& operator*() const { return *error_; }

 private:
  static Error* copy(const Error& error);
  static void drop(Error* error);

  Error* error_ = nullptr;
};

/// A value or an Error. Check `ok()` before `value()`.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}              // NOLINT: implicit by design
  Result(Error error) : failure_(std::move(error)) {}        // NOLINT: implicit by design
  Result(Failure failure) : failure_(std::move(failure)) {}  // NOLINT: implicit by design
  bool ok() const { return value_.has_value(); }
  T& value() { return *value_; }
  const T& value() const { return *value_; }
  const Error& error() const { return *failure_; }
  /// Moves the error out of the Result.
  Failure take_failure() { return std::move(failure_); }

 private:
  std::optional<T> value_;
  Failure failure_;
};

/// Success or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : failure_(std::move(error)) {}        // NOLINT: implicit by design
  Result(Failure failure) : failure_(std::move(failure)) {}  // NOLINT: implicit by design
  bool ok() const { return !failure_; }
  const Error& error() const { return *failure_; }
  Failure take_failure() { return std::move(failure_); }

 private:
  Failure failure_;
};

using Status = Result<void>;

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

#define DVNN_CONCAT_(a, b) a##b
#define DVNN_CONCAT(a, b) DVNN_CONCAT_(a, b)

/// Returns from the calling function if `expr` (a Status or Result) is an error, with that error.
#define DVNN_TRY(expr)                                          \
  do {                                                          \
    auto dvnn_status_ = (expr);                                 \
    if (!dvnn_status_.ok()) return dvnn_status_.take_failure(); \
  } while (0)

/// Assigns the value of the Result `expr` to `lhs`, which may be a declaration; returns its error
/// if it has one.
#define DVNN_ASSIGN(lhs, expr) DVNN_ASSIGN_(DVNN_CONCAT(dvnn_result_, __LINE__), lhs, expr)
#define DVNN_ASSIGN_(tmp, lhs, expr)        \
  auto tmp = (expr);                        \
  if (!tmp.ok()) return tmp.take_failure(); \
  lhs = std::move(tmp.value())
