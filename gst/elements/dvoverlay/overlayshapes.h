// SPDX-License-Identifier: Apache-2.0
// What an application wants to be drawn on a frame, from its GstDvDrawingMeta.
#pragma once

#include <gst/gst.h>

#include <vector>

#include "draw/shape.h"

namespace dvnn::gst {

/// Returns the shapes of a frame in the order in which they are drawn, up to a number of points
/// altogether. They keep the pixels of pictures alive.
std::vector<draw::Shape> read_shapes(GstBuffer* frame);

}  // namespace dvnn::gst
