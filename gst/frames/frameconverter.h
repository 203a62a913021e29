// SPDX-License-Identifier: Apache-2.0
// GstVideoFrame -> tensor: what dvconvert does, and dvinfer where nobody did it before.
#pragma once

#include <gst/video/video.h>

#include <memory>

#include "frames/tensortarget.h"
#include "image/converter.h"
#include "network/network.h"

namespace dvnn::gst {

class FrameConverter {
 public:
  /// For frames of `info`; errors say what does not fit.
  static Result<std::unique_ptr<FrameConverter>> create(const GstVideoInfo& info,
                                                        const TensorTarget& target,
                                                        const InputSpec& input,
                                                        const image::View& view);
  /// Writes the tensor of `frame`, or of the part that its GstVideoCropMeta shows, to `tensor`,
  /// `bytes` of them. Pixels are only read, and DMA-BUFs told so.
  Status convert(GstBuffer* frame, uint8_t* tensor, size_t bytes);
  /// The same into a slot's input.
  Status convert(GstBuffer* frame, network::Slot* slot, network::InputKind kind);
  /// Where the last frame lies in its tensor.
  const image::Transform& transform() const { return converter_->transform(); }
  /// What was asked for: who asks for something else needs another converter.
  const image::View& view() const { return view_; }

 private:
  Status make_converter(const image::FrameFormat& format);
  Status follow_crop(GstBuffer* frame);

  GstVideoInfo info_;
  TensorTarget target_;
  InputSpec input_;
  image::View view_;
  image::FrameFormat format_;
  std::unique_ptr<image::Converter> converter_;
};

}  // namespace dvnn::gst
