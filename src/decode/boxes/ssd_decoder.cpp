// SPDX-License-Identifier: Apache-2.0
// SSD: raw locations and confidences over priors, with key points if the network has them
// (RetinaFace, BlazeFace, YuNet of 2021, the ultra-light face detectors), and the results of a
// DetectionOutput layer.
#include "decode/boxes/ssd_decoder.h"

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "base/grid.h"
#include "base/json.h"
#include "decode/box.h"
#include "decode/decoder_table.h"
#include "decode/parts/heads.h"
#include "kernels/boxes/prior_box.h"
#include "kernels/boxes/ssd.h"

namespace dvnn::decode {
namespace {

using kernels::kMaxPriorGrid;
using kernels::kMaxPriorList;
using kernels::PriorBoxParams;

constexpr int64_t kMaxPriors = 1 << 20;  // far more than any detector has; bounds memory

struct Size {
  float w, h;
};

// Reads a list of lists of positive numbers.
std::vector<std::vector<float>> number_lists(JsonReader* in, const char* name) {
  std::vector<std::vector<float>> lists;
  const Json* value = in->member(name);
  if (!value || !value->is_array() || value->empty() || value->size() > kMaxPriorList) {
    in->fail(name, format("must be an array of 1 to %zu arrays of numbers", kMaxPriorList));
    return lists;
  }
  static const Json kNone = Json::array();
  for (const Json& item : *value) {
    // Checks types explicitly, because get<>() would throw.
    std::vector<float> list;
    for (const Json& n : item.is_array() && item.size() <= kMaxPriorList ? item : kNone) {
      const float v = n.is_number() ? n.get<float>() : 0.0f;
      if (std::isfinite(v) && v > 0) list.push_back(v);
    }
    if (list.empty() || list.size() != item.size()) {
      in->fail(name, "every entry must be an array of positive numbers");
      return lists;
    }
    lists.push_back(std::move(list));
  }
  return lists;
}

// Adds a grid of cells with the same centre-form anchors (relative to the picture) in each.
void add_grid(int cols, int rows, const std::vector<Size>& sizes, std::array<float, 4> variance,
              std::vector<Prior>* priors) {
  for (int y = 0; y < rows; ++y) {
    for (int x = 0; x < cols; ++x) {
      const float cx = (static_cast<float>(x) + 0.5f) / static_cast<float>(cols);
      const float cy = (static_cast<float>(y) + 0.5f) / static_cast<float>(rows);
      for (const Size& s : sizes) {
        priors->push_back({{cx - s.w / 2, cy - s.h / 2, cx + s.w / 2, cy + s.h / 2}, variance});
      }
    }
  }
}

Status check_count(int64_t cols, int64_t rows, size_t per_cell, size_t so_far) {
  const int64_t total = cols * rows * static_cast<int64_t>(per_cell) + static_cast<int64_t>(so_far);
  if (cols < 1 || rows < 1 || cols > kMaxPriorGrid || rows > kMaxPriorGrid || total > kMaxPriors) {
    return too_large(format(
        "anchors: a grid of %lld x %lld cells is outside 1..%d, or makes more than %lld anchors",
        static_cast<long long>(cols), static_cast<long long>(rows), kMaxPriorGrid,
        static_cast<long long>(kMaxPriors)));
  }
  return {};
}

Result<std::vector<Prior>> min_boxes_anchors(JsonReader* in, std::array<float, 4> variance,
                                             std::vector<size_t>* groups) {
  const std::vector<int> image = in->integers("image", 1, 32768, 2);
  const std::vector<int> strides = in->integers("strides", 1, 32768, kMaxPriorList);
  const auto boxes = number_lists(in, "min_boxes");
  const bool clamp = in->boolean("clamp", true);
  if (image.size() != 2) in->fail("image", "must be [width, height]");
  if (strides.size() != boxes.size()) in->fail("min_boxes", "needs one list per stride");
  DVNN_TRY(in->status());
  std::vector<Prior> priors;
  for (size_t i = 0; i < strides.size(); ++i) {
    const int cols = (image[0] + strides[i] - 1) / strides[i];
    const int rows = (image[1] + strides[i] - 1) / strides[i];
    DVNN_TRY(check_count(cols, rows, boxes[i].size(), priors.size()));
    std::vector<Size> sizes;
    for (float b : boxes[i]) {
      const Size size = {b / static_cast<float>(image[0]), b / static_cast<float>(image[1])};
      sizes.push_back(clamp ? Size{std::min(1.0f, size.w), std::min(1.0f, size.h)} : size);
    }
    groups->push_back(sizes.size() * grid_size(cols, rows));
    add_grid(cols, rows, sizes, variance, &priors);
  }
  return priors;
}

Result<std::vector<Prior>> sizes_ratios_anchors(JsonReader* in, std::array<float, 4> variance,
                                                std::vector<size_t>* groups) {
  const auto features = number_lists(in, "features");
  const auto sizes = number_lists(in, "sizes");
  const auto ratios = number_lists(in, "ratios");
  if (sizes.size() != features.size()) in->fail("sizes", "needs one list per feature map");
  if (ratios.size() != features.size()) in->fail("ratios", "needs one list per feature map");
  for (const auto& f : features) {
    if (f.size() != 2 || f[0] > kMaxPriorGrid || f[1] > kMaxPriorGrid) {
      in->fail("features", "every entry must be [columns, rows]");
    }
  }
  DVNN_TRY(in->status());
  std::vector<Prior> priors;
  for (size_t i = 0; i < features.size(); ++i) {
    const int cols = static_cast<int>(features[i][0]), rows = static_cast<int>(features[i][1]);
    std::vector<Size> cell;
    auto add = [&](float size, float ratio) {
      const float root = std::sqrt(ratio);
      cell.push_back({size * root, size / root});
    };
    for (float s : sizes[i]) add(s, ratios[i][0]);
    for (size_t r = 1; r < ratios[i].size(); ++r) add(sizes[i][0], ratios[i][r]);
    DVNN_TRY(check_count(cols, rows, cell.size(), priors.size()));
    groups->push_back(cell.size() * grid_size(cols, rows));
    add_grid(cols, rows, cell, variance, &priors);
  }
  return priors;
}

Result<std::vector<Prior>> prior_box_anchors(JsonReader* in, std::vector<size_t>* groups) {
  const Json* layers = in->member("layers");
  if (!layers || !layers->is_array() || layers->empty() || layers->size() > kMaxPriorList) {
    in->fail("layers", format("must be an array of 1 to %zu PriorBox descriptions", kMaxPriorList));
  }
  DVNN_TRY(in->status());
  std::vector<Prior> priors;
  for (const Json& layer : *layers) {
    DVNN_ASSIGN(const PriorBoxParams params, kernels::parse_prior_box(layer));
    DVNN_TRY(check_count(params.layer_w, params.layer_h,
                         static_cast<size_t>(kernels::priors_per_cell(params)), priors.size()));
    const std::vector<Prior> more = kernels::make_prior_box(params);
    groups->push_back(more.size());
    priors.insert(priors.end(), more.begin(), more.end());
  }
  return priors;
}

}  // namespace

Result<std::vector<Prior>> make_anchors(const Json& rule, std::vector<size_t>* groups) {
  std::vector<size_t> unused;
  if (!groups) groups = &unused;
  groups->clear();
  JsonReader in(rule, "the anchor rule");
  const std::string name = in.text("rule");
  const std::vector<float> listed = in.numbers("variances", 4);
  if (listed.size() > 1 && listed.size() != 4) in.fail("variances", "needs 1 or 4 values");
  DVNN_TRY(in.status());
  const auto variance = kernels::expand_variances(listed, {{0.1f, 0.1f, 0.2f, 0.2f}});
  if (name == "min-boxes") return min_boxes_anchors(&in, variance, groups);
  if (name == "sizes-ratios") return sizes_ratios_anchors(&in, variance, groups);
  if (name == "prior-box") return prior_box_anchors(&in, groups);
  return malformed("unknown anchor rule '" + name +
                   "' (known: min-boxes, sizes-ratios, prior-box)");
}

namespace {

class PriorGeometry final : public Geometry {
 public:
  PriorGeometry(const kernels::SsdParams& params, std::vector<Prior> priors)
      : params_(params), priors_(std::move(priors)) {
    if (!params_.variance_encoded_in_target) return;
    for (Prior& prior : priors_) prior.variance = {{1, 1, 1, 1}};
  }

