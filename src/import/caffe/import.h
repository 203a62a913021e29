// SPDX-License-Identifier: Apache-2.0
// Caffe's files -> layers -> graph nodes, with every shape computed and every weight checked.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "caffe.pb.h"
#include "import/builder.h"
#include "import/options.h"

namespace dvnn::import {

/// Parses a .prototxt. Fields that the schema does not know are noted in `warnings` and skipped.
Result<caffe::NetParameter> read_prototxt(const std::string& path,
                                          std::vector<std::string>* warnings);

/// Parses a .caffemodel.
Result<caffe::NetParameter> read_caffemodel(const std::string& path);

/// Imports a network: `net` describes the layers, `weights` holds their blobs by layer name. Errors
/// name the layer.
Result<Graph> import_caffe(const caffe::NetParameter& net, const caffe::NetParameter& weights,
                           const ImportOptions& options);

}  // namespace dvnn::import
