// SPDX-License-Identifier: Apache-2.0
// By gdk-pixbuf, for builds without OpenCV.
#include <gdk-pixbuf/gdk-pixbuf.h>

#include <algorithm>
#include <memory>

#include "tools/picture_codec.h"

namespace dvnn::tools {
namespace {

constexpr int kPngChannels = 4;

struct Unref {
  void operator()(gpointer object) const { g_object_unref(object); }
};
using Pixbuf = std::unique_ptr<GdkPixbuf, Unref>;

// Returns an error's text, and frees it.
std::string text_of(GError* error) {
  std::string text = error ? error->message : "it is broken";
  g_clear_error(&error);
  return text;
}

// A small file may announce a picture that no memory holds: a size of 0 ends its reading.
void check_size(GdkPixbufLoader* loader, int width, int height, gpointer) {
  constexpr int64_t kMostPixels = int64_t{1} << 28;
  if (int64_t{width} * height > kMostPixels) gdk_pixbuf_loader_set_size(loader, 0, 0);
}

// Marks rows that were read.
void mark_rows(GdkPixbufLoader*, int, int y, int, int height, gpointer rows) {
  auto* const there = static_cast<std::vector<bool>*>(rows);
  const auto begin = static_cast<size_t>(y), end = begin + static_cast<size_t>(height);
  if (there->size() < end) there->resize(end);
  std::fill_n(there->begin() + y, height, true);
}

// Whether a file ends before its picture does. The readers of these formats do not
// tell; that of JPEG fills it up, as OpenCV's does.
bool ends_early(const std::string& format, const std::vector<uint8_t>& bytes, int height,
                const std::vector<bool>& rows) {
  constexpr char kEnd[] = "IEND";
  if (format == "png") {
    return std::search(bytes.begin(), bytes.end(), kEnd, kEnd + sizeof kEnd - 1) == bytes.end();
  }
  const auto count = static_cast<size_t>(std::count(rows.begin(), rows.end(), true));
  return (format == "bmp" || format == "pnm") && count < static_cast<size_t>(height);
}

// Returns the picture as it is to be seen, or null.
Pixbuf read(const std::vector<uint8_t>& bytes, std::string* problem) {
  const std::unique_ptr<GdkPixbufLoader, Unref> loader(gdk_pixbuf_loader_new());
  g_signal_connect(loader.get(), "size-prepared", G_CALLBACK(check_size), nullptr);
  std::vector<bool> rows;
  g_signal_connect(loader.get(), "area-updated", G_CALLBACK(mark_rows), &rows);
  GError* error = nullptr;
  const bool written = gdk_pixbuf_loader_write(loader.get(), bytes.data(), bytes.size(), &error);
  const bool closed = gdk_pixbuf_loader_close(loader.get(), written ? &error : nullptr);
  // No picture at all is no problem with one.
  const bool unknown = g_error_matches(error, GDK_PIXBUF_ERROR, GDK_PIXBUF_ERROR_UNKNOWN_TYPE);
  if (!written || !closed) {
    const std::string text = text_of(error);
    if (!unknown) *problem = text;
    return nullptr;
  }
  GdkPixbuf* const picture = gdk_pixbuf_loader_get_pixbuf(loader.get());
  if (!picture) return nullptr;
  gchar* const format = gdk_pixbuf_format_get_name(gdk_pixbuf_loader_get_format(loader.get()));
  const bool early = ends_early(format, bytes, gdk_pixbuf_get_height(picture), rows);
  g_free(format);
  if (early) *problem = "it ends too early";
  return Pixbuf(early ? nullptr : gdk_pixbuf_apply_embedded_orientation(picture));
}

}  // namespace
}  // namespace dvnn::tools

DVNN_MODULE_EXPORT void dvnn_decode_picture(const std::vector<uint8_t>& bytes,
                                            dvnn::tools::Bitmap* picture, std::string* problem) {
  const auto read = dvnn::tools::read(bytes, problem);
  if (!read) return;
  const auto channels = static_cast<size_t>(gdk_pixbuf_get_n_channels(read.get()));
  const auto stride = static_cast<size_t>(gdk_pixbuf_get_rowstride(read.get()));
  *picture =
      dvnn::tools::Bitmap(gdk_pixbuf_get_width(read.get()), gdk_pixbuf_get_height(read.get()), 3);
  for (int y = 0; y < picture->height; ++y) {
    const uint8_t* from = gdk_pixbuf_read_pixels(read.get()) + static_cast<size_t>(y) * stride;
    uint8_t* to = picture->row(y);
    for (int x = 0; x < picture->width; ++x, from += channels, to += 3) {
      for (int c = 0; c < 3; ++c) to[c] = from[2 - c];
    }
  }
}

DVNN_MODULE_EXPORT bool dvnn_encode_png(const dvnn::tools::Bitmap& picture,
                                        std::vector<uint8_t>* bytes) {
  using dvnn::tools::kPngChannels;
  const bool alpha = picture.channels == kPngChannels;
  const dvnn::tools::Pixbuf pixels(
      gdk_pixbuf_new(GDK_COLORSPACE_RGB, alpha, 8, picture.width, picture.height));
  if (!pixels) return false;
  const auto stride = static_cast<size_t>(gdk_pixbuf_get_rowstride(pixels.get()));
  const bool gray = picture.channels == 1;
  for (int y = 0; y < picture.height; ++y) {
    const uint8_t* from = picture.row(y);
    uint8_t* to = gdk_pixbuf_get_pixels(pixels.get()) + static_cast<size_t>(y) * stride;
    for (int x = 0; x < picture.width; ++x, from += picture.channels) {
      for (int c = 0; c < 3; ++c) *to++ = from[gray ? 0 : 2 - c];
      if (alpha) *to++ = from[3];
    }
  }
  gchar* written = nullptr;
  gsize size = 0;
  if (!gdk_pixbuf_save_to_buffer(pixels.get(), &written, &size, "png", nullptr, nullptr)) {
    return false;
  }
  bytes->assign(written, written + size);
  g_free(written);
  return true;
}
