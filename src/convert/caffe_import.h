// SPDX-License-Identifier: Apache-2.0
// Caffe layers -> graph nodes, with every shape computed and every weight checked.
#pragma once

#include "base/result.h"
#include "convert/caffe_reader.h"
#include "convert/graph.h"

namespace dvnn::convert {

/// `net` describes the layers, `weights` holds their blobs by layer name. `width` and `height`
/// replace the input's own if they are not 0. Errors name the layer.
Result<Graph> import_caffe(const caffe::NetParameter& net, const caffe::NetParameter& weights,
                           int width = 0, int height = 0);

}  // namespace dvnn::convert
