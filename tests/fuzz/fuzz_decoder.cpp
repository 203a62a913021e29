// SPDX-License-Identifier: Apache-2.0
// Decoders: their parameters, and outputs of any bits: {"name", "params", "outputs": [{"name",
// "type", "shape", "bits": [...]}]}. Bits are repeated over the output.
#include <vector>

#include "base/json.h"
#include "decode/decoder.h"
#include "json_mutator.h"
#include "target.h"
#include "tensor/tensor_json.h"

using namespace dvnn;

DVNN_FUZZ_JSON("ssd", "classification", "detection-output", "params", "loc", "conf", "softmax",
               "sigmoid", "none", "score", "anchors", "rule", "prior-box", "min-boxes", "grid",
               "boxes", "num_classes", "background_label_id", "share_location", "top_k",
               "variance_encoded_in_target", "nms_threshold", "nms_top_k", "nms_eta", "keep_top_k",
               "confidence_threshold", "class_agnostic", "code_type", "corner", "center_size",
               "corner_size", "aspect_ratios", "clip", "flip", "variances", "img_size", "min_size",
               "max_size", "min_sizes", "max_sizes", "img_w", "img_h", "layer_w", "layer_h",
               "step_w", "step_h", "offset", "layers", "image", "strides", "min_boxes", "type",
               "layout", "float16", "float32", "uint8", "int8", "nchw", "nhwc", "nwhc", "whc8",
               "hwc8")

namespace {

constexpr int64_t kMostElements = 1 << 14;

// An output as a network may have it; nothing if it is none.
bool read_output(const nlohmann::json& item, decode::NamedOutput* output,
                 std::vector<uint8_t>* bytes) {
  constexpr size_t kMostBits = 64;
  JsonReader in(item, "an output");
  output->name = in.text("name", "");
  nlohmann::json desc = {{"type", "float32"}, {"layout", "nchw"}};
  for (const char* name : {"type", "layout", "shape"}) {
    if (const auto* member = in.member(name)) desc[name] = *member;
  }
  JsonReader desc_in(desc, "an output");
  output->desc = read_desc(&desc_in);
  const auto bits = in.integers("bits", INT32_MIN, INT32_MAX, kMostBits);
  if (!in.ok() || !desc_in.ok() || bits.empty()) return false;
  if (output->desc.shape.elements() > kMostElements) return false;
  bytes->resize(static_cast<size_t>(output->desc.bytes()));
  for (size_t i = 0; i < bytes->size(); ++i) {
    const auto word = static_cast<uint32_t>(bits[i / sizeof(int32_t) % bits.size()]);
    (*bytes)[i] = static_cast<uint8_t>(word >> i % sizeof(int32_t) * 8);
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  fuzz::set_small_budgets();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kMostOutputs = 4;
  const auto json = parse_json(std::string(reinterpret_cast<const char*>(data), size), "it");
  if (!json.ok()) return 0;
  JsonReader in(json.value(), "it");
  const std::string name = in.text("name", "");
  const nlohmann::json* params = in.member("params");
  const nlohmann::json* list = in.member("outputs");
  if (!list || !list->is_array() || list->size() > kMostOutputs) return 0;
  std::vector<decode::NamedOutput> outputs(list->size());
  std::vector<std::vector<uint8_t>> bytes(list->size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!read_output((*list)[i], &outputs[i], &bytes[i])) return 0;
  }
  auto decoder = decode::create_decoder(name, params ? *params : nlohmann::json::object(), outputs);
  if (!fuzz::is_good(decoder)) return 0;
  ++fuzz::accepted;
  std::vector<ConstTensorView> views;
  for (size_t i = 0; i < outputs.size(); ++i) views.push_back({outputs[i].desc, bytes[i].data()});
  for (float threshold : {0.1f, -1.0f}) {
    objects::Objects found;
    if (!decoder.value()->decode(views, threshold, &found).ok()) continue;
    // What elements rely on.
    for (const objects::Object& object : found) {
      if (object.class_id < 0 || !(object.confidence >= threshold)) std::abort();
    }
  }
  return 0;
}
