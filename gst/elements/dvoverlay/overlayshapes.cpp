// SPDX-License-Identifier: Apache-2.0
#include "elements/dvoverlay/overlayshapes.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "gst/dvnn/gstdvdrawingmeta.h"
#include "refs.h"

namespace dvnn::gst {
namespace {

constexpr size_t kMostShapePoints = 20000;

draw::Shape::Kind kind_of(const GstDvShape& shape) {
  switch (shape.kind) {
    case GST_DV_SHAPE_LINE:
      return draw::Shape::Kind::kLine;
    case GST_DV_SHAPE_POLYGON:
      return draw::Shape::Kind::kPolygon;
    case GST_DV_SHAPE_TEXT:
      return draw::Shape::Kind::kText;
    case GST_DV_SHAPE_PICTURE:
      break;
  }
  return draw::Shape::Kind::kPicture;
}

draw::Shape read_shape(GstDvShape* from) {
  draw::Shape shape;
  shape.kind = kind_of(*from);
  gsize length = 0;
  const gdouble* places = gst_dv_shape_get_places(from, &length);
  for (gsize i = 0; i + 1 < length; i += 2) {
    objects::Point point;
    point.x = places[i];
    point.y = places[i + 1];
    shape.points.push_back(point);
  }
  shape.color = from->color;
  shape.fill = from->fill;
  shape.size = from->size;
  if (const gchar* text = gst_dv_shape_get_text(from)) shape.text = text;
  if (GBytes* pixels = gst_dv_shape_get_pixels(from)) {
    shape.owner = std::shared_ptr<GBytes>(BytesPtr(g_bytes_ref(pixels)));
    shape.pixels = static_cast<const uint32_t*>(g_bytes_get_data(pixels, nullptr));
    shape.width = static_cast<int>(from->width);
    shape.height = static_cast<int>(from->height);
  }
  return shape;
}

}  // namespace

std::vector<draw::Shape> read_shapes(GstBuffer* frame) {
  const GstDvDrawingMeta* meta = gst_buffer_get_dv_drawing_meta(frame);
  std::vector<std::pair<gint, GstDvShape*>> ordered;
  for (guint i = 0; meta && i < gst_dv_drawing_meta_get_n_shapes(meta); ++i) {
    gint z = 0;
    GstDvShape* shape = gst_dv_drawing_meta_get_shape(meta, i, &z);
    ordered.emplace_back(z, shape);
  }
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<draw::Shape> shapes;
  size_t points = 0;
  for (const auto& [z, from] : ordered) {
    draw::Shape shape = read_shape(from);
    shape.below = z < 0;
    points += shape.points.size();
    if (points > kMostShapePoints) break;
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

}  // namespace dvnn::gst
