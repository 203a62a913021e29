// SPDX-License-Identifier: Apache-2.0
#include "meta/exchange/roiexport.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include "meta/metas.h"

namespace dvnn::gst {
namespace {

// Boxes may have any coordinates; regions of interest have 32 bits.
guint to_pixels(gdouble edge) {
  return static_cast<guint>(std::clamp(edge, 0.0, static_cast<gdouble>(G_MAXINT)));
}

const char* fields_name(GstDvObjectKind kind) {
  if (kind == GST_DV_OBJECT_CLASSIFICATION) return "classification";
  return kind == GST_DV_OBJECT_ATTRIBUTES ? "attributes" : "detection";
}

}  // namespace

gint roi_id(guint64 object_id) {
  return static_cast<gint>(object_id & G_MAXINT);
}

void export_roi(const GstDvObject& object, GstBuffer* frame) {
  // Maps of classes are not exported.
  if (!gst_dv_object_has_box(&object) || object.kind == GST_DV_OBJECT_SEGMENTATION) return;
  const guint x = to_pixels(std::floor(object.x0)), y = to_pixels(std::floor(object.y0));
  GstVideoRegionOfInterestMeta* roi = gst_buffer_add_video_region_of_interest_meta_id(
      frame, label_quark(object.label), x, y, to_pixels(std::ceil(object.x1)) - x,
      to_pixels(std::ceil(object.y1)) - y);
  roi->id = roi_id(object.id);
  roi->parent_id = roi_id(object.parent);
  GstStructure* fields = gst_structure_new(
      fields_name(object.kind), "label", G_TYPE_STRING, object.label, "confidence", G_TYPE_DOUBLE,
      static_cast<gdouble>(object.confidence), "class-id", G_TYPE_INT, object.class_id, "x0",
      G_TYPE_DOUBLE, object.x0, "y0", G_TYPE_DOUBLE, object.y0, "x1", G_TYPE_DOUBLE, object.x1,
      "y1", G_TYPE_DOUBLE, object.y1, nullptr);
  const gchar* text = gst_dv_object_get_text(&object);
  if (text) gst_structure_set(fields, "text", G_TYPE_STRING, text, nullptr);
  gst_video_region_of_interest_meta_add_param(roi, fields);
  if (object.track_id != 0) export_track(object, roi);
}

void export_track(const GstDvObject& object, GstVideoRegionOfInterestMeta* roi) {
  GstStructure* fields = gst_video_region_of_interest_meta_get_param(roi, fields_name(object.kind));
  if (fields) gst_structure_set(fields, "track-id", G_TYPE_UINT64, object.track_id, nullptr);
  const gint id = roi_id(object.track_id);
  GstStructure* known = gst_video_region_of_interest_meta_get_param(roi, "object_id");
  if (known) {
    gst_structure_set(known, "id", G_TYPE_INT, id, nullptr);
  } else {
    gst_video_region_of_interest_meta_add_param(
        roi, gst_structure_new("object_id", "id", G_TYPE_INT, id, nullptr));
  }
}

void export_text(const GstDvObject& object, GstBuffer* frame) {
  const gchar* text = gst_dv_object_get_text(&object);
  if (!text) return;
  for (GstVideoRegionOfInterestMeta* roi : region_metas(frame)) {
    if (!is_roi_of(*roi, object)) continue;
    GstStructure* fields =
        gst_video_region_of_interest_meta_get_param(roi, fields_name(object.kind));
    if (fields) gst_structure_set(fields, "text", G_TYPE_STRING, text, nullptr);
  }
}

void remove_roi(const GstDvObject& object, GstBuffer* frame) {
  for (GstVideoRegionOfInterestMeta* roi : region_metas(frame)) {
    if (!is_roi_of(*roi, object)) continue;
    gst_buffer_remove_meta(frame, &roi->meta);
    return;
  }
}

bool is_roi_of(const GstVideoRegionOfInterestMeta& roi, const GstDvObject& object) {
  return roi.id == roi_id(object.id) && is_quark_of(roi.roi_type, object.label);
}

namespace {

constexpr size_t kMaxLabelLength = 256;
constexpr int kMaxLabels = 65536;  // the number of labels that a network file may have

}  // namespace

GQuark label_quark(const gchar* label) {
  static const GQuark other = g_quark_from_static_string("object");
  static std::atomic<int> count{0};
  if (!label || strnlen(label, kMaxLabelLength + 1) > kMaxLabelLength) return other;
  if (const GQuark known = g_quark_try_string(label)) return known;
  return count++ < kMaxLabels ? g_quark_from_string(label) : (count = kMaxLabels, other);
}

bool is_quark_of(GQuark quark, const gchar* label) {
  const gchar* text = g_quark_to_string(quark);
  return text && label && (std::strcmp(text, label) == 0 || std::strcmp(text, "object") == 0);
}

}  // namespace dvnn::gst
