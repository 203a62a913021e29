// SPDX-License-Identifier: Apache-2.0
// Chooses which of the objects that a network found are attached, and names them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "elements/labellist.h"
#include "image/view.h"
#include "objects/object.h"

namespace dvnn::gst {

/// Names of classes, shared by copies of the settings.
using Labels = std::shared_ptr<const std::vector<std::string>>;

/// The values of the properties.
struct FilterSettings {
  float threshold = 0.5f;
  std::string thresholds;
  std::string labels, exclude;
  std::string labels_file;
  Labels file_labels;                 // read from labels_file; null: none
  double min_size = 0, max_size = 0;  // fractions of the frame's height
};

/// Upper bound of min-size and max-size, which are fractions of the frame's height: frames may be
/// far wider than high.
constexpr double kMostBoxSize = 64;

/// Least confidences by label, from "person:0.4,car:0.6". A label may hold colons.
using Thresholds = std::map<std::string, float>;
Result<Thresholds> parse_thresholds(const std::string& text);

/// For one thread at a time.
class ObjectFilter {
 public:
  /// Takes over the settings; cheap if none has changed.
  void configure(const FilterSettings& settings);
  /// Returns the least confidence that any class needs, which the decoder gets as its threshold.
  float least_threshold() const;
  /// Names objects by the file's labels, and removes unwanted ones. The size of an object is the
  /// longer side of its box; only detections have one.
  void apply(const image::Size& frame, objects::Objects* found) const;

 private:
  bool is_wanted(const objects::Object& object, const image::Size& frame) const;

  FilterSettings settings_;
  Thresholds thresholds_;
  LabelList labels_, exclude_;
};

}  // namespace dvnn::gst
