// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <cmath>

#include "base/format.h"

namespace dvnn {

using nlohmann::json;

JsonReader::JsonReader(const json& object, std::string what)
    : object_(object), what_(std::move(what)) {
  if (!object_.is_object()) error_ = what_ + " must be a JSON object";
}

const json* JsonReader::member(const char* name) {
  if (!object_.is_object()) return nullptr;
  const auto it = object_.find(name);
  return it == object_.end() || it->is_null() ? nullptr : &*it;
}

const json* JsonReader::require(const char* name) {
  const json* value = member(name);
  if (!value) fail(name, "required but missing");
  return value;
}

void JsonReader::fail(const std::string& name, const std::string& problem) {
  if (error_.empty()) error_ = "field '" + name + "' of " + what_ + ": " + problem;
}

Status JsonReader::status() const {
  if (ok()) return {};
  return Error{ErrorCode::kMalformed, error_};
}

int64_t JsonReader::integer(const char* name, int64_t min, int64_t max) {
  const json* value = require(name);
  return value ? integer(name, min, max, min) : min;
}

int64_t JsonReader::integer(const char* name, int64_t min, int64_t max, int64_t fallback) {
  const json* value = member(name);
  if (!value) return fallback;
  // Unsigned values above INT64_MAX would wrap in get<int64_t>().
  const bool fits = value->is_number_integer() &&
                    (!value->is_number_unsigned() || value->get<uint64_t>() <= INT64_MAX);
  const int64_t number = fits ? value->get<int64_t>() : 0;
  if (!fits || number < min || number > max) {
    fail(name, format("%s is not an integer from %lld to %lld", value->dump().substr(0, 40).c_str(),
                      static_cast<long long>(min), static_cast<long long>(max)));
    return fallback;
  }
  return number;
}

double JsonReader::number(const char* name) {
  const json* value = require(name);
  return value ? number(name, 0.0) : 0.0;
}

double JsonReader::number(const char* name, double fallback) {
  const json* value = member(name);
  if (!value) return fallback;
  const double number = value->is_number() ? value->get<double>() : NAN;
  // A float is what every reader stores it in.
  if (!std::isfinite(static_cast<float>(number))) {
    fail(name, value->dump().substr(0, 40) + " is not a finite number");
    return fallback;
  }
  return number;
}

bool JsonReader::boolean(const char* name, bool fallback) {
  const json* value = member(name);
  if (!value) return fallback;
  if (!value->is_boolean()) {
    fail(name, "must be true or false");
    return fallback;
  }
  return value->get<bool>();
}

std::string JsonReader::text(const char* name) {
  return require(name) ? text(name, std::string()) : std::string();
}

std::string JsonReader::text(const char* name, const std::string& fallback) {
  const json* value = member(name);
  if (!value) return fallback;
  if (!value->is_string()) {
    fail(name, "must be a string");
    return fallback;
  }
  return value->get<std::string>();
}

std::vector<float> JsonReader::numbers(const char* name, size_t max_count) {
  std::vector<float> out;
  const json* value = member(name);
  if (!value) return out;
  if (!value->is_array() || value->size() > max_count) {
    fail(name, format("must be an array of at most %zu numbers", max_count));
    return out;
  }
  for (const json& item : *value) {
    const double number = item.is_number() ? item.get<double>() : NAN;
    if (!std::isfinite(static_cast<float>(number))) {
      fail(name, item.dump().substr(0, 40) + " is not a finite number");
      return {};
    }
    out.push_back(static_cast<float>(number));
  }
  return out;
}

std::vector<int> JsonReader::integers(const char* name, int64_t min, int64_t max,
                                      size_t max_count) {
  std::vector<int> out;
  const json* value = member(name);
  if (!value) return out;
  if (!value->is_array() || value->size() > max_count) {
    fail(name, format("must be an array of at most %zu integers", max_count));
    return out;
  }
  for (const json& item : *value) {
    const int64_t number = item.is_number_integer() ? item.get<int64_t>() : min - 1;
    if (number < min || number > max) {
      fail(name, format("%s is not an integer from %lld to %lld", item.dump().substr(0, 40).c_str(),
                        static_cast<long long>(min), static_cast<long long>(max)));
      return {};
    }
    out.push_back(static_cast<int>(number));
  }
  return out;
}

}  // namespace dvnn
