// SPDX-License-Identifier: Apache-2.0
// Facts that exporters write into a model's file beside the graph: what the network does, what its
// classes are called, which size it was trained with.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace dvnn::convert {

enum class Task : uint8_t { kDetect, kSegment, kPose, kObb, kClassify };

/// A model of Ultralytics' exporter (YOLO v5u, v8 to v12, 26).
struct Exported {
  Task task = Task::kDetect;
  std::string description;          // "Ultralytics YOLOv8n model"; for people
  std::vector<std::string> labels;  // by class
  int width = 0, height = 0;        // of the input; 0: not said
  int points = 0, point_size = 0;   // of a pose
  bool corners = false;             // boxes are corners, as suppression in the model wants them
};

using Metadata = std::map<std::string, std::string>;

/// Reads a file's metadata, which is hostile until proven otherwise; nothing if it is not that
/// exporter's, or names no known task.
std::optional<Exported> read_exported(const Metadata& metadata);

/// The texts of a dictionary or a list as Python prints it, {0: 'person', 1: 'car'}, by number;
/// empty if it is none, or has gaps.
std::vector<std::string> read_python_names(const std::string& text);

}  // namespace dvnn::convert
