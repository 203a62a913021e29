// SPDX-License-Identifier: Apache-2.0
// The brightness of frames of any format that dvconvert reads: bytes of the frame itself where it
// has them, else a small grey picture that is made of it. Streaming thread only.
#pragma once

#include <gst/video/video.h>

#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "frames/frameconverter.h"
#include "motion/luma_pyramid.h"

namespace dvnn::gst {

class FrameLuma {
 public:
  /// Takes the frames' format. kUnsupported if it cannot be read.
  Status set_caps(const GstCaps* caps);
  /// The same for what needs no frames of other formats: is_direct() says whether they are read.
  void set_bytes(const GstCaps* caps);
  /// Whether the frame's own bytes are its brightness.
  bool is_direct() const { return direct_; }
  /// Calls `see` with the brightness of a frame, which is valid during the call. kMalformed if the
  /// frame's memory or GstVideoMeta contradicts its caps.
  Status look(GstBuffer* frame, const std::function<void(const motion::Luma&)>& see);

 private:
  Status look_direct(GstBuffer* frame, const std::function<void(const motion::Luma&)>& see);
  Status make_converter();

  GstVideoInfo info_;
  bool readable_ = false, direct_ = false;
  int width_ = 0, height_ = 0;  // of the grey picture
  std::unique_ptr<FrameConverter> converter_;
  std::vector<uint8_t> picture_;
};

}  // namespace dvnn::gst
