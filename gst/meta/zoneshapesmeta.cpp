// SPDX-License-Identifier: Apache-2.0
#include "meta/zoneshapesmeta.h"

#include <algorithm>
#include <new>

#include "meta/metatags.h"
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

ZoneShapes moved(const std::vector<ZoneShape>& shapes, const image::Transform& transform) {
  auto changed = std::make_shared<std::vector<ZoneShape>>(shapes);
  for (ZoneShape& shape : *changed) {
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

void add_zone_shapes(GstBuffer* frame, const ZoneShapes& shapes) {
  // Shapes that the frame already has are not attached again.
  gpointer state = nullptr;
  while (GstMeta* meta = gst_buffer_iterate_meta_filtered(frame, &state, zone_shapes_info()->api)) {
    if (own(meta)->shapes == shapes) return;
  }
  own(gst_buffer_add_meta(frame, zone_shapes_info(), nullptr))->shapes = shapes;
}

std::vector<ZoneShapes> get_zone_shapes(GstBuffer* frame) {
  std::vector<ZoneShapes> all;
  gpointer state = nullptr;
  while (GstMeta* meta = gst_buffer_iterate_meta_filtered(frame, &state, zone_shapes_info()->api)) {
    if (own(meta)->shapes) all.push_back(own(meta)->shapes);
  }
  return all;
}

}  // namespace dvnn::gst
