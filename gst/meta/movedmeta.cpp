// SPDX-License-Identifier: Apache-2.0
#include "meta/movedmeta.h"

#include <algorithm>
#include <new>

#include "meta/metatransform.h"

namespace dvnn::gst {
namespace {

struct MovedMeta {
  GstMeta meta;
  MovedAreas areas;  // in place, because C code makes and frees metas
};

MovedMeta* own_moved(GstMeta* meta) {
  return reinterpret_cast<MovedMeta*>(meta);
}

gboolean moved_init(GstMeta* meta, gpointer, GstBuffer*) {
  new (&own_moved(meta)->areas) MovedAreas();
  return TRUE;
}

void moved_free(GstMeta* meta, GstBuffer*) {
  own_moved(meta)->areas.~MovedAreas();
}

// Called by C. Without memory, the frame goes on without areas.
gboolean moved_transform(GstBuffer* to, GstMeta* meta, GstBuffer*, GQuark type, gpointer data) {
  const MovedAreas& areas = own_moved(meta)->areas;
  if (!areas) return FALSE;
  if (GST_META_TRANSFORM_IS_COPY(type)) {
    if (static_cast<GstMetaTransformCopy*>(data)->region) return FALSE;
    set_moved_areas(to, areas);
    return TRUE;
  }
  const auto change = frame_change(type, data);
  if (!change || !change->exact) return FALSE;
  try {
    auto moved = std::make_shared<std::vector<image::Corners>>(*areas);
    for (image::Corners& area : *moved) area = change->transform.apply(area);
    set_moved_areas(to, moved);
  } catch (const std::bad_alloc&) {
    return FALSE;
  }
  return TRUE;
}

constexpr char kMovedName[] = "GstDvMovedMeta";

const GstMetaInfo* moved_info() {
  static const GstMetaInfo* const info = gst_meta_get_info(kMovedName);
  return info;
}

}  // namespace

void register_moved_areas() {
  if (gst_meta_get_info(kMovedName)) return;
  gst_meta_register(gst_meta_api_type_register("GstDvMovedMetaAPI", frame_meta_tags()), kMovedName,
                    sizeof(MovedMeta), moved_init, moved_free, moved_transform);
}

void set_moved_areas(GstBuffer* frame, const MovedAreas& areas) {
  GstMeta* meta = gst_buffer_get_meta(frame, moved_info()->api);
  if (!meta) meta = gst_buffer_add_meta(frame, moved_info(), nullptr);
  own_moved(meta)->areas = areas;
}

MovedAreas moved_areas(GstBuffer* frame) {
  GstMeta* meta = gst_buffer_get_meta(frame, moved_info()->api);
  return meta ? own_moved(meta)->areas : nullptr;
}

bool is_at_rest(const MovedAreas& areas, const image::Corners& box) {
  return areas && std::none_of(areas->begin(), areas->end(),
                               [&](const image::Corners& area) { return image::meet(box, area); });
}

}  // namespace dvnn::gst
