// SPDX-License-Identifier: Apache-2.0
// Engines that a user could run a model with instead of ours.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/span.h"
#include "network/model.h"
#include "tools/pictures.h"

namespace dvnn::tools {

/// A model in another engine, in FP32, with a picture as its input.
class Peer {
 public:
  virtual ~Peer() = default;
  virtual std::string name() const = 0;
  /// Computes all outputs. Returns the engine's error, if any; throws nothing.
  virtual Status forward() = 0;
};

/// A session of ONNX Runtime that several threads share, each by a peer of its own.
class SharedPeer : public Peer {
 public:
  /// Numbers of the first input, to be written before forward(), and its dimensions.
  virtual Span<float> input() = 0;
  virtual const std::vector<int64_t>& input_dims() const = 0;
  /// Returns another peer on the same session, with inputs of its own.
  virtual Result<std::unique_ptr<SharedPeer>> another() const = 0;
};

/// Opens a model on ONNX Runtime; 0 threads are as many as it takes by itself. `model` must outlive
/// the peer. kNotFound where ONNX Runtime is not installed, or was not when this was built.
Result<std::unique_ptr<SharedPeer>> open_onnxruntime(const std::string& path,
                                                     const network::Model& model, int threads);

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
