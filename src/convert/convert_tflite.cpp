// SPDX-License-Identifier: Apache-2.0
#include "convert/convert.h"
#include "convert/finish.h"
#include "import/tflite/import.h"

namespace dvnn::convert {

Result<network::Model> convert_tflite(const std::string& path, const ConvertOptions& options,
                                      Report* report) {
  DVNN_ASSIGN(const auto model, import::TfliteModel::read(path));
  return finish(import::import_tflite(model, options.import, report ? &report->warnings : nullptr),
                "tflite", path, options, report);
}

}  // namespace dvnn::convert
