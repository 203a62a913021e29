// SPDX-License-Identifier: Apache-2.0
// Detectors whose heat maps show the centres of objects: CenterNet, CenterFace.
#include <cmath>

#include "base/json.h"
#include "decode/decoder_table.h"
#include "decode/parts/heads.h"

namespace dvnn::decode {
namespace {

struct CentreRule {
  float width = 1, height = 1;
  float offset = 0;          // added to centres, cells
  bool logarithmic = false;  // sizes are logarithms
  bool rows_first = false;   // y before x, height before width
  bool in_box = true;  // key points are fractions of the box's size; else cells from the centre
};

class CentreGeometry final : public Geometry {
 public:
  explicit CentreGeometry(const CentreRule& rule) : rule_(rule) {}

  Box box(const Level& level, const Hit& hit, const float* raw) const override {
    const int x_at = rule_.rows_first ? 1 : 0, y_at = 1 - x_at;
    const bool has_offsets = level.offsets.there();
    const int cell = static_cast<int>(hit.cell);
    const float dx = (has_offsets ? raw[2 + x_at] : 0) + rule_.offset;
    const float dy = (has_offsets ? raw[2 + y_at] : 0) + rule_.offset;
    const float cx = (static_cast<float>(cell % level.width) + dx) * level.stride_x / rule_.width;
    const float cy = (static_cast<float>(cell / level.width) + dy) * level.stride_y / rule_.height;
    const float w = size_of(raw[x_at]) * level.stride_x / rule_.width;
    const float h = size_of(raw[y_at]) * level.stride_y / rule_.height;
    return {cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2};
  }

  void point(const Level& level, const Hit& hit, const Box& box, float* x,
             float* y) const override {
    if (rule_.rows_first) std::swap(*x, *y);
    if (rule_.in_box) {
      *x = box.x0 + *x * (box.x1 - box.x0);
      *y = box.y0 + *y * (box.y1 - box.y0);
      return;
    }
    const int cell = static_cast<int>(hit.cell);
    *x = (static_cast<float>(cell % level.width) + *x) * level.stride_x / rule_.width;
    *y = (static_cast<float>(cell / level.width) + *y) * level.stride_y / rule_.height;
  }

 private:
  float size_of(float number) const { return rule_.logarithmic ? std::exp(number) : number; }
  CentreRule rule_;
};

}  // namespace

DecoderResult create_centres_decoder(const Json& params, Span<const NamedOutput> outputs) {
  JsonReader in(params, "the parameters");
  // Peaks need no suppression unless the parameters ask for it.
  DetectorRules rules = read_detector_rules(&in, 1);
  rules.local_peaks = in.boolean("peaks", true);
  rules.input = read_image(&in);
  CentreRule rule;
  rule.width = static_cast<float>(rules.input.width);
  rule.height = static_cast<float>(rules.input.height);
  rule.offset = static_cast<float>(in.number("offset", 0));
  rule.logarithmic = in.boolean("logarithmic", false);
  rule.rows_first = in.boolean("rows_first", false);
  rule.in_box = in.boolean("points_in_box", false);
  const Level level = grid_level(rules.input, static_cast<int>(in.integer("stride", 1, 4096, 4)));
  PartSizes sizes = read_part_sizes(&in, rules.point_size);
  sizes.boxes = 2;
  DVNN_ASSIGN(Heads heads,
              find_heads(&in, outputs, {level}, sizes, {"boxes", "offsets", "scores"}));
  return make_detector(rules, std::move(heads), std::make_unique<CentreGeometry>(rule));
}

}  // namespace dvnn::decode
