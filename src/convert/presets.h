// SPDX-License-Identifier: Apache-2.0
// Presets of model families: how their picture is made, which decoder takes their outputs, and
// their labels. They are data, in presets.json.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "tensor/input_spec.h"

namespace dvnn::convert {

struct Preset {
  std::string name, about;
  InputSpec picture;
  std::vector<std::string> labels;  // may be empty
  std::string decoder;
  Json params;
};

/// Returns the preset of this name. The error lists the known ones.
Result<Preset> find_preset(const std::string& name);

/// Returns all presets, ordered by name.
Result<std::vector<Preset>> all_presets();

}  // namespace dvnn::convert
