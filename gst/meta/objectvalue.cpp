// SPDX-License-Identifier: Apache-2.0
#include "meta/objectvalue.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "refs.h"

namespace dvnn::gst {
namespace {

using objects::Kind;

GstDvObjectKind public_kind(Kind kind) {
  switch (kind) {
    case Kind::kDetection:
      return GST_DV_OBJECT_DETECTION;
    case Kind::kClassification:
      return GST_DV_OBJECT_CLASSIFICATION;
    case Kind::kSegmentation:
      return GST_DV_OBJECT_SEGMENTATION;
    case Kind::kAttributes:
      return GST_DV_OBJECT_ATTRIBUTES;
  }
  return GST_DV_OBJECT_DETECTION;
}

Kind kind_of(const GstDvObject& object) {
  switch (object.kind) {
    case GST_DV_OBJECT_DETECTION:
      return Kind::kDetection;
    case GST_DV_OBJECT_CLASSIFICATION:
      return Kind::kClassification;
    case GST_DV_OBJECT_SEGMENTATION:
      return Kind::kSegmentation;
    case GST_DV_OBJECT_ATTRIBUTES:
      return Kind::kAttributes;
  }
  return Kind::kDetection;  // any element may set the fields of a meta
}

// Copies the mask: the frame keeps it for its lifetime, and the decoder reuses its own memory. A
// mask may be as large as a frame, so its allocation may fail.
void write_mask(const objects::Mask& mask, GstDvObject* object) {
  if (!mask.there()) return;
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

void write_points(const std::vector<objects::Point>& points, const std::string& skeleton,
                  GstDvObject* object) {
  for (const objects::Point& point : points) {
    gst_dv_object_add_point(object, point.x, point.y, point.confidence);
  }
  if (!skeleton.empty()) gst_dv_object_set_skeleton(object, skeleton.c_str());
}

void write_texts(const std::string& text, const std::string& format, GstDvObject* object) {
  if (!text.empty()) gst_dv_object_set_text(object, text.c_str());
  if (!format.empty()) gst_dv_object_set_text_format(object, format.c_str());
}

void write_values(const std::vector<float>& embedding, const std::vector<objects::Number>& numbers,
                  GstDvObject* object) {
  if (!embedding.empty()) gst_dv_object_set_embedding(object, embedding.data(), embedding.size());
  for (const objects::Number& number : numbers) {
    gst_dv_object_add_number(object, number.name.c_str(), number.value);
  }
}

void read_agreement(const GstDvObject& object, objects::Agreement* agreement) {
  gboolean agreed = FALSE;
  agreement->looks = gst_dv_object_get_looks(&object);
  agreement->probability = gst_dv_object_get_agreement(&object, &agreed);
  agreement->reached = agreed;
}

void read_text(const gchar* text, std::string* value) {
  if (text) value->assign(text);
}

void read_points(const GstDvObject& object, std::vector<objects::Point>* points,
                 std::string* skeleton) {
  points->resize(gst_dv_object_get_n_points(&object));
  for (guint i = 0; i < points->size(); ++i) {
    objects::Point& point = (*points)[i];
    gst_dv_object_get_point(&object, i, &point.x, &point.y, &point.confidence);
  }
  if (!points->empty()) read_text(gst_dv_object_get_skeleton(&object), skeleton);
}

void read_outline(const GstDvObject& object, std::vector<objects::Point>* outline) {
  outline->resize(gst_dv_object_get_n_corners(&object));
  for (guint i = 0; i < outline->size(); ++i) {
    gst_dv_object_get_corner(&object, i, &(*outline)[i].x, &(*outline)[i].y);
  }
}

void read_mask(const GstDvObject& object, objects::Mask* mask) {
  guint width = 0, height = 0;
  image::Corners& place = mask->place;
  if (!gst_dv_object_get_mask(&object, &place.x0, &place.y0, &place.x1, &place.y1, &width,
                              &height)) {
    return;
  }
  mask->width = static_cast<int>(width);
  mask->height = static_cast<int>(height);
  std::shared_ptr<GBytes> owner(g_bytes_ref(gst_dv_object_get_mask_cells(&object)), g_bytes_unref);
  gsize size = 0;
  const auto* cells = static_cast<const uint8_t*>(g_bytes_get_data(owner.get(), &size));
  mask->cells.share(std::shared_ptr<const uint8_t>(std::move(owner), cells), size);
}

void read_embedding(const GstDvObject& object, std::vector<float>* embedding) {
  gsize length = 0;
  const gfloat* values = gst_dv_object_get_embedding(&object, &length);
  if (values) embedding->assign(values, values + length);
}

void read_numbers(const GstDvObject& object, std::vector<objects::Number>* numbers) {
  for (guint i = 0; i < gst_dv_object_get_n_numbers(&object); ++i) {
    gdouble value = 0;
    const gchar* name = gst_dv_object_get_number(&object, i, &value);
    if (name) numbers->push_back({name, value});
  }
}

void read_ground(const GstDvObject& object, std::optional<objects::Movement>* ground) {
  objects::Movement known;
  if (gst_dv_object_get_ground(&object, &known.x, &known.y, &known.deviation, &known.speed,
                               &known.speed_deviation, &known.heading)) {
    *ground = known;
  }
}

void read_identity(const GstDvObject& object, objects::Identity* identity) {
  gfloat likeness = 0;
  gboolean agreed = FALSE;
  read_text(gst_dv_object_get_name(&object), &identity->name);
  identity->stranger = gst_dv_object_get_stranger(&object);
  gst_dv_object_get_likeness(&object, &likeness, &agreed);
  identity->likeness = likeness;
  identity->agreed = agreed;
}

void read_network(const GstDvObject& object, const GstDvObjectsMeta* meta, std::string* network) {
  const bool known = object.network >= 0 &&
                     static_cast<guint>(object.network) < gst_dv_objects_meta_get_n_passes(meta);
  if (!known) return;
  read_text(gst_dv_objects_meta_get_pass(meta, static_cast<guint>(object.network))->network,
            network);
}

}  // namespace

void write_agreement(const objects::Agreement& agreement, GstDvObject* object) {
  if (agreement.looks == 0) return;
  const guint before = gst_dv_object_get_looks(object);
  gboolean agreed = FALSE;
  const gfloat probability = gst_dv_object_get_agreement(object, &agreed);
  if (before == 0) {
    gst_dv_object_set_agreement(object, agreement.looks, agreement.probability, agreement.reached);
  } else {
    gst_dv_object_set_agreement(object, std::min(before, agreement.looks),
                                std::min(probability, agreement.probability),
                                agreed && agreement.reached);
  }
}

GstDvObject* write_object(const objects::Object& found, GstDvObjectsMeta* meta) {
  // Names all members, so that the compiler asks for a new one.
  const auto& [id, parent, kind, class_id, label, confidence, raw_score, box, track_id, predicted,
               region, region_name, network, outline, points, skeleton, mask, text, text_format,
               text_confidences, embedding, numbers, ground, agreement, identity] = found;
  GstDvObject* object =
      gst_dv_objects_meta_add_object(meta, public_kind(kind), class_id, label.c_str(), confidence);
  gst_dv_object_set_box(object, box.x0, box.y0, box.x1, box.y1);
  object->track_id = track_id;
  object->predicted = predicted;
  for (const objects::Point& corner : outline) gst_dv_object_add_corner(object, corner.x, corner.y);
  write_points(points, skeleton, object);
  write_mask(mask, object);
  write_texts(text, text_format, object);
  write_values(embedding, numbers, object);
  if (ground) write_ground(*ground, object);
  write_agreement(agreement, object);
  write_identity(identity, object);
  return object;
}

bool write_attributes(const objects::Object& found, GstDvObject* object) {
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
  write_points(found.points, found.skeleton, object);
  write_texts(found.text, found.text_format, object);
  write_values(found.embedding, found.numbers, object);
  write_agreement(found.agreement, object);
  return true;
}

void read_object(const GstDvObject& object, const GstDvObjectsMeta* meta, unsigned details,
                 objects::Object* value) {
  value->reset();
  // Names all members, so that the compiler asks for a new one.
  auto& [id, parent, kind, class_id, label, confidence, raw_score, box, track_id, predicted, region,
         region_name, network, outline, points, skeleton, mask, text, text_format, text_confidences,
         embedding, numbers, ground, agreement, identity] = *value;
  id = object.id;
  parent = object.parent;
  kind = kind_of(object);
  class_id = object.class_id;
  read_text(object.label, &label);
  confidence = object.confidence;
  if (gst_dv_object_has_box(&object)) box = {object.x0, object.y0, object.x1, object.y1};
  track_id = object.track_id;
  predicted = object.predicted;
  if (object.region != 0) read_text(g_quark_to_string(object.region), &region_name);
  read_network(object, meta, &network);
  if (details & objects::kOutlines) read_outline(object, &outline);
  if (details & objects::kPoints) read_points(object, &points, &skeleton);
  if (details & objects::kMasks) read_mask(object, &mask);
  if (details & objects::kTexts) {
    read_text(gst_dv_object_get_text(&object), &text);
    read_text(gst_dv_object_get_text_format(&object), &text_format);
  }
  if (details & objects::kEmbeddings) read_embedding(object, &embedding);
  if (details & objects::kNumbers) read_numbers(object, &numbers);
  read_ground(object, &ground);
  read_agreement(object, &agreement);
  read_identity(object, &identity);
}

void write_identity(const objects::Identity& identity, GstDvObject* object) {
  if (!identity.is_known()) return;
  gst_dv_object_set_identity(object, identity.name.empty() ? nullptr : identity.name.c_str(),
                             identity.stranger, identity.likeness, identity.agreed);
}

void write_ground(const objects::Movement& ground, GstDvObject* object) {
  gst_dv_object_set_ground(object, ground.x, ground.y, ground.deviation, ground.speed,
                           ground.speed_deviation, ground.heading);
}

}  // namespace dvnn::gst
