// SPDX-License-Identifier: Apache-2.0
#include "elements/dvtrack/framecamera.h"

#include "gst/dvnn/gstdvcamerameta.h"

namespace dvnn::gst {
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
  luma_.set_bytes(caps);
}

std::optional<motion::Affine> FrameCamera::see(GstBuffer* frame, GstClockTime time) {
  const auto at = static_cast<int64_t>(time);
  if (!luma_.is_direct() || !watch_.wants(at)) return {};
  motion::Affine motion;
  bool known = false;
  const Status seen =
      luma_.look(frame, [&](const motion::Luma& luma) { known = watch_.see(at, luma, &motion); });
  if (!seen.ok() || !known) return {};
  return motion;
}

}  // namespace dvnn::gst
