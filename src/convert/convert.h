// SPDX-License-Identifier: Apache-2.0
// Models of other frameworks -> network::Model.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "convert/exported.h"
#include "decode/custom_decoders.h"
#include "import/options.h"
#include "network/model.h"
#include "plan/graph/graph.h"
#include "plan/options.h"

namespace dvnn::import {
class Hdf5File;
}

namespace dvnn::convert {

/// The members of a picture that the user named.
struct PictureGiven {
  bool order = false, resize = false, mean = false, scale = false, pad = false;
};

/// The settings that a model does not contain.
struct ConvertOptions : plan::PlanOptions {
  std::string name;    // of the network; empty: the model's own
  InputSpec picture;   // how a picture becomes the input
  PictureGiven given;  // what of it is the user's: nothing else may take its place
  std::vector<std::string> labels;
  std::string preset;   // whose decoder it is, if it is one's
  std::string decoder;  // empty: chosen from the model's last layer
  Json decoder_params = Json::object();
  // The library that has the decoder, where it is none of ours; null: the parameters' "library".
  std::shared_ptr<const decode::CustomDecoders> decoder_library;
  bool preset_labels = false;  // `labels` are a preset's: left out where the classes are others
  std::optional<Exported> exported;  // what the model's file says; convert_onnx() reads it
  import::ImportOptions import;
  // Reads pictures to measure values with, as PlanOptions::samples wants them, for an input of this
  // shape; may be empty. The planner makes up a picture without it.
  std::function<Result<std::vector<std::vector<float>>>(const Shape&, const InputSpec&)>
      read_samples;
};

/// The decisions, for people to read.
struct Report : plan::PlanReport {
  std::vector<std::string> warnings;
  std::vector<std::string> skipped;             // fields that say nothing to us, each with its line
  std::shared_ptr<const plan::Graph> imported;  // the model before any pass; see reference.h
};

/// Converts an ONNX model of opset 1 to 26. Errors name the file, the node, the operator and the
/// opset. `report` may be null.
Result<network::Model> convert_onnx(const std::string& path, const ConvertOptions& options,
                                    Report* report);

/// Converts a Keras model: an HDF5 file of Keras 1, 2 or TF-Keras, or a .keras file of Keras 3.
/// Errors name the file, the layer and its class. `report` may be null.
Result<network::Model> convert_keras(const std::string& path, const ConvertOptions& options,
                                     Report* report);

/// The same of what was read of the file `path`.
Result<network::Model> convert_keras(const import::Hdf5File& file, const std::string& path,
                                     const ConvertOptions& options, Report* report);

/// Converts a Caffe model. Errors name the file, the layer and the field. `report` may be null.
Result<network::Model> convert_caffe(const std::string& prototxt_path,
                                     const std::string& caffemodel_path,
                                     const ConvertOptions& options, Report* report);

}  // namespace dvnn::convert
