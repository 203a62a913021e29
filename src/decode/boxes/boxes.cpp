// SPDX-License-Identifier: Apache-2.0
// Boxes that the network has decoded itself: exported YOLO v5 to v11 with their poses, masks and
// oriented boxes, RetinaNet's, DETR's and RT-DETR's, and rows that have been through suppression.
#include <algorithm>

#include "base/format.h"
#include "base/json.h"
#include "decode/decoder_table.h"
#include "decode/parts/detector.h"
#include "decode/parts/heads.h"

namespace dvnn::decode {
namespace {

enum class PlainForm { kCenter, kCorners, kCornersYx, kOrigin };
constexpr const char* kPlainForms[] = {"center", "corners", "corners-yx", "origin"};

class PlainGeometry final : public Geometry {
 public:
  PlainGeometry(PlainForm form, float width, float height)
      : form_(form), width_(width), height_(height) {}

  Box box(const Level&, const Hit&, const float* raw) const override {
    const float a = raw[0] / width_, b = raw[1] / height_;
    const float c = raw[2] / width_, d = raw[3] / height_;
    switch (form_) {
      case PlainForm::kCenter:
        return {a - c / 2, b - d / 2, a + c / 2, b + d / 2};
      case PlainForm::kCorners:
        return {a, b, c, d};
      case PlainForm::kCornersYx:
        return {raw[1] / width_, raw[0] / height_, raw[3] / width_, raw[2] / height_};
      case PlainForm::kOrigin:
        break;
    }
    return {a, b, a + c, b + d};
  }

  void point(const Level&, const Hit&, const Box&, float* x, float* y) const override {
    *x /= width_;
    *y /= height_;
  }

 private:
  PlainForm form_;
  float width_, height_;
};

// Returns the number of rows: the size of the axis that does not hold a box's numbers.
Result<size_t> count_rows(const NamedOutput& output, int64_t known, bool open) {
  std::vector<int64_t> dims;
  for (int i = 0; i < output.desc.shape.rank; ++i) {
    if (output.desc.shape[i] != 1) dims.push_back(output.desc.shape[i]);
  }
  if (dims.size() == 1) dims.push_back(1);
  if (dims.size() == 2 && output.desc.shape.elements() > 0) {
    const int64_t a = dims[0], b = dims[1];
    if (!open && b == known) return static_cast<size_t>(a);
    if (!open && a == known) return static_cast<size_t>(b);
    // Networks have more boxes than classes.
    if (open && std::min(a, b) > known) return static_cast<size_t>(std::max(a, b));
  }
  return malformed(format("output '%s' of %s is no list of boxes of %s%lld numbers",
                          output.name.c_str(), output.desc.shape.to_string().c_str(),
                          open ? "more than " : "", static_cast<long long>(known)));
}

struct RowsQuestion {
  int64_t known = 0;
  bool open = false, has_boxes = false;
};

RowsQuestion question_of(const std::string& group, const PartSizes& sizes) {
  RowsQuestion question;
  for (const std::string& part : split_parts(group)) {
    question.has_boxes |= part == "boxes";
    question.open |= part == "scores" && sizes.scores == 0;
    question.known += sizes.of(part);
  }
  return question;
}

// Counts the rows of the output with the boxes: the named one, or the first that can have them.
Result<size_t> find_rows(JsonReader* in, Span<const NamedOutput> outputs,
                         const std::vector<std::string>& parts, const PartSizes& sizes) {
  const Json* names = in->member("outputs");
  for (size_t i = 0; i < parts.size(); ++i) {
    const RowsQuestion question = question_of(parts[i], sizes);
    if (!question.has_boxes) continue;
    if (names && names->is_array() && i < names->size() && names->at(i).is_string()) {
      DVNN_ASSIGN(const size_t output, find_output(outputs, names->at(i).get<std::string>()));
      return count_rows(outputs[output], question.known, question.open);
    }
    for (const NamedOutput& output : outputs) {
      auto rows = count_rows(output, question.known, question.open);
      if (rows.ok()) return rows;
    }
    if (!outputs.empty()) return count_rows(outputs[0], question.known, question.open);
  }
  return malformed("field 'parts' needs 'boxes', and the network an output");
}

}  // namespace

DecoderResult create_boxes_decoder(const Json& params, Span<const NamedOutput> outputs) {
  constexpr int64_t kMaxMasks = 1024;
  JsonReader in(params, "the parameters");
  DetectorRules rules = read_detector_rules(&in, 0.45);
  const auto form = read_choice<PlainForm>(&in, "box", "center", kPlainForms, "form of boxes");
  const std::string unit = in.text("unit", "pixels");
  if (unit != "pixels" && unit != "fractions") in.fail("unit", "must be pixels or fractions");
  const bool pixels = unit == "pixels";
  PartSizes sizes = read_part_sizes(&in, rules.point_size);
  sizes.masks = static_cast<int>(in.integer("mask_count", 0, kMaxMasks, 0));
  std::vector<std::string> parts = read_texts(&in, "parts");
  if (parts.empty()) parts = {"boxes+scores"};
  bool oriented = false;
  for (const std::string& part : parts) oriented |= part.find("angle") != std::string::npos;
  if (pixels || oriented) rules.input = read_image(&in);
  const std::string prototypes = in.text("prototypes", "");
  DVNN_TRY(in.status());
  DVNN_ASSIGN(const size_t rows, find_rows(&in, outputs, parts, sizes));
  Level level;
  level.cells = rows;
  level.width = static_cast<int>(rows);
  std::unique_ptr<MaskMaker> masks;
  if (sizes.masks > 0) {
    DVNN_ASSIGN(masks, make_prototype_masks(outputs, prototypes, sizes.masks));
  }
  DVNN_ASSIGN(Heads heads, find_heads(&in, outputs, {level}, sizes, parts));
  const float width = pixels ? static_cast<float>(rules.input.width) : 1;
  const float height = pixels ? static_cast<float>(rules.input.height) : 1;
  return make_detector(rules, std::move(heads),
                       std::make_unique<PlainGeometry>(form, width, height), std::move(masks));
}

}  // namespace dvnn::decode
