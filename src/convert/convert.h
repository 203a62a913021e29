// SPDX-License-Identifier: Apache-2.0
// Converts models of other frameworks to network::Model.
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
#include "plan/plan.h"

namespace dvnn::import {
class Hdf5File;
}

namespace dvnn::convert {

/// Which settings of the picture the user has given.
struct PictureGiven {
  bool order = false, resize = false, mean = false, scale = false, pad = false;
};

/// The settings that a model does not contain.
struct ConvertOptions : plan::PlanOptions {
  std::string name;    // of the network; empty: the model's own
  InputSpec picture;   // how a picture is converted to the input
  PictureGiven given;  // what the user has given of `picture`; it is never overridden
  std::vector<std::string> labels;
  std::string preset;   // the preset that decoder and parameters come from; may be empty
  std::string decoder;  // empty: chosen by the model's outputs and last layer
  Json decoder_params = Json::object();
  // Library that has the decoder, if it is not one of ours. Null: the one in the parameters'
  // "library".
  std::shared_ptr<const decode::CustomDecoders> decoder_library;
  bool preset_labels = false;        // `labels` are a preset's: dropped if the classes differ
  std::optional<Exported> exported;  // facts in the model's file, read by convert_onnx()
  import::ImportOptions import;
  // Reads pictures for an input of this shape to measure values with, as PlanOptions::samples needs
  // them. If empty, the planner makes up a picture.
  std::function<Result<std::vector<std::vector<float>>>(const Shape&, const InputSpec&)>
      read_samples;
};

/// Decisions of the conversion, for people to read.
struct Report : plan::PlanReport {
  std::vector<std::string> warnings;
  std::vector<std::string> skipped;  // ignored fields of the file, with their lines
  bool keep_imported = true;         // whether `imported` is wanted: it is as large as the model
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

/// Converts a Keras model from an open file; errors name it `path`.
Result<network::Model> convert_keras(const import::Hdf5File& file, const std::string& path,
                                     const ConvertOptions& options, Report* report);

/// Converts a TensorFlow Lite model. Errors name the file, the operator and the tensor that it
/// makes. `report` may be null.
Result<network::Model> convert_tflite(const std::string& path, const ConvertOptions& options,
                                      Report* report);

/// Converts a Caffe model. Errors name the file, the layer and the field. `report` may be null.
Result<network::Model> convert_caffe(const std::string& prototxt_path,
                                     const std::string& caffemodel_path,
                                     const ConvertOptions& options, Report* report);

}  // namespace dvnn::convert
