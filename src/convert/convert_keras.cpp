// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "convert/convert.h"
#include "convert/finish.h"
#include "import/keras/archive.h"
#include "import/keras/import.h"

namespace dvnn::convert {

// The file's weights are in memory until it returns, and not while the graph is planned.
static Result<plan::Graph> import_keras_file(const std::string& path,
                                             const ConvertOptions& options) {
  if (import::is_keras_archive(path)) {
    DVNN_ASSIGN(const auto archive, import::read_keras_archive(path));
    return import::import_keras3(archive.config, *archive.weights, options.import);
  }
  DVNN_ASSIGN(const auto file, import::Hdf5File::open(path));
  return import::import_keras(*file, options.import);
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

}  // namespace dvnn::convert
