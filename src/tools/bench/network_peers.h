// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tools/bench/peer.h"
#include "tools/bitmap.h"

namespace dvnn::tools {

/// Opens a model's files in OpenCV's dnn. kNotFound where OpenCV was not there when this was built.
Result<std::unique_ptr<Peer>> open_opencv(const std::vector<std::string>& files,
                                          const network::Model& model, const Bitmap& picture,
                                          int threads);

/// Opens a model's files: MODEL.onnx in ONNX Runtime if it is installed (and was at build time),
/// else in OpenCV's dnn; PROTOTXT and CAFFEMODEL in OpenCV's dnn. The picture is converted by the
/// network's rule, if the engine's single scale for all channels allows it.
Result<std::unique_ptr<Peer>> open_peer(const std::vector<std::string>& files,
                                        const network::Model& model, const Bitmap& picture,
                                        int threads);

}  // namespace dvnn::tools
