// SPDX-License-Identifier: Apache-2.0
// A value of a document that somebody wrote, with where it stands, so that what is wrong is told by
// its place. Private to src/publish.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/json.h"

namespace dvnn::publish {

/// The first problem of a document; what is read after it counts for nothing.
class Problem {
 public:
  void tell(const std::string& what) {
    if (text_.empty()) text_ = what;
  }
  bool none() const { return text_.empty(); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// A value, and where it stands: "objects[2].box". What is asked for and is of another kind is a
/// problem, and 0, false or empty.
class Item {
 public:
  Item(const OrderedJson* value, std::string place, Problem* problem)
      : value_(value), place_(std::move(place)), problem_(problem) {}

  bool there() const { return value_ != nullptr; }
  /// The member of an object; it may not be there.
  Item may(const char* name) const;
  Item must(const char* name) const;
  std::string text() const;
  bool flag() const;
  /// Neither infinite nor NaN; of 64 bits, or of 32.
  double number() const;
  float single() const;
  uint64_t natural() const;
  int integer() const;
  /// Calls `take` with each item of a list.
  template <typename Take>
  void each(Take take) const {
    if (!value_ || !value_->is_array()) return fail("a list");
    for (size_t i = 0; i < value_->size() && problem_->none(); ++i) take(at(i));
  }
  /// The items of a list of so many.
  Item at(size_t i) const;
  bool has(size_t count) const;
  /// Calls `take` with each member's name and value.
  template <typename Take>
  void each_member(Take take) const {
    if (!value_ || !value_->is_object()) return fail("an object");
    for (const auto& [name, value] : value_->items()) {
      take(name, Item(&value, place_ + "." + name, problem_));
    }
  }
  /// The object as JSON.
  std::string json() const;
  void fail(const char* wanted) const;

 private:
  const OrderedJson* value_;
  std::string place_;
  Problem* problem_;
};

}  // namespace dvnn::publish
