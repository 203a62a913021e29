// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "base/format.h"
#include "convert/convert.h"
#include "convert/finish.h"
#include "import/model_file.h"
#include "import/onnx/import.h"

namespace dvnn::convert {

Result<network::Model> convert_onnx(const std::string& path, const ConvertOptions& options,
                                    Report* report) {
  DVNN_ASSIGN(onnx::ModelProto proto, import::read_onnx(path));
  return finish(import::import_onnx(std::move(proto), folder_name(path), options.import,
                                    report ? &report->warnings : nullptr),
                "onnx", path, options, report);
}

}  // namespace dvnn::convert
