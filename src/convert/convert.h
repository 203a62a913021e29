// SPDX-License-Identifier: Apache-2.0
// Models of other frameworks -> network::Model.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "convert/graph.h"
#include "convert/import_options.h"
#include "network/model.h"

namespace dvnn::convert {

/// What the model does not say itself.
struct ConvertOptions {
  std::string name;     // of the network; empty: the model's own
  PictureSpec picture;  // how a picture becomes the input
  std::vector<std::string> labels;
  std::string decoder;  // empty: chosen from the model's last layer
  nlohmann::json decoder_params = nlohmann::json::object();
  bool quantise = false;  // weights of one byte; layers with PReLU, which the device does not do
                          // so, keep two
  bool y_major = false;   // device buffers kHwc8 with transposed weights; else kWhc8
  ImportOptions import;
  int ub_size = 655360;  // unified buffer of the device, bytes: decides what may be fused
};

/// Where a step runs and why; or what became of a layer that takes no step.
struct StepNote {
  std::string where;  // "device", "CPU", "once" (at load), "in place" (no step)
  std::string why;    // may be empty
  std::vector<std::string> layers;
};

/// What was decided, for people.
struct Report {
  std::vector<StepNote> steps;
  std::vector<std::string> warnings;
  std::shared_ptr<const Graph> imported;  // the model before any pass; see reference.h
  uint64_t io_peak_bytes = 0;             // the I/O buffer
  uint64_t io_sum_bytes = 0;              // what it would take without reuse
};

/// Converts an ONNX model of opset 7 to 17. Errors name the file, the node, the operator and the
/// opset. `report` may be null.
Result<network::Model> convert_onnx(const std::string& path, const ConvertOptions& options,
                                    Report* report);

/// Converts a Keras model, an HDF5 file of Keras 1, 2 or TF-Keras. Errors name the file, the layer
/// and its class. `report` may be null.
Result<network::Model> convert_keras(const std::string& path, const ConvertOptions& options,
                                     Report* report);

/// Converts a Caffe model. Errors name the file, the layer and the field. `report` may be null.
Result<network::Model> convert_caffe(const std::string& prototxt_path,
                                     const std::string& caffemodel_path,
                                     const ConvertOptions& options, Report* report);

}  // namespace dvnn::convert
