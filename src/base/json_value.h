// SPDX-License-Identifier: Apache-2.0
// A JSON value as a member of a struct, whose users need not compile nlohmann's header.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>

namespace dvnn {

/// A value that is copied and moved as one. At first it is null, that of object() an empty object.
/// Its end takes no memory, see take_apart().
class JsonValue {
 public:
  JsonValue();
  JsonValue(nlohmann::json value);  // NOLINT(google-explicit-constructor): a value is a value
  JsonValue(const JsonValue& other);
  JsonValue(JsonValue&& other) noexcept;
  JsonValue& operator=(JsonValue other) noexcept;
  ~JsonValue();
  static JsonValue object();

  const nlohmann::json& operator*() const { return *value_; }
  nlohmann::json& operator*() { return *value_; }
  const nlohmann::json* operator->() const { return value_.get(); }
  nlohmann::json* operator->() { return value_.get(); }

 private:
  std::unique_ptr<nlohmann::json> value_;  // null only where it was moved from
};

}  // namespace dvnn
