// SPDX-License-Identifier: Apache-2.0
// Reads data.yaml, which describes a data set for YOLO.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace dvnn::evaluate {

struct YoloYaml {
  std::string path, val;                  // folders; empty if not given
  std::vector<std::string> names;         // of classes
  int points = 0, numbers_per_point = 0;  // of poses
};

/// Reads files as exporters write them: top-level scalars, and `names` as a list in one line, a
/// list with a line for each, or a map of indices. Other keys are ignored; other forms of YAML for
/// the keys that are read are errors, with the line.
Result<YoloYaml> read_yolo_yaml(const std::string& path);

}  // namespace dvnn::evaluate
