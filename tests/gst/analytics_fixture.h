// SPDX-License-Identifier: Apache-2.0
// What the tests of GStreamer's own analytics metas share.
#pragma once

#include <gst/analytics/analytics.h>

#include "gst_fixture.h"

namespace dvnn::test {

/// An object detection as upstream's elements read it.
struct Entry {
  std::string label;
  float confidence = -1;
  gint x = 0, y = 0, w = 0, h = 0;
  guint id = 0;
};

inline std::vector<Entry> entries(GstBuffer* frame) {
  std::vector<Entry> list;
  GstAnalyticsRelationMeta* meta = gst_buffer_get_analytics_relation_meta(frame);
  GstAnalyticsODMtd mtd;
  gpointer state = nullptr;
  while (meta && gst_analytics_relation_meta_iterate(meta, &state,
                                                     gst_analytics_od_mtd_get_mtd_type(), &mtd)) {
    Entry entry;
    entry.id = mtd.id;
    const gchar* type = g_quark_to_string(gst_analytics_od_mtd_get_obj_type(&mtd));
    entry.label = type ? type : "";
    gst_analytics_od_mtd_get_location(&mtd, &entry.x, &entry.y, &entry.w, &entry.h,
                                      &entry.confidence);
    list.push_back(entry);
  }
  return list;
}

/// The number of the track that an entry belongs to; 0: none.
inline guint64 track_of(GstBuffer* frame, guint entry) {
  GstAnalyticsMtd track;
  gpointer state = nullptr;
  guint64 id = 0;
  GstClockTime first, last;
  gboolean lost;
  if (gst_analytics_relation_meta_get_direct_related(
          gst_buffer_get_analytics_relation_meta(frame), entry, GST_ANALYTICS_REL_TYPE_RELATE_TO,
          gst_analytics_tracking_mtd_get_mtd_type(), &state, &track)) {
    gst_analytics_tracking_mtd_get_info(&track, &id, &first, &last, &lost);
  }
  return id;
}

/// dvinfer with the grid network, in builds that emulate the device, too.
inline std::string infer(const std::string& properties = "") {
  return "dvinfer watchdog=60000 network=" + network_path() + " " + properties;
}

/// Elements with a harness around them.
class Line {
 public:
  Line(const std::string& elements, int width, int height)
      : harness_(gst_harness_new_parse(elements.c_str())) {
    gst_harness_set_src_caps_str(harness_, video_caps("RGB", width, height).c_str());
  }
  ~Line() { gst_harness_teardown(harness_); }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  GstElement* element() const { return harness_->element; }
  GstBuffer* push(GstBuffer* frame) { return gst_harness_push_and_pull(harness_, frame); }

 private:
  GstHarness* harness_;
};

/// Whether this GStreamer has an element; if not, that a test is skipped is said.
inline bool there(const char* element) {
  GstElementFactory* factory = gst_element_factory_find(element);
  if (!factory) {
    std::printf("skipped: this GStreamer has no %s\n", element);
    return false;
  }
  gst_object_unref(factory);
  return true;
}

inline std::vector<guint8> bytes(GstBuffer* buffer) {
  std::vector<guint8> copy(gst_buffer_get_size(buffer));
  gst_buffer_extract(buffer, 0, copy.data(), copy.size());
  return copy;
}

/// The bytes of what comes out.
inline std::vector<guint8> pushed(Line* line, GstBuffer* frame) {
  GstBuffer* out = line->push(frame);
  const std::vector<guint8> seen = bytes(out);
  gst_buffer_unref(out);
  return seen;
}

}  // namespace dvnn::test
