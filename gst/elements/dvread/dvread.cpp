// SPDX-License-Identifier: Apache-2.0
/**
 * SECTION:element-dvread
 * @title: dvread
 * @short_description: reads the codes that a network has found
 *
 * dvread reads the QR codes and barcodes (EAN, UPC-A, Code 128, Code 39, ITF) in the boxes of
 * objects, from the frame's own pixels at full resolution, by ZBar. The object gets the text and
 * the code's kind (gst_dv_object_get_text(), gst_dv_object_get_text_format()); dvoverlay draws the
 * text, dvpublish writes both.
 *
 * Objects of #GstDvRead:marker-class are read as ArUco or AprilTag markers, by OpenCV. The number
 * is the text, the family is the kind (`apriltag-36h11`), and the marker's corners become the
 * object's (gst_dv_object_get_corner()), the marker's own upper left one first.
 *
 * Texts come from strangers: control characters and invalid UTF-8 are replaced, and long texts are
 * cut. No text is ever opened or run.
 *
 * With dvtrack before it, a text stays with its track, also where a later look is blurred, and
 * #GstDvRead:refresh-ms, #GstDvRead:max-per-frame and #GstDvRead:max-rate limit the work.
 *
 * With #GstDvRead:agree, several looks at an object with a track are compared as a whole: the text
 * is the one that most of them read, the object tells how many looks there were and how sure they
 * are (gst_dv_object_get_agreement()), and once they agree, the object is not read again until it
 * has grown by half. #GstDvRead:pattern says what texts look like; others are no rivals.
 *
 * ## Messages
 *
 * With #GstDvRead:post-messages, a message `dvnn-objects` is posted for each frame with objects, in
 * dvdecode's form, with all objects of the frame and their texts.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 filesrc location=codes.webm ! decodebin ! videoconvert ! dvconvert ! dvinfer !
 * dvdecode ! dvtrack ! dvread ! dvoverlay ! videoconvert ! autovideosink
 * ]| Draws boxes around codes, and what is written in them.
 *
 * Since: 0.1.0
 */
#include "elements/elements.h"

#include <gst/video/video.h>

#include "agree/votes.h"
#include "elements/dvdecode/objectsmessage.h"
#include "elements/dvread/objectreader.h"
#include "errors.h"
#include "frames/caps.h"
#include "log.h"
#include "properties.h"
#include "times.h"

DVNN_LOG_CATEGORY(read_category, "dvread", "Reading of codes")
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT read_category()

namespace dvnn::gst {
namespace {

class ReadElement final : public ElementWithSettings<ReadSettings> {
 public:
  using ElementWithSettings::ElementWithSettings;

  bool open() override;
  void stop() override { reader_.reset(); }
  bool set_caps(GstCaps* in, GstCaps*) override { return video_info_from_caps(in, &video_); }
  void event(GstEvent* event) override;
  GstFlowReturn frame(GstBuffer* frame) override;

 private:
  void post_objects(GstBuffer* frame);

