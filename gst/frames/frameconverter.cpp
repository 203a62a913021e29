// SPDX-License-Identifier: Apache-2.0
#include "frames/frameconverter.h"

#include <algorithm>

#include "base/format.h"
#include "base/numbers.h"
#include "base/result.h"
#include "frames/caps.h"
#include "frames/framemap.h"

namespace dvnn::gst {
namespace {

// Unknown values are possible: "9:9:9:9" is a colorimetry whose range and matrix have no
// enumerator.
image::Matrix matrix_of(const GstVideoColorimetry& colorimetry) {
  switch (enum_number(colorimetry.matrix)) {
    case GST_VIDEO_COLOR_MATRIX_BT709:
      return image::Matrix::kBt709;
    case GST_VIDEO_COLOR_MATRIX_BT2020:
      return image::Matrix::kBt2020;
    default:
      return image::Matrix::kBt601;
  }
}

}  // namespace

Result<std::unique_ptr<FrameConverter>> FrameConverter::create(const GstVideoInfo& info,
                                                               const TensorTarget& target,
                                                               const InputSpec& input,
                                                               const image::View& view) {
  image::FrameFormat frame;
  DVNN_ASSIGN(frame.format, pixel_format(GST_VIDEO_INFO_FORMAT(&info)));
  frame.width = GST_VIDEO_INFO_WIDTH(&info);
  const GstVideoInfo picture = picture_info(info);
  frame.height = GST_VIDEO_INFO_HEIGHT(&picture);
  frame.par_n = GST_VIDEO_INFO_PAR_N(&picture);
  frame.par_d = GST_VIDEO_INFO_PAR_D(&picture);
  frame.matrix = matrix_of(info.colorimetry);
  frame.full_range = enum_number(info.colorimetry.range) == GST_VIDEO_COLOR_RANGE_0_255;
  auto self = std::make_unique<FrameConverter>();
  self->info_ = info;
  self->target_ = target;
  self->input_ = input;
  self->view_ = view;
  self->frame_height_ = GST_VIDEO_INFO_HEIGHT(&info);
  DVNN_TRY(guarded(dvnn::format("the tensor of a frame of %d x %d", frame.width, frame.height),
                   [&] { return self->make_converter(frame); }));
  return self;
}

Status FrameConverter::make_converter(const image::FrameFormat& format) {
  const TensorDesc& desc = target_.desc;
  if (target_.dlhdl) {
    DVNN_ASSIGN(converter_, image::Converter::create(format, *target_.dlhdl, desc.shape, desc.type,
                                                     input_, view_));
  } else {
    DVNN_ASSIGN(converter_, image::Converter::create(format, desc, input_, view_));
  }
  format_ = format;
  shown_ = converter_->shown();
  if (const int lines = lines_per_row(info_); lines > 1) {
    image::Transform to_frame;
    to_frame.scale_y = lines;
    shown_.transform = shown_.transform.after(to_frame);
    shown_.part = to_frame.apply(shown_.part);
    shown_.part.y1 = std::min(shown_.part.y1, static_cast<double>(frame_height_));
  }
  return {};
}

// Follows the frame's GstVideoCropMeta, which rarely changes.
Status FrameConverter::follow_crop(GstBuffer* frame) {
  const GstVideoCropMeta* crop = gst_buffer_get_video_crop_meta(frame);
  const GstVideoMeta* whole = crop ? gst_buffer_get_video_meta(frame) : nullptr;
  image::FrameFormat wanted = format_;
  // If a meta crops the frame, its caps may describe the visible part; the GstVideoMeta has the
  // size of the whole.
  wanted.width = whole ? static_cast<int>(whole->width) : GST_VIDEO_INFO_WIDTH(&info_);
  wanted.height = whole ? static_cast<int>(whole->height) : GST_VIDEO_INFO_HEIGHT(&info_);
  wanted.crop_x = crop ? static_cast<int>(crop->x) : 0;
  wanted.crop_y = crop ? static_cast<int>(crop->y) : 0;
  wanted.crop_width = crop ? static_cast<int>(crop->width) : 0;
  wanted.crop_height = crop ? static_cast<int>(crop->height) : 0;
  frame_height_ = wanted.height;
  if (lines_per_row(info_) > 1) {
    // No overflow: metas may hold any number.
    wanted.height = wanted.height / 2 + wanted.height % 2;
    wanted.crop_y /= 2;
    wanted.crop_height = wanted.crop_height / 2 + wanted.crop_height % 2;
  }
  if (wanted.width == format_.width && wanted.height == format_.height &&
      wanted.crop_x == format_.crop_x && wanted.crop_y == format_.crop_y &&
      wanted.crop_width == format_.crop_width && wanted.crop_height == format_.crop_height) {
    return {};
  }
  return make_converter(wanted);
}

Status FrameConverter::convert(GstBuffer* frame, uint8_t* tensor, size_t bytes) {
  if (bytes < target_.bytes()) {
    return Error{ErrorCode::kInternal, "the tensor's memory is too small"};
  }
  DVNN_TRY(check_video_meta(info_, frame));
  DVNN_TRY(follow_crop(frame));
  VideoFrameMap mapped(info_, frame, GST_MAP_READ);
  if (!mapped.ok()) {
    return malformed(dvnn::format(
        "the frame cannot be read: its buffer has %zu bytes, %s %dx%d needs %zu",
        gst_buffer_get_size(frame), gst_video_format_to_string(GST_VIDEO_INFO_FORMAT(&info_)),
        format_.width, format_.height, GST_VIDEO_INFO_SIZE(&info_)));
  }
  DVNN_TRY(check_frame_memory(mapped.frame()));
  image::FrameView pixels;
  for (guint i = 0; i < GST_VIDEO_FRAME_N_PLANES(mapped.get()) && i < pixels.planes.size(); ++i) {
    pixels.planes[i] = static_cast<const uint8_t*>(GST_VIDEO_FRAME_PLANE_DATA(mapped.get(), i));
    pixels.strides[i] = GST_VIDEO_FRAME_PLANE_STRIDE(mapped.get(), i);
  }
  converter_->convert(pixels, tensor);
  return {};
}

Status FrameConverter::convert(GstBuffer* frame, network::Slot* slot, network::InputKind kind) {
  const Span<uint8_t> input = slot->input();
  DVNN_TRY(convert(frame, input.data(), input.size()));
  if (kind == network::InputKind::kPixels) {
    slot->expect_pixels();
  } else {
    slot->expect_tensor();
  }
  return {};
}

Result<FrameConverter*> RegionConverters::get(size_t region, const GstVideoInfo& info,
                                              const TensorTarget& target, const InputSpec& input,
                                              const image::View& view) {
  // The number of converters is bounded, because each keeps rows of samples; further regions share
  // them.
  constexpr size_t kMost = 64;
  const size_t place = region % kMost;
  if (place >= kept_.size()) kept_.resize(place + 1);
  std::unique_ptr<FrameConverter>& kept = kept_[place];
  if (!kept || !(kept->view() == view)) {
    kept.reset();
    DVNN_ASSIGN(kept, FrameConverter::create(info, target, input, view));
  }
  return kept.get();
}

}  // namespace dvnn::gst
