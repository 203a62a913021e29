// SPDX-License-Identifier: Apache-2.0
#include "meta/exchange/analyticsimport.h"

#include <gst/analytics/analytics.h>

#include <unordered_map>

#include "meta/exchange/analyticsexport.h"

namespace dvnn::gst {
namespace {

using Relations = GstAnalyticsRelationMeta;

// Exported objects, by their entry's id.
using Exports = std::unordered_map<guint, const GstDvObject*>;

Exports exports_on(GstBuffer* frame) {
  Exports exports;
  const GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
  const guint count = meta ? gst_dv_objects_meta_get_n_objects(meta) : 0;
  for (guint i = 0; i < count; ++i) {
    const GstDvObject* object = gst_dv_objects_meta_get_object(meta, i);
    if (object->analytics_id > 0) exports.emplace(object->analytics_id - 1, object);
  }
  return exports;
}

bool is_export(GstAnalyticsMtd entry, const Exports& exports) {
  const auto object = exports.find(entry.id);
  return object != exports.end() && is_entry_of(entry, *object->second);
}

// Finds the first entry of `type` that `entry` has this relation to.
bool find_related(Relations* meta, guint entry, GstAnalyticsRelTypes relation,
                  GstAnalyticsMtdType type, GstAnalyticsMtd* related) {
  gpointer state = nullptr;
  return gst_analytics_relation_meta_get_direct_related(meta, entry, relation, type, &state,
                                                        related);
}

// Reads the likeliest class. Entries of other elements may have no class.
void read_class(GstAnalyticsClsMtd entry, AnalyticsObject* object) {
  const gsize count = gst_analytics_cls_mtd_get_length(&entry);
  bool any = false;
  for (gsize i = 0; i < count; ++i) {
    const gfloat level = gst_analytics_cls_mtd_get_level(&entry, i);
    if (any && !(level > object->confidence)) continue;
    object->confidence = level;
    object->label = gst_analytics_cls_mtd_get_quark(&entry, i);
    any = true;
  }
}

bool read_detection(GstAnalyticsODMtd entry, AnalyticsObject* object) {
  gint x = 0, y = 0, w = 0, h = 0;
  if (!gst_analytics_od_mtd_get_location(&entry, &x, &y, &w, &h, &object->confidence)) return false;
  object->box = {static_cast<double>(x), static_cast<double>(y), static_cast<double>(x) + w,
                 static_cast<double>(y) + h};
  object->label = gst_analytics_od_mtd_get_obj_type(&entry);
  GstAnalyticsMtd related;
  if (object->label == 0 && find_related(entry.meta, entry.id, GST_ANALYTICS_REL_TYPE_RELATE_TO,
                                         gst_analytics_cls_mtd_get_mtd_type(), &related)) {
    read_class(related, object);
  }
  if (find_related(entry.meta, entry.id, GST_ANALYTICS_REL_TYPE_IS_PART_OF,
                   gst_analytics_od_mtd_get_mtd_type(), &related)) {
    object->is_part = true;
    object->whole = related.id;
  }
  return true;
}

guint64 read_track(Relations* meta, guint entry) {
  GstAnalyticsMtd track;
  guint64 id = 0;
  GstClockTime first, last;
  gboolean lost = FALSE;
  const bool tracked = find_related(meta, entry, GST_ANALYTICS_REL_TYPE_RELATE_TO,
                                    gst_analytics_tracking_mtd_get_mtd_type(), &track) &&
                       gst_analytics_tracking_mtd_get_info(&track, &id, &first, &last, &lost);
  return tracked ? id : 0;
}

// Returns whether the class belongs to a detection; the relation may start from either end.
bool is_of_a_detection(Relations* meta, guint entry) {
  GstAnalyticsMtd other;
  gpointer state = nullptr;
  while (gst_analytics_relation_meta_iterate(meta, &state, gst_analytics_od_mtd_get_mtd_type(),
                                             &other)) {
    if (gst_analytics_relation_meta_get_relation(meta, entry, other.id) !=
            GST_ANALYTICS_REL_TYPE_NONE ||
        gst_analytics_relation_meta_get_relation(meta, other.id, entry) !=
            GST_ANALYTICS_REL_TYPE_NONE) {
      return true;
    }
  }
  return false;
}

bool read_entry(GstAnalyticsMtd entry, AnalyticsObject* object) {
  object->entry = entry.id;
  const GstAnalyticsMtdType type = gst_analytics_mtd_get_mtd_type(&entry);
  if (type == gst_analytics_od_mtd_get_mtd_type()) {
    if (!read_detection(entry, object)) return false;
  } else if (type == gst_analytics_cls_mtd_get_mtd_type() &&
             !is_of_a_detection(entry.meta, entry.id)) {
    object->is_detection = false;
    read_class(entry, object);
  } else {
    return false;
  }
  object->track_id = read_track(entry.meta, entry.id);
  return true;
}

}  // namespace

std::vector<AnalyticsObject> read_analytics(GstBuffer* frame, size_t limit) {
  std::vector<AnalyticsObject> objects;
  Relations* meta = gst_buffer_get_analytics_relation_meta(frame);
  if (!meta) return objects;
  const Exports exports = exports_on(frame);
  GstAnalyticsMtd entry;
  gpointer state = nullptr;
  while (objects.size() < limit &&
         gst_analytics_relation_meta_iterate(meta, &state, GST_ANALYTICS_MTD_TYPE_ANY, &entry)) {
    AnalyticsObject object;
    if (!is_export(entry, exports) && read_entry(entry, &object)) objects.push_back(object);
  }
  return objects;
}

}  // namespace dvnn::gst
