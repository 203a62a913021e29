// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "base/format.h"
#include "convert/convert.h"
#include "convert/finish.h"
#include "convert/presets.h"
#include "import/model_file.h"
#include "import/onnx/import.h"

namespace dvnn::convert {
namespace {

Metadata metadata_of(const onnx::ModelProto& model) {
  Metadata metadata;
  for (const auto& entry : model.metadata_props()) metadata[entry.key()] = entry.value();
  return metadata;
}

// Fills in what the user has not given about the picture, from how the model was trained.
void fill_picture(const InputSpec& trained, const PictureGiven& given, InputSpec* picture) {
  if (!given.order) picture->order = trained.order;
  if (!given.resize) picture->resize = trained.resize;
  if (!given.mean) picture->mean = trained.mean;
  if (!given.scale) picture->scale = trained.scale;
  if (!given.pad) picture->pad_value = trained.pad_value;
}

// Takes labels, size and picture from the model's file, unless the user has given them.
Status take_exported(const Metadata& metadata, ConvertOptions* options, Report* report) {
  options->exported = read_exported(metadata);
  if (!options->exported) return {};
  const Exported& exported = *options->exported;
  if (options->import.width == 0) {
    options->import.open_width = exported.width;
    options->import.open_height = exported.height;
  }
  if (!exported.labels.empty() && (options->labels.empty() || options->preset_labels)) {
    options->labels = exported.labels;
    options->preset_labels = false;
  }
  const bool whole = exported.task == Task::kClassify;
  DVNN_ASSIGN(const Preset preset, find_preset(whole ? "yolov8-cls" : "yolov8"));
  fill_picture(preset.picture, options->given, &options->picture);
  if (report) {
    const std::string what = exported.description.empty() ? "of Ultralytics" : exported.description;
    report->warnings.push_back("the file says what it is (" + what +
                               "): picture and labels are as it was trained");
  }
  return {};
}

// The file's weights are in memory until it returns, and not while the graph is planned.
Result<plan::Graph> import_onnx_file(const std::string& path, ConvertOptions* options,
                                     Report* report) {
  DVNN_ASSIGN(onnx::ModelProto proto, import::read_onnx(path));
  DVNN_TRY(take_exported(metadata_of(proto), options, report));
  return import::import_onnx(std::move(proto), folder_name(path), options->import,
                             report ? &report->warnings : nullptr);
}

}  // namespace

Result<network::Model> convert_onnx(const std::string& path, const ConvertOptions& options,
                                    Report* report) {
  ConvertOptions own = options;
  auto graph = import_onnx_file(path, &own, report);
  return finish(std::move(graph), "onnx", path, own, report);
}

}  // namespace dvnn::convert
