// SPDX-License-Identifier: Apache-2.0
#include "elements/objectfilter.h"

#include <glib.h>

#include <algorithm>

#include "base/format.h"

namespace dvnn::gst {
Result<ClassThresholds> parse_thresholds(const std::string& text) {
  ClassThresholds thresholds;
  for (const std::string& entry : split_list(text)) {
    const size_t colon = entry.rfind(':');
    const std::string label = trimmed(entry.substr(0, std::min(colon, entry.size())));
    const std::string number = colon < entry.size() ? trimmed(entry.substr(colon + 1)) : "";
    gchar* rest = nullptr;
    const double value = g_ascii_strtod(number.c_str(), &rest);
    if (label.empty() || number.empty() || *rest || !(value >= 0 && value <= 1)) {
      return invalid_argument("'" + short_text(entry, 80) +
                              "' is not LABEL:CONFIDENCE, such as person:0.4");
    }
    thresholds[label] = static_cast<float>(value);
  }
  return thresholds;
}

void ObjectFilter::configure(const FilterSettings& settings) {
  if (settings.thresholds != settings_.thresholds) {
    auto parsed = parse_thresholds(settings.thresholds);
    thresholds_ = parsed.ok() ? std::move(parsed.value()) : ClassThresholds();
  }
  labels_.set(settings.labels);
  exclude_.set(settings.exclude);
  settings_ = settings;
}

float ObjectFilter::least_threshold() const {
  return decode::least_threshold(by_class(), settings_.threshold);
}

// Objects about the whole picture have no class.
static bool has_class(const objects::Object& object) {
  return object.kind != objects::Kind::kSegmentation && object.kind != objects::Kind::kAttributes;
}

bool ObjectFilter::is_sure(const objects::Object& object) const {
  if (!has_class(object)) return true;
  return object.confidence >= decode::threshold_of(by_class(), object.label, settings_.threshold);
}

bool ObjectFilter::is_wanted(const objects::Object& object, const image::Size& frame) const {
  if (has_class(object)) {
    if (!labels_.empty() && !labels_.has(object.label)) return false;
    if (exclude_.has(object.label)) return false;
  }
  if (object.kind != objects::Kind::kDetection) return true;
  const double size = std::max(object.box.x1 - object.box.x0, object.box.y1 - object.box.y0);
  return size >= settings_.min_size * frame.height &&
         (settings_.max_size <= 0 || size <= settings_.max_size * frame.height);
}

void ObjectFilter::apply(const image::Size& frame, objects::Objects* found) const {
  const auto unsure = [&](const objects::Object& object) { return !is_sure(object); };
  const bool by_network = is_by_network();
  if (by_network) found->remove_if(unsure);
  if (settings_.file_labels) objects::set_labels(*settings_.file_labels, found);
  if (!by_network) found->remove_if(unsure);
  found->remove_if([&](const objects::Object& object) { return !is_wanted(object, frame); });
}

}  // namespace dvnn::gst
