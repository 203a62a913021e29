// SPDX-License-Identifier: Apache-2.0
#include "frames/camerasteps.h"

#include "gst/dvnn/gstdvcamerameta.h"

namespace dvnn::gst {

std::optional<motion::Affine> CameraSteps::next(GstBuffer* frame) {
  const GstDvCameraMeta* meta = gst_buffer_get_dv_camera_meta(frame);
  if (!meta) return {};
  motion::Affine step{meta->xx, meta->xy, meta->x0, meta->yx, meta->yy, meta->y0};
  const motion::Affine since{meta->since_xx, meta->since_xy, meta->since_x0,
                             meta->since_yx, meta->since_yy, meta->since_y0};
  if (meta->epoch != 0 && since.is_plausible()) {
    step = meta->epoch == epoch_ ? since_.inverse().then(since) : since;
    epoch_ = meta->epoch;
    since_ = since;
  }
  if (!step.is_plausible()) return {};
  return step;
}

}  // namespace dvnn::gst
