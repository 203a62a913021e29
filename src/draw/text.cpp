// SPDX-License-Identifier: Apache-2.0
#include "draw/text.h"

#include <pango/pangocairo.h>

#include <algorithm>
#include <cmath>

#include "base/format.h"

namespace dvnn::draw {
namespace {

constexpr double kCapitals = 0.73;  // height of capital letters in em, for sans serif fonts
constexpr double kLeastBrightGround = 0.43;  // least brightness of a ground that gets dark letters
constexpr int kMostWidth = 1 << 14;          // pixels
constexpr size_t kMostBytes = 400;

struct FontRelease {
  void operator()(PangoFontDescription* p) const { pango_font_description_free(p); }
};

GobjectPtr<PangoContext> make_context(PangoFontMap* fonts) {
  GobjectPtr<PangoContext> context(pango_font_map_create_context(fonts));
  const std::unique_ptr<cairo_font_options_t, CairoRelease> options(cairo_font_options_create());
  // No optimisation for a screen's pixels, because frames are scaled and compressed; exact
  // positions.
  cairo_font_options_set_antialias(options.get(), CAIRO_ANTIALIAS_GRAY);
  cairo_font_options_set_hint_metrics(options.get(), CAIRO_HINT_METRICS_OFF);
  pango_cairo_context_set_font_options(context.get(), options.get());
  return context;
}

}  // namespace

uint32_t ink_on(const Color& color) {
  return color.luma() > kLeastBrightGround ? 0xff000000 : 0xffffffff;
}

Typesetter::Typesetter() = default;
Typesetter::~Typesetter() = default;

void Typesetter::set_style(const TextStyle& style) {
  style_ = style;
  layout_.reset();
}

// Prepares the layout for letters of a height.
void Typesetter::lay_out(int height) {
  // Pango never frees the font maps that it keeps per thread, so this one is its own.
  if (!fonts_) fonts_.reset(pango_cairo_font_map_new());
  if (!context_) context_ = make_context(fonts_.get());
  if (!layout_) {
    layout_.reset(pango_layout_new(context_.get()));
    pango_layout_set_single_paragraph_mode(layout_.get(), TRUE);
    pango_layout_set_ellipsize(layout_.get(), PANGO_ELLIPSIZE_END);
    pango_layout_set_height(layout_.get(), 0);  // one line
    laid_height_ = 0;
  }
  if (laid_height_ == height) return;
  const std::unique_ptr<PangoFontDescription, FontRelease> font(
      pango_font_description_from_string("Sans"));
  pango_font_description_set_absolute_size(font.get(), height / kCapitals * PANGO_SCALE);
  pango_layout_set_font_description(layout_.get(), font.get());
  laid_height_ = height;
}

std::shared_ptr<const Picture> Typesetter::line(const std::string& text, int height, uint32_t ink,
                                                uint32_t ground) {
  lay_out(height);
  const int margin = std::max(1, height / 5);
  const double room =
      std::clamp(style_.room_x * style_.pixel_shape, 2.0 * margin + 1, double{kMostWidth});
  pango_layout_set_width(layout_.get(), -1);
  const std::string shown = short_text(text, kMostBytes);
  pango_layout_set_text(layout_.get(), shown.c_str(), static_cast<int>(shown.size()));
  PangoRectangle size;
  pango_layout_get_pixel_extents(layout_.get(), nullptr, &size);
  if (size.width > room - 2 * margin) {
    pango_layout_set_width(layout_.get(), static_cast<int>((room - 2 * margin) * PANGO_SCALE));
    pango_layout_get_pixel_extents(layout_.get(), nullptr, &size);
  }
  const double wide = std::min(size.width + 2.0 * margin, room);
  const int width = std::clamp(static_cast<int>(std::lround(wide / style_.pixel_shape)), 1,
                               std::max(1, style_.room_x));
  const int rows = std::clamp(size.height + 2 * (margin / 2), 1, std::max(1, style_.room_y));
  auto picture = std::make_shared<Picture>(width, rows, true);
  const ContextPtr context = draw_into(picture->argb.data(), width, rows);
  set_color(context.get(), ground);
  cairo_paint(context.get());
  set_color(context.get(), ink);
  // Compensates for pixels that are not square.
  cairo_scale(context.get(), 1 / style_.pixel_shape, 1);
  cairo_move_to(context.get(), margin - size.x, margin / 2 - size.y);
  pango_cairo_show_layout(context.get(), layout_.get());
  finish(context.get());
  return picture;
}

}  // namespace dvnn::draw
