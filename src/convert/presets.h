// SPDX-License-Identifier: Apache-2.0
// Presets say what families of models want: how their picture is made, which decoder understands
// their outputs, what their classes are called. Presets are data: presets.json.
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

/// The preset that is called so; an error lists the known ones.
Result<Preset> find_preset(const std::string& name);

/// All of them, in the order of their names.
Result<std::vector<Preset>> all_presets();

}  // namespace dvnn::convert
