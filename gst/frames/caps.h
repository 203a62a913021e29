// SPDX-License-Identifier: Apache-2.0
// The frames and windows of sound that the elements accept, and what their caps say.
#pragma once

#include <gst/audio/audio.h>
#include <gst/gst.h>
#include <gst/video/video.h>

#include "base/result.h"
#include "image/pixel_formats.h"
#include "image/view.h"
#include "tensor/tensor.h"

namespace dvnn::gst {

#define DVNN_FIRST_NAME(enumerator, name, ...) #name
#define DVNN_NAME(enumerator, name, ...) ", " #name
/// The raw formats that can be converted, as a list in caps.
#define DVNN_VIDEO_FORMATS "{ " DVNN_PIXEL_FORMATS(DVNN_FIRST_NAME, DVNN_NAME, DVNN_NAME) " }"

/// From GStreamer 1.24 on, caps may describe a DMA-BUF as the kernel's graphics drivers do: by
/// DRM's code for the format and, where rows of pixels do not simply follow one another, a modifier
/// after it. A code alone means linear memory; a modifier is refused when caps are negotiated.
#if GST_CHECK_VERSION(1, 24, 0)
#define DVNN_CODE(enumerator, name, code, info) code
#define DVNN_ALIAS_CODE(enumerator, name, code) code
#define DVNN_DRM_FORMATS "{ " DVNN_PIXEL_FORMATS(DVNN_CODE, DVNN_CODE, DVNN_ALIAS_CODE) " }"
#define DVNN_DRM_CAPS "; " GST_VIDEO_DMA_DRM_CAPS_MAKE ", drm-format = (string) " DVNN_DRM_FORMATS
#else
#define DVNN_DRM_CAPS ""
#endif

/// Caps of buffers that are single fields (interlace-mode=alternate).
#define DVNN_FIELD_CAPS(features) \
  GST_VIDEO_CAPS_MAKE_WITH_FEATURES(features, DVNN_VIDEO_FORMATS) ", interlace-mode = alternate"

/// For pad templates: frames and fields in system memory and in DMA-BUFs that can be mapped.
#define DVNN_VIDEO_CAPS                   \
  GST_VIDEO_CAPS_MAKE(DVNN_VIDEO_FORMATS) \
  "; " GST_VIDEO_CAPS_MAKE_WITH_FEATURES("memory:DMABuf", DVNN_VIDEO_FORMATS) "; "              \
  DVNN_FIELD_CAPS(GST_CAPS_FEATURE_FORMAT_INTERLACED) "; "                                      \
  DVNN_FIELD_CAPS("memory:DMABuf, " GST_CAPS_FEATURE_FORMAT_INTERLACED) DVNN_DRM_CAPS

/// Reads fixed caps of raw video, however they describe a DMA-BUF. False if the CPU cannot read
/// such frames.
bool video_info_from_caps(const GstCaps* caps, GstVideoInfo* info);

/// Returns how many lines of the frame one row of a buffer stands for: 2 with
/// interlace-mode=alternate, where a buffer is a field, else 1. Objects, crops and sizes in caps
/// are in lines of the frame. The offset of one line between the two fields is ignored.
int lines_per_row(const GstVideoInfo& info);

/// Describes the pictures in buffers of these caps as progressive video: frames, or fields with
/// half the rows and pixels twice as high. The planes' places stay the same.
GstVideoInfo picture_info(const GstVideoInfo& info);

/// Returns our name of a format. The error lists the known formats.
Result<image::PixelFormat> pixel_format(GstVideoFormat format);

/// Returns the width and height in fixed caps, also in caps that GstVideoInfo cannot read; 0 if
/// they have none.
image::Size frame_size(const GstCaps* caps);

/// Returns the size of `frame`, whose caps have `size`. A frame that a meta crops still has all its
/// pixels, more than its caps say.
image::Size frame_size(GstBuffer* frame, const image::Size& size);

/// Answers an ALLOCATION query: we honour strides, offsets and crops of metas. For elements in
/// which frames end; elsewhere, downstream answers.
void propose_frame_metas(GstQuery* query);

// Caps of windows of sound: each buffer holds the samples that a network takes at once, as 32-bit
// floats. Windows may overlap, so a feature in the caps keeps them from elements that would take
// them for the sound itself.

#define DVNN_WINDOWS_FEATURE "meta:GstDvWindow"
#define DVNN_WINDOWS_CAPS                                                \
  "audio/x-raw(" DVNN_WINDOWS_FEATURE "), format=(string)" GST_AUDIO_NE( \
      F32) ", layout=(string)interleaved, channels=(int)1, rate=(int)[ 1, 2147483647 ]"

/// Whether caps describe windows of sound.
bool is_windows_caps(const GstCaps* caps);

/// Returns the number of samples that a network takes as its input. kMalformed if its input is no
/// line of numbers.
Result<size_t> samples_of_input(const TensorDesc& input);

}  // namespace dvnn::gst
