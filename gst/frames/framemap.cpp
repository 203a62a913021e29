// SPDX-License-Identifier: Apache-2.0
#include "frames/framemap.h"

#include <gst/allocators/gstdmabuf.h>
#include <linux/dma-buf.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>

#include "base/format.h"
#include "frames/caps.h"

namespace dvnn::gst {

VideoFrameMap::VideoFrameMap(const GstVideoInfo& info, GstBuffer* buffer, GstMapFlags flags)
    : buffer_(buffer), flags_(flags) {
  sync(DMA_BUF_SYNC_START);
  ok_ = map(info);
  if (!ok_) sync(DMA_BUF_SYNC_END);
  if (!ok_ || lines_per_row(frame_.info) == 1) return;
  frame_.info = picture_info(frame_.info);
  frame_.flags = static_cast<GstVideoFrameFlags>(frame_.flags & ~GST_VIDEO_FRAME_FLAG_BOTTOM_FIELD &
                                                 ~GST_VIDEO_FRAME_FLAG_INTERLACED &
                                                 ~GST_VIDEO_FRAME_FLAG_TOP_FIELD);
}

VideoFrameMap::~VideoFrameMap() {
  if (!ok_) return;
  gst_video_frame_unmap(&frame_);
  sync(DMA_BUF_SYNC_END);
}

bool VideoFrameMap::map(const GstVideoInfo& info) {
#if GST_CHECK_VERSION(1, 24, 0)
  // Caps with a DRM code may come with a meta whose format is just DMA_DRM.
  GstVideoMeta* meta = gst_buffer_get_video_meta(buffer_);
  if (meta && meta->format == GST_VIDEO_FORMAT_DMA_DRM) return map_planes(info, meta);
#endif
  return gst_video_frame_map(&frame_, const_cast<GstVideoInfo*>(&info), buffer_, flags_);
}

// Does the work of gst_video_frame_map(), which cannot tell the planes of DMA_DRM.
bool VideoFrameMap::map_planes(const GstVideoInfo& info, GstVideoMeta* meta) {
  if ((flags_ & GST_MAP_WRITE) != 0 && !gst_buffer_is_writable(buffer_)) return false;
  frame_.info = info;
  frame_.info.width = static_cast<gint>(meta->width);
  frame_.info.height = static_cast<gint>(meta->height);
  frame_.flags = meta->flags;
  frame_.id = meta->id;
  frame_.meta = meta;
  const guint planes = GST_VIDEO_INFO_N_PLANES(&info);
  for (guint i = 0; i < planes; ++i) {
    if (gst_video_meta_map(meta, i, &frame_.map[i], &frame_.data[i], &frame_.info.stride[i],
                           flags_)) {
      continue;
    }
    while (i-- > 0) gst_video_meta_unmap(meta, i, &frame_.map[i]);
    return false;
  }
  frame_.info.size = gst_buffer_get_size(buffer_);
  frame_.buffer = gst_buffer_ref(buffer_);
  return true;
}

void VideoFrameMap::sync(guint64 which) const {
  const guint64 access =
      (flags_ & GST_MAP_WRITE) != 0 ? guint64{DMA_BUF_SYNC_RW} : guint64{DMA_BUF_SYNC_READ};
  for (guint i = 0; i < gst_buffer_n_memory(buffer_); ++i) {
    GstMemory* memory = gst_buffer_peek_memory(buffer_, i);
    if (!gst_is_dmabuf_memory(memory)) continue;
    const dma_buf_sync request = {which | access};
    const int fd = gst_dmabuf_memory_get_fd(memory);
    int rc = 0;
    do {
      rc = ioctl(fd, DMA_BUF_IOCTL_SYNC, &request);
    } while (rc != 0 && (errno == EINTR || errno == EAGAIN));
    // ENOTTY: the memory is no DMA-BUF (a memfd, for example) and has no owner to notify.
    if (rc != 0 && errno != ENOTTY) {
      GST_WARNING("DMA-BUF %d cannot be synchronised: %s", fd, g_strerror(errno));
    }
  }
}

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
