// SPDX-License-Identifier: Apache-2.0
// Owners of cairo's and Pango's handles, and their failures as exceptions.
#pragma once

#include <cairo.h>
#include <glib-object.h>

#include <cstdint>
#include <memory>
#include <new>

namespace dvnn::draw {

struct CairoRelease {
  void operator()(cairo_t* p) const { cairo_destroy(p); }
  void operator()(cairo_surface_t* p) const { cairo_surface_destroy(p); }
  void operator()(cairo_font_options_t* p) const { cairo_font_options_destroy(p); }
};
using ContextPtr = std::unique_ptr<cairo_t, CairoRelease>;
using SurfacePtr = std::unique_ptr<cairo_surface_t, CairoRelease>;

struct GobjectRelease {
  void operator()(gpointer p) const { g_object_unref(p); }
};
template <typename T>
using GobjectPtr = std::unique_ptr<T, GobjectRelease>;

/// Returns a context that draws into `pixels`, which must outlive it. Throws std::bad_alloc.
inline ContextPtr draw_into(uint32_t* pixels, int width, int height) {
  const SurfacePtr surface(cairo_image_surface_create_for_data(
      reinterpret_cast<unsigned char*>(pixels), CAIRO_FORMAT_ARGB32, width, height, width * 4));
  ContextPtr context(cairo_create(surface.get()));
  if (cairo_status(context.get()) != CAIRO_STATUS_SUCCESS) throw std::bad_alloc();
  return context;
}

/// Draws in a colour 0xAARRGGBB, not premultiplied, from now on.
inline void set_color(cairo_t* context, uint32_t argb) {
  const auto part = [argb](int shift) { return (argb >> shift & 255) / 255.0; };
  cairo_set_source_rgba(context, part(16), part(8), part(0), part(24));
}

/// Completes drawing into the pixels. Throws std::bad_alloc if something could not be drawn.
inline void finish(cairo_t* context) {
  if (cairo_status(context) != CAIRO_STATUS_SUCCESS) throw std::bad_alloc();
  cairo_surface_flush(cairo_get_target(context));
}

}  // namespace dvnn::draw
