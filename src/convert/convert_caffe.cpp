// SPDX-License-Identifier: Apache-2.0
#include "base/format.h"
#include "convert/convert.h"
#include "convert/finish.h"
#include "import/caffe/import.h"

namespace dvnn::convert {

Result<network::Model> convert_caffe(const std::string& prototxt_path,
                                     const std::string& caffemodel_path,
                                     const ConvertOptions& options, Report* report) {
  DVNN_ASSIGN(const caffe::NetParameter net,
              import::read_prototxt(prototxt_path, report ? &report->skipped : nullptr));
  DVNN_ASSIGN(const caffe::NetParameter weights, import::read_caffemodel(caffemodel_path));
  auto model = finish(import::import_caffe(net, weights, options.import), "caffe", prototxt_path,
                      options, report);
  if (model.ok()) {
    model.value().source = clean_name(model.value().source + ", " + base_name(caffemodel_path));
  }
  return model;
}

}  // namespace dvnn::convert
