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
 * Of objects of #GstDvRead:marker-class the number is read, as of an ArUco or AprilTag marker, by
 * OpenCV. It becomes the text, the family is the kind (`apriltag-36h11`), and the marker's corners
 * become the object's (gst_dv_object_get_corner()), the marker's own upper left one first.
 *
 * A text is what a stranger printed: control characters and bytes that are no UTF-8 are replaced,
 * and long texts are cut. Nothing is done with it but showing it.
 *
 * With dvtrack before it, a text stays with its track, also where a later look is blurred, and
 * #GstDvRead:refresh-ms, #GstDvRead:max-per-frame and #GstDvRead:max-rate limit the work.
 *
 * ## Messages
 *
 * With #GstDvRead:post-messages, `dvnn-objects` for each frame with objects, as dvdecode posts it,
 * with all objects of the frame and their texts.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 filesrc location=codes.webm ! decodebin ! videoconvert ! dvconvert ! dvinfer !
 * dvdecode ! dvtrack ! dvread ! dvoverlay ! videoconvert ! autovideosink
 * ]| Draws boxes around codes, and what is written in them.
 */
#include "elements/dvread/dvread.h"

#include <gst/video/video.h>

#include "elements/dvdecode/objectsmessage.h"
#include "elements/dvread/objectreader.h"
#include "elements/objectclass.h"
#include "errors.h"
#include "frames/videocaps.h"
#include "guard.h"
#include "properties.h"
#include "refs.h"
#include "times.h"

GST_DEBUG_CATEGORY_STATIC(dv_read_debug);
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT dv_read_debug

using dvnn::gst::made_once;
using dvnn::gst::ObjectLock;
using dvnn::gst::own_private;
using dvnn::gst::own_properties;
using dvnn::gst::ReadSettings;

struct GstDvReadPrivate {
  // Under the object lock.
  ReadSettings settings;
  // Streaming thread only.
  GstVideoInfo video{};
  dvnn::gst::ObjectReader reader;
  dvnn::gst::ObjectsMessage message;
};

struct _GstDvRead {
  GstBaseTransform parent;
  GstDvReadPrivate* priv;
};

G_DEFINE_TYPE(GstDvRead, gst_dv_read, GST_TYPE_BASE_TRANSFORM)
GST_ELEMENT_REGISTER_DEFINE(dvread, "dvread", GST_RANK_NONE, GST_TYPE_DV_READ)

static GstStaticPadTemplate dv_read_sink_template =
    GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS(DVNN_VIDEO_CAPS));
