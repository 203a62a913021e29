// SPDX-License-Identifier: Apache-2.0
// Chooses which of the objects that a network found are attached, and names them.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "decode/decoder.h"
#include "elements/labellist.h"
#include "image/view.h"
#include "objects/object.h"

namespace dvnn::gst {

/// Names of classes, shared by copies of the settings.
using Labels = std::shared_ptr<const std::vector<std::string>>;

using decode::ClassThresholds;

/// The values of the properties.
struct FilterSettings {
  float threshold = decode::kUsualThreshold;
  std::string thresholds;
  std::string labels, exclude;
  std::string labels_file;
  Labels file_labels;                 // read from labels_file; null: none
  double min_size = 0, max_size = 0;  // fractions of the frame's height
};

/// Upper bound of min-size and max-size, which are fractions of the frame's height: frames may be
/// far wider than high.
constexpr double kMostBoxSize = 64;

/// Reads least confidences by label: "person:0.4,car:0.6". A label may hold colons.
Result<ClassThresholds> parse_thresholds(const std::string& text);

/// For one thread at a time.
class ObjectFilter {
 public:
  /// Takes over the settings; cheap if none has changed.
  void configure(const FilterSettings& settings);
  /// Takes over the thresholds that the network's file has, which count while the settings'
  /// thresholds are the default ones: what was set, such as a low threshold before dvtrack, is
  /// obeyed. They are for the network's labels, not for those of a labels file.
  void set_network_thresholds(std::shared_ptr<const ClassThresholds> thresholds) {
    kept_ = std::move(thresholds);
  }
  /// Returns the least confidence that any class needs, which the decoder gets as its threshold.
  float least_threshold() const;
  /// Names objects by the file's labels, and removes unwanted ones. The size of an object is the
  /// longer side of its box; only detections have one.
  void apply(const image::Size& frame, objects::Objects* found) const;

 private:
  bool is_by_network() const {
    return kept_ && settings_.thresholds.empty() && settings_.threshold == decode::kUsualThreshold;
  }
  // Returns the thresholds of single classes that count.
  const ClassThresholds& by_class() const { return is_by_network() ? *kept_ : thresholds_; }
  bool is_sure(const objects::Object& object) const;
  bool is_wanted(const objects::Object& object, const image::Size& frame) const;

  FilterSettings settings_;
  ClassThresholds thresholds_;                   // of the settings
  std::shared_ptr<const ClassThresholds> kept_;  // of the network's file; may be null
  LabelList labels_, exclude_;
};

}  // namespace dvnn::gst
