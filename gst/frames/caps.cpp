// SPDX-License-Identifier: Apache-2.0
#include "frames/caps.h"

#include <algorithm>

#include "base/format.h"

namespace dvnn::gst {

bool video_info_from_caps(const GstCaps* caps, GstVideoInfo* info) {
#if GST_CHECK_VERSION(1, 24, 0)
  if (gst_video_is_dma_drm_caps(caps)) {
    constexpr guint64 kLinear = 0;  // DRM_FORMAT_MOD_LINEAR
    GstVideoInfoDmaDrm drm;
    return gst_video_info_dma_drm_from_caps(&drm, caps) && drm.drm_modifier == kLinear &&
           gst_video_info_dma_drm_to_video_info(&drm, info);
  }
#endif
  return gst_video_info_from_caps(info, caps);
}

int lines_per_row(const GstVideoInfo& info) {
  return GST_VIDEO_INFO_INTERLACE_MODE(&info) == GST_VIDEO_INTERLACE_MODE_ALTERNATE ? 2 : 1;
}

GstVideoInfo picture_info(const GstVideoInfo& info) {
  if (lines_per_row(info) == 1) return info;
  GstVideoInfo field = info;
  field.height = GST_VIDEO_INFO_FIELD_HEIGHT(&info);
  field.interlace_mode = GST_VIDEO_INTERLACE_MODE_PROGRESSIVE;
  // No overflow: caps may hold any number.
  if (info.par_d <= G_MAXINT / 2) {
    field.par_d = 2 * info.par_d;
  } else {
    field.par_n = std::max(1, info.par_n / 2);
  }
  return field;
}

image::Size frame_size(const GstCaps* caps) {
  gint width = 0, height = 0;
  const GstStructure* fields = gst_caps_get_structure(caps, 0);
  gst_structure_get_int(fields, "width", &width);
  gst_structure_get_int(fields, "height", &height);
  return {static_cast<double>(width), static_cast<double>(height)};
}

image::Size frame_size(GstBuffer* frame, const image::Size& size) {
  const GstVideoMeta* meta = gst_buffer_get_video_meta(frame);
  const guint most = G_MAXINT;  // of caps, too
  if (!meta || meta->width > most || meta->height > most) return size;
  return {static_cast<double>(meta->width), static_cast<double>(meta->height)};
}

void propose_frame_metas(GstQuery* query) {
  for (const GType api : {GST_VIDEO_META_API_TYPE, GST_VIDEO_CROP_META_API_TYPE}) {
    if (!gst_query_find_allocation_meta(query, api, nullptr)) {
      gst_query_add_allocation_meta(query, api, nullptr);
    }
  }
}

Result<image::PixelFormat> pixel_format(GstVideoFormat format) {
  switch (format) {
#define DVNN_CASE(enumerator, name, ...) \
  case GST_VIDEO_FORMAT_##name:          \
    return image::PixelFormat::enumerator;
    DVNN_PIXEL_FORMATS(DVNN_CASE, DVNN_CASE, DVNN_CASE)
#undef DVNN_CASE
    default:
      return unsupported(dvnn::format("video format %s; these would do: %s",
                                      gst_video_format_to_string(format), DVNN_VIDEO_FORMATS));
  }
}

bool is_windows_caps(const GstCaps* caps) {
  if (!caps || gst_caps_get_size(caps) == 0) return false;
  const GstCapsFeatures* features = gst_caps_get_features(caps, 0);
  return gst_structure_has_name(gst_caps_get_structure(caps, 0), "audio/x-raw") && features &&
         !gst_caps_features_is_any(features) &&
         gst_caps_features_contains(features, DVNN_WINDOWS_FEATURE);
}

Result<size_t> samples_of_input(const TensorDesc& input) {
  const Shape& shape = input.shape;
  int longest = 1;
  for (int i = 0; i < shape.rank; ++i) longest = std::max(longest, shape[i]);
  if (is_float(input.type) && longest == shape.elements()) return static_cast<size_t>(longest);
  return malformed(format("the network's input is %s, and samples of sound are one line of numbers",
                          shape.to_string().c_str()));
}

}  // namespace dvnn::gst
