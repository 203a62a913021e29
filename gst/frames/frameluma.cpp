// SPDX-License-Identifier: Apache-2.0
#include "frames/frameluma.h"

#include <algorithm>

#include "frames/caps.h"
#include "frames/framemap.h"

namespace dvnn::gst {
namespace {

// Returns the component that carries most of the brightness: luma, or green.
guint bright_component(const GstVideoFormatInfo* format) {
  return GST_VIDEO_FORMAT_INFO_IS_RGB(format) ? 1 : 0;
}

// Whether brightness is a byte per pixel. The two fields of a frame are offset by a line, so that
// the camera would seem to shake.
bool has_bytes(const GstVideoInfo& info) {
  const GstVideoFormatInfo* format = info.finfo;
  const guint bright = bright_component(format);
  return lines_per_row(info) == 1 && bright < GST_VIDEO_FORMAT_INFO_N_COMPONENTS(format) &&
         GST_VIDEO_FORMAT_INFO_DEPTH(format, bright) == 8 &&
         GST_VIDEO_FORMAT_INFO_SHIFT(format, bright) == 0 &&
         !GST_VIDEO_FORMAT_INFO_IS_COMPLEX(format) && !GST_VIDEO_FORMAT_INFO_IS_TILED(format) &&
         GST_VIDEO_FORMAT_INFO_BITS(format) == 8;
}

}  // namespace

Status FrameLuma::make_converter() {
  const int width = GST_VIDEO_INFO_WIDTH(&info_), height = GST_VIDEO_INFO_HEIGHT(&info_);
  const int step = motion::LumaPyramid::step_of(width, height);
  width_ = std::max(1, width / step);
  height_ = std::max(1, height / step);
  TensorTarget target;
  target.desc.type = ElementType::kUint8;
  target.desc.shape = {1, 1, height_, width_};
  InputSpec grey;
  grey.order = ChannelOrder::kGray;
  // Means of areas: single samples would make edges tremble.
  grey.method = ResizeMethod::kArea;
  DVNN_ASSIGN(converter_, FrameConverter::create(info_, target, grey, {}));
  picture_.resize(target.bytes());
  return {};
}

void FrameLuma::set_bytes(const GstCaps* caps) {
  converter_.reset();
  readable_ = video_info_from_caps(caps, &info_);
  direct_ = readable_ && has_bytes(info_);
}

Status FrameLuma::set_caps(const GstCaps* caps) {
  set_bytes(caps);
  if (!readable_) return unsupported("the CPU cannot read such frames");
  // Green alone would not show a red thing on black ground.
  direct_ = direct_ && !GST_VIDEO_FORMAT_INFO_IS_RGB(info_.finfo);
  return direct_ ? Status() : make_converter();
}

Status FrameLuma::look_direct(GstBuffer* frame,
                              const std::function<void(const motion::Luma&)>& see) {
  // Any element may attach a GstVideoMeta.
  DVNN_TRY(check_video_meta(info_, frame));
  const VideoFrameMap map(info_, frame, GST_MAP_READ);
  if (!map.ok()) return malformed("the frame's memory cannot be mapped");
  DVNN_TRY(check_frame_memory(map.frame()));
  const GstVideoFrame& mapped = map.frame();
  const guint bright = bright_component(info_.finfo);
  see({static_cast<const uint8_t*>(GST_VIDEO_FRAME_COMP_DATA(&mapped, bright)),
       GST_VIDEO_FRAME_COMP_WIDTH(&mapped, bright), GST_VIDEO_FRAME_COMP_HEIGHT(&mapped, bright),
       GST_VIDEO_FRAME_COMP_STRIDE(&mapped, bright),
       GST_VIDEO_FRAME_COMP_PSTRIDE(&mapped, bright)});
  return {};
}

Status FrameLuma::look(GstBuffer* frame, const std::function<void(const motion::Luma&)>& see) {
  if (direct_) return look_direct(frame, see);
  DVNN_TRY(converter_->convert(frame, picture_.data(), picture_.size()));
  see({picture_.data(), width_, height_, width_, 1});
  return {};
}

}  // namespace dvnn::gst
