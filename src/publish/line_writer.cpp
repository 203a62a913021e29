// SPDX-License-Identifier: Apache-2.0
#include "publish/line_writer.h"

#include <charconv>

#include "base/json.h"

namespace dvnn::publish {
namespace {

template <typename T>
void append_integer(T value, std::string* text) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, value);
  text->append(digits, end.ptr);
}

}  // namespace

void LineWriter::separate() {
  if (!first_) text_ += ',';
  first_ = false;
}

void LineWriter::open(char bracket) {
  separate();
  text_ += bracket;
  first_ = true;
}

void LineWriter::close(char bracket) {
  text_ += bracket;
  first_ = false;
}

LineWriter& LineWriter::name(std::string_view name) {
  separate();
  text_ += '"';
  text_ += name;
  text_ += "\":";
  first_ = true;  // no comma before the value
  return *this;
}

LineWriter& LineWriter::name_of(std::string_view text) {
  separate();
  append_json(text, &text_);
  text_ += ':';
  first_ = true;
  return *this;
}

void LineWriter::text(std::string_view value) {
  separate();
  append_json(value, &text_);
}

void LineWriter::integer(int64_t value) {
  separate();
  append_integer(value, &text_);
}

void LineWriter::natural(uint64_t value) {
  separate();
  append_integer(value, &text_);
}

void LineWriter::number(double value) {
  separate();
  append_json(value, &text_);
}

void LineWriter::raw(std::string_view json) {
  separate();
  text_ += json;
}

}  // namespace dvnn::publish
