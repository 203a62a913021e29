// SPDX-License-Identifier: Apache-2.0
#include "frames/framecheck.h"

#include <algorithm>

#include "base/format.h"

namespace dvnn::gst {
namespace {

// In 64 bits, because caps may hold any width.
struct PlaneSize {
  gint64 row_bytes = 0, rows = 0;
};

PlaneSize plane_size(const GstVideoFrame& frame, guint plane) {
  PlaneSize size;
  gint64 group = 1;  // bytes of the pixels that are stored together
  for (guint c = 0; c < GST_VIDEO_FRAME_N_COMPONENTS(&frame); ++c) {
    if (GST_VIDEO_FRAME_COMP_PLANE(&frame, c) != plane) continue;
    const gint64 step = GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, c);
    const gint64 bits =
        GST_VIDEO_FRAME_COMP_DEPTH(&frame, c) + GST_VIDEO_FORMAT_INFO_SHIFT(frame.info.finfo, c);
    const gint64 last = (GST_VIDEO_FRAME_COMP_WIDTH(&frame, c) - 1) * step +
                        GST_VIDEO_FRAME_COMP_POFFSET(&frame, c) + (bits + 7) / 8;
    group = std::max(group, step);
    size.row_bytes = std::max(size.row_bytes, last);
    size.rows = std::max(size.rows, gint64{GST_VIDEO_FRAME_COMP_HEIGHT(&frame, c)});
  }
  size.row_bytes = (size.row_bytes + group - 1) / group * group;
  return size;
}

}  // namespace

Status check_video_meta(const GstVideoInfo& info, GstBuffer* frame) {
  constexpr guint kMaxExtent = 32768;
  const GstVideoMeta* meta = gst_buffer_get_video_meta(frame);
  if (!meta) return {};
  const auto width = static_cast<guint>(GST_VIDEO_INFO_WIDTH(&info));
  const auto height = static_cast<guint>(GST_VIDEO_INFO_HEIGHT(&info));
  bool same_format = meta->format == GST_VIDEO_INFO_FORMAT(&info);
#if GST_CHECK_VERSION(1, 24, 0)
  // DMA_DRM stands for the format that the caps' DRM code names.
  same_format |= meta->format == GST_VIDEO_FORMAT_DMA_DRM;
#endif
  const bool fits = same_format && meta->n_planes == GST_VIDEO_INFO_N_PLANES(&info) &&
                    meta->width >= width && meta->height >= height &&
                    meta->width <= std::max(width, kMaxExtent) &&
                    meta->height <= std::max(height, kMaxExtent);
  if (fits) return {};
  return malformed(
      dvnn::format("the frame's GstVideoMeta describes format %d, %u planes, %u x %u; the caps are "
                   "%s, %u planes, %u x %u",
                   static_cast<int>(meta->format), meta->n_planes, meta->width, meta->height,
                   gst_video_format_to_string(GST_VIDEO_INFO_FORMAT(&info)),
                   GST_VIDEO_INFO_N_PLANES(&info), width, height));
}

Status check_frame_memory(const GstVideoFrame& frame) {
  const std::string what =
      dvnn::format("%s %dx%d", gst_video_format_to_string(GST_VIDEO_FRAME_FORMAT(&frame)),
                   GST_VIDEO_FRAME_WIDTH(&frame), GST_VIDEO_FRAME_HEIGHT(&frame));
  for (guint plane = 0; plane < GST_VIDEO_FRAME_N_PLANES(&frame); ++plane) {
    const PlaneSize size = plane_size(frame, plane);
    const gint stride = GST_VIDEO_FRAME_PLANE_STRIDE(&frame, plane);
    if (stride < size.row_bytes) {
      return malformed(dvnn::format(
          "the frame's stride of %d bytes in plane %u is shorter than a row of %s, %lld bytes",
          stride, plane, what.c_str(), static_cast<long long>(size.row_bytes)));
    }
    const GstMapInfo& map = frame.map[plane].data ? frame.map[plane] : frame.map[0];
    const auto* data = static_cast<const guint8*>(GST_VIDEO_FRAME_PLANE_DATA(&frame, plane));
    const gsize needed = static_cast<gsize>(stride) * static_cast<gsize>(size.rows - 1) +
                         static_cast<gsize>(size.row_bytes);
    const bool inside = data >= map.data && data <= map.data + map.size;
    const gsize have = inside ? static_cast<gsize>(map.data + map.size - data) : 0;
    if (needed > have) {
      return malformed(dvnn::format(
          "the frame's memory ends within plane %u of %s: %zu bytes are needed, %zu are there",
          plane, what.c_str(), needed, have));
    }
  }
  return {};
}

Status check_frame_alignment(const GstVideoFrame& frame) {
  for (guint plane = 0; plane < GST_VIDEO_FRAME_N_PLANES(&frame); ++plane) {
    // Rows must begin at multiples of the largest power of two that divides the pixels' step.
    guint unit = 1;
    for (guint c = 0; c < GST_VIDEO_FRAME_N_COMPONENTS(&frame); ++c) {
      const auto step = static_cast<guint>(GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, c));
      if (GST_VIDEO_FRAME_COMP_PLANE(&frame, c) == plane) unit = std::max(unit, step & (0 - step));
    }
    const auto stride = static_cast<guint>(GST_VIDEO_FRAME_PLANE_STRIDE(&frame, plane));
    const auto start = reinterpret_cast<guintptr>(GST_VIDEO_FRAME_PLANE_DATA(&frame, plane));
    if (start % unit == 0 && stride % unit == 0) continue;
    return malformed(dvnn::format(
        "rows of plane %u of the frame, %s, do not begin at multiples of its pixels' %u bytes",
        plane, gst_video_format_to_string(GST_VIDEO_FRAME_FORMAT(&frame)), unit));
  }
  return {};
}

}  // namespace dvnn::gst
