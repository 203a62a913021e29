// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <utility>

#include "base/format.h"
#include "convert/convert.h"
#include "convert/finish.h"
#include "import/tflite/import.h"
#include "import/tflite/metadata.h"

namespace dvnn::convert {
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

}  // namespace dvnn::convert
