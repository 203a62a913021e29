// SPDX-License-Identifier: Apache-2.0
#include "meta/roiexport.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

namespace dvnn::gst {
namespace {

// Boxes may come from anywhere; regions have 32 bits.
guint to_pixels(gdouble edge) {
  return static_cast<guint>(std::clamp(edge, 0.0, static_cast<gdouble>(G_MAXINT)));
}

// A region's type is a quark, and quarks stay for ever: whoever writes labels must not fill the
// memory by them. What is left out is in the region's structure.
constexpr size_t kMaxTypeLength = 256;
constexpr int kMaxTypes = 65536;  // as many as a network file has labels

GQuark roi_type(const gchar* label) {
  static const GQuark other = g_quark_from_static_string("object");
  static std::atomic<int> count{0};
  if (strnlen(label, kMaxTypeLength + 1) > kMaxTypeLength) return other;
  if (const GQuark known = g_quark_try_string(label)) return known;
  return count++ < kMaxTypes ? g_quark_from_string(label) : (count = kMaxTypes, other);
}

// Whether roi_type() may have given the label this type.
bool is_type_of(GQuark type, const gchar* label) {
  const gchar* text = g_quark_to_string(type);
  return text && (std::strcmp(text, label) == 0 || std::strcmp(text, "object") == 0);
}

}  // namespace

gint roi_id(guint64 object_id) {
  return static_cast<gint>(object_id & G_MAXINT);
}

void export_roi(const GstDvObject& object, GstBuffer* frame) {
  if (!gst_dv_object_has_box(&object)) return;
  const guint x = to_pixels(std::floor(object.x0)), y = to_pixels(std::floor(object.y0));
  GstVideoRegionOfInterestMeta* roi = gst_buffer_add_video_region_of_interest_meta_id(
      frame, roi_type(object.label), x, y, to_pixels(std::ceil(object.x1)) - x,
      to_pixels(std::ceil(object.y1)) - y);
  roi->id = roi_id(object.id);
  roi->parent_id = roi_id(object.parent);
  const bool detection = object.kind == GST_DV_OBJECT_DETECTION;
  gst_video_region_of_interest_meta_add_param(
      roi, gst_structure_new(
               detection ? "detection" : "classification", "label", G_TYPE_STRING, object.label,
               "confidence", G_TYPE_DOUBLE, static_cast<gdouble>(object.confidence), "class-id",
               G_TYPE_INT, object.class_id, "x0", G_TYPE_DOUBLE, object.x0, "y0", G_TYPE_DOUBLE,
               object.y0, "x1", G_TYPE_DOUBLE, object.x1, "y1", G_TYPE_DOUBLE, object.y1, nullptr));
}

bool is_roi_of(const GstVideoRegionOfInterestMeta& roi, const GstDvObject& object) {
  return roi.id == roi_id(object.id) && object.label && is_type_of(roi.roi_type, object.label);
}

}  // namespace dvnn::gst
