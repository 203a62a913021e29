// SPDX-License-Identifier: Apache-2.0
// Turns items into a GstVideoOverlayComposition, which GStreamer blends onto any raw format, or
// which sinks draw themselves. Streaming thread only. Throws std::bad_alloc.
#pragma once

#include <gst/video/video.h>

#include <vector>

#include "draw/painter.h"
#include "refs.h"

namespace dvnn::gst {

class OverlayPainter {
 public:
  /// Sets the line width and the text height in pixels; 0 chooses them by the frame's height.
  void configure(const GstVideoInfo& info, guint line_width, guint text_height);
  CompositionPtr compose(const std::vector<draw::Item>& items,
                         const std::vector<draw::Figure>& figures,
                         const std::vector<draw::Shape>& shapes, const draw::HeatMap& heat);

 private:
  draw::Painter painter_;
};

}  // namespace dvnn::gst
