// SPDX-License-Identifier: Apache-2.0
// A network, one slot and its decoder, for tools that run pictures one after the other.
#pragma once

#include <memory>
#include <opencv2/core.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "decode/custom_decoders.h"
#include "image/converter.h"
#include "network/finite_watch.h"
#include "tools/npy.h"

namespace dvnn::tools {

class Session {
 public:
  /// `decoders` has the decoder that is not ours; it may be null.
  static Result<std::unique_ptr<Session>> open(const network::NetworkSource& source,
                                               const std::string& device,
                                               const decode::CustomDecoders* decoders = nullptr);
  /// Wraps a loaded network.
  static Result<std::unique_ptr<Session>> create(std::shared_ptr<network::Network> network,
                                                 const decode::CustomDecoders* decoders = nullptr);
  const network::Model& model() const { return network_->model(); }
  const device::Device& device() const { return network_->device(); }
  network::Slot& slot() { return *slot_; }
  /// Null if the network names no decoder.
  decode::Decoder* decoder() { return decoder_.get(); }

  /// Converts an 8-bit BGR picture into the slot's input, as dvconvert does.
  Status load(const cv::Mat& bgr);
  /// Puts numbers that are the input as the model defines it into the slot's input; `path` names
  /// them in errors.
  Status load(const std::string& path, NpyArray* array);
  /// Runs what load() was given. Says on stderr, once for the session, if a result is not finite,
  /// and where that begins; `path` names the picture.
  Status run(const std::string& path);
  /// Decodes the last run; boxes in pixels of the picture that load() was given, not clipped.
  Result<objects::Objects> found(float threshold);

 private:
  std::shared_ptr<network::Network> network_;
  std::unique_ptr<network::Slot> slot_;
  std::unique_ptr<decode::Decoder> decoder_;
  std::unique_ptr<image::Converter> converter_;
  cv::Size size_;  // of the picture that converter_ was made for
  network::FiniteWatch watch_{network::FiniteWatch::Keeps::kEvery};
};

/// A converter for 8-bit BGR images of this one's size, and the image in the form that the
/// converter takes.
Result<std::unique_ptr<image::Converter>> create_converter(const cv::Mat& bgr,
                                                           const TensorDesc& tensor,
                                                           const InputSpec& picture);
image::FrameView view_of(const cv::Mat& bgr);

/// unfold() undoes, in an input tensor's row-major values, the affine layers that planning moved
/// into the input's mean and scale; fold() applies them.
void unfold(const network::InputInfo& input, const Shape& shape, std::vector<float>* values);
void fold(const network::InputInfo& input, const Shape& shape, std::vector<float>* values);

}  // namespace dvnn::tools
