// SPDX-License-Identifier: Apache-2.0
// Mutates JSON as JSON: bytes that libFuzzer flips are no JSON most of the time, and a network
// file's checks begin where the JSON ends.
#pragma once

#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace dvnn::fuzz {

inline void collect(nlohmann::json* value, std::vector<nlohmann::json*>* all) {
  all->push_back(value);
  if (value->is_structured()) {
    for (auto& child : *value) collect(&child, all);
  }
}

inline nlohmann::json interesting(std::minstd_rand* random) {
  static const nlohmann::json kValues[] = {0,
                                           1,
                                           -1,
                                           2,
                                           3,
                                           7,
                                           8,
                                           255,
                                           256,
                                           4095,
                                           65535,
                                           65536,
                                           1 << 20,
                                           1 << 28,
                                           INT32_MAX,
                                           INT64_MAX,
                                           1e30,
                                           -1e-30,
                                           0.5,
                                           true,
                                           false,
                                           nullptr,
                                           "",
                                           "conv",
                                           "max",
                                           "average",
                                           "upsample",
                                           "cpu",
                                           "relu",
                                           "prelu",
                                           "add",
                                           "concat",
                                           "float16",
                                           "uint8",
                                           "nchw",
                                           "hwc8",
                                           "constant",
                                           "Softmax",
                                           "Binary",
                                           "Pooling",
                                           nlohmann::json::array(),
                                           nlohmann::json::object()};
  return kValues[(*random)() % std::size(kValues)];
}

/// One change of one value: another number, another value of the same document, one more, one less.
inline void mutate(nlohmann::json* document, std::minstd_rand* random) {
  std::vector<nlohmann::json*> all;
  collect(document, &all);
  nlohmann::json& value = *all[(*random)() % all.size()];
  switch ((*random)() % 6) {
    case 0:
      value = interesting(random);
      break;
    case 1:
      value = nlohmann::json(*all[(*random)() % all.size()]);
      break;
    case 2:
      if (value.is_number_integer()) {
        // Unsigned, so that the largest number may wrap.
        const uint64_t near = value.get<uint64_t>() + (*random)() % 65 - 32;
        value = static_cast<int64_t>(near);
      }
      break;
    case 3:
      if (value.is_array() && !value.empty()) {
        const nlohmann::json item = value[(*random)() % value.size()];
        value.insert(value.begin() + static_cast<std::ptrdiff_t>((*random)() % value.size()), item);
      }
      break;
    case 4:
      if (value.is_array() && !value.empty()) value.erase((*random)() % value.size());
      break;
    default:
      if (value.is_object() && !value.empty()) {
        auto it = value.begin();
        std::advance(it, (*random)() % value.size());
        if ((*random)() % 4) {
          it.value() = interesting(random);
        } else {
          value.erase(it);
        }
      }
  }
}

/// For LLVMFuzzerCustomMutator: most of the time a change of JSON, else of bytes.
inline size_t mutate_text(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  std::minstd_rand random(seed + 1);
  const std::string text(reinterpret_cast<const char*>(data), size);
  auto document = nlohmann::json::parse(text, nullptr, false);
  if (document.is_discarded() || random() % 16 == 0) return LLVMFuzzerMutate(data, size, max_size);
  for (unsigned i = 0; i <= random() % 3; ++i) mutate(&document, &random);
  const std::string changed =
      document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (changed.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, changed.data(), changed.size());
  return changed.size();
}

}  // namespace dvnn::fuzz

extern "C" inline __attribute__((used)) size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size,
                                                                       size_t max_size,
                                                                       unsigned seed) {
  return dvnn::fuzz::mutate_text(data, size, max_size, seed);
}