static GstStaticPadTemplate dv_read_src_template =
    GST_STATIC_PAD_TEMPLATE("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS(DVNN_VIDEO_CAPS));

static dvnn::gst::Properties<ReadSettings> gst_dv_read_rows() {
  using dvnn::gst::When;
  constexpr guint kLongestTime = 3600 * 1000;  // milliseconds
  dvnn::gst::Properties<ReadSettings> table;
  dvnn::gst::add_label_list(
      &ReadSettings::object_class, "object-class", "object-class-array", "Object class",
      "Labels of the objects that are read, between commas; empty for all", &table);
#ifdef DVNN_HAVE_MARKERS
  dvnn::gst::add_label_list(
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
        return dvnn::codes::MarkerReader::check_families(dvnn::gst::split_list(text));
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
  table.boolean(&ReadSettings::post_messages, When::kPlaying,
                {"post-messages", "Post messages",
                 "Post an element message 'dvnn-objects' for each frame with objects"});
  table.see_every_frame();
  return table;
}

// --- frames ------------------------------------------------------------------------------------

static void gst_dv_read_post(GstDvRead* self, GstBuffer* frame) {
  GstDvReadPrivate& priv = *self->priv;
  const GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
  const guint count = meta ? gst_dv_objects_meta_get_n_objects(meta) : 0;
  if (count == 0) return;
  for (guint i = 0; i < count; ++i) {
    priv.message.append(*gst_dv_objects_meta_get_object(meta, i), meta);
  }
  const GstDvPass* pass = gst_dv_objects_meta_get_pass(meta, 0);
  priv.message.post(GST_ELEMENT(self), GST_BASE_TRANSFORM(self)->segment, frame,
                    pass ? pass->network : "", pass && pass->state == GST_DV_PASS_INFERRED);
}

static GstFlowReturn gst_dv_read_transform_ip(GstBaseTransform* trans, GstBuffer* frame) {
  return dvnn::gst::guard(
      trans, "the codes cannot be read", GST_FLOW_ERROR, [&]() -> GstFlowReturn {
        GstDvRead* self = GST_DV_READ(trans);
        GstDvReadPrivate& priv = *self->priv;
        ReadSettings settings;
        {
          const ObjectLock lock(self);
          settings = priv.settings;
        }
        priv.reader.configure(settings);
        const GstClockTime time = dvnn::gst::running_time(trans->segment, frame);
        const dvnn::Status status = priv.reader.read(priv.video, time, frame);
        if (!status.ok()) {
          dvnn::gst::post_error(GST_ELEMENT(self), dvnn::gst::Topic::kData, status.error());
          return GST_FLOW_ERROR;
        }
        GST_LOG_OBJECT(self, "frame at %" GST_TIME_FORMAT " is read", GST_TIME_ARGS(time));
        if (settings.post_messages) gst_dv_read_post(self, frame);
        return GST_FLOW_OK;
      });
}

// --- stream ------------------------------------------------------------------------------------

static gboolean gst_dv_read_set_caps(GstBaseTransform* trans, GstCaps* incaps, GstCaps*) {
  return dvnn::gst::video_info_from_caps(incaps, &GST_DV_READ(trans)->priv->video);
}

static gboolean gst_dv_read_sink_event(GstBaseTransform* trans, GstEvent* event) {
  const GstEventType type = GST_EVENT_TYPE(event);
  if (type == GST_EVENT_STREAM_START || type == GST_EVENT_FLUSH_STOP) {
    GST_DV_READ(trans)->priv->reader.reset();
  }
  return GST_BASE_TRANSFORM_CLASS(gst_dv_read_parent_class)->sink_event(trans, event);
}

static gboolean gst_dv_read_stop(GstBaseTransform* trans) {
  GST_DV_READ(trans)->priv->reader.reset();
  return TRUE;
}

// --- object ------------------------------------------------------------------------------------

static void gst_dv_read_init(GstDvRead* self) {
  self->priv = new GstDvReadPrivate;
  gst_base_transform_set_in_place(GST_BASE_TRANSFORM(self), TRUE);
}

static void gst_dv_read_class_init(GstDvReadClass* klass) {
  GObjectClass* object_class = G_OBJECT_CLASS(klass);
  GstElementClass* element_class = GST_ELEMENT_CLASS(klass);
  GstBaseTransformClass* trans_class = GST_BASE_TRANSFORM_CLASS(klass);
  GST_DEBUG_CATEGORY_INIT(dv_read_debug, "dvread", 0, "Reading of codes");
  own_private<GstDvRead>(object_class);
  own_properties<GstDvRead, made_once<gst_dv_read_rows>>(object_class);
  gst_element_class_set_static_metadata(
      element_class, "DV code reader", "Filter/Analyzer/Video",
      "Reads the QR codes, barcodes and markers that dvdecode attached", "gst-dvnn developers");
  gst_element_class_add_static_pad_template(element_class, &dv_read_sink_template);
  gst_element_class_add_static_pad_template(element_class, &dv_read_src_template);
  trans_class->stop = GST_DEBUG_FUNCPTR(gst_dv_read_stop);
  trans_class->set_caps = GST_DEBUG_FUNCPTR(gst_dv_read_set_caps);
  trans_class->sink_event = GST_DEBUG_FUNCPTR(gst_dv_read_sink_event);
  trans_class->transform_ip = GST_DEBUG_FUNCPTR(gst_dv_read_transform_ip);
}
