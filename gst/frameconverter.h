// SPDX-License-Identifier: Apache-2.0
// GstVideoFrame -> tensor in a slot: what dvconvert does, and dvinfer where nobody did it before.
#pragma once

#include <gst/video/video.h>

#include <memory>

#include "gst/dvnn/gstdvtensormeta.h"
#include "image/converter.h"

namespace dvnn::gst {

/// Raw formats that can be converted, for pad templates.
#define DVNN_VIDEO_FORMATS                                                                     \
  "{ NV12, NV21, NV16, I420, YV12, YUY2, UYVY, RGB, BGR, RGBx, BGRx, xRGB, xBGR, RGBA, BGRA, " \
  "ARGB, ABGR, GRAY8, P010_10LE, I420_10LE }"

class FrameConverter {
 public:
  /// For frames of `info`; errors say what does not fit.
  static Result<std::unique_ptr<FrameConverter>> create(const GstVideoInfo& info,
                                                        const TensorDesc& tensor,
                                                        const PictureSpec& picture);
  /// Writes the tensor of `frame`, or of the part that its GstVideoCropMeta shows, into `slot` and
  /// attaches an input meta, which takes a reference to `slot`, to `frame`, which must be writable;
  /// its pixels are only read.
  Status convert(GstBuffer* frame, GstBuffer* slot);

 private:
  Status follow_crop(GstBuffer* frame);

  GstVideoInfo info_;
  TensorDesc tensor_;
  PictureSpec picture_;
  image::FrameFormat format_;
  std::unique_ptr<image::Converter> converter_;
};

}  // namespace dvnn::gst
