// SPDX-License-Identifier: Apache-2.0
// JSON: nlohmann's values, and checked reading of untrusted ones, in which every error names the
// field. A value throws if it is used as another type, so untrusted values are read by JsonReader
// or checked by is_...() first. operator[] of a constant value checks nothing; at() does.
#pragma once

#include <cstdint>
#include <initializer_list>
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

/// Parses a string; no other function does. Nesting deeper than kMaxJsonDepth is an error, because
/// copies and strings of nested values recurse, and a deep one would overflow the stack. So are
/// more lists, objects and values than limits of memory allow. `what` names the string in errors.
Result<Json> parse_json(const std::string& text, const std::string& what,
                        const Cancellation* cancellation = nullptr);
constexpr int kMaxJsonDepth = 64;

/// Checks that parse_json() would accept a string's size and depth; for code that writes JSON.
Status check_json_extent(const std::string& text, const std::string& what);

/// Returns a value as text, on one line or indented by `indent` spaces per level. Invalid UTF-8 is
/// replaced. Characters that terminals obey are escaped; with `ascii`, all that are not ASCII.
/// Numbers have the shortest form that reads back the same.
std::string json_text(const Json& value, int indent = -1, bool ascii = false);
std::string json_text(const OrderedJson& value, int indent = -1, bool ascii = false);

/// Appends a string or number in the form of json_text().
void append_json(std::string_view text, std::string* to);
void append_json(double number, std::string* to);

/// Empties a value without allocating. The destructor of a nested value allocates, and terminates
/// the process if it cannot, so a running pipeline empties values first. Recurses as deep as
/// parse_json() allows.
void let_go(Json* value) noexcept;
/// Calls let_go() at the end of a scope.
class JsonEnd {
 public:
  explicit JsonEnd(Json* value) : value_(value) {}
  ~JsonEnd() { let_go(value_); }
  JsonEnd(const JsonEnd&) = delete;
  JsonEnd& operator=(const JsonEnd&) = delete;

 private:
  Json* const value_;
};

/// Returns a value as a message shows it: short, and on one line.
std::string shown(const Json& value);

/// Refuses members of an object other than the `known` ones: kInvalidArgument, "WHAT: there is no
/// field 'x', but a, b". What is no object is malformed.
Status check_members(const Json& object, const std::string& what,
                     std::initializer_list<const char*> known);

/// Returns numbers as a member of an object: an array, or for many numbers base64 of little-endian
/// binary32, which needs a quarter of the space and is much faster to read, and can hold
/// infinities.
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
  /// Returns an array of at most `max_count` numbers, also from the form of packed_numbers().
  /// Absent: empty. They must be finite, unless `infinite` allows infinities.
  std::vector<float> numbers(const char* name, size_t max_count, bool infinite = false);
  /// Returns an array of at most `max_count` integers in [min, max]. Absent: empty.
  std::vector<int> integers(const char* name, int64_t min, int64_t max, size_t max_count);
  /// Returns an array of at most `max_count` strings. Absent: empty.
  std::vector<std::string> texts(const char* name, size_t max_count);
  /// Returns a member of any type, or null if it is absent.
  const Json* member(const char* name);
  /// Records a problem found by the caller: "field 'name' of what: problem".
  void fail(std::string_view name, std::string_view problem);

  bool ok() const { return error_.empty(); }
  Status status() const;

 private:
  const Json* require(const char* name);
  std::vector<float> unpacked(const char* name, const Json& text, size_t max_count, bool infinite);
  const Json& object_;
  std::string what_;
  std::string error_;
};

/// Parses a string that people write (settings, areas, parameters) as parse_json() does. An error
/// says at which line it is, and a name that stands twice in an object is one: one of the two
/// values would not count, without a word. `what` names the string in errors.
Result<Json> parse_written_json(const std::string& text, const std::string& what);

/// Returns where a value begins in a text that parse_written_json() has taken: "line 3, column 5";
/// for a member, where its name ends. `path`: the names of members and indices of elements on the
/// way to it. Returns an empty text if it is not there, or if the text is a single line, which no
/// editor shows by lines.
std::string place_of_value(const std::string& text, const std::vector<std::string>& path);

}  // namespace dvnn
