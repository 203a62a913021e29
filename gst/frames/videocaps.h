// SPDX-License-Identifier: Apache-2.0
// Which frames are taken, and what their caps say.
#pragma once

#include <gst/video/video.h>

#include "image/view.h"

namespace dvnn::gst {

/// Raw formats that can be converted.
#define DVNN_VIDEO_FORMATS                                                                     \
  "{ NV12, NV21, NV16, I420, YV12, YUY2, UYVY, RGB, BGR, RGBx, BGRx, xRGB, xBGR, RGBA, BGRA, " \
  "ARGB, ABGR, GRAY8, P010_10LE, I420_10LE }"

/// From GStreamer 1.24 on, DMA-BUFs may be described as the kernel's graphics drivers do: by DRM's
/// code for the format, and where rows of pixels are not simply one after the other, by a modifier
/// after it. Codes alone are linear: a modifier is refused when caps are negotiated. In the order
/// of DVNN_VIDEO_FORMATS, of which I420_10LE has no code.
#if GST_CHECK_VERSION(1, 24, 0)
#define DVNN_DRM_FORMATS                                                                         \
  "{ NV12, NV21, NV16, YU12, YV12, YUYV, UYVY, BG24, RG24, XB24, XR24, BX24, RX24, AB24, AR24, " \
  "BA24, RA24, \"R8  \", P010 }"
#define DVNN_DRM_CAPS "; " GST_VIDEO_DMA_DRM_CAPS_MAKE ", drm-format = (string) " DVNN_DRM_FORMATS
#else
#define DVNN_DRM_CAPS ""
#endif

/// For pad templates: frames in system memory and in DMA-BUFs that can be mapped.
#define DVNN_VIDEO_CAPS                   \
  GST_VIDEO_CAPS_MAKE(DVNN_VIDEO_FORMATS) \
  "; " GST_VIDEO_CAPS_MAKE_WITH_FEATURES("memory:DMABuf", DVNN_VIDEO_FORMATS) DVNN_DRM_CAPS

/// What fixed caps of raw video say, however a DMA-BUF is described. False where the CPU cannot
/// read such frames.
bool video_info_from_caps(const GstCaps* caps, GstVideoInfo* info);

/// The width and height of fixed caps, also of memory and formats that GstVideoInfo does not know;
/// 0 where they have none.
image::Size frame_size(const GstCaps* caps);

/// Says in an ALLOCATION query that strides, offsets and crops that metas tell are honoured. For
/// where frames end in us: where they pass, that is for downstream to say.
void propose_frame_metas(GstQuery* query);

}  // namespace dvnn::gst
