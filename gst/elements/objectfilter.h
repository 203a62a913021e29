// SPDX-License-Identifier: Apache-2.0
// Chooses which of the objects that a network found dvdecode keeps, and what they are called.
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

/// The settings, as properties have them.
struct FilterSettings {
  float threshold = 0.5f;
  std::string thresholds;
  std::string labels, exclude;
  std::string labels_file;
  Labels file_labels;                 // what that file says; null: no file
  double min_size = 0, max_size = 0;  // fractions of the frame's height
};

/// The largest fraction of the frame's height that a box's longer side is worth comparing with:
/// frames may be wide.
constexpr double kMostBoxSize = 64;

/// Least confidences by label, from "person:0.4,car:0.6". A label may hold colons.
using Thresholds = std::map<std::string, float>;
Result<Thresholds> parse_thresholds(const std::string& text);

/// For one thread at a time.
class ObjectFilter {
 public:
  /// Cheap where nothing has changed.
  void configure(const FilterSettings& settings);
  /// The least confidence that any class needs: what the decoder is asked for.
  float least_threshold() const;
  /// Names objects by the file's labels, and removes those that are not wanted. An object's size is
  /// its box's longer side; only detections have one.
  void apply(const image::Size& frame, objects::Objects* found) const;

 private:
  bool is_wanted(const objects::Object& object, const image::Size& frame) const;

  FilterSettings settings_;
  Thresholds thresholds_;
  LabelList labels_, exclude_;
};

}  // namespace dvnn::gst
