// SPDX-License-Identifier: Apache-2.0
// Decoders: their parameters, and outputs of any bits: {"name", "params", "outputs": [{"name",
// "type", "shape", "bits": [...]}]}. Bits are repeated over the output.
#include <vector>

#include "base/json.h"
#include "decode/decoder.h"
#include "json_mutator.h"
#include "target.h"
#include "tensor/tensor.h"

namespace dvnn::fuzz::decoder_target {

DVNN_FUZZ_JSON("activated", "anchors", "anchors_per_cell", "aspect_ratios", "background_label_id",
               "bins", "blank", "bound", "box", "boxes", "center", "center-exp", "center_size",
               "channel", "channels", "clamp", "class_agnostic", "class_power", "classification",
               "clip", "coco-17", "code_type", "conf", "confidence_threshold", "corner",
               "corner_size", "corners", "ctc", "db", "deltas", "detection-output", "distances",
               "distribution", "embedding", "expectation", "face-468", "face-5", "face-6",
               "face-68", "features", "flip", "float16", "float32", "form", "fractions", "grid",
               "hand-21", "heads", "heatmap-centres", "heatmaps", "hwc8", "image", "img_h",
               "img_size", "img_w", "inclusive", "indices", "inner", "int8", "keep_top_k",
               "keypoints", "layer_h", "layer_w", "layers", "layout", "least_side", "library",
               "linear", "loc", "logarithmic", "mask_count", "max_regions", "max_size", "max_sizes",
               "min-boxes", "min_boxes", "min_size", "min_sizes", "multi_label", "nchw", "nhwc",
               "nms_eta", "nms_threshold", "nms_top_k", "none", "normalize", "num_classes",
               "number", "nwhc", "objectness", "objectness_power", "objectness_score", "offset",
               "offsets", "output", "params", "parts", "peaks", "pixels", "point_confidence",
               "point_count", "point_size", "points", "points_by_axis", "points_in_box",
               "prior-box", "prototypes", "ratios", "rows_first", "rule", "scale", "scale_xy",
               "score", "score_output", "scores", "segmentation", "share_location", "shared",
               "sigmoid", "simcc", "sizes", "sizes-ratios", "skeleton", "softmax", "ssd", "step_h",
               "step_w", "stride", "strides", "tanh-sigmoid", "threshold", "top_k", "type", "uint8",
               "unclip", "unit", "variance_encoded_in_target", "variances", "whc8", "window",
               "yolo", "yolo-scaled")

namespace {

constexpr int64_t kMostElements = 1 << 17;

// An output as a network may have it; nothing if it is none.
bool read_output(const Json& item, decode::NamedOutput* output, std::vector<uint8_t>* bytes) {
  constexpr size_t kMostBits = 64;
  JsonReader in(item, "an output");
  output->name = in.text("name", "");
  Json desc = {{"type", "float32"}, {"layout", "nchw"}};
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

static void prepare() {
  fuzz::set_small_budgets();
}

static void try_input(const uint8_t* data, size_t size) {
  constexpr size_t kMostOutputs = 12;
  const auto json = parse_json(std::string(reinterpret_cast<const char*>(data), size), "it");
  if (!json.ok()) return;
  JsonReader in(json.value(), "it");
  const std::string name = in.text("name", "");
  const Json* params = in.member("params");
  const Json* list = in.member("outputs");
  if (!list || !list->is_array() || list->size() > kMostOutputs) return;
  std::vector<decode::NamedOutput> outputs(list->size());
  std::vector<std::vector<uint8_t>> bytes(list->size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!read_output((*list)[i], &outputs[i], &bytes[i])) return;
  }
  auto decoder = decode::create_decoder(name, params ? *params : Json::object(), outputs);
  if (!fuzz::is_good(decoder)) return;
  ++fuzz::accepted;
  std::vector<ConstTensorView> views;
  for (size_t i = 0; i < outputs.size(); ++i) views.push_back({outputs[i].desc, bytes[i].data()});
  for (float threshold : {0.1f, -1.0f}) {
    objects::Objects found;
    if (!decoder.value()->decode(views, threshold, &found).ok()) continue;
    // Elements rely on this.
    for (const objects::Object& object : found) {
      if (object.class_id < 0 || !(object.confidence >= threshold)) std::abort();
    }
  }
}

DVNN_FUZZ_JSON_TARGET(decoder)

}  // namespace dvnn::fuzz::decoder_target
