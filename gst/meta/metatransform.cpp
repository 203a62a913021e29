// SPDX-License-Identifier: Apache-2.0
#include "meta/metatransform.h"

#include <gst/video/video.h>

#include <algorithm>
#include <cmath>

namespace dvnn::gst {
namespace {

// The data of "gst-video-matrix" as GStreamer 1.28 defines it. It is declared here, because a
// plugin built with an older GStreamer may run with a newer one.
struct VideoMatrix {
  const GstVideoInfo* in_info;
  GstVideoRectangle in_rectangle;
  const GstVideoInfo* out_info;
  GstVideoRectangle out_rectangle;
  gfloat matrix[3][3];
};
#if GST_CHECK_VERSION(1, 28, 0)
static_assert(sizeof(VideoMatrix) == sizeof(GstVideoMetaTransformMatrix) &&
                  offsetof(VideoMatrix, out_info) ==
                      offsetof(GstVideoMetaTransformMatrix, out_info) &&
                  offsetof(VideoMatrix, matrix) == offsetof(GstVideoMetaTransformMatrix, matrix),
              "the mirror of GstVideoMetaTransformMatrix");
#endif

GQuark matrix_quark() {
  static const GQuark quark = g_quark_from_static_string("gst-video-matrix");
  return quark;
}

image::Size size_of(const GstVideoInfo& info) {
  return {static_cast<double>(GST_VIDEO_INFO_WIDTH(&info)),
          static_cast<double>(GST_VIDEO_INFO_HEIGHT(&info))};
}

// Width over height of a pixel; 0 if unknown.
double pixel_aspect(const GstVideoInfo& info) {
  const double n = GST_VIDEO_INFO_PAR_N(&info), d = GST_VIDEO_INFO_PAR_D(&info);
  return n > 0 && d > 0 ? n / d : 0;
}

// Restores the exact ratio of two sizes, which the matrix holds in single precision.
double exact_factor(gfloat factor, gint to, gint from) {
  const double ratio = static_cast<double>(to) / static_cast<double>(from);
  if (factor == static_cast<gfloat>(ratio)) return ratio;
  if (factor == static_cast<gfloat>(-ratio)) return -ratio;
  return static_cast<double>(factor);
}

bool is_usable(const image::Transform& t) {
  return std::isfinite(t.scale_x) && std::isfinite(t.scale_y) && std::isfinite(t.offset_x) &&
         std::isfinite(t.offset_y) && t.scale_x != 0 && t.scale_y != 0;
}

std::optional<FrameChange> matrix_change(const VideoMatrix& data) {
  const auto& m = data.matrix;
  const GstVideoRectangle &in = data.in_rectangle, &out = data.out_rectangle;
  const bool affine = m[2][0] == 0 && m[2][1] == 0 && m[2][2] == 1;
  const bool straight = m[0][1] == 0 && m[1][0] == 0, turned = m[0][0] == 0 && m[1][1] == 0;
  if (!affine || straight == turned || in.w <= 0 || in.h <= 0 || !data.in_info || !data.out_info) {
    return std::nullopt;
  }
  FrameChange change;
  change.from = size_of(*data.in_info);
  change.to = size_of(*data.out_info);
  image::Transform& t = change.transform;
  t.swap_xy = turned;
  t.scale_x = turned ? exact_factor(m[0][1], out.w, in.h) : exact_factor(m[0][0], out.w, in.w);
  t.scale_y = turned ? exact_factor(m[1][0], out.h, in.w) : exact_factor(m[1][1], out.h, in.h);
  // The matrix counts from the corners of the two rectangles.
  t.offset_x = double{m[0][2]} + out.x - t.scale_x * (turned ? in.y : in.x);
  t.offset_y = double{m[1][2]} + out.y - t.scale_y * (turned ? in.x : in.y);
  change.shown = {std::max(0.0, double(out.x)), std::max(0.0, double(out.y)),
                  std::min(change.to.width, double(out.x) + out.w),
                  std::min(change.to.height, double(out.y) + out.h)};
  const bool good = is_usable(t) && change.from.width > 0 && change.from.height > 0 &&
                    change.shown.x1 > change.shown.x0 && change.shown.y1 > change.shown.y0;
  return good ? std::optional<FrameChange>(change) : std::nullopt;
}

}  // namespace

std::optional<FrameChange> size_change(const image::Size& from, double from_aspect,
                                       const image::Size& to, double to_aspect) {
  if (!(from.width > 0 && from.height > 0 && to.width > 0 && to.height > 0)) return std::nullopt;
  FrameChange change;
  change.from = from;
  change.to = to;
  change.transform.scale_x = to.width / from.width;
  change.transform.scale_y = to.height / from.height;
  change.shown = {0, 0, to.width, to.height};
  // Elements add borders if the displayed frame's shape changes. A border of one pixel or less is
  // rounding, and moves boxes by less than that.
  const double shape = from_aspect > 0 && to_aspect > 0 ? from_aspect / to_aspect : 1;
  const double wanted =
      shape * from.width / from.height;  // aspect of the new frame if it has no borders
  const double columns = to.width - to.height * wanted, rows = to.height - to.width / wanted;
  change.exact = columns <= 1 && rows <= 1;
  return change;
}

std::optional<FrameChange> frame_change(GQuark type, gpointer data) {
  if (!data) return std::nullopt;
  if (type == matrix_quark()) return matrix_change(*static_cast<const VideoMatrix*>(data));
  if (!GST_VIDEO_META_TRANSFORM_IS_SCALE(type)) return std::nullopt;
  const auto* scale = static_cast<const GstVideoMetaTransform*>(data);
  if (!scale->in_info || !scale->out_info) return std::nullopt;
  return size_change(size_of(*scale->in_info), pixel_aspect(*scale->in_info),
                     size_of(*scale->out_info), pixel_aspect(*scale->out_info));
}

}  // namespace dvnn::gst
