// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <opencv2/core.hpp>
#include <string>
#include <vector>

#include "tools/bench/peer.h"

namespace dvnn::tools {

/// Opens a model's files: MODEL.onnx on ONNX Runtime where it is installed (and was there when this
/// was built), else on OpenCV's dnn; PROTOTXT and CAFFEMODEL on OpenCV's dnn. The picture becomes
/// the input by the network's own rule, as far as the engine has one scale for all channels.
Result<std::unique_ptr<Peer>> open_peer(const std::vector<std::string>& files,
                                        const network::Model& model, const cv::Mat& picture,
                                        int threads);

}  // namespace dvnn::tools
