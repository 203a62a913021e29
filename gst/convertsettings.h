// SPDX-License-Identifier: Apache-2.0
// dvconvert's properties.
#pragma once

#include <gst/video/video.h>

#include <optional>
#include <vector>

#include "tensor/picture.h"
#include "tensorcaps.h"
#include "tensortarget.h"

namespace dvnn::gst {

enum class Backend { kAuto, kCpu, kDevice };

struct ConvertSettings {
  Backend backend = Backend::kAuto;
  // How a frame becomes a picture; what is not set is as the network asks.
  RelativeRect roi;
  std::optional<ResizeMethod> method;
  std::optional<ResizeRule> resize;
  std::optional<guint> pad_colour;  // 0xRRGGBB
  GstVideoOrientationMethod direction = GST_VIDEO_ORIENTATION_IDENTITY;
  GstVideoOrientationMethod tagged_direction = GST_VIDEO_ORIENTATION_IDENTITY;
  // What a stream of tensors without a dvinfer behind it is made of.
  int layout = static_cast<int>(Layout::kNhwc);  // or, beyond ours, DLHDL
  guint conv_threads = 16;
  ChannelOrder order = ChannelOrder::kRgb;
  std::vector<float> mean = {0}, scale = {1};
  float quant_scale = 1;
  int zero_point = 0;

  /// A network's picture with the settings for frames.
  PictureSpec apply(const PictureSpec& wanted) const;
  /// The picture of a stream of tensors.
  Result<PictureSpec> stream_picture() const;
  /// The tensor of a stream with these caps.
  Result<TensorTarget> stream_target(const GstCaps* caps) const;
  /// Dimensions for the caps of a stream of pictures of this size, innermost first.
  std::vector<int> stream_dimensions(int width, int height) const;
};

/// Installs the properties, from id 1 on, and overrides GstVideoDirection's.
void install_convert_properties(GObjectClass* klass);
/// False if there is no such property.
bool set_convert_property(ConvertSettings* settings, guint id, const GValue* value);
bool get_convert_property(const ConvertSettings& settings, guint id, GValue* value);
/// The first id that is free for others.
extern const guint kFirstFreeProperty;

}  // namespace dvnn::gst
