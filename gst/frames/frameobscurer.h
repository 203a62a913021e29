// SPDX-License-Identifier: Apache-2.0
// Makes parts of a mapped frame unrecognisable, whatever its format.
#pragma once

#include <gst/video/video.h>

#include <vector>

#include "draw/item.h"

namespace dvnn::gst {

/// Blurs or pixelates the places of the items that ask for it. If these cover the frame many times
/// over, it obscures one rectangle around all of them instead, which takes less time and still
/// hides everything.
void obscure_items(const std::vector<draw::Item>& items, GstVideoFrame* frame);

}  // namespace dvnn::gst
