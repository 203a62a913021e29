// SPDX-License-Identifier: Apache-2.0
// Writes JSON as text, member by member, without a tree of values in between: a camera's documents
// are many and alike, and with a tree half as many are written in a second. What it writes is what
// json_text() writes of an OrderedJson of the same members.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dvnn::publish {

class LineWriter {
 public:
  /// `room`: the number of bytes to reserve.
  explicit LineWriter(size_t room) { text_.reserve(room); }

  /// Writes the name of the next member, a constant of the program that needs no escaping.
  LineWriter& name(std::string_view name);
  /// Writes a name of any bytes, escaped.
  LineWriter& name_of(std::string_view text);
  void begin_object() { open('{'); }
  void end_object() { close('}'); }
  void begin_list() { open('['); }
  void end_list() { close(']'); }
  /// Writes a string of any bytes; invalid UTF-8 is replaced.
  void text(std::string_view value);
  void flag(bool value) { raw(value ? "true" : "false"); }
  void integer(int64_t value);
  void natural(uint64_t value);
  /// Writes a finite number in the fewest digits that identify it.
  void number(double value);
  /// Writes a value that is JSON already.
  void raw(std::string_view json);

  std::string take() { return std::move(text_); }

 private:
  void separate();
  void open(char bracket);
  void close(char bracket);

  std::string text_;
  bool first_ = true;  // nothing stands before the next value in its object or list
};

}  // namespace dvnn::publish
