// SPDX-License-Identifier: Apache-2.0
#include "base/format.h"
#include "convert/convert.h"
#include "convert/finish.h"
#include "import/model_file.h"
#include "import/onnx/import.h"

namespace dvnn::convert {

Result<network::Model> convert_onnx(const std::string& path, const ConvertOptions& options,
                                    Report* report) {
  DVNN_ASSIGN(const onnx::ModelProto proto, import::read_onnx(path));
  return finish(import::import_onnx(proto, folder_name(path), options.import), "onnx", path,
                options, report);
}

}  // namespace dvnn::convert
