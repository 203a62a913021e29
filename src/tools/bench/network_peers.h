// SPDX-License-Identifier: Apache-2.0
// The engines that a user would run a model with instead of ours.
#pragma once

#include <memory>
#include <opencv2/core.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "network/model.h"

namespace dvnn::tools {

/// A model on another engine, in FP32, with a picture as its input.
class Peer {
 public:
  virtual ~Peer() = default;
  virtual std::string name() const = 0;
  /// Computes all outputs; throws nothing. The message of the engine's error, if there is one.
  virtual Status forward() = 0;
};

using PeerResult = Result<std::unique_ptr<Peer>>;

/// Opens a model's files: MODEL.onnx on ONNX Runtime where it is installed (and was there when this
/// was built), else on OpenCV's dnn; PROTOTXT and CAFFEMODEL on OpenCV's dnn. The picture becomes
/// the input by the network's own rule, as far as the engine has one scale for all channels.
PeerResult open_peer(const std::vector<std::string>& files, const network::Model& model,
                     const cv::Mat& picture, int threads);

/// ONNX Runtime's; kNotFound where it is not there.
PeerResult open_onnxruntime(const std::string& path, const network::Model& model, int threads);

}  // namespace dvnn::tools
