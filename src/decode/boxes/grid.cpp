// SPDX-License-Identifier: Apache-2.0
// Detectors without anchors: each cell of a grid per stride gives an object and the distances to
// its box's sides. YOLOX, FCOS, NanoDet, SCRFD, YuNet of 2023, FastestDet, raw YOLOv6 and YOLOv8.
#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "decode/decoder_table.h"
#include "decode/parts/detector.h"
#include "decode/parts/heads.h"

namespace dvnn::decode {
namespace {

enum class BoxForm { kCenterExp, kDistances, kDistribution, kTanhSigmoid };
constexpr const char* kBoxForms[] = {"center-exp", "distances", "distribution", "tanh-sigmoid"};

enum class AngleForm { kRadians, kSigmoid };
constexpr const char* kAngleForms[] = {"radians", "sigmoid"};

struct GridRule {
  BoxForm form = BoxForm::kCenterExp;
  AngleForm angle = AngleForm::kRadians;
  float offset = 0;                         // of cell centres, cells
  float point_offset = 0, point_scale = 1;  // origin of key points, in cells; their factor
  bool in_cells = true;                     // lengths are in cells, else in pixels
  float width = 1, height = 1;
};

class GridGeometry final : public Geometry {
 public:
  explicit GridGeometry(const GridRule& rule) : rule_(rule) {}

  Box box(const Level& level, const Hit& hit, const float* raw) const override {
    const Cell c = cell(level, hit, rule_.offset);
    const float w = rule_.width, h = rule_.height;
    const float turn = level.angle.there() ? angle(raw[angle_at(level)]) : 0;
    if (rule_.form == BoxForm::kDistances) return around(level, c, raw, turn);
    if (rule_.form == BoxForm::kDistribution) {
      float sides[4];
      for (int i = 0; i < 4; ++i) sides[i] = expected(raw, level.boxes.count / 4, i);
      return around(level, c, sides, turn);
    }
    if (rule_.form == BoxForm::kTanhSigmoid) {
      const float cx = (c.x + std::tanh(raw[0])) * level.stride_x / w;
      const float cy = (c.y + std::tanh(raw[1])) * level.stride_y / h;
      const float half_w = sigmoid_of(raw[2]) / 2, half_h = sigmoid_of(raw[3]) / 2;
      return {cx - half_w, cy - half_h, cx + half_w, cy + half_h};
    }
    const float cx = (c.x + raw[0]) * level.stride_x, cy = (c.y + raw[1]) * level.stride_y;
    const float half_w = std::exp(raw[2]) * level.stride_x / 2;
    const float half_h = std::exp(raw[3]) * level.stride_y / 2;
    return {(cx - half_w) / w, (cy - half_h) / h, (cx + half_w) / w, (cy + half_h) / h};
  }

  // The sigmoid covers half a turn, from -45 to 135 degrees. Source: YOLOv8's oriented boxes.
  float angle(float raw) const override {
    constexpr float kPi = 3.14159265f;
    return rule_.angle == AngleForm::kSigmoid ? (sigmoid_of(raw) - 0.25f) * kPi : raw;
  }

  void point(const Level& level, const Hit& hit, const Box&, float* x, float* y) const override {
    const Cell c = cell(level, hit, rule_.point_offset);
    const float ux = rule_.point_scale * (rule_.in_cells ? level.stride_x : 1);
    const float uy = rule_.point_scale * (rule_.in_cells ? level.stride_y : 1);
    *x = (c.x * level.stride_x + *x * ux) / rule_.width;
    *y = (c.y * level.stride_y + *y * uy) / rule_.height;
  }

 private:
  struct Cell {
    float x, y;
  };
  static Cell cell(const Level& level, const Hit& hit, float offset) {
    const int i = static_cast<int>(hit.cell);
    return {static_cast<float>(i % level.width) + offset,
            static_cast<float>(i / level.width) + offset};
  }

  static int angle_at(const Level& level) { return level.boxes.count + level.offsets.count; }

