// SPDX-License-Identifier: Apache-2.0
#include "frameconverter.h"

#include "base/format.h"
#include "gstutils.h"
#include "slotpool.h"

namespace dvnn::gst {
namespace {

using image::PixelFormat;

Result<PixelFormat> pixel_format(GstVideoFormat format) {
  switch (format) {
    case GST_VIDEO_FORMAT_NV12:
      return PixelFormat::kNv12;
    case GST_VIDEO_FORMAT_NV21:
      return PixelFormat::kNv21;
    case GST_VIDEO_FORMAT_NV16:
      return PixelFormat::kNv16;
    case GST_VIDEO_FORMAT_I420:
      return PixelFormat::kI420;
    case GST_VIDEO_FORMAT_YV12:
      return PixelFormat::kYv12;
    case GST_VIDEO_FORMAT_YUY2:
      return PixelFormat::kYuy2;
    case GST_VIDEO_FORMAT_UYVY:
      return PixelFormat::kUyvy;
    case GST_VIDEO_FORMAT_RGB:
      return PixelFormat::kRgb;
    case GST_VIDEO_FORMAT_BGR:
      return PixelFormat::kBgr;
    case GST_VIDEO_FORMAT_RGBx:
    case GST_VIDEO_FORMAT_RGBA:
      return PixelFormat::kRgbx;
    case GST_VIDEO_FORMAT_BGRx:
    case GST_VIDEO_FORMAT_BGRA:
      return PixelFormat::kBgrx;
    case GST_VIDEO_FORMAT_xRGB:
    case GST_VIDEO_FORMAT_ARGB:
      return PixelFormat::kXrgb;
    case GST_VIDEO_FORMAT_xBGR:
    case GST_VIDEO_FORMAT_ABGR:
      return PixelFormat::kXbgr;
    case GST_VIDEO_FORMAT_GRAY8:
      return PixelFormat::kGray8;
    case GST_VIDEO_FORMAT_P010_10LE:
      return PixelFormat::kP010;
    case GST_VIDEO_FORMAT_I420_10LE:
      return PixelFormat::kI42010;
    default:
      return Error{ErrorCode::kUnsupported,
                   dvnn::format("video format %s; these would do: %s",
                                gst_video_format_to_string(format), DVNN_VIDEO_FORMATS)};
  }
}

image::Matrix matrix_of(GstVideoColorMatrix matrix) {
  switch (matrix) {
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
                                                               const TensorDesc& tensor,
                                                               const PictureSpec& picture) {
  image::FrameFormat frame;
  DVNN_ASSIGN(frame.format, pixel_format(GST_VIDEO_INFO_FORMAT(&info)));
  frame.width = GST_VIDEO_INFO_WIDTH(&info);
  frame.height = GST_VIDEO_INFO_HEIGHT(&info);
  frame.par_n = GST_VIDEO_INFO_PAR_N(&info);
  frame.par_d = GST_VIDEO_INFO_PAR_D(&info);
  frame.matrix = matrix_of(info.colorimetry.matrix);
  frame.full_range = info.colorimetry.range == GST_VIDEO_COLOR_RANGE_0_255;
  auto self = std::make_unique<FrameConverter>();
  DVNN_ASSIGN(self->converter_, image::Converter::create(frame, tensor, picture));
  self->info_ = info;
  self->tensor_ = tensor;
  self->picture_ = picture;
  self->format_ = frame;
  return self;
}

// Decoders and croppers say per frame which part of it is the picture; it rarely changes.
Status FrameConverter::follow_crop(GstBuffer* frame) {
  const GstVideoCropMeta* crop = gst_buffer_get_video_crop_meta(frame);
  image::FrameFormat wanted = format_;
  wanted.crop_x = crop ? static_cast<int>(crop->x) : 0;
  wanted.crop_y = crop ? static_cast<int>(crop->y) : 0;
  wanted.crop_width = crop ? static_cast<int>(crop->width) : 0;
  wanted.crop_height = crop ? static_cast<int>(crop->height) : 0;
  if (wanted.crop_x == format_.crop_x && wanted.crop_y == format_.crop_y &&
      wanted.crop_width == format_.crop_width && wanted.crop_height == format_.crop_height) {
    return {};
  }
  DVNN_ASSIGN(converter_, image::Converter::create(wanted, tensor_, picture_));
  format_ = wanted;
  return {};
}

Status FrameConverter::convert(GstBuffer* frame, GstBuffer* slot) {
  DVNN_TRY(follow_crop(frame));
  GstVideoFrame mapped;
  if (!gst_video_frame_map(&mapped, &info_, frame, GST_MAP_READ)) {
    return Error{ErrorCode::kIo, "the frame's memory cannot be mapped for reading"};
  }
  GstMapInfo tensor;
  if (!gst_buffer_map(slot, &tensor, GST_MAP_WRITE)) {
    gst_video_frame_unmap(&mapped);
    return Error{ErrorCode::kDevice, "the slot's memory cannot be mapped for writing"};
  }
  image::FrameView view;
  for (guint i = 0; i < GST_VIDEO_FRAME_N_PLANES(&mapped) && i < view.planes.size(); ++i) {
    view.planes[i] = static_cast<const uint8_t*>(GST_VIDEO_FRAME_PLANE_DATA(&mapped, i));
    view.strides[i] = GST_VIDEO_FRAME_PLANE_STRIDE(&mapped, i);
  }
  converter_->convert(view, tensor.data);
  gst_buffer_unmap(slot, &tensor);
  gst_video_frame_unmap(&mapped);
  slot_mark_written(slot);

  const image::Transform& t = converter_->transform();
  GstDvTensorMeta* meta = gst_buffer_add_dv_tensor_meta(frame, GST_DV_TENSOR_ROLE_INPUT, 1);
  describe_tensor(tensor_, "input", &meta->tensors[0]);
  meta->tensors[0].data = gst_buffer_ref(slot);
  meta->transform = {t.scale_x, t.offset_x, t.scale_y, t.offset_y, t.swap_xy};
  meta->input_width = static_cast<guint>(tensor_.shape.w());
  meta->input_height = static_cast<guint>(tensor_.shape.h());
  return {};
}

}  // namespace dvnn::gst
