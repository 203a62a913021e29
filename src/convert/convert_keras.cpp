// SPDX-License-Identifier: Apache-2.0
#include "convert/convert.h"
#include "convert/finish.h"
#include "import/keras/archive.h"
#include "import/keras/import.h"

namespace dvnn::convert {

Result<network::Model> convert_keras(const std::string& path, const ConvertOptions& options,
                                     Report* report) {
  if (import::is_keras_archive(path)) {
    DVNN_ASSIGN(const auto archive, import::read_keras_archive(path));
    return finish(import::import_keras3(archive.config, *archive.weights, options.import), "keras",
                  path, options, report);
  }
  DVNN_ASSIGN(const auto file, import::Hdf5File::open(path));
  return convert_keras(*file, path, options, report);
}

Result<network::Model> convert_keras(const import::Hdf5File& file, const std::string& path,
                                     const ConvertOptions& options, Report* report) {
  return finish(import::import_keras(file, options.import), "keras", path, options, report);
}

}  // namespace dvnn::convert
