// SPDX-License-Identifier: Apache-2.0
// Mutates JSON as JSON: flipped bytes are rarely valid JSON, so they would not get past the parser.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

#include "base/json.h"
#include "target.h"

namespace dvnn::fuzz {

class JsonMutator {
 public:
  /// `words`: texts that the reader knows, such as kinds and names of parameters.
  explicit JsonMutator(std::initializer_list<const char*> words) {
    for (const char* word : words) values_.emplace_back(word);
    for (int64_t number : std::initializer_list<int64_t>{
             0,       1,       -1,        2,         3,         4,        7,
             8,       16,      255,       256,       4095,      65535,    65536,
             1 << 20, 1 << 28, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN}) {
      values_.emplace_back(number);
    }
    for (double number : {1e30, -1e-30, 0.5, 1e308}) values_.emplace_back(number);
    for (Json value : {Json(true), Json(false), Json(), Json(""), Json(UINT64_MAX), Json::array(),
                       Json::object()}) {
      values_.push_back(std::move(value));
    }
  }

  /// Mutates mostly as JSON, else as bytes.
  size_t mutate(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
    random_.seed(seed + 1);
    auto document = parse(data, size);
    if (!document.ok() || pick(32) == 0) return LLVMFuzzerMutate(data, size, max_size);
    for (unsigned left = 1 + pick(3); left > 0; --left)
      change(&document.value(), &document.value());
    return write(document.value(), data, size, max_size);
  }

  /// Replaces a value of one document by a value of the other.
  size_t cross(const uint8_t* a, size_t a_size, const uint8_t* b, size_t b_size, uint8_t* out,
               size_t max_size, unsigned seed) {
    random_.seed(seed + 1);
    auto to = parse(a, a_size);
    auto from = parse(b, b_size);
    if (!to.ok() || !from.ok()) return 0;
    Json& place = any_of(&to.value());
    const Json& value = any_of(&from.value());
    if (place.is_array() && pick(2)) {
      place.push_back(value);
    } else {
      place = value;
    }
    const size_t size = std::min(a_size, max_size);
    std::memcpy(out, a, size);
    return write(to.value(), out, size, max_size);
  }

 private:
  size_t pick(size_t count) { return random_() % count; }

  static Result<Json> parse(const uint8_t* data, size_t size) {
    return parse_json({reinterpret_cast<const char*>(data), size}, "the document");
  }

  static size_t write(const Json& document, uint8_t* data, size_t size, size_t max_size) {
    const std::string text = json_text(document);
    if (text.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
    std::memcpy(data, text.data(), text.size());
    return text.size();
  }

  static void collect(Json* value, std::vector<Json*>* all) {
    all->push_back(value);
    if (value->is_structured()) {
      for (auto& child : *value) collect(&child, all);
    }
  }
  Json& any_of(Json* document) {
    std::vector<Json*> all;
    collect(document, &all);
    return *all[pick(all.size())];
  }
  const Json& interesting() { return values_[pick(values_.size())]; }

  // Changes one value: another number, a value from elsewhere in the document, an added or a
  // removed one.
  void change(Json* root, Json* document) {
    Json& value = any_of(root);
    switch (pick(8)) {
      case 0:
        value = interesting();
        break;
      case 1:
        value = Json(any_of(document));
        break;
      case 2:
        change_number(&value);
        break;
      case 3:
        change_text(&value);
        break;
      case 4:
        if (value.is_array() && !value.empty()) {
          const Json item = value[pick(value.size())];
          auto& list = value.get_ref<Json::array_t&>();
          list.insert(list.begin() + static_cast<std::ptrdiff_t>(pick(list.size())), item);
        }
        break;
      case 5:
        if (value.is_array() && !value.empty()) value.erase(pick(value.size()));
        break;
      case 6:
        if (value.is_object()) {
          const Json& key = interesting();
          if (key.is_string()) value[key.get<std::string>()] = any_of(document);
        }
        break;
      default:
        change_member(&value);
    }
  }
  void change_number(Json* value) {
    if (value->is_number_integer()) {
      // Unsigned, so that the largest number may wrap.
      const uint64_t near = value->get<uint64_t>() + pick(65) - 32;
      *value = static_cast<int64_t>(near);
    } else if (value->is_number_float()) {
      static constexpr double kFactors[] = {-1, 0, 0.5, 2, 1e6, 1e-6, 1.001};
      *value = value->get<double>() * kFactors[pick(std::size(kFactors))];
    }
  }
  // Uses libFuzzer's own mutations, which know the strings that the text was compared with.
  void change_text(Json* value) {
    if (!value->is_string()) return;
    constexpr size_t kMost = 64;
    auto text = value->get<std::string>();
    const size_t size = std::min(text.size(), kMost);
    text.resize(kMost);
    text.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(text.data()), size, kMost));
    *value = text;
  }
  void change_member(Json* value) {
    if (!value->is_object() || value->empty()) return;
    auto it = value->begin();
    std::advance(it, pick(value->size()));
    if (pick(4)) {
      it.value() = interesting();
    } else {
      value->erase(it.key());
    }
  }

  std::vector<Json> values_;
  std::minstd_rand random_;
};

}  // namespace dvnn::fuzz

/// Gives a target of JSON its mutator, with these words.
#define DVNN_FUZZ_JSON(...)                                                               \
  static dvnn::fuzz::JsonMutator& json_mutator() {                                        \
    static auto* const mutator = new dvnn::fuzz::JsonMutator({__VA_ARGS__});              \
    return *mutator;                                                                      \
  }                                                                                       \
  static size_t mutate(uint8_t* data, size_t size, size_t max_size, unsigned seed) {      \
    return json_mutator().mutate(data, size, max_size, seed);                             \
  }                                                                                       \
  [[maybe_unused]] static size_t cross(const uint8_t* a, size_t a_size, const uint8_t* b, \
                                       size_t b_size, uint8_t* out, size_t max_size,      \
                                       unsigned seed) {                                   \
    return json_mutator().cross(a, a_size, b, b_size, out, max_size, seed);               \
  }
