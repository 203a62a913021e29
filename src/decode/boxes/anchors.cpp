// SPDX-License-Identifier: Apache-2.0
// Detectors with anchors in the cells of a grid per stride: YOLO v2 to v7, Yolo-FastestV2, the
// Caffe model of RetinaFace, MTCNN's first stage.
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/grid.h"
#include "base/json.h"
#include "decode/decoder_table.h"
#include "decode/parts/heads.h"

namespace dvnn::decode {
namespace {

enum class AnchorForm { kYolo, kYoloScaled, kDeltas, kCorners };
constexpr const char* kAnchorForms[] = {"yolo", "yolo-scaled", "deltas", "corners"};

struct AnchorSize {
  float w, h;  // pixels
};

struct AnchorRule {
  AnchorForm form = AnchorForm::kYolo;
  std::vector<std::vector<AnchorSize>> sizes;  // by level
  bool activated = false;                      // the network's outputs are sigmoids already
  std::vector<float> scale_xy;                 // YOLOv4's reach of centres, by level
  // The network's input has rows and columns exchanged, but its outputs are those of the upright
  // picture.
  bool transposed = false;
  float center = 0;     // of the anchors in the first cell, pixels
  float inclusive = 0;  // subtracted from sizes, pixels: 1 if they count the last pixel
  float width = 1, height = 1;
};

class AnchorGeometry final : public Geometry {
 public:
  explicit AnchorGeometry(AnchorRule rule) : rule_(std::move(rule)) {}

  Box box(const Level& level, const Hit& hit, const float* raw) const override {
    const Place p = place(level, hit);
    float cx, cy, w, h;
    if (rule_.form == AnchorForm::kYolo || rule_.form == AnchorForm::kYoloScaled) {
      const bool scaled = rule_.form == AnchorForm::kYoloScaled;
      const float reach = scaled ? 2 : rule_.scale_xy[hit.level];
      cx = p.x + (own(raw[0]) * reach - (reach - 1) / 2) * level.stride_x;
      cy = p.y + (own(raw[1]) * reach - (reach - 1) / 2) * level.stride_y;
      const float sw = scaled ? 2 * own(raw[2]) : 0, sh = scaled ? 2 * own(raw[3]) : 0;
      w = p.size.w * (scaled ? sw * sw : std::exp(raw[2]));
      h = p.size.h * (scaled ? sh * sh : std::exp(raw[3]));
    } else if (rule_.form == AnchorForm::kCorners) {
      const int across = rule_.transposed ? 1 : 0, down = 1 - across;
      return {(p.x + (raw[across] - 0.5f) * p.size.w) / rule_.width,
              (p.y + (raw[down] - 0.5f) * p.size.h) / rule_.height,
              (p.x + (raw[across + 2] + 0.5f) * p.size.w) / rule_.width,
              (p.y + (raw[down + 2] + 0.5f) * p.size.h) / rule_.height};
    } else {
      cx = p.x + raw[0] * p.size.w;
      cy = p.y + raw[1] * p.size.h;
      w = p.size.w * std::exp(raw[2]);
      h = p.size.h * std::exp(raw[3]);
    }
    const float half_w = (w - rule_.inclusive) / 2, half_h = (h - rule_.inclusive) / 2;
    return {(cx - half_w) / rule_.width, (cy - half_h) / rule_.height, (cx + half_w) / rule_.width,
            (cy + half_h) / rule_.height};
  }

  void point(const Level& level, const Hit& hit, const Box&, float* x, float* y) const override {
    const Place p = place(level, hit);
    if (rule_.transposed) std::swap(*x, *y);
    // MTCNN measures from the corner of its window.
    const float from = rule_.form == AnchorForm::kCorners ? 0.5f : 0;
    *x = (p.x + (*x - from) * p.size.w) / rule_.width;
    *y = (p.y + (*y - from) * p.size.h) / rule_.height;
  }

