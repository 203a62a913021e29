// SPDX-License-Identifier: Apache-2.0
// Caffe layers -> graph nodes, with every shape computed and every weight checked.
#pragma once

#include "base/result.h"
#include "convert/builder.h"
#include "convert/caffe_reader.h"
#include "convert/import_options.h"

namespace dvnn::convert {

/// `net` describes the layers, `weights` holds their blobs by layer name. Errors name the layer.
Result<Graph> import_caffe(const caffe::NetParameter& net, const caffe::NetParameter& weights,
                           const ImportOptions& options);

}  // namespace dvnn::convert
