// SPDX-License-Identifier: Apache-2.0
#include "publish/document_item.h"

#include <cmath>
#include <limits>

#include "base/format.h"

namespace dvnn::publish {

Item Item::may(const char* name) const {
  const OrderedJson* found = nullptr;
  if (!value_ || !value_->is_object()) {
    fail("an object");
  } else if (const auto at = value_->find(name); at != value_->end()) {
    found = &*at;
  }
  return {found, place_.empty() ? name : place_ + "." + name, problem_};
}

Item Item::must(const char* name) const {
  const Item item = may(name);
  if (!item.there()) problem_->tell("there is no '" + item.place_ + "'");
  return item;
}

std::string Item::text() const {
  if (value_ && value_->is_string()) return value_->get<std::string>();
  return fail("a string"), std::string();
}

bool Item::flag() const {
  if (value_ && value_->is_boolean()) return value_->get<bool>();
  return fail("true or false"), false;
}

double Item::number() const {
  if (value_ && value_->is_number()) {
    const double number = value_->get<double>();
    if (std::isfinite(number)) return number;
  }
  return fail("a number"), 0;
}

float Item::single() const {
  const double value = number();
  if (std::fabs(value) <= static_cast<double>(std::numeric_limits<float>::max())) {
    return static_cast<float>(value);
  }
  return fail("a number that fits 32 bits"), 0.0f;
}

uint64_t Item::natural() const {
  if (value_ && value_->is_number_unsigned()) return value_->get<uint64_t>();
  return fail("an integer from 0 on"), 0;
}

int Item::integer() const {
  const bool whole = value_ && value_->is_number_integer() &&
                     (!value_->is_number_unsigned() || value_->get<uint64_t>() <= INT32_MAX);
  const int64_t number = whole ? value_->get<int64_t>() : 0;
  if (whole && number >= INT32_MIN && number <= INT32_MAX) return static_cast<int>(number);
  return fail("an integer of 32 bits"), 0;
}

Item Item::at(size_t i) const {
  return {&(*value_)[i], place_ + "[" + std::to_string(i) + "]", problem_};
}

bool Item::has(size_t count) const {
  if (value_ && value_->is_array() && value_->size() == count) return true;
  return fail(format("a list of %zu", count).c_str()), false;
}

std::string Item::json() const {
  if (value_ && value_->is_object()) return json_text(*value_);
  return fail("an object"), std::string();
}

void Item::fail(const char* wanted) const {
  problem_->tell("'" + short_text(place_, 60) + "' is not " + wanted);
}

}  // namespace dvnn::publish
