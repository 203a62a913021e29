// SPDX-License-Identifier: Apache-2.0
// What a meta's transform function is told about the new frame, in our terms.
#pragma once

#include <gst/gst.h>

#include <optional>

#include "image/view.h"

namespace dvnn::gst {

/// How a frame's pixels went to another frame, and both sizes in pixels.
struct FrameChange {
  image::Transform transform;
  image::Size from, to;
  image::Corners shown;  // where in the new frame the old one's pixels are
  // False where the new frame may have borders: before GStreamer 1.28 metas are told both sizes and
  // nothing else, and whether videoscale stretched or added borders cannot be known. `transform`
  // stretches then, and is good enough for what need not be exact.
  bool exact = true;
};

/// The change that a transform of `type` and its `data` describe: "gst-video-scale", and
/// "gst-video-matrix" of GStreamer 1.28. Nothing if it is one that we do not know, that no
/// image::Transform can express, or a copy.
std::optional<FrameChange> frame_change(GQuark type, gpointer data);

/// The same for a change of size alone, as GStreamer before 1.28 describes it.
std::optional<FrameChange> size_change(const image::Size& from, double from_aspect,
                                       const image::Size& to, double to_aspect);

}  // namespace dvnn::gst
