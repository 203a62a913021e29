// SPDX-License-Identifier: Apache-2.0
// The common part of all detectors of boxes: cells above the threshold, their boxes, suppression,
// and then the details of the remaining ones.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "decode/box.h"
#include "decode/decoder.h"
#include "decode/parts/scores.h"
#include "kernels/boxes/suppression.h"

namespace dvnn::decode {

/// How a family's numbers become places, in fractions of the network's input.
class Geometry {
 public:
  virtual ~Geometry() = default;
  /// Returns the box of `raw`: the level's numbers for boxes, then those for offsets, then the
  /// angle's.
  virtual Box box(const Level& level, const Hit& hit, const float* raw) const = 0;
  /// Returns the clockwise rotation of a box in the picture, in radians, from the network's number.
  virtual float angle(float raw) const { return raw; }
  /// Converts a key point from the network's numbers.
  virtual void point(const Level& level, const Hit& hit, const Box& box, float* x,
                     float* y) const = 0;
};

/// Computes the mask of an object from the network's coefficients.
class MaskMaker {
 public:
  virtual ~MaskMaker() = default;
  virtual void bind(Span<const ConstTensorView> outputs) = 0;
  virtual void make(const Box& box, const float* coefficients, objects::Mask* mask) = 0;
};

struct DetectorRules {
  ScoreRule score;
  kernels::NmsOptions nms;
  bool suppress = true;  // false: the network has done it
  int keep_top_k = -1;   // detections per picture; -1: all
  bool class_agnostic = false;
  float confidence_threshold = 0;
  int point_size = 2;           // numbers per key point; the third is its confidence
  bool points_by_axis = false;  // all points' x, then all y
  Activation point_score = Activation::kNone;
  std::string skeleton;
  bool local_peaks = false;    // only cells that none of the eight neighbours exceeds
  image::Size input = {1, 1};  // pixels; oriented boxes are rotated in these
};

/// Reads {nms_threshold, nms_top_k, keep_top_k, class_agnostic, confidence_threshold, multi_label,
/// background_label_id, score, objectness_score, objectness_power, class_power, point_size,
/// points_by_axis, point_score, skeleton}. Errors are recorded with `in`.
DetectorRules read_detector_rules(JsonReader* in, double nms_threshold);

class Detector final : public Decoder {
 public:
  Detector(DetectorRules rules, std::vector<Table> tables, std::vector<Level> levels,
           std::unique_ptr<Geometry> geometry, std::unique_ptr<MaskMaker> masks = nullptr);
  objects::Kind kind() const override { return objects::Kind::kDetection; }
  int class_count() const override {
    return levels_[0].label.there() ? 0 : levels_[0].scores.count;
  }
  Status decode(Span<const ConstTensorView> outputs, float threshold,
                objects::Objects* out) override;

 private:
  bool is_peak(const Hit& hit) const;
  void read(const Columns& columns, const Hit& hit, std::vector<float>* to) const;
  void place_hits();
  void turn_boxes();
  void suppress();
  void add_points(const Level& level, const Hit& hit, const Box& box, objects::Object* object);
  void add(const Hit& hit, const Box& box, objects::Objects* out);

  DetectorRules rules_;
  std::vector<Table> tables_;
  std::vector<Level> levels_;
  std::unique_ptr<Geometry> geometry_;
  std::unique_ptr<MaskMaker> masks_;
  ScoreFinder finder_;
  std::vector<Hit> hits_;
  std::vector<Box> boxes_;
  std::vector<kernels::TurnedBox> turned_;  // in pixels; empty if boxes are not oriented
  std::vector<float> raw_, more_;
  std::vector<kernels::Candidate> candidates_, kept_;
  kernels::KeptBoxes kept_boxes_;
};

/// Creates masks of instances as sums of prototypes, which the network computes once per picture:
/// the output `name`, 1xCOUNTxHxW, or if the name is empty, the first output of that shape. Source:
/// Bolya et al., "YOLACT" (2019); exported YOLOv5 and YOLOv8 use them, too.
Result<std::unique_ptr<MaskMaker>> make_prototype_masks(Span<const NamedOutput> outputs,
                                                        const std::string& name, int count);

}  // namespace dvnn::decode
