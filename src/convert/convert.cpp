// SPDX-License-Identifier: Apache-2.0
#include "convert/convert.h"

#include <array>
#include <utility>

#include "base/format.h"
#include "convert/finish.h"
#include "convert/presets.h"
#include "import/caffe/import.h"
#include "import/keras/files.h"
#include "import/keras/import.h"
#include "import/model_file.h"
#include "import/onnx/import.h"
#ifdef DVNN_HAVE_TFLITE
#include "import/tflite/import.h"
#include "import/tflite/metadata.h"
#endif

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

// The file's weights are in memory until it returns, and not while the graph is planned.
Result<plan::Graph> import_keras_file(const std::string& path, const ConvertOptions& options) {
  if (import::is_keras_archive(path)) {
    DVNN_ASSIGN(const auto archive, import::read_keras_archive(path));
    return import::import_keras3(archive.config, *archive.weights, options.import);
  }
  DVNN_ASSIGN(const auto file, import::Hdf5File::open(path));
  return import::import_keras(*file, options.import);
}

// The files are in memory until it returns, and not while the graph is planned.
Result<plan::Graph> import_caffe_files(const std::string& prototxt, const std::string& caffemodel,
                                       const ConvertOptions& options, Report* report) {
  DVNN_ASSIGN(const caffe::NetParameter net,
              import::read_prototxt(prototxt, report ? &report->skipped : nullptr));
  DVNN_ASSIGN(const caffe::NetParameter weights, import::read_caffemodel(caffemodel));
  return import::import_caffe(net, weights, options.import);
}

}  // namespace

Result<network::Model> convert_onnx(const std::string& path, const ConvertOptions& options,
                                    Report* report) {
  ConvertOptions own = options;
  auto graph = import_onnx_file(path, &own, report);
  return finish(std::move(graph), "onnx", path, own, report);
}

Result<network::Model> convert_keras(const std::string& path, const ConvertOptions& options,
                                     Report* report) {
  auto graph = import_keras_file(path, options);
  return finish(std::move(graph), "keras", path, options, report);
}

Result<network::Model> convert_keras(const import::Hdf5File& file, const std::string& path,
                                     const ConvertOptions& options, Report* report) {
  return finish(import::import_keras(file, options.import), "keras", path, options, report);
}

Result<network::Model> convert_caffe(const std::string& prototxt_path,
                                     const std::string& caffemodel_path,
                                     const ConvertOptions& options, Report* report) {
  auto graph = import_caffe_files(prototxt_path, caffemodel_path, options, report);
  auto model = finish(std::move(graph), "caffe", prototxt_path, options, report);
  if (model.ok()) {
    model.value().source = clean_name(model.value().source + ", " + base_name(caffemodel_path));
  }
  return model;
}

#ifdef DVNN_HAVE_TFLITE
namespace {

std::array<float, 3> of_channels(const std::vector<float>& values) {
  std::array<float, 3> all;
  for (size_t i = 0; i < all.size(); ++i) all[i] = values[values.size() == all.size() ? i : 0];
  return all;
}

// The file's metadata replaces options that were not given.
void take_metadata(const import::TfliteMetadata& metadata, ConvertOptions* options,
                   std::vector<std::string>* notes) {
  InputSpec* picture = &options->picture;
  if (!options->given.order) picture->order = ChannelOrder::kRgb;  // as TensorFlow reads pictures
  const bool scaled = !metadata.mean.empty() && !options->given.mean && !options->given.scale;
  if (scaled) {
    picture->mean = of_channels(metadata.mean);
    picture->scale = of_channels(metadata.scale);
    notes->push_back(format("the file says how a picture becomes its input: mean %g, scale %g",
                            static_cast<double>(picture->mean[0]),
                            static_cast<double>(picture->scale[0])));
  }
  if (!metadata.labels.empty() && (options->labels.empty() || options->preset_labels)) {
    options->labels = metadata.labels;
    options->preset_labels = false;
    notes->push_back(format("the file has %zu labels", metadata.labels.size()));
  }
  if (!metadata.problem.empty()) notes->push_back(metadata.problem);
}

// The file is in memory until it returns, and not while the graph is planned.
Result<plan::Graph> import_tflite_file(const std::string& path, ConvertOptions* options,
                                       std::vector<std::string>* notes) {
  DVNN_ASSIGN(const auto model, import::TfliteModel::read(path));
  take_metadata(import::read_tflite_metadata(model, path), options, notes);
  return import::import_tflite(model, options->import, notes);
}

}  // namespace

Result<network::Model> convert_tflite(const std::string& path, const ConvertOptions& options,
                                      Report* report) {
  ConvertOptions own = options;
  std::vector<std::string> notes;
  auto graph = import_tflite_file(path, &own, &notes);
  if (report) report->warnings.insert(report->warnings.end(), notes.begin(), notes.end());
  return finish(std::move(graph), "tflite", path, own, report);
}
#endif  // DVNN_HAVE_TFLITE

}  // namespace dvnn::convert
