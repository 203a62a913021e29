// SPDX-License-Identifier: Apache-2.0
#include "elements/objectfilter.h"

#include <glib.h>

#include <algorithm>

#include "base/format.h"

namespace dvnn::gst {
Result<Thresholds> parse_thresholds(const std::string& text) {
  Thresholds thresholds;
  for (const std::string& entry : split_list(text)) {
    const size_t colon = entry.rfind(':');
    const std::string label = trimmed(entry.substr(0, std::min(colon, entry.size())));
    const std::string number = colon < entry.size() ? trimmed(entry.substr(colon + 1)) : "";
    gchar* rest = nullptr;
    const double value = g_ascii_strtod(number.c_str(), &rest);
    if (label.empty() || number.empty() || *rest || !(value >= 0 && value <= 1)) {
      return Error{ErrorCode::kInvalidArgument,
                   "'" + short_text(entry, 80) + "' is not LABEL:CONFIDENCE, such as person:0.4"};
    }
    thresholds[label] = static_cast<float>(value);
  }
  return thresholds;
}

void ObjectFilter::configure(const FilterSettings& settings) {
  if (settings.thresholds != settings_.thresholds) {
    auto parsed = parse_thresholds(settings.thresholds);
    thresholds_ = parsed.ok() ? std::move(parsed.value()) : Thresholds();
  }
  labels_.set(settings.labels);
  exclude_.set(settings.exclude);
  settings_ = settings;
}

float ObjectFilter::least_threshold() const {
  float least = settings_.threshold;
  for (const auto& [label, threshold] : thresholds_) least = std::min(least, threshold);
  return least;
}

bool ObjectFilter::is_wanted(const objects::Object& object, const image::Size& frame) const {
  const bool maps =
      object.kind == objects::Kind::kSegmentation || object.kind == objects::Kind::kAttributes;
  // Objects about the whole picture have no class.
  if (!maps) {
    const auto own = thresholds_.find(object.label);
    const float threshold = own == thresholds_.end() ? settings_.threshold : own->second;
    if (!(object.confidence >= threshold)) return false;
    if (!labels_.empty() && !labels_.has(object.label)) return false;
    if (exclude_.has(object.label)) return false;
  }
  if (object.kind != objects::Kind::kDetection) return true;
  const double size = std::max(object.box.x1 - object.box.x0, object.box.y1 - object.box.y0);
  return size >= settings_.min_size * frame.height &&
         (settings_.max_size <= 0 || size <= settings_.max_size * frame.height);
}

void ObjectFilter::apply(const image::Size& frame, objects::Objects* found) const {
  if (settings_.file_labels) {
    objects::set_labels(*settings_.file_labels, found);
  }
  found->remove_if([&](const objects::Object& object) { return !is_wanted(object, frame); });
}

}  // namespace dvnn::gst