 private:
  struct Place {
    float x, y;
    AnchorSize size;
  };
  Place place(const Level& level, const Hit& hit) const {
    const int i = static_cast<int>(hit.cell);
    return {static_cast<float>(i % level.width) * level.stride_x + rule_.center,
            static_cast<float>(i / level.width) * level.stride_y + rule_.center,
            rule_.sizes[hit.level][hit.anchor]};
  }
  float own(float number) const { return rule_.activated ? number : sigmoid_of(number); }

  AnchorRule rule_;
};

// Reads "anchors": for each stride, widths and heights of its anchors in turn, in pixels.
std::vector<std::vector<AnchorSize>> read_anchors(JsonReader* in, size_t levels) {
  constexpr size_t kMaxNumbers = 64;
  std::vector<std::vector<AnchorSize>> sizes;
  const Json* lists = in->member("anchors");
  if (!lists || !lists->is_array() || lists->size() != levels) {
    in->fail("anchors", "needs a list of widths and heights for each stride");
    return sizes;
  }
  for (const Json& list : *lists) {
    std::vector<AnchorSize> own;
    const bool pairs = list.is_array() && list.size() % 2 == 0 && list.size() <= kMaxNumbers;
    for (size_t i = 0; pairs && i < list.size(); i += 2) {
      const bool numbers = list.at(i).is_number() && list.at(i + 1).is_number();
      const AnchorSize size = {numbers ? list.at(i).get<float>() : 0,
                               numbers ? list.at(i + 1).get<float>() : 0};
      if (size.w > 0 && size.h > 0) own.push_back(size);
    }
    if (own.empty() || own.size() * 2 != list.size() ||
        own.size() != (sizes.empty() ? own : sizes[0]).size()) {
      in->fail("anchors", "entries are lists of widths and heights, as many for each stride");
      return sizes;
    }
    sizes.push_back(std::move(own));
  }
  return sizes;
}

}  // namespace

DecoderResult create_anchors_decoder(const Json& params, Span<const NamedOutput> outputs) {
  constexpr size_t kMaxLevels = 16;
  JsonReader in(params, "the parameters");
  DetectorRules rules = read_detector_rules(&in, 0.45);
  rules.input = read_image(&in);
  AnchorRule rule;
  const std::vector<int> strides = in.integers("strides", 1, 4096, kMaxLevels);
  if (strides.empty()) in.fail("strides", "needs at least one");
  rule.sizes = read_anchors(&in, strides.size());
  rule.form = read_choice<AnchorForm>(&in, "box", "yolo", kAnchorForms, "form of boxes");
  rule.activated = in.boolean("activated", false);
  rule.transposed = in.boolean("transposed", false);
  rule.scale_xy = in.numbers("scale_xy", kMaxLevels);
  if (rule.scale_xy.empty()) rule.scale_xy.assign(strides.size(), 1.0f);
  if (rule.scale_xy.size() != strides.size()) in.fail("scale_xy", "needs a number per stride");
  const auto window = static_cast<int>(in.integer("window", 0, 4096, 0));
  rule.center = static_cast<float>(in.number("center", 0));
  rule.inclusive = in.boolean("inclusive", false) ? 1 : 0;
  rule.width = static_cast<float>(rules.input.width);
  rule.height = static_cast<float>(rules.input.height);
  const PartSizes sizes = read_part_sizes(&in, rules.point_size);
  DVNN_TRY(in.status());
  std::vector<Level> levels;
  for (int stride : strides) {
    Level level = grid_level(rules.input, stride);
    level.anchors = static_cast<int>(rule.sizes[0].size());
    if (window > 0) {  // without padding, there are fewer windows than cells
      const auto fitting = [&](float size) {
        const float first = size - static_cast<float>(window - stride);
        return std::max(1, static_cast<int>(std::floor(first / level.stride_x)));
      };
      level.width = fitting(rule.width);
      level.height = fitting(rule.height);
      level.cells = grid_size(level.width, level.height);
    }
    levels.push_back(level);
  }
  DVNN_ASSIGN(Heads heads,
              find_heads(&in, outputs, std::move(levels), sizes, {"boxes+objectness+scores"}));
  return make_detector(rules, std::move(heads), std::make_unique<AnchorGeometry>(std::move(rule)));
}

}  // namespace dvnn::decode
