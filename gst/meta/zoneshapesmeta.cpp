// SPDX-License-Identifier: Apache-2.0
#include "meta/zoneshapesmeta.h"

#include <algorithm>
#include <new>

#include "meta/metas.h"
#include "meta/metatransform.h"

namespace dvnn::gst {
namespace {

struct ZoneShapesMeta {
  GstMeta meta;
  ZoneShapes shapes;  // in place, because C code makes and frees metas
};

ZoneShapesMeta* own(GstMeta* meta) {
  return reinterpret_cast<ZoneShapesMeta*>(meta);
}

gboolean zone_shapes_init(GstMeta* meta, gpointer, GstBuffer*) {
  new (&own(meta)->shapes) ZoneShapes();
  return TRUE;
}

void zone_shapes_free(GstMeta* meta, GstBuffer*) {
  own(meta)->shapes.~ZoneShapes();
}

// Returns the grid of a frame that was scaled, cropped, turned or mirrored.
std::shared_ptr<const HeatGrid> moved(const HeatGrid& from, const image::Transform& transform) {
  auto to = std::make_shared<HeatGrid>(from);
  to->place = transform.apply(from.place);
  if (transform.swap_xy) std::swap(to->columns, to->rows);
  for (size_t i = 0; i < from.labels.size(); ++i) {
    for (int row = 0; row < to->rows; ++row) {
      for (int column = 0; column < to->columns; ++column) {
        double x = to->place.x0 + (column + 0.5) / to->columns * (to->place.x1 - to->place.x0);
        double y = to->place.y0 + (row + 0.5) / to->rows * (to->place.y1 - to->place.y0);
        transform.invert(&x, &y);
        const auto index = [](double at, double begin, double end, int cells) {
          return std::clamp(static_cast<int>((at - begin) / (end - begin) * cells), 0, cells - 1);
        };
        const int old_row = index(y, from.place.y0, from.place.y1, from.rows);
        const int old_column = index(x, from.place.x0, from.place.x1, from.columns);
        to->labels[i].seconds[static_cast<size_t>(row * to->columns + column)] =
            from.labels[i].seconds[static_cast<size_t>(old_row * from.columns + old_column)];
      }
    }
  }
  return to;
}

ZoneShapes moved(const ZoneScene& scene, const image::Transform& transform) {
  auto changed = std::make_shared<ZoneScene>(scene);
  if (scene.heat) changed->heat = moved(*scene.heat, transform);
  for (ZoneShape& shape : changed->shapes) {
    for (auto& [x, y] : shape.points) transform.apply(&x, &y);
    // A mirror swaps the two sides of a line; walking it the other way swaps them back.
    const bool mirrors = (transform.scale_x * transform.scale_y < 0) != transform.swap_xy;
    if (mirrors) std::reverse(shape.points.begin(), shape.points.end());
  }
  return changed;
}

// Called by C. Without memory, the frame goes on without shapes.
gboolean zone_shapes_transform(GstBuffer* to, GstMeta* meta, GstBuffer*, GQuark type,
                               gpointer data) {
  const ZoneShapes& shapes = own(meta)->shapes;
  if (!shapes) return FALSE;
  if (GST_META_TRANSFORM_IS_COPY(type)) {
    if (static_cast<GstMetaTransformCopy*>(data)->region) return FALSE;
    add_zone_shapes(to, shapes);
    return TRUE;
  }
  const auto change = frame_change(type, data);
  if (!change || !change->exact) return FALSE;
  try {
    add_zone_shapes(to, moved(*shapes, change->transform));
  } catch (const std::bad_alloc&) {
    return FALSE;
  }
  return TRUE;
}

constexpr char kName[] = "GstDvZoneShapesMeta";

const GstMetaInfo* zone_shapes_info() {
  static const GstMetaInfo* const info = gst_meta_get_info(kName);
  return info;
}

}  // namespace

void register_zone_shapes() {
  if (gst_meta_get_info(kName)) return;
  gst_meta_register(gst_meta_api_type_register("GstDvZoneShapesMetaAPI", frame_meta_tags()), kName,
                    sizeof(ZoneShapesMeta), zone_shapes_init, zone_shapes_free,
                    zone_shapes_transform);
}

static Metas<const ZoneShapesMeta> zone_shapes_metas(GstBuffer* frame) {
  return {frame, zone_shapes_info()->api};
}

void add_zone_shapes(GstBuffer* frame, const ZoneShapes& shapes) {
  // Shapes that the frame already has are not attached again.
  for (const ZoneShapesMeta* meta : zone_shapes_metas(frame)) {
    if (meta->shapes == shapes) return;
  }
  own(gst_buffer_add_meta(frame, zone_shapes_info(), nullptr))->shapes = shapes;
}

std::vector<ZoneShapes> get_zone_shapes(GstBuffer* frame) {
  std::vector<ZoneShapes> all;
  for (const ZoneShapesMeta* meta : zone_shapes_metas(frame)) {
    if (meta->shapes) all.push_back(meta->shapes);
  }
  return all;
}

}  // namespace dvnn::gst
