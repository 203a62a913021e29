// SPDX-License-Identifier: Apache-2.0
#include "elements/dvoverlay/overlaypainter.h"

#include <algorithm>
#include <memory>

namespace dvnn::gst {
namespace {

constexpr double kMaxPixelAspect = 16;  // larger pixel aspects in caps are not believed

double believable_pixel_aspect(const GstVideoInfo& info) {
  const double n = GST_VIDEO_INFO_PAR_N(&info), d = GST_VIDEO_INFO_PAR_D(&info);
  return n > 0 && d > 0 ? std::clamp(n / d, 1 / kMaxPixelAspect, kMaxPixelAspect) : 1;
}

using PicturePtr = std::shared_ptr<const draw::Picture>;

// Wraps the picture's memory, whose byte order is that of compositions.
BufferPtr wrap(const PicturePtr& picture) {
  auto owner = std::make_unique<PicturePtr>(picture);
  const gsize size = picture->argb.size() * sizeof(uint32_t);
  BufferPtr buffer(gst_buffer_new_wrapped_full(
      GST_MEMORY_FLAG_READONLY, const_cast<uint32_t*>(picture->argb.data()), size, 0, size,
      owner.get(), [](gpointer p) { delete static_cast<PicturePtr*>(p); }));
  owner.release();  // the buffer deletes it
  gst_buffer_add_video_meta(
      buffer.get(), GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_OVERLAY_COMPOSITION_FORMAT_RGB,
      static_cast<guint>(picture->width), static_cast<guint>(picture->height));
  return buffer;
}

void add(const draw::Tile& tile, GstVideoOverlayComposition* composition) {
  const bool scaled = tile.width != tile.picture->width || tile.height != tile.picture->height;
  const auto format = tile.picture->premultiplied && !scaled
                          ? GST_VIDEO_OVERLAY_FORMAT_FLAG_PREMULTIPLIED_ALPHA
                          : GST_VIDEO_OVERLAY_FORMAT_FLAG_NONE;
  const BufferPtr pixels = wrap(tile.picture);
  const RectanglePtr rectangle(gst_video_overlay_rectangle_new_raw(
      pixels.get(), tile.x, tile.y, static_cast<guint>(tile.width), static_cast<guint>(tile.height),
      format));
  gst_video_overlay_composition_add_rectangle(composition, rectangle.get());
}

}  // namespace

void OverlayPainter::configure(const GstVideoInfo& info, guint line_width, guint text_height) {
  draw::Style style;
  style.frame_width = GST_VIDEO_INFO_WIDTH(&info);
  style.frame_height = GST_VIDEO_INFO_HEIGHT(&info);
  style.pixel_shape = believable_pixel_aspect(info);
  style.line = static_cast<int>(line_width);
  style.text_height = static_cast<int>(text_height);
  painter_.configure(style);
}

CompositionPtr OverlayPainter::compose(const std::vector<draw::Item>& items,
                                       const std::vector<draw::Figure>& figures,
                                       const std::vector<draw::Shape>& shapes,
                                       const draw::HeatMap& heat) {
  CompositionPtr composition(gst_video_overlay_composition_new(nullptr));
  for (const draw::Tile& tile : painter_.paint(items, figures, shapes, heat))
    add(tile, composition.get());
  return composition;
}

}  // namespace dvnn::gst
