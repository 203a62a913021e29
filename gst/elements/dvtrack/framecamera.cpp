// SPDX-License-Identifier: Apache-2.0
#include "elements/dvtrack/framecamera.h"

#include "frames/framecheck.h"
#include "frames/framemap.h"
#include "frames/videocaps.h"
#include "gst/dvnn/gstdvcamerameta.h"

namespace dvnn::gst {
namespace {

// Returns the component that carries most of the brightness: luma, or green.
guint bright_component(const GstVideoFormatInfo* format) {
  return GST_VIDEO_FORMAT_INFO_IS_RGB(format) ? 1 : 0;
}

}  // namespace

void FrameCamera::reset() {
  watch_.reset();
  told_.reset();
  epoch_ = 0;
  since_ = {};
}

// Attaches the motion to the frame. When nothing of the epoch's first frame is left in view, a new
// epoch begins.
void FrameCamera::tell(const motion::Affine& motion, GstBuffer* frame) {
  const motion::Affine since = since_.then(motion);
  const bool known = epoch_ != 0 && since.is_plausible();
  if (!known) epoch_ = gst_dv_camera_meta_new_epoch();
  since_ = known ? since : motion;
  GstDvCameraMeta* meta = gst_buffer_add_dv_camera_meta(frame, motion.xx, motion.xy, motion.x0,
                                                        motion.yx, motion.yy, motion.y0);
  gst_dv_camera_meta_set_since(meta, epoch_, since_.xx, since_.xy, since_.x0, since_.yx, since_.yy,
                               since_.y0);
}

// Prefers a meta that the frame already has to the motion seen in its pixels. Once the camera has
// moved, every frame carries the sum since the epoch began, so that lost frames do no harm.
std::optional<motion::Affine> FrameCamera::follow(GstBuffer* frame, GstClockTime time) {
  auto motion = told_.next(frame);
  if (!motion) motion = see(frame, time);
  if (motion || epoch_ != 0) tell(motion.value_or(motion::Affine()), frame);
  return motion;
}

void FrameCamera::set_caps(const GstCaps* caps) {
  reset();
  readable_ = video_info_from_caps(caps, &info_);
  if (!readable_) return;
  // Fields are offset by a line, so the camera would seem to shake.
  readable_ = lines_per_row(info_) == 1;
  const GstVideoFormatInfo* format = info_.finfo;
  const guint bright = bright_component(format);
  readable_ = readable_ && bright < GST_VIDEO_FORMAT_INFO_N_COMPONENTS(format) &&
              GST_VIDEO_FORMAT_INFO_DEPTH(format, bright) == 8 &&
              GST_VIDEO_FORMAT_INFO_SHIFT(format, bright) == 0 &&
              !GST_VIDEO_FORMAT_INFO_IS_COMPLEX(format) &&
              !GST_VIDEO_FORMAT_INFO_IS_TILED(format) && GST_VIDEO_FORMAT_INFO_BITS(format) == 8;
}

std::optional<motion::Affine> FrameCamera::see(GstBuffer* frame, GstClockTime time) {
  const auto at = static_cast<int64_t>(time);
  if (!readable_ || !watch_.wants(at)) return {};
  // Any element may attach a GstVideoMeta, so frames that contradict it are not looked at.
  if (!check_video_meta(info_, frame).ok()) return {};
  const VideoFrameMap map(info_, frame, GST_MAP_READ);
  if (!map.ok() || !check_frame_memory(map.frame()).ok()) return {};
  const GstVideoFrame& mapped = map.frame();
  const guint bright = bright_component(info_.finfo);
  const motion::Luma luma{
      static_cast<const uint8_t*>(GST_VIDEO_FRAME_COMP_DATA(&mapped, bright)),
      GST_VIDEO_FRAME_COMP_WIDTH(&mapped, bright), GST_VIDEO_FRAME_COMP_HEIGHT(&mapped, bright),
      GST_VIDEO_FRAME_COMP_STRIDE(&mapped, bright), GST_VIDEO_FRAME_COMP_PSTRIDE(&mapped, bright)};
  motion::Affine motion;
  if (!watch_.see(at, luma, &motion)) return {};
  return motion;
}

}  // namespace dvnn::gst
