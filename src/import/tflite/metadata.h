// SPDX-License-Identifier: Apache-2.0
// Metadata of a TensorFlow Lite file about its picture and classes: the scale of a quantised input,
// and the description that tools add to the file, with files in a ZIP archive behind the tables.
#pragma once

#include <string>
#include <vector>

#include "import/tflite/model.h"

namespace dvnn::import {

/// Members without metadata are empty.
struct TfliteMetadata {
  std::string description;          // "MobileNet V1", for people
  std::vector<std::string> labels;  // by class
  // Value = (pixel - mean) * scale, for all channels, or for each.
  std::vector<float> mean, scale;
  std::string problem;  // why labels that the file names are left out
};

/// Reads the metadata of `model`, of the file `path`. A separate process reads an archive
/// (sandbox.h); if it fails, the picture's metadata is not lost.
TfliteMetadata read_tflite_metadata(const TfliteModel& model, const std::string& path);

}  // namespace dvnn::import
