// SPDX-License-Identifier: Apache-2.0
// A change of a frame, as a meta's transform function gets it, in our terms.
#pragma once

#include <gst/gst.h>

#include <optional>

#include "image/view.h"

namespace dvnn::gst {

/// Where the pixels of a frame went in another frame, and the sizes of both in pixels.
struct FrameChange {
  image::Transform transform;
  image::Size from, to;
  image::Corners shown;  // part of the new frame that the old one's pixels fill
  // False if the new frame may have borders: before GStreamer 1.28 metas learn both sizes and
  // nothing else, so videoscale may have stretched the frame or added borders. `transform` then
  // assumes that it stretched, which is good enough for what need not be exact.
  bool exact = true;
};

/// Returns the change that a transform of `type` ("gst-video-scale", or "gst-video-matrix" of
/// GStreamer 1.28) and its `data` describe. Nothing for a copy, an unknown type, or a change that
/// image::Transform cannot express.
std::optional<FrameChange> frame_change(GQuark type, gpointer data);

/// Returns a mere change of size, as GStreamer before 1.28 describes it.
std::optional<FrameChange> size_change(const image::Size& from, double from_aspect,
                                       const image::Size& to, double to_aspect);

}  // namespace dvnn::gst
