// SPDX-License-Identifier: Apache-2.0
// Lines of text in any language that the installed fonts have, by Pango.
#pragma once

#include <pango/pango.h>

#include <memory>
#include <string>

#include "draw/cairo_refs.h"
#include "draw/color.h"
#include "draw/picture.h"

namespace dvnn::draw {

/// The look of labels.
struct TextStyle {
  int height = 16;         // of a capital letter, in pixels
  double pixel_shape = 1;  // width over height of a pixel
  int room_x = 0;          // pixels of the frame that a label may take
  int room_y = 0;
};

/// For one thread at a time. Throws std::bad_alloc.
class Typesetter {
 public:
  Typesetter();
  ~Typesetter();
  Typesetter(const Typesetter&) = delete;
  Typesetter& operator=(const Typesetter&) = delete;
  void set_style(const TextStyle& style);
  /// One line on a ground of `color`; what the room has no place for becomes dots.
  std::shared_ptr<const Picture> label(const std::string& text, const Color& color);

 private:
  TextStyle style_;
  // The first label makes them: looking for fonts takes its time.
  GobjectPtr<PangoFontMap> fonts_;
  GobjectPtr<PangoContext> context_;
  GobjectPtr<PangoLayout> layout_;
};

}  // namespace dvnn::draw
