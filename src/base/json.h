// SPDX-License-Identifier: Apache-2.0
// JSON: nlohmann's values, and reading what may be hostile: every access is checked, every error
// names the field. A value throws where it is asked for what it is not; what comes from outside is
// asked for its kind first, by JsonReader or is_...(). A constant value has no check in its [], so
// at() is what reads.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel.h"
#include "base/json_fwd.h"
#include "base/result.h"

// Compiled once, in json.cpp.
extern template class nlohmann::basic_json<>;
extern template class nlohmann::basic_json<nlohmann::ordered_map>;

namespace dvnn {

/// The only way from a string to JSON. Deeper nesting than kMaxJsonDepth is an error, and so are so
/// many lists, objects and values that they would take far more memory than the string. The reason:
/// copies and strings of nested values recurse, and a deep one would end the process.
/// `what` names the string in errors.
Result<Json> parse_json(const std::string& text, const std::string& what,
                        const Cancellation* cancellation = nullptr);
constexpr int kMaxJsonDepth = 64;

/// Checks that parse_json() would accept a string of this size and depth; for code that writes one.
Status check_json_extent(const std::string& text, const std::string& what);

/// A value as text, on one line, or with `indent` spaces a level. What is no UTF-8 is replaced, and
/// what terminals obey is escaped; with `ascii` all that is not ASCII. Numbers become the shortest
/// text from which they can be read again.
std::string json_text(const Json& value, int indent = -1, bool ascii = false);
std::string json_text(const OrderedJson& value, int indent = -1, bool ascii = false);

/// Appends a string or a number as json_text() writes it.
void append_json(std::string_view text, std::string* to);
void append_json(double number, std::string* to);

/// Empties a value without taking memory: for that, a value that ends takes some, and where there
/// is none the process ends. So what a running pipeline lets go of is emptied first. As deep as
/// parse_json() reads.
void let_go(Json* value) noexcept;
/// Does so at the end of a block.
class JsonEnd {
 public:
  explicit JsonEnd(Json* value) : value_(value) {}
  ~JsonEnd() { let_go(value_); }
  JsonEnd(const JsonEnd&) = delete;
  JsonEnd& operator=(const JsonEnd&) = delete;

 private:
  Json* const value_;
};

/// A value as a message shows it: short, and on one line.
std::string shown(const Json& value);

/// Numbers as a member of an object: an array, or where they are many, base64 of them as
/// little-endian binary32, which takes a quarter of the room and is read many times as fast.
Json packed_numbers(const std::vector<float>& numbers);

/// Reads the members of one JSON object. The first problem is kept; check status() once at the end:
///   JsonReader in(params);
///   const int k = in.integer("top_k", -1, 1 << 20, 400);   // optional, with a default
///   DVNN_TRY(in.status());
class JsonReader {
 public:
  /// `what` names the object in messages: "DetectionOutput".
  JsonReader(const Json& object, std::string what);

  /// A required integer in [min, max]; the overload with a `fallback` makes it optional.
  int64_t integer(const char* name, int64_t min, int64_t max);
  int64_t integer(const char* name, int64_t min, int64_t max, int64_t fallback);
  /// A finite number.
  double number(const char* name);
  double number(const char* name, double fallback);
  bool boolean(const char* name, bool fallback);
  std::string text(const char* name);
  std::string text(const char* name, const std::string& fallback);
  /// An array of finite numbers with at most `max_count` entries, or what packed_numbers() makes of
  /// them; absent: empty.
  std::vector<float> numbers(const char* name, size_t max_count);
  /// An array of integers in [min, max] with at most `max_count` entries; absent: empty.
  std::vector<int> integers(const char* name, int64_t min, int64_t max, size_t max_count);
  /// A member of any type, or null if it is absent.
  const Json* member(const char* name);
  /// Records a problem that the caller found: "field 'name' of what: problem".
  void fail(std::string_view name, std::string_view problem);

  bool ok() const { return error_.empty(); }
  Status status() const;

 private:
  const Json* require(const char* name);
  std::vector<float> unpacked(const char* name, const Json& text, size_t max_count);
  const Json& object_;
  std::string what_;
  std::string error_;
};

}  // namespace dvnn
