// SPDX-License-Identifier: Apache-2.0
// Copies a frame, or a part of it, as the pixels of a picture.
#pragma once

#include <gst/video/video.h>

#include "gst/dvnn/gstdvobjectsmeta.h"
#include "image/view.h"
#include "publish/document.h"

namespace dvnn::gst {

/// Returns the part of the frame that an object covers, or the whole frame without an object,
/// scaled down so that no side is longer than `size` pixels. `info`: the frame's caps.
Result<publish::Picture> picture_of_frame(GstBuffer* frame, const GstVideoInfo& info,
                                          const GstDvObject* object, guint size);

/// Returns how well a frame of this size shows an object: it is sure, large, and not cut.
double view_score(const GstDvObject& object, const image::Size& frame);

}  // namespace dvnn::gst
