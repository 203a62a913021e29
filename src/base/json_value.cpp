// SPDX-License-Identifier: Apache-2.0
#include "base/json_value.h"

#include <utility>

#include "base/json.h"

namespace dvnn {

JsonValue::JsonValue() : value_(std::make_unique<nlohmann::json>()) {}

JsonValue::JsonValue(nlohmann::json value)
    : value_(std::make_unique<nlohmann::json>(std::move(value))) {}

JsonValue::JsonValue(const JsonValue& other)
    : value_(other.value_ ? std::make_unique<nlohmann::json>(*other) : nullptr) {}

JsonValue::JsonValue(JsonValue&& other) noexcept = default;

JsonValue& JsonValue::operator=(JsonValue other) noexcept {
  std::swap(value_, other.value_);
  return *this;
}

JsonValue::~JsonValue() {
  if (value_) take_apart(value_.get());
}

JsonValue JsonValue::object() {
  return nlohmann::json::object();
}

}  // namespace dvnn