  // Streaming thread only.
  GstVideoInfo video_{};
  ObjectReader reader_;
  ObjectsMessage message_;
};

Properties<ReadSettings> read_properties() {
  constexpr guint kLongestTime = 3600 * 1000;  // milliseconds
  Properties<ReadSettings> table;
  add_label_list(&ReadSettings::object_class, "object-class", "object-class-array", "Object class",
                 "Labels of the objects that are read, between commas; empty for all", &table);
#ifdef DVNN_HAVE_MARKERS
  add_label_list(
      &ReadSettings::marker_class, "marker-class", "marker-class-array", "Marker class",
      "Labels of the objects that are read as ArUco or AprilTag markers, between commas; "
      "empty for none",
      &table);
  table.text(
      &ReadSettings::marker_families, When::kPlaying,
      {"marker-families", "Marker families",
       "Families of markers that are looked for (docs/regions.md), between commas; empty for "
       "all"},
      [](const std::string& text, ReadSettings*) {
        return codes::MarkerReader::check_families(split_list(text));
      });
#endif
  table.number(
      &ReadSettings::margin, When::kPlaying, 0.0, 1.0,
      {"margin", "Margin",
       "Margin that is looked at beyond each side of a box, as a fraction of its width and "
       "height"});
  table.number(
      &ReadSettings::max_per_frame, When::kPlaying, 0, 1024,
      {"max-per-frame", "Max per frame", "How many objects of a frame are read; 0 for all"});
  table.number(
      &ReadSettings::max_rate, When::kPlaying, 0.0, 1e6,
      {"max-rate", "Max rate", "How many objects are read in a second on average; 0 for no limit"});
  table.number(&ReadSettings::refresh_ms, When::kPlaying, 0, kLongestTime,
               {"refresh-ms", "Refresh",
                "Milliseconds after which a track's object is read again; 0 for each frame"});
  table.number(
      &ReadSettings::agree, When::kPlaying, 0, agree::kMostLooks,
      {"agree", "Agree",
       "Least looks at a tracked object that make an agreed text; 0: the last one counts"});
  table.text(&ReadSettings::pattern, When::kPlaying,
             {"pattern", "Pattern",
              "With agree, a regular expression for whole texts, or a JSON object of expressions "
              "by the object's label"},
             [](const std::string& text, ReadSettings* settings) -> Status {
               DVNN_ASSIGN(auto patterns, agree::Patterns::parse(text));
               settings->patterns = std::make_shared<const agree::Patterns>(std::move(patterns));
               return {};
             });
  table.boolean(&ReadSettings::post_messages, When::kPlaying,
                {"post-messages", "Post messages",
                 "Post an element message 'dvnn-objects' for each frame with objects"});
  table.see_every_frame();
  return table;
}

bool ReadElement::open() {
  take_settings();
  if (current().agree > 0 || current().pattern.empty()) return true;
  post_error(element(), Topic::kSettings,
             agree::pattern_without_agree().within(std::string(GST_OBJECT_NAME(element())) +
                                                   ": property 'pattern'"));
  return false;
}

void ReadElement::post_objects(GstBuffer* frame) {
  const GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
  const guint count = meta ? gst_dv_objects_meta_get_n_objects(meta) : 0;
  if (count == 0) return;
  for (guint i = 0; i < count; ++i) {
    message_.append(*gst_dv_objects_meta_get_object(meta, i), meta);
  }
  const GstDvPass* pass = gst_dv_objects_meta_get_pass(meta, 0);
  message_.post(element(), segment(), frame, pass ? pass->network : "",
                pass && pass->state == GST_DV_PASS_INFERRED);
}

GstFlowReturn ReadElement::frame(GstBuffer* frame) {
  reader_.configure(take_settings());
  const GstClockTime time = running_time(segment(), frame);
  const Status status = reader_.read(video_, time, frame);
  if (!status.ok()) {
    post_error(element(), Topic::kData, status.error());
    return GST_FLOW_ERROR;
  }
  GST_LOG_OBJECT(element(), "frame at %" GST_TIME_FORMAT " is read", GST_TIME_ARGS(time));
  if (current().post_messages) post_objects(frame);
  return GST_FLOW_OK;
}

void ReadElement::event(GstEvent* event) {
  const GstEventType type = GST_EVENT_TYPE(event);
  if (type == GST_EVENT_STREAM_START || type == GST_EVENT_FLUSH_STOP) reader_.reset();
}

}  // namespace

static gboolean register_dvread(GstPlugin* plugin) {
  static const ElementClass element = {
      {"GstDvRead", "dvread", "DV code reader", "Filter/Analyzer/Video",
       "Reads the QR codes, barcodes and markers that dvdecode attached",
       "the codes cannot be read", DVNN_VIDEO_CAPS, DVNN_VIDEO_CAPS},
      properties_of<read_properties>,
      create_element<ReadElement>};
  return register_element(plugin, element);
}

GST_ELEMENT_REGISTER_DEFINE_CUSTOM(dvread, register_dvread)

}  // namespace dvnn::gst
