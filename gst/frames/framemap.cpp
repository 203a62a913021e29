// SPDX-License-Identifier: Apache-2.0
#include "frames/framemap.h"

#include <gst/allocators/gstdmabuf.h>
#include <linux/dma-buf.h>
#include <sys/ioctl.h>

#include <cerrno>

#include "frames/videocaps.h"

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

}  // namespace dvnn::gst
