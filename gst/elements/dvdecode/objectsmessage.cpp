// SPDX-License-Identifier: Apache-2.0
#include "elements/dvdecode/objectsmessage.h"

#include "elements/valuelists.h"
#include "meta/objectvalue.h"
#include "times.h"

namespace dvnn::gst {
namespace {

void set_text(const char* name, const std::string& text, GstStructure* fields) {
  if (!text.empty()) gst_structure_set(fields, name, G_TYPE_STRING, text.c_str(), nullptr);
}

void append_points(const objects::Object& object, GstStructure* fields) {
  if (object.points.empty()) return;
  GValue points = G_VALUE_INIT;
  g_value_init(&points, GST_TYPE_ARRAY);
  for (const objects::Point& point : object.points) {
    append_number(point.x, &points);
    append_number(point.y, &points);
    append_number(static_cast<gdouble>(point.confidence), &points);
  }
  gst_structure_take_value(fields, "points", &points);
  set_text("skeleton", object.skeleton, fields);
}

void append_outline(const objects::Object& object, GstStructure* fields) {
  if (object.outline.empty()) return;
  GValue outline = G_VALUE_INIT;
  g_value_init(&outline, GST_TYPE_ARRAY);
  for (const objects::Point& corner : object.outline) {
    append_number(corner.x, &outline);
    append_number(corner.y, &outline);
  }
  gst_structure_take_value(fields, "outline", &outline);
}

void append_numbers(const objects::Object& object, GstStructure* fields) {
  if (object.numbers.empty()) return;
  GValue numbers = G_VALUE_INIT;
  g_value_init(&numbers, GST_TYPE_LIST);
  for (const objects::Number& number : object.numbers) {
    append_structure(gst_structure_new("number", "name", G_TYPE_STRING, number.name.c_str(),
                                       "value", G_TYPE_DOUBLE, number.value, nullptr),
                     &numbers);
  }
  gst_structure_take_value(fields, "numbers", &numbers);
}

void append_agreement(const objects::Agreement& agreement, GstStructure* fields) {
  if (agreement.looks == 0) return;
  gst_structure_set(fields, "looks", G_TYPE_UINT, agreement.looks, "agreement", G_TYPE_DOUBLE,
                    static_cast<gdouble>(agreement.probability), "agreed", G_TYPE_BOOLEAN,
                    static_cast<gboolean>(agreement.reached), nullptr);
}

}  // namespace

void ObjectsMessage::append(const GstDvObject& object, const GstDvObjectsMeta* meta) {
  // Masks and embeddings are left out: they are large, and messages are copied and logged.
  constexpr unsigned kDetails =
      objects::kPoints | objects::kOutlines | objects::kTexts | objects::kNumbers;
  read_object(object, meta, kDetails, &value_);
  const image::Corners& box = value_.box;
  GstStructure* fields = gst_structure_new(
      "object", "id", G_TYPE_UINT64, value_.id, "parent", G_TYPE_UINT64, value_.parent, "class-id",
      G_TYPE_INT, value_.class_id, "label", G_TYPE_STRING, value_.label.c_str(), "confidence",
      G_TYPE_DOUBLE, static_cast<gdouble>(value_.confidence), "x0", G_TYPE_DOUBLE, box.x0, "y0",
      G_TYPE_DOUBLE, box.y0, "x1", G_TYPE_DOUBLE, box.x1, "y1", G_TYPE_DOUBLE, box.y1, "track-id",
      G_TYPE_UINT64, value_.track_id, nullptr);
  append_points(value_, fields);
  append_outline(value_, fields);
  set_text("text", value_.text, fields);
  set_text("text-format", value_.text_format, fields);
  set_text("region", value_.region_name, fields);
  append_numbers(value_, fields);
  append_agreement(value_.agreement, fields);
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
  gst_structure_take_value(fields, "objects", objects_.get());  // which leaves the list unset
  g_value_init(objects_.get(), GST_TYPE_LIST);
  gst_element_post_message(element, gst_message_new_element(GST_OBJECT(element), fields));
}

}  // namespace dvnn::gst
