// SPDX-License-Identifier: Apache-2.0
// dvconvert's settings: how a frame is looked at, and what a stream of tensors is made of.
#pragma once

#include <gst/video/video.h>

#include <optional>
#include <vector>

#include "elements/dvconvert/regionsettings.h"
#include "frames/tensorcaps.h"
#include "frames/tensortarget.h"
#include "image/view.h"
#include "properties.h"

namespace dvnn::gst {

enum class Backend { kAuto, kCpu, kDevice };

struct ConvertSettings : RegionSettings {
  Backend backend = Backend::kAuto;
  // Settings of how a frame is looked at. Members that are not set follow the network.
  image::RelativeRect roi;
  std::optional<ResizeMethod> method;
  std::optional<ResizeRule> resize;
  gint pad_color = -1;  // 0xRRGGBB; -1: the network's
  GstVideoOrientationMethod direction = GST_VIDEO_ORIENTATION_IDENTITY;
  // The tensors of a stream that has no dvinfer downstream.
  int layout = static_cast<int>(Layout::kNhwc);  // or, beyond ours, DLHDL
  guint conv_threads = 16;
  ChannelOrder order = ChannelOrder::kRgb;
  std::vector<float> mean = {0}, scale = {1};
  float quant_scale = 1;
  gint zero_point = 0;

  std::string active_backend = "none";  // read only: what makes the tensors now

  /// The view of frames; `tagged` is what the stream's tags say, for video-direction=auto.
  image::View view(GstVideoOrientationMethod tagged) const;
  /// The InputSpec of such a stream.
  InputSpec stream_input() const;
  /// The tensor of a stream with these caps.
  Result<TensorTarget> stream_target(const GstCaps* caps) const;
  /// Dimensions for the caps of a stream of pictures of this size, innermost first.
  std::vector<int> stream_dimensions(int width, int height) const;
};

/// The rows of all of dvconvert's settings.
Properties<ConvertSettings> convert_properties();

}  // namespace dvnn::gst
