// SPDX-License-Identifier: Apache-2.0
// Caffe layers -> graph nodes, with every shape computed and every weight checked.
#pragma once

#include "base/result.h"
#include "import/builder.h"
#include "import/caffe/reader.h"
#include "import/options.h"

namespace dvnn::import {

/// Imports a network: `net` describes the layers, `weights` holds their blobs by layer name. Errors
/// name the layer.
Result<Graph> import_caffe(const caffe::NetParameter& net, const caffe::NetParameter& weights,
                           const ImportOptions& options);

}  // namespace dvnn::import
