// SPDX-License-Identifier: Apache-2.0
// Metadata that exporters write into a model's file beside the graph: the task, the names of
// classes, the size used in training.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dvnn::convert {

enum class Task : uint8_t { kDetect, kSegment, kPose, kObb, kClassify };

/// Metadata of a model from Ultralytics' exporter (YOLO v5u, v8 to v12, 26).
struct Exported {
  Task task = Task::kDetect;
  std::string description;          // for people: "Ultralytics YOLOv8n model"
  std::vector<std::string> labels;  // indexed by class
  int width = 0, height = 0;        // of the input; 0: unknown
  int points = 0, point_size = 0;   // of a pose; 0: unknown
  bool corners = false;  // boxes are given by corners, as suppression within the model needs them
};

using Metadata = std::map<std::string, std::string>;

/// Parses a file's metadata, which is untrusted. Returns nothing if it is not from that exporter or
/// has no known task.
std::optional<Exported> read_exported(const Metadata& metadata);

/// Parses the strings of a dictionary or list as Python prints it, {0: 'person', 1: 'car'}, in the
/// order of their numbers. Returns an empty list if it is malformed or has gaps.
std::vector<std::string> read_python_names(const std::string& text);

}  // namespace dvnn::convert
