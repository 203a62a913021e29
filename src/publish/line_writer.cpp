// SPDX-License-Identifier: Apache-2.0
#include "publish/line_writer.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/json.h"

namespace dvnn::publish {
namespace {

// Bytes that JSON's texts may have as they are, and that need no look at their neighbours.
bool is_plain(char c) {
  return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

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

void LineWriter::text(std::string_view value) {
  if (!std::all_of(value.begin(), value.end(), is_plain)) {
    return raw(Json(value).dump());
  }
  separate();
  text_ += '"';
  text_ += value;
  text_ += '"';
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
  // Beyond these, numbers are written with an exponent.
  constexpr double kLeast = 1e-4, kMost = 1e15;
  const double size = std::fabs(value);
  if (size != 0 && !(size >= kLeast && size < kMost)) return raw(Json(value).dump());
  separate();
  char digits[64];
  const auto end = std::to_chars(digits, digits + sizeof digits, value, std::chars_format::fixed);
  text_.append(digits, end.ptr);
  if (std::find(digits, end.ptr, '.') == end.ptr) text_ += ".0";
}

void LineWriter::raw(std::string_view json) {
  separate();
  text_ += json;
}

}  // namespace dvnn::publish
