// SPDX-License-Identifier: Apache-2.0
// The parameter "class_thresholds" of every decoder: the confidences that `dvnet evaluate --keep`
// has measured. Decoders themselves ignore it, so that a network can be measured again; what shows
// objects applies it.
#pragma once

#include <map>
#include <string>

#include "base/json_fwd.h"
#include "base/result.h"

namespace dvnn::decode {

/// Least confidences, 0..1, by label.
using ClassThresholds = std::map<std::string, float>;

/// The least confidence of classes that have none of their own, unless another one is asked for.
constexpr float kUsualThreshold = 0.5f;

/// Returns the least confidence of a label's objects; `others` if it has none of its own.
float threshold_of(const ClassThresholds& thresholds, const std::string& label, float others);
/// Returns the least of all, which keeps whatever a single class keeps.
float least_threshold(const ClassThresholds& thresholds, float others);

/// Reads the thresholds among a decoder's parameters; empty if there are none. Error: kMalformed,
/// naming the label.
Result<ClassThresholds> read_class_thresholds(const Json& params);

/// Replaces the thresholds among a decoder's parameters.
void set_class_thresholds(const std::map<std::string, double>& thresholds, Json* params);

}  // namespace dvnn::decode