  // The sides are distances in the box's own directions, so the centre of a turned box is rotated
  // about the cell's.
  Box around(const Level& level, const Cell& c, const float* sides, float turn) const {
    const float ux = rule_.in_cells ? level.stride_x : 1, uy = rule_.in_cells ? level.stride_y : 1;
    float x = c.x * level.stride_x, y = c.y * level.stride_y;
    if (turn != 0) {
      const float dx = (sides[2] - sides[0]) / 2 * ux, dy = (sides[3] - sides[1]) / 2 * uy;
      x += dx * std::cos(turn) - dy * std::sin(turn) - dx;
      y += dx * std::sin(turn) + dy * std::cos(turn) - dy;
    }
    return {(x - sides[0] * ux) / rule_.width, (y - sides[1] * uy) / rule_.height,
            (x + sides[2] * ux) / rule_.width, (y + sides[3] * uy) / rule_.height};
  }

  // Returns a side as the mean of a distribution over 0, 1, 2, ... Source: Li et al., "Generalized
  // Focal Loss" (2020).
  static float expected(const float* raw, int bins, int side) {
    const float* numbers = raw + side * bins;
    float most = numbers[0];
    for (int i = 1; i < bins; ++i) most = std::max(most, numbers[i]);
    float sum = 0, mean = 0;
    for (int i = 0; i < bins; ++i) {
      const float p = std::exp(numbers[i] - most);
      sum += p;
      mean += p * static_cast<float>(i);
    }
    return mean / sum;
  }

  GridRule rule_;
};

}  // namespace

DecoderResult create_grid_decoder(const Json& params, Span<const NamedOutput> outputs) {
  constexpr size_t kMaxLevels = 16;
  constexpr int64_t kMaxBins = 256;
  JsonReader in(params, "the parameters");
  DetectorRules rules = read_detector_rules(&in, 0.45);
  rules.input = read_image(&in);
  const std::vector<int> strides = in.integers("strides", 1, 4096, kMaxLevels);
  if (strides.empty()) in.fail("strides", "needs at least one");
  GridRule rule;
  rule.form = read_choice<BoxForm>(&in, "box", "center-exp", kBoxForms, "form of boxes");
  rule.angle = read_choice<AngleForm>(&in, "angle", "radians", kAngleForms, "form of angles");
  const bool sides = rule.form == BoxForm::kDistances || rule.form == BoxForm::kDistribution;
  rule.offset = static_cast<float>(in.number("offset", sides ? 0.5 : 0));
  rule.point_offset = static_cast<float>(in.number("point_offset", double{rule.offset}));
  rule.point_scale = static_cast<float>(in.number("point_scale", 1));
  const std::string unit = in.text("unit", "cells");
  if (unit != "cells" && unit != "pixels") in.fail("unit", "must be cells or pixels");
  rule.in_cells = unit == "cells";
  rule.width = static_cast<float>(rules.input.width);
  rule.height = static_cast<float>(rules.input.height);
  PartSizes sizes = read_part_sizes(&in, rules.point_size);
  if (rule.form == BoxForm::kDistribution) {
    sizes.boxes = 4 * static_cast<int>(in.integer("bins", 2, kMaxBins, 16));
  }
  constexpr int64_t kMaxMasks = 1024;
  sizes.masks = static_cast<int>(in.integer("mask_count", 0, kMaxMasks, 0));
  const std::string prototypes = in.text("prototypes", "");
  const auto anchors = static_cast<int>(in.integer("anchors_per_cell", 1, 64, 1));
  std::vector<Level> levels;
  for (int stride : strides) {
    levels.push_back(grid_level(rules.input, stride));
    levels.back().anchors = anchors;
  }
  DVNN_ASSIGN(Heads heads,
              find_heads(&in, outputs, std::move(levels), sizes, {"boxes+objectness+scores"}));
  std::unique_ptr<MaskMaker> masks;
  if (sizes.masks > 0) {
    DVNN_ASSIGN(masks, make_prototype_masks(outputs, prototypes, sizes.masks));
  }
  return make_detector(rules, std::move(heads), std::make_unique<GridGeometry>(rule),
                       std::move(masks));
}

}  // namespace dvnn::decode
