// SPDX-License-Identifier: Apache-2.0
// dvconvert's settings: which part of a frame is converted and how, and the tensors of a stream.
#pragma once

#include <gst/video/video.h>

#include <optional>
#include <vector>

#include "elements/dvconvert/regionsettings.h"
#include "frames/frameconverter.h"
#include "frames/tensorcaps.h"
#include "image/view.h"
#include "properties.h"

namespace dvnn::gst {

enum class Backend { kAuto, kCpu, kDevice };

struct ConvertSettings : RegionSettings {
  Backend backend = Backend::kAuto;
  // What the network is shown. Unset members follow the network.
  image::RelativeRect roi;
  std::optional<ResizeMethod> method;
  std::optional<ResizeRule> resize;
  gint pad_color = -1;  // 0xRRGGBB; -1: the network's
  GstVideoOrientationMethod direction = GST_VIDEO_ORIENTATION_IDENTITY;
  // Tensors of a stream without a dvinfer downstream.
  int layout = static_cast<int>(Layout::kNhwc);  // a Layout, or DLHDL
  guint conv_threads = 16;
  ChannelOrder order = ChannelOrder::kRgb;
  std::vector<float> mean = {0}, scale = {1};
  float quant_scale = 1;
  gint zero_point = 0;

  std::string active_backend = "none";  // read only: cpu, device or none

  /// Returns the view of frames. `tagged`: orientation from the stream's tags, for
  /// video-direction=auto.
  image::View view(GstVideoOrientationMethod tagged) const;
  /// Returns how pixels become numbers in a stream without a dvinfer.
  InputSpec stream_input() const;
  /// Returns the tensor that these caps of a stream describe.
  Result<TensorTarget> stream_target(const GstCaps* caps) const;
  /// Returns the dimensions of a picture of this size for a stream's caps, innermost first.
  std::vector<int> stream_dimensions(int width, int height) const;
};

/// Returns the rows of all of dvconvert's properties.
Properties<ConvertSettings> convert_properties();

}  // namespace dvnn::gst
