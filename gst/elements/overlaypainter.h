// SPDX-License-Identifier: Apache-2.0
// Boxes and labels as ARGB pictures that GstVideoOverlayComposition blends onto any raw format.
#pragma once

#include <gst/video/video.h>

#include <map>
#include <string>
#include <utility>

namespace dvnn::gst {

/// What to draw of one region.
struct Drawing {
  double x0 = 0, y0 = 0, x1 = 0, y1 = 0;  // frame pixels
  int class_id = 0;
  std::string text;  // empty: no label
  bool box = true;   // false: the text alone, at the top left corner
};

class OverlayPainter {
 public:
  OverlayPainter() = default;
  OverlayPainter(const OverlayPainter&) = delete;
  OverlayPainter& operator=(const OverlayPainter&) = delete;
  ~OverlayPainter();
  /// Line width in pixels and text height in pixels; 0 chooses by the frame's height.
  void configure(const GstVideoInfo& info, guint line_width, guint text_height);
  /// Adds the rectangles of one region to `composition`. `row` counts texts without a box.
  void draw(const Drawing& drawing, int row, GstVideoOverlayComposition* composition);

 private:
  struct Label {
    GstBuffer* pixels;
    int width, height;
  };
  GstBuffer* color(int class_id);
  const Label& label(const std::string& text, int class_id);
  void add(GstVideoOverlayComposition* composition, GstBuffer* pixels, int x, int y, int w, int h);
  void clear();

  int frame_width_ = 0, frame_height_ = 0;
  double par_ = 1;  // width over height of a pixel
  int line_ = 2, text_height_ = 16;
  std::map<int, GstBuffer*> colors_;  // one pixel each, scaled when blended
  std::map<std::pair<std::string, int>, Label> labels_;
};

}  // namespace dvnn::gst