  Box box(const Level& level, const Hit& hit, const float* raw) const override {
    const int own = params_.share_location ? 0 : hit.class_id;
    return decode_box(params_.code_type, prior(level, hit), raw + 4 * own);
  }

  void point(const Level& level, const Hit& hit, const Box&, float* x, float* y) const override {
    const Prior& p = prior(level, hit);
    *x = (p.box.x0 + p.box.x1) / 2 + *x * p.variance[0] * (p.box.x1 - p.box.x0);
    *y = (p.box.y0 + p.box.y1) / 2 + *y * p.variance[1] * (p.box.y1 - p.box.y0);
  }

 private:
  const Prior& prior(const Level& level, const Hit& hit) const {
    return priors_[level.first_cell + hit.cell];
  }
  kernels::SsdParams params_;
  std::vector<Prior> priors_;
};

// Reads the names of outputs from "loc" and "conf", if "outputs" is absent.
GroupNames names_of(JsonReader* in) {
  if (in->member("parts") || !in->member("loc") || !in->member("conf")) return {};
  return {read_texts(in, "loc"), read_texts(in, "conf")};
}

}  // namespace

DecoderResult create_ssd_decoder(const Json& params, Span<const NamedOutput> outputs) {
  DVNN_ASSIGN(const kernels::SsdParams ssd, kernels::parse_ssd_params(params, "the parameters"));
  JsonReader in(params, "the parameters");
  const Json* rule = in.member("anchors");
  if (!rule) in.fail("anchors", "required but missing");
  DetectorRules rules = read_detector_rules(&in, 0.3);
  rules.score.every_class = !ssd.class_agnostic;
  rules.score.background = ssd.background;
  DVNN_TRY(in.status());
  std::vector<size_t> groups;
  DVNN_ASSIGN(std::vector<Prior> priors, make_anchors(*rule, &groups));
  std::vector<Level> levels;
  for (const size_t cells : groups) {
    Level level;
    level.cells = cells;
    level.width = static_cast<int>(cells);
    levels.push_back(level);
  }
  PartSizes sizes = read_part_sizes(&in, rules.point_size);
  sizes.boxes = 4 * (ssd.share_location ? 1 : ssd.num_classes);
  DVNN_ASSIGN(Heads heads, find_heads(&in, outputs, std::move(levels), sizes, {"boxes", "scores"},
                                      names_of(&in)));
  return make_detector(rules, std::move(heads),
                       std::make_unique<PriorGeometry>(ssd, std::move(priors)));
}

namespace {

constexpr float kMaxClasses = 65536;  // most labels in a file
constexpr int kRowLength = kernels::kDetectionRowLength;

class DetectionOutputDecoder final : public Decoder {
 public:
  explicit DetectionOutputDecoder(size_t elements) : rows_(elements) {}
  objects::Kind kind() const override { return objects::Kind::kDetection; }

