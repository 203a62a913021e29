// SPDX-License-Identifier: Apache-2.0
// The change of a frame, as a meta's transform function is told about it, in our terms.
#pragma once

#include <gst/gst.h>

#include <optional>

#include "image/view.h"

namespace dvnn::gst {

/// The way in which a frame's pixels went to another frame, and both sizes in pixels.
struct FrameChange {
  image::Transform transform;
  image::Size from, to;
  image::Corners shown;  // where in the new frame the old one's pixels are
  // False if the new frame may have borders: before GStreamer 1.28 metas learn both sizes and
  // nothing else, so it is unknown whether videoscale stretched the frame or added borders.
  // `transform` then stretches, which is good enough for what need not be exact.
  bool exact = true;
};

/// The change that a transform of `type` and its `data` describe: "gst-video-scale", and
/// "gst-video-matrix" of GStreamer 1.28. Nothing if it is one that we do not know, that no
/// image::Transform can express, or a copy.
std::optional<FrameChange> frame_change(GQuark type, gpointer data);

/// The same for a mere change of size, as GStreamer before 1.28 describes it.
std::optional<FrameChange> size_change(const image::Size& from, double from_aspect,
                                       const image::Size& to, double to_aspect);

}  // namespace dvnn::gst
