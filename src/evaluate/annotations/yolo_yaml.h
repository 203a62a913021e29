// SPDX-License-Identifier: Apache-2.0
// The file that describes a data set for YOLO: data.yaml.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace dvnn::evaluate {

struct YoloYaml {
  std::string path, val;                  // folders; empty where the file names none
  std::vector<std::string> names;         // of classes
  int points = 0, numbers_per_point = 0;  // of poses
};

/// Reads what exporters write: top-level scalars, and `names` as a list in one line, a list with a
/// line for each, or a map of indices. Other keys are left alone; other forms of YAML for those
/// that are read are an error, with the line.
Result<YoloYaml> read_yolo_yaml(const std::string& path);

}  // namespace dvnn::evaluate
