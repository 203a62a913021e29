// SPDX-License-Identifier: Apache-2.0
// How a shape of an application's drawing follows its frame.
#pragma once

#include "gst/dvnn/gstdvdrawingmeta.h"
#include "image/view.h"

namespace dvnn::gst {

/// Returns a shape in the changed frame (transfer full); null if it went too far away to be drawn.
/// It shares the text and the pixels with `shape`.
GstDvShape* moved_shape(const GstDvShape& shape, const image::Transform& change);

}  // namespace dvnn::gst
