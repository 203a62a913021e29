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
  /// `room`: how many bytes are to be expected.
  explicit LineWriter(size_t room) { text_.reserve(room); }

  /// The name of the next member. It is one of the program's: nothing in it is escaped.
  LineWriter& name(std::string_view name);
  /// The same of any bytes.
  LineWriter& name_of(std::string_view text);
  void begin_object() { open('{'); }
  void end_object() { close('}'); }
  void begin_list() { open('['); }
  void end_list() { close(']'); }
  /// Of any bytes: what is no UTF-8 is replaced.
  void text(std::string_view value);
  void flag(bool value) { raw(value ? "true" : "false"); }
  void integer(int64_t value);
  void natural(uint64_t value);
  /// A finite number, as short as it can be told.
  void number(double value);
  /// A value that is JSON already.
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
