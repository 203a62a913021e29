// SPDX-License-Identifier: Apache-2.0
// Decoders: their parameters, and outputs of any bits: {"name", "params", "outputs": [{"name",
// "shape", "bits": [...]}]}. Bits are repeated over the output.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/json.h"
#include "decode/decoder.h"
#include "tensor/tensor_json.h"

#ifdef DVNN_FUZZER
#include "json_mutator.h"
#endif

using namespace dvnn;

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  setenv("DVNN_MAX_CANDIDATES", "4096", 1);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr int kMostExtent = 4096, kMostOutputs = 4, kMostBits = 64;
  constexpr int64_t kMostElements = 1 << 16;
  const auto json = parse_json(std::string(reinterpret_cast<const char*>(data), size), "it");
  if (!json.ok()) return 0;
  JsonReader in(json.value(), "it");
  const std::string name = in.text("name", "");
  const nlohmann::json* params = in.member("params");
  const nlohmann::json* list = in.member("outputs");
  if (!list || !list->is_array() || list->size() > kMostOutputs) return 0;
  std::vector<decode::NamedOutput> outputs;
  std::vector<std::vector<float>> values;
  for (const auto& item : *list) {
    JsonReader output(item, "an output");
    const auto shape = output.integers("shape", 1, kMostExtent, Shape::kMaxRank);
    const auto bits = output.integers("bits", INT32_MIN, INT32_MAX, kMostBits);
    decode::NamedOutput one;
    one.name = output.text("name", "");
    one.desc.type = ElementType::kFloat32;
    one.desc.shape.rank = static_cast<int>(shape.size());
    std::copy(shape.begin(), shape.end(), one.desc.shape.dims);
    if (!output.ok() || !check_shape(one.desc.shape).ok() || bits.empty()) return 0;
    if (one.desc.shape.elements() > kMostElements) return 0;
    values.emplace_back(static_cast<size_t>(one.desc.shape.elements()));
    for (size_t i = 0; i < values.back().size(); ++i) {
      std::memcpy(&values.back()[i], &bits[i % bits.size()], sizeof(float));
    }
    outputs.push_back(std::move(one));
  }
  auto decoder = decode::create_decoder(name, params ? *params : nlohmann::json::object(), outputs);
  if (!decoder.ok()) return 0;
  std::vector<ConstTensorView> views;
  for (size_t i = 0; i < outputs.size(); ++i) {
    views.push_back({outputs[i].desc, reinterpret_cast<const uint8_t*>(values[i].data())});
  }
  objects::Objects found;
  (void)decoder.value()->decode(views, 0.1f, &found).ok();
  return 0;
}
