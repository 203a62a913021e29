// SPDX-License-Identifier: Apache-2.0
// Boxes and labels as ARGB pictures that GstVideoOverlayComposition blends onto any raw format.
// Streaming thread only. OpenCV's exceptions leave these functions.
#pragma once

#include <gst/video/video.h>

#include <map>
#include <string>
#include <utility>

#include "image/view.h"
#include "refs.h"

namespace dvnn::gst {

/// How one object is drawn.
struct Drawing {
  image::Corners place;  // frame pixels; of any size, and clipped to the frame
  int class_id = 0;      // chooses the colour
  std::string text;      // empty: no label
  bool box = true;       // false: only the label, at the top left corner
};

/// Draws within bounds, whatever frames and metas say: nothing lies outside the frame, and caches
/// have a limit.
class OverlayPainter {
 public:
  /// Sets the line width and the text height in pixels; 0 chooses them by the frame's height.
  void configure(const GstVideoInfo& info, guint line_width, guint text_height);
  /// Adds the rectangles of one object to `composition`. `row` counts labels without a box.
  void draw(const Drawing& drawing, int row, GstVideoOverlayComposition* composition);

 private:
  struct Label {
    BufferPtr pixels;
    int width = 0, height = 0;
  };
  GstBuffer* color(int class_id);
  const Label& label(const std::string& text, int class_id);
  void draw_box(const image::Corners& place, int class_id, GstVideoOverlayComposition* composition);

  int frame_width_ = 0, frame_height_ = 0;
  double par_ = 1;  // width over height of a pixel
  int line_ = 2, text_height_ = 16;
  std::map<int, BufferPtr> colors_;  // two pixels each, scaled when blended
  std::map<std::pair<std::string, int>, Label> labels_;
  gsize label_bytes_ = 0;
};

}  // namespace dvnn::gst
