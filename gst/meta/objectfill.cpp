// SPDX-License-Identifier: Apache-2.0
#include "meta/objectfill.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "refs.h"

namespace dvnn::gst {
namespace {

GstDvObjectKind public_kind(objects::Kind kind) {
  switch (kind) {
    case objects::Kind::kDetection:
      return GST_DV_OBJECT_DETECTION;
    case objects::Kind::kClassification:
      return GST_DV_OBJECT_CLASSIFICATION;
    case objects::Kind::kSegmentation:
      return GST_DV_OBJECT_SEGMENTATION;
    case objects::Kind::kAttributes:
      return GST_DV_OBJECT_ATTRIBUTES;
  }
  return GST_DV_OBJECT_DETECTION;
}

// The frame keeps its masks as long as it lives, so that they are copied: the decoder's memory is
// for the next frame. They may be as large as frames, and be refused.
void copy_mask(const objects::Mask& mask, GstDvObject* object) {
  if (mask.width <= 0 || mask.height <= 0 || mask.cells.empty()) return;
  const gsize size = mask.cells.size();
  gpointer cells = g_try_malloc(size);
  if (!cells) throw std::bad_alloc();
  std::memcpy(cells, mask.cells.data(), size);
  const BytesPtr bytes(g_bytes_new_take(cells, size));
  const image::Corners& place = mask.place;
  gst_dv_object_set_mask(object, place.x0, place.y0, place.x1, place.y1,
                         static_cast<guint>(mask.width), static_cast<guint>(mask.height),
                         bytes.get());
}

void copy_points(const objects::Object& found, GstDvObject* object) {
  for (const objects::Point& point : found.points) {
    gst_dv_object_add_point(object, point.x, point.y, point.confidence);
  }
  if (!found.skeleton.empty()) gst_dv_object_set_skeleton(object, found.skeleton.c_str());
}

void copy_values(const objects::Object& found, GstDvObject* object) {
  if (!found.text.empty()) gst_dv_object_set_text(object, found.text.c_str());
  if (!found.embedding.empty()) {
    gst_dv_object_set_embedding(object, found.embedding.data(), found.embedding.size());
  }
  for (const objects::Number& number : found.numbers) {
    gst_dv_object_add_number(object, number.name.c_str(), number.value);
  }
}

}  // namespace

GstDvObject* add_found_object(const objects::Object& found, GstDvObjectsMeta* meta) {
  GstDvObject* object = gst_dv_objects_meta_add_object(
      meta, public_kind(found.kind), found.class_id, found.label.c_str(), found.confidence);
  gst_dv_object_set_box(object, found.box.x0, found.box.y0, found.box.x1, found.box.y1);
  object->track_id = found.track_id;
  for (const objects::Point& corner : found.outline) {
    gst_dv_object_add_corner(object, corner.x, corner.y);
  }
  copy_points(found, object);
  copy_mask(found.mask, object);
  copy_values(found, object);
  return object;
}

bool add_found_attributes(const objects::Object& found, GstDvObject* object) {
  gsize length = 0;
  const bool has_all_room =
      (found.points.empty() || gst_dv_object_get_n_points(object) == 0) &&
      (found.text.empty() || !gst_dv_object_get_text(object)) &&
      (found.embedding.empty() || !gst_dv_object_get_embedding(object, &length)) &&
      std::none_of(found.numbers.begin(), found.numbers.end(), [&](const objects::Number& number) {
        gdouble value = 0;
        return gst_dv_object_find_number(object, number.name.c_str(), &value) != FALSE;
      });
  if (!has_all_room) return false;
  copy_points(found, object);
  copy_values(found, object);
  return true;
}

}  // namespace dvnn::gst
