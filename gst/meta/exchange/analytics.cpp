// SPDX-License-Identifier: Apache-2.0
#include "meta/exchange/analytics.h"

#include <gst/analytics/analytics.h>
#include <gst/video/video.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "meta/exchange/roiexport.h"

namespace dvnn::gst {
namespace {

using Relations = GstAnalyticsRelationMeta;

// Memory that a thread needs for one frame, and keeps for the next.
struct Scratch {
  std::vector<gfloat> levels;
  std::vector<GQuark> labels;
  std::vector<std::pair<guint64, guint>> entries;  // entry of each object, by the object's id
};

Scratch& scratch() {
  static thread_local Scratch own;
  return own;
}

// Boxes may come from anywhere, and elements that scale a frame multiply by its size.
gint to_whole_pixels(gdouble edge) {
  constexpr gdouble kFarthest = 1 << 24;
  return static_cast<gint>(std::clamp(edge, -kFarthest, kFarthest));
}

bool is_detection(const GstDvObject& object) {
  return object.kind == GST_DV_OBJECT_DETECTION;
}

// The entry that stands for an object on this frame, if there is one.
std::optional<guint> entry_of(Relations* meta, const GstDvObject& object) {
  if (object.analytics_id == 0) return std::nullopt;
  const guint id = object.analytics_id - 1;
  GstAnalyticsMtd entry;
  const bool there =
      id < gst_analytics_relation_get_length(meta) &&
      gst_analytics_relation_meta_get_mtd(meta, id, GST_ANALYTICS_MTD_TYPE_ANY, &entry) &&
      is_entry_of(entry, object);
  return there ? std::optional<guint>(id) : std::nullopt;
}

bool has_room(Relations* meta) {
  return gst_analytics_relation_get_length(meta) < kMaxAnalyticsEntries;
}

void add_detection(Relations* meta, GstDvObject* object) {
  const gint x = to_whole_pixels(std::floor(object->x0)),
             y = to_whole_pixels(std::floor(object->y0));
  GstAnalyticsMtd entry;
  const bool added = gst_analytics_relation_meta_add_od_mtd(
      meta, label_quark(object->label), x, y, to_whole_pixels(std::ceil(object->x1)) - x,
      to_whole_pixels(std::ceil(object->y1)) - y, object->confidence, &entry);
  object->analytics_id = added ? entry.id + 1 : 0;
}

// Returns whether two classes belong to one classification: same network, parent and box.
bool belong_together(const GstDvObject& a, const GstDvObject& b) {
  return b.kind == GST_DV_OBJECT_CLASSIFICATION && a.network == b.network && a.parent == b.parent &&
         a.x0 == b.x0 && a.y0 == b.y0 && a.x1 == b.x1 && a.y1 == b.y1;
}

// Adds one entry for the class at `first` and those after it that belong to it.
void add_classification(Relations* meta, GstDvObjectsMeta* objects, guint first) {
  const GstDvObject* question = gst_dv_objects_meta_get_object(objects, first);
  std::vector<gfloat>& levels = scratch().levels;
  std::vector<GQuark>& labels = scratch().labels;
  levels.clear();
  labels.clear();
  guint end = first;
  for (const GstDvObject* object = question;
       object && levels.size() < kMaxAnalyticsEntries && belong_together(*question, *object) &&
       !entry_of(meta, *object);
       object = gst_dv_objects_meta_get_object(objects, ++end)) {
    levels.push_back(object->confidence);
    labels.push_back(label_quark(object->label));
  }
  GstAnalyticsMtd entry;
  const bool added = gst_analytics_relation_meta_add_cls_mtd(meta, levels.size(), levels.data(),
                                                             labels.data(), &entry);
  for (guint i = first; i < end; ++i) {
    gst_dv_objects_meta_get_object(objects, i)->analytics_id = added ? entry.id + 1 : 0;
  }
}

#if GST_CHECK_VERSION(1, 26, 0)
// Adds a map of classes as a segmentation. Its region ids are the classes in the map.
void add_segmentation(Relations* meta, GstDvObject* object) {
  gdouble x0 = 0, y0 = 0, x1 = 0, y1 = 0;
  guint width = 0, height = 0;
  gst_dv_object_get_mask(object, &x0, &y0, &x1, &y1, &width, &height);
  GBytes* cells = gst_dv_object_get_mask_cells(object);
  gsize size = 0;
  const auto* data = static_cast<const guint8*>(g_bytes_get_data(cells, &size));
  std::array<bool, 256> present{};
  for (gsize i = 0; i < size; ++i) present[data[i]] = true;
  std::array<guint, 256> ids;
  gsize count = 0;
  for (guint id = 0; id < present.size(); ++id) {
    if (present[id]) ids[count++] = id;
  }
  GstBuffer* mask = gst_buffer_new_wrapped_bytes(cells);
  gst_buffer_add_video_meta(mask, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8, width, height);
  const gint x = to_whole_pixels(std::floor(x0)), y = to_whole_pixels(std::floor(y0));
  GstAnalyticsSegmentationMtd entry;
  const bool added = gst_analytics_relation_meta_add_segmentation_mtd(
      meta, mask, GST_SEGMENTATION_TYPE_SEMANTIC, count, ids.data(), x, y,
      static_cast<guint>(to_whole_pixels(std::ceil(x1)) - x),
      static_cast<guint>(to_whole_pixels(std::ceil(y1)) - y), &entry);
  object->analytics_id = added ? entry.id + 1 : 0;
}
#endif

// Adds a relation between two entries, beside those that others have set.
void relate(Relations* meta, guint from, GstAnalyticsRelTypes how, guint to) {
  const guint before = gst_analytics_relation_meta_get_relation(meta, from, to);
  gst_analytics_relation_meta_set_relation(meta, static_cast<GstAnalyticsRelTypes>(before | how),
                                           from, to);
}

bool is_tracked(Relations* meta, guint entry, guint64 track_id) {
  GstAnalyticsMtd track;
  gpointer state = nullptr;
  while (gst_analytics_relation_meta_get_direct_related(
      meta, entry, GST_ANALYTICS_REL_TYPE_RELATE_TO, gst_analytics_tracking_mtd_get_mtd_type(),
      &state, &track)) {
    guint64 id = 0;
    GstClockTime first, last;
    gboolean lost = FALSE;
    if (gst_analytics_tracking_mtd_get_info(&track, &id, &first, &last, &lost) && id == track_id) {
      return true;
    }
  }
  return false;
}

void add_track(Relations* meta, guint entry, guint64 track_id, GstClockTime time) {
  if (is_tracked(meta, entry, track_id) || !has_room(meta)) return;
  GstAnalyticsMtd track;
  if (gst_analytics_relation_meta_add_tracking_mtd(meta, track_id, time, &track)) {
    relate(meta, entry, GST_ANALYTICS_REL_TYPE_RELATE_TO, track.id);
  }
}

// Relations have a direction, and readers start from either end.
void add_parent(Relations* meta, const GstDvObject& part, guint part_entry, guint whole_entry) {
  if (is_detection(part)) {
    relate(meta, part_entry, GST_ANALYTICS_REL_TYPE_IS_PART_OF, whole_entry);
    relate(meta, whole_entry, GST_ANALYTICS_REL_TYPE_CONTAIN, part_entry);
  } else {
    relate(meta, part_entry, GST_ANALYTICS_REL_TYPE_RELATE_TO, whole_entry);
    relate(meta, whole_entry, GST_ANALYTICS_REL_TYPE_RELATE_TO, part_entry);
  }
}

// Returns whether upstream has an entry for the object. An object without a position has none,
// because a detection is a rectangle.
bool can_export(const GstDvObject& object) {
  if (is_detection(object)) return gst_dv_object_has_box(&object);
#if GST_CHECK_VERSION(1, 26, 0)
  if (object.kind == GST_DV_OBJECT_SEGMENTATION) return gst_dv_object_get_mask_cells(&object);
#endif
  return object.kind == GST_DV_OBJECT_CLASSIFICATION;
}

}  // namespace

// `entry` is passed by value, because functions of GStreamer 1.24 want it writable.
bool is_entry_of(GstAnalyticsMtd entry, const GstDvObject& object) {
  if (object.analytics_id != entry.id + 1) return false;
  const GstAnalyticsMtdType type = gst_analytics_mtd_get_mtd_type(&entry);
  // The confidence distinguishes our entry from another element's with the same number and class,
  // if the meta was removed and created anew. Boxes do not: ours and theirs are scaled by different
  // rules.
  if (is_detection(object)) {
    gfloat confidence = -1;
    return type == gst_analytics_od_mtd_get_mtd_type() &&
           gst_analytics_od_mtd_get_confidence_lvl(&entry, &confidence) &&
           confidence == object.confidence &&
           is_quark_of(gst_analytics_od_mtd_get_obj_type(&entry), object.label);
  }
#if GST_CHECK_VERSION(1, 26, 0)
  if (object.kind == GST_DV_OBJECT_SEGMENTATION) {
    return type == gst_analytics_segmentation_mtd_get_mtd_type();
  }
#endif
  if (type != gst_analytics_cls_mtd_get_mtd_type()) return false;
  for (gsize i = 0; i < gst_analytics_cls_mtd_get_length(&entry); ++i) {
    if (gst_analytics_cls_mtd_get_level(&entry, i) == object.confidence &&
        is_quark_of(gst_analytics_cls_mtd_get_quark(&entry, i), object.label)) {
      return true;
    }
  }
  return false;
}

void export_analytics(GstBuffer* frame) {
  GstDvObjectsMeta* objects = gst_buffer_get_dv_objects_meta(frame);
  const guint count = objects ? gst_dv_objects_meta_get_n_objects(objects) : 0;
  if (count == 0) return;
  Relations* meta = gst_buffer_add_analytics_relation_meta(frame);  // or the existing one
  auto& entries = scratch().entries;
  entries.clear();
  for (guint i = 0; i < count; ++i) {
    GstDvObject* object = gst_dv_objects_meta_get_object(objects, i);
    if (!can_export(*object)) continue;
    if (!entry_of(meta, *object)) {
      if (!has_room(meta)) break;
      if (is_detection(*object)) {
        add_detection(meta, object);
#if GST_CHECK_VERSION(1, 26, 0)
      } else if (object->kind == GST_DV_OBJECT_SEGMENTATION) {
        add_segmentation(meta, object);
#endif
      } else {
        add_classification(meta, objects, i);
      }
    }
    if (object->analytics_id > 0) entries.emplace_back(object->id, object->analytics_id - 1);
  }
  std::sort(entries.begin(), entries.end());
  const auto find = [&](guint64 id) {
    const auto at = std::lower_bound(entries.begin(), entries.end(), std::make_pair(id, 0u));
    return at != entries.end() && at->first == id ? at : entries.end();
  };
  for (guint i = 0; i < count; ++i) {
    const GstDvObject* object = gst_dv_objects_meta_get_object(objects, i);
    const auto entry = find(object->id);
    if (entry == entries.end()) continue;
    if (object->track_id != 0) {
      add_track(meta, entry->second, object->track_id, GST_BUFFER_PTS(frame));
    }
    const auto whole = find(object->parent);
    if (object->parent != 0 && whole != entries.end() && whole != entry) {
      add_parent(meta, *object, entry->second, whole->second);
    }
  }
}

namespace {

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
