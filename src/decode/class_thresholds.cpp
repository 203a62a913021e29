// SPDX-License-Identifier: Apache-2.0
#include "decode/class_thresholds.h"

#include <algorithm>

#include "base/format.h"
#include "base/json.h"

namespace dvnn::decode {
namespace {

constexpr const char* kMember = "class_thresholds";

Error wrong(const std::string& problem) {
  return {ErrorCode::kMalformed, std::string("field '") + kMember + "': " + problem};
}

}  // namespace

float threshold_of(const ClassThresholds& thresholds, const std::string& label, float others) {
  const auto own = thresholds.find(label);
  return own == thresholds.end() ? others : own->second;
}

float least_threshold(const ClassThresholds& thresholds, float others) {
  for (const auto& [label, threshold] : thresholds) others = std::min(others, threshold);
  return others;
}

Result<ClassThresholds> read_class_thresholds(const Json& params) {
  ClassThresholds thresholds;
  const auto at = params.is_object() ? params.find(kMember) : params.end();
  if (at == params.end()) return thresholds;
  if (!at->is_object()) return wrong(shown(*at) + " is not an object of confidences by label");
  for (const auto& [label, value] : at->items()) {
    const double confidence = value.is_number() ? value.get<double>() : -1;
    if (!(confidence >= 0 && confidence <= 1)) {
      return wrong("'" + short_text(label, 80) + "' has " + shown(value) +
                   ", not a confidence of 0..1");
    }
    thresholds[label] = static_cast<float>(confidence);
  }
  return thresholds;
}

void set_class_thresholds(const std::map<std::string, double>& thresholds, Json* params) {
  (*params)[kMember] = thresholds;
}

}  // namespace dvnn::decode
