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
};

/// The change that a transform of `type` and its `data` describe; nothing if it is one that we do
/// not know, or a copy.
std::optional<FrameChange> frame_change(GQuark type, gpointer data);

}  // namespace dvnn::gst
