// SPDX-License-Identifier: Apache-2.0
#include "decode/parts/detector.h"

#include <algorithm>

#include "base/nth.h"
#include "kernels/boxes/ssd.h"
#include "objects/skeletons.h"

namespace dvnn::decode {

DetectorRules read_detector_rules(JsonReader* in, double nms_threshold) {
  constexpr int64_t kManyClasses = 65536, kMany = 1 << 20;
  DetectorRules rules;
  rules.nms.iou_threshold = static_cast<float>(in->number("nms_threshold", nms_threshold));
  rules.nms.top_k = static_cast<int>(in->integer("nms_top_k", -1, kMany, -1));
  rules.nms.eta = static_cast<float>(in->number("nms_eta", 1.0));
  rules.keep_top_k = static_cast<int>(in->integer("keep_top_k", -1, kMany, -1));
  // Boxes of a class beyond this number are dropped anyway, as better ones are kept.
  rules.nms.max_kept =
      rules.keep_top_k >= 0 ? std::min(rules.keep_top_k, kernels::kMaxKept) : kernels::kMaxKept;
  rules.class_agnostic = in->boolean("class_agnostic", false);
  rules.confidence_threshold = static_cast<float>(in->number("confidence_threshold", 0));
  rules.suppress = rules.nms.iou_threshold < 1;
  rules.score.every_class = in->boolean("multi_label", false);
  rules.score.background =
      static_cast<int>(in->integer("background_label_id", -1, kManyClasses, -1));
  rules.score.scores = read_activation(in, "score", "none");
  rules.score.objectness = read_activation(in, "objectness_score", "none");
  rules.score.objectness_power = static_cast<float>(in->number("objectness_power", 1));
  rules.score.class_power = static_cast<float>(in->number("class_power", 1));
  if (!(rules.score.objectness_power > 0 && rules.score.class_power > 0)) {
    in->fail("objectness_power", "powers must be positive");
  }
  if (rules.score.objectness == Activation::kSoftmax) {
    in->fail("objectness_score", "softmax needs several numbers: sigmoid or none");
  }
  rules.point_size = static_cast<int>(in->integer("point_size", 2, 3, 2));
  rules.points_by_axis = in->boolean("points_by_axis", false);
  if (rules.points_by_axis && rules.point_size != 2) {
    in->fail("points_by_axis", "goes with point_size 2");
  }
  rules.point_score = read_activation(in, "point_score", "none");
  rules.skeleton = in->text("skeleton", "");
  return rules;
}

Detector::Detector(DetectorRules rules, std::vector<Table> tables, std::vector<Level> levels,
                   std::unique_ptr<Geometry> geometry, std::unique_ptr<MaskMaker> masks)
    : rules_(std::move(rules)),
      tables_(std::move(tables)),
      levels_(std::move(levels)),
      geometry_(std::move(geometry)),
      masks_(std::move(masks)),
      finder_(rules_.score) {}

// Of neighbours with equal scores, the first in the order of cells is the peak.
bool Detector::is_peak(const Hit& hit) const {
  const Level& level = levels_[hit.level];
  const Table& table = nth(tables_, level.scores.table);
  const size_t value = level.scores.value(hit.anchor, hit.class_id);
  const int width = level.width, height = level.height;
  const int x = static_cast<int>(hit.cell) % width, y = static_cast<int>(hit.cell) / width;
  const float own = table.at(hit.cell, value);
  for (int v = std::max(0, y - 1); v <= std::min(height - 1, y + 1); ++v) {
    for (int u = std::max(0, x - 1); u <= std::min(width - 1, x + 1); ++u) {
      const auto cell = static_cast<uint32_t>(v * width + u);
      const float other = table.at(cell, value);
      if (other > own || (other == own && cell < hit.cell)) return false;
    }
  }
  return true;
}

// Appends the numbers of the hit's anchor.
void Detector::read(const Columns& columns, const Hit& hit, std::vector<float>* to) const {
  if (!columns.there()) return;
  const Table& table = nth(tables_, columns.table);
  const size_t at = to->size();
  to->resize(at + columns.numbers());
  read_columns(table, columns, hit.cell, hit.anchor, to->data() + at);
}

// Computes the boxes of all hits, and drops hits without a valid box.
void Detector::place_hits() {
  boxes_.clear();
  size_t kept = 0;
  for (const Hit& hit : hits_) {
    if (rules_.local_peaks && !is_peak(hit)) continue;
    const Level& level = levels_[hit.level];
    raw_.clear();
    read(level.boxes, hit, &raw_);
    read(level.offsets, hit, &raw_);
    read(level.angle, hit, &raw_);
    const Box box = geometry_->box(level, hit, raw_.data());
    // A box with NaN overlaps nothing, so suppression would keep it.
    if (!is_finite(box)) continue;
    boxes_.push_back(box);
    Hit placed = hit;
    if (level.label.there()) {
      raw_.clear();
      read(level.label, hit, &raw_);
      constexpr float kManyClasses = 65536;
      if (!(raw_[0] >= 0 && raw_[0] < kManyClasses)) {
        boxes_.pop_back();
        continue;
      }
      placed.class_id = static_cast<int>(raw_[0]);
    }
    hits_[kept++] = placed;
  }
  hits_.resize(kept);
}

// Computes oriented boxes in the input's pixels, in which angles are true.
void Detector::turn_boxes() {
  turned_.clear();
  if (!rules_.suppress || !levels_[0].angle.there()) return;
  const auto width = static_cast<float>(rules_.input.width);
  const auto height = static_cast<float>(rules_.input.height);
  for (size_t i = 0; i < hits_.size(); ++i) {
    raw_.clear();
    read(levels_[hits_[i].level].angle, hits_[i], &raw_);
    const Box& box = boxes_[i];
    const float angle = geometry_->angle(raw_[0]);
    turned_.push_back({(box.x0 + box.x1) / 2 * width, (box.y0 + box.y1) / 2 * height,
                       (box.x1 - box.x0) * width, (box.y1 - box.y0) * height,
                       std::isfinite(angle) ? angle : 0});
  }
}

// Leaves in kept_ the hits that no better one of their class overlaps, best first.
void Detector::suppress() {
  kept_.clear();
  for (size_t i = 0; i < hits_.size(); ++i) kept_.push_back({hits_[i].score, static_cast<int>(i)});
  auto class_of = [this](const kernels::Candidate& c) {
    return rules_.class_agnostic ? 0 : nth(hits_, c.index).class_id;
  };
  if (rules_.suppress) {
    std::sort(kept_.begin(), kept_.end(), [&](const auto& a, const auto& b) {
      return class_of(a) != class_of(b) ? class_of(a) < class_of(b) : a.index < b.index;
    });
    size_t left = 0;
    for (size_t first = 0; first < kept_.size();) {
      size_t end = first;
      candidates_.clear();
      while (end < kept_.size() && class_of(kept_[end]) == class_of(kept_[first])) {
        candidates_.push_back(kept_[end++]);
      }
      if (turned_.empty()) {
        kernels::suppress_non_maxima(boxes_, rules_.nms, &candidates_, &kept_boxes_);
      } else {
        kernels::suppress_turned(turned_, rules_.nms, &candidates_, &kept_boxes_);
      }
      for (const kernels::Candidate& c : candidates_) kept_[left++] = c;
      first = end;
    }
    kept_.resize(left);
  }
  std::sort(kept_.begin(), kept_.end(), [](const auto& a, const auto& b) {
    return a.score != b.score ? a.score > b.score : a.index < b.index;
  });
  keep_first(rules_.keep_top_k, &kept_);
}

void Detector::add_points(const Level& level, const Hit& hit, const Box& box,
                          objects::Object* object) {
  if (!level.points.there()) return;
  raw_.clear();
  read(level.points, hit, &raw_);
  const auto size = static_cast<size_t>(rules_.point_size);
  object->points.resize(raw_.size() / size);
  for (size_t k = 0; k < object->points.size(); ++k) {
    const bool apart = rules_.points_by_axis;
    float x = raw_[apart ? k : k * size];
    float y = raw_[apart ? object->points.size() + k : k * size + 1];
    geometry_->point(level, hit, box, &x, &y);
    objects::Point& point = object->points[k];
    if (size > 2) {
      const float own = activated(rules_.point_score, raw_[k * size + 2]);
      point.confidence = std::isnan(own) ? 0 : std::clamp(own, 0.0f, 1.0f);
    }
    if (std::isfinite(x) && std::isfinite(y)) {
      point.x = double{x};
      point.y = double{y};
    } else {
      point.confidence = 0;
    }
  }
  object->skeleton = rules_.skeleton;
}

namespace {

// Adds the corners of a box that is rotated about its centre, clockwise in the picture. They are
// computed in pixels of the input, because angles are not true in fractions.
void add_outline(const image::Size& input, const Box& box, float angle, objects::Object* object) {
  const double width = input.width, height = input.height;
  const double cx = (box.x0 + box.x1) / 2, cy = (box.y0 + box.y1) / 2;
  const double half_w = (box.x1 - box.x0) / 2 * width;
  const double half_h = (box.y1 - box.y0) / 2 * height;
  const double c = std::cos(double{angle}), s = std::sin(double{angle});
  constexpr int kSigns[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};
  image::Corners around = {1e30, 1e30, -1e30, -1e30};
  for (const auto& sign : kSigns) {
    const double u = sign[0] * half_w, v = sign[1] * half_h;
    objects::Point corner;
    corner.x = cx + (u * c - v * s) / width;
    corner.y = cy + (u * s + v * c) / height;
    around = {std::min(around.x0, corner.x), std::min(around.y0, corner.y),
              std::max(around.x1, corner.x), std::max(around.y1, corner.y)};
    object->outline.push_back(corner);
  }
  object->box = around;
}

}  // namespace

void Detector::add(const Hit& hit, const Box& box, objects::Objects* out) {
  const Level& level = levels_[hit.level];
  objects::Object& object = out->add();
  object.class_id = hit.class_id;
  object.confidence = hit.score;
  object.box = to_corners(box);
  add_points(level, hit, box, &object);
  if (level.angle.there()) {
    raw_.clear();
    read(level.angle, hit, &raw_);
    const float angle = geometry_->angle(raw_[0]);
    if (std::isfinite(angle)) add_outline(rules_.input, box, angle, &object);
  }
  if (level.masks.there() && masks_) {
    raw_.clear();
    read(level.masks, hit, &raw_);
    masks_->make(box, raw_.data(), &object.mask);
  }
}

Status Detector::decode(Span<const ConstTensorView> outputs, float threshold,
                        objects::Objects* out) {
  for (Table& table : tables_) table.bind(outputs);
  if (masks_) masks_->bind(outputs);
  threshold = std::max(threshold, rules_.confidence_threshold);
  hits_.clear();
  for (size_t i = 0; i < levels_.size(); ++i) {
    finder_.find(tables_, levels_[i], i, threshold, &hits_);
  }
  place_hits();
  turn_boxes();
  suppress();
  for (const kernels::Candidate& c : kept_) {
    const size_t i = c.place();
    add(hits_[i], boxes_[i], out);
  }
  return {};
}

}  // namespace dvnn::decode
