// SPDX-License-Identifier: Apache-2.0
// Typesets lines of text in any language for which fonts are installed, by Pango.
#pragma once

#include <pango/pango.h>

#include <memory>
#include <string>

#include "draw/cairo_refs.h"
#include "draw/picture.h"

namespace dvnn::draw {

/// Style of labels.
struct TextStyle {
  double pixel_shape = 1;  // width of a pixel divided by its height
  int room_x = 0;          // most pixels that a label may take
  int room_y = 0;
};

/// Returns the ink, black or white, that is legible on a colour.
uint32_t ink_on(const Color& color);

/// Used by one thread at a time. Throws std::bad_alloc.
class Typesetter {
 public:
  Typesetter();
  ~Typesetter();
  Typesetter(const Typesetter&) = delete;
  Typesetter& operator=(const Typesetter&) = delete;
  void set_style(const TextStyle& style);
  /// Draws a line of text with capital letters `height` pixels high, in pixels `ink` on `ground`
  /// (0xAARRGGBB, not premultiplied). Text that exceeds the room ends in an ellipsis.
  std::shared_ptr<const Picture> line(const std::string& text, int height, uint32_t ink,
                                      uint32_t ground);

 private:
  void lay_out(int height);

  TextStyle style_;
  // Created by the first label, because searching for fonts takes time.
  GobjectPtr<PangoFontMap> fonts_;
  GobjectPtr<PangoContext> context_;
  GobjectPtr<PangoLayout> layout_;
  int laid_height_ = 0;  // that of the layout's letters
};

}  // namespace dvnn::draw
