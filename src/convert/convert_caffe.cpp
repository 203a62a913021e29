// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "base/format.h"
#include "convert/convert.h"
#include "convert/finish.h"
#include "import/caffe/import.h"

namespace dvnn::convert {

// The files are in memory until it returns, and not while the graph is planned.
static Result<plan::Graph> import_caffe_files(const std::string& prototxt,
                                              const std::string& caffemodel,
                                              const ConvertOptions& options, Report* report) {
  DVNN_ASSIGN(const caffe::NetParameter net,
              import::read_prototxt(prototxt, report ? &report->skipped : nullptr));
  DVNN_ASSIGN(const caffe::NetParameter weights, import::read_caffemodel(caffemodel));
  return import::import_caffe(net, weights, options.import);
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

}  // namespace dvnn::convert
