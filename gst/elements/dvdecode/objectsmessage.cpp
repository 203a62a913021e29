// SPDX-License-Identifier: Apache-2.0
#include "elements/dvdecode/objectsmessage.h"

#include "times.h"

namespace dvnn::gst {
namespace {

void append_double(gdouble value, GValue* array) {
  GValue item = G_VALUE_INIT;
  g_value_init(&item, G_TYPE_DOUBLE);
  g_value_set_double(&item, value);
  gst_value_array_append_and_take_value(array, &item);
}

void append_points(const GstDvObject& object, GstStructure* fields) {
  const guint count = gst_dv_object_get_n_points(&object);
  if (count == 0) return;
  GValue points = G_VALUE_INIT;
  g_value_init(&points, GST_TYPE_ARRAY);
  for (guint i = 0; i < count; ++i) {
    gdouble x = 0, y = 0;
    gfloat confidence = 0;
    gst_dv_object_get_point(&object, i, &x, &y, &confidence);
    append_double(x, &points);
    append_double(y, &points);
    append_double(static_cast<gdouble>(confidence), &points);
  }
  gst_structure_take_value(fields, "points", &points);
  const gchar* skeleton = gst_dv_object_get_skeleton(&object);
  if (skeleton) gst_structure_set(fields, "skeleton", G_TYPE_STRING, skeleton, nullptr);
}

void append_outline(const GstDvObject& object, GstStructure* fields) {
  const guint count = gst_dv_object_get_n_corners(&object);
  if (count == 0) return;
  GValue outline = G_VALUE_INIT;
  g_value_init(&outline, GST_TYPE_ARRAY);
  for (guint i = 0; i < count; ++i) {
    gdouble x = 0, y = 0;
    gst_dv_object_get_corner(&object, i, &x, &y);
    append_double(x, &outline);
    append_double(y, &outline);
  }
  gst_structure_take_value(fields, "outline", &outline);
}

void append_structure(GstStructure* fields, GValue* list) {
  GValue item = G_VALUE_INIT;
  g_value_init(&item, GST_TYPE_STRUCTURE);
  g_value_take_boxed(&item, fields);
  gst_value_list_append_and_take_value(list, &item);
}

void append_numbers(const GstDvObject& object, GstStructure* fields) {
  const guint count = gst_dv_object_get_n_numbers(&object);
  if (count == 0) return;
  GValue numbers = G_VALUE_INIT;
  g_value_init(&numbers, GST_TYPE_LIST);
  for (guint i = 0; i < count; ++i) {
    gdouble value = 0;
    const gchar* name = gst_dv_object_get_number(&object, i, &value);
    append_structure(gst_structure_new("number", "name", G_TYPE_STRING, name, "value",
                                       G_TYPE_DOUBLE, value, nullptr),
                     &numbers);
  }
  gst_structure_take_value(fields, "numbers", &numbers);
}

}  // namespace

// Masks and embeddings are left out: they are large, and messages are copied and logged.
void ObjectsMessage::append(const GstDvObject& object) {
  GstStructure* fields = gst_structure_new(
      "object", "id", G_TYPE_UINT64, object.id, "parent", G_TYPE_UINT64, object.parent, "class-id",
      G_TYPE_INT, object.class_id, "label", G_TYPE_STRING, object.label, "confidence",
      G_TYPE_DOUBLE, static_cast<gdouble>(object.confidence), "x0", G_TYPE_DOUBLE, object.x0, "y0",
      G_TYPE_DOUBLE, object.y0, "x1", G_TYPE_DOUBLE, object.x1, "y1", G_TYPE_DOUBLE, object.y1,
      "track-id", G_TYPE_UINT64, object.track_id, nullptr);
  append_points(object, fields);
  append_outline(object, fields);
  const gchar* text = gst_dv_object_get_text(&object);
  if (text) gst_structure_set(fields, "text", G_TYPE_STRING, text, nullptr);
  const gchar* text_format = gst_dv_object_get_text_format(&object);
  if (text_format) gst_structure_set(fields, "text-format", G_TYPE_STRING, text_format, nullptr);
  if (object.region != 0) {
    gst_structure_set(fields, "region", G_TYPE_STRING, g_quark_to_string(object.region), nullptr);
  }
  append_numbers(object, fields);
  append_structure(fields, objects_.get());
}

void ObjectsMessage::post(GstElement* element, const GstSegment& segment, GstBuffer* frame,
                          const gchar* network, bool inferred) {
  GstStructure* fields =
      gst_structure_new("dvnn-objects", "timestamp", G_TYPE_UINT64, GST_BUFFER_PTS(frame),
                        "stream-time", G_TYPE_UINT64, stream_time(segment, frame), "running-time",
                        G_TYPE_UINT64, running_time(segment, frame), "duration", G_TYPE_UINT64,
                        GST_BUFFER_DURATION(frame), "network", G_TYPE_STRING, network, "inferred",
                        G_TYPE_BOOLEAN, static_cast<gboolean>(inferred), nullptr);
  gst_structure_take_value(fields, "objects", objects_.get());  // which is unset then
  g_value_init(objects_.get(), GST_TYPE_LIST);
  gst_element_post_message(element, gst_message_new_element(GST_OBJECT(element), fields));
}

}  // namespace dvnn::gst