  Status decode(Span<const ConstTensorView> outputs, float threshold,
                objects::Objects* out) override {
    read_nchw(outputs[0], rows_.data());
    const size_t first = out->size();
    for (size_t i = 0; i + kRowLength <= rows_.size(); i += kRowLength) {
      const float* row = &rows_[i];
      // Written so that NaN drops the row.
      if (!(row[0] >= 0 && row[2] >= threshold && row[1] >= 0 && row[1] < kMaxClasses)) continue;
      const Box box = {row[3], row[4], row[5], row[6]};
      if (!std::isfinite(row[2]) || !is_finite(box)) continue;
      objects::Object& object = out->add();
      object.class_id = static_cast<int>(row[1]);
      object.confidence = row[2];
      object.box = to_corners(box);
    }
    out->sort_from(first);
    return {};
  }

 private:
  std::vector<float> rows_;
};

}  // namespace

DecoderResult create_detection_output_decoder(const Json&, Span<const NamedOutput> outputs) {
  if (outputs.size() != 1 || outputs[0].desc.shape.rank != 4 ||
      outputs[0].desc.shape[3] != kRowLength) {
    return malformed(format("needs one output of shape 1x1xNx%d, the network has %zu (first: %s)",
                            kRowLength, outputs.size(),
                            outputs.empty() ? "none" : outputs[0].desc.shape.to_string().c_str()));
  }
  return std::unique_ptr<Decoder>(new DetectionOutputDecoder(outputs[0].desc.shape.count()));
}

}  // namespace dvnn::decode
