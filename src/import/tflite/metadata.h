// SPDX-License-Identifier: Apache-2.0
// What a TensorFlow Lite file says of its picture and its classes: by the scaling of a quantised
// input, and by the description that tools put into it, with files in a ZIP archive behind the
// tables.
#pragma once

#include <string>
#include <vector>

#include "import/tflite/model.h"

namespace dvnn::import {

/// What is not said is empty.
struct TfliteMetadata {
  std::string description;          // "MobileNet V1", for people
  std::vector<std::string> labels;  // by class
  // Value = (pixel - mean) * scale, of all channels, or of each.
  std::vector<float> mean, scale;
  std::string problem;  // why labels are left out that the file says it has
};

/// Reads what `model`, of the file `path`, says. An archive is read by a process of its own
/// (sandbox.h), which may fail without a picture's being lost.
TfliteMetadata read_tflite_metadata(const TfliteModel& model, const std::string& path);

}  // namespace dvnn::import
