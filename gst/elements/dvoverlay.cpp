// SPDX-License-Identifier: Apache-2.0
/**
 * SECTION:element-dvoverlay
 * @title: dvoverlay
 * @short_description: draws objects onto the frame
 *
 * dvoverlay draws every object of a frame's #GstDvObjectsMeta: the box, the label, the confidence,
 * in a colour that belongs to the class. Lines and letters follow the frame's height. Then it draws
 * every #GstVideoRegionOfInterestMeta that another element attached, with its type as the label.
 *
 * On frames that dvinfer passed without inference, the objects of the last inferred frame stay for
 * #GstDvOverlay:hold milliseconds, so that boxes do not flicker where the network is slower than
 * the camera.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 videotestsrc num-buffers=100 ! dvconvert ! dvinfer ! dvdecode ! dvoverlay
 * confidence=false ! videoconvert ! autovideosink
 * ]| Draws labels without confidences.
 */
#include "elements/dvoverlay.h"

#include <gst/video/video.h>

#include "elements/overlayscene.h"
#include "errors.h"
#include "frames/framecheck.h"
#include "frames/framemap.h"
#include "frames/videocaps.h"
#include "guard.h"
#include "properties.h"
#include "refs.h"
#include "times.h"

GST_DEBUG_CATEGORY_STATIC(dv_overlay_debug);
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT dv_overlay_debug

using dvnn::Error;
using dvnn::ErrorCode;
using dvnn::Status;
using dvnn::gst::Drawing;
using dvnn::gst::ObjectLock;
using dvnn::gst::Topic;
using dvnn::gst::VideoFrameMap;
using dvnn::gst::When;

namespace {

struct DvOverlaySettings {
  bool labels = true;
  bool confidence = true;
  guint line_width = 0;
  guint text_height = 0;
  guint hold = 1000;
};

}  // namespace

struct GstDvOverlayPrivate {
  // Under the object lock.
  DvOverlaySettings settings;
  // Streaming thread only.
  GstVideoInfo video;
  dvnn::gst::OverlayScene scene;
  dvnn::gst::OverlayPainter painter;
  // The size that the painter was configured for.
  gint width = 0, height = 0;
  guint line_width = 0, text_height = 0;
};

struct _GstDvOverlay {
  GstBaseTransform parent;
  GstDvOverlayPrivate* priv;
};

G_DEFINE_TYPE(GstDvOverlay, gst_dv_overlay, GST_TYPE_BASE_TRANSFORM)
GST_ELEMENT_REGISTER_DEFINE(dvoverlay, "dvoverlay", GST_RANK_NONE, GST_TYPE_DV_OVERLAY)

static GstStaticPadTemplate dv_overlay_sink_template =
    GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS(DVNN_VIDEO_CAPS));
static GstStaticPadTemplate dv_overlay_src_template =
    GST_STATIC_PAD_TEMPLATE("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS(DVNN_VIDEO_CAPS));

static const dvnn::gst::Properties<DvOverlaySettings>& gst_dv_overlay_properties() {
  static const auto* const rows = [] {
    auto* table = new dvnn::gst::Properties<DvOverlaySettings>();
    table->boolean(&DvOverlaySettings::labels, When::kPlaying,
                   {"labels", "Labels", "Write the label at each box"});
    table->boolean(&DvOverlaySettings::confidence, When::kPlaying,
                   {"confidence", "Confidence", "Write the confidence in percent"});
    table->number(&DvOverlaySettings::line_width, When::kPlaying, 0, 100,
                  {"line-width", "Line width",
                   "Width of a box's lines in pixels (0 = by the frame's height)"});
    table->number(&DvOverlaySettings::text_height, When::kPlaying, 0, 500,
                  {"text-height", "Text height",
                   "Height of the letters in pixels (0 = by the frame's height)"});
    table->number(
        &DvOverlaySettings::hold, When::kPlaying, 0, G_MAXUINT,
        {"hold", "Hold",
         "How long the last objects stay on frames that were passed without inference, in "
         "milliseconds of running time (0 = not at all)"});
    return table;
  }();
  return *rows;
}

// --- drawing -----------------------------------------------------------------------------------

// `info` describes the mapped frame: a frame that a meta crops is larger than the caps say.
static void gst_dv_overlay_configure_painter(GstDvOverlay* self, const GstVideoInfo& info,
                                             const DvOverlaySettings& settings) {
  GstDvOverlayPrivate& priv = *self->priv;
  if (info.width == priv.width && info.height == priv.height &&
      settings.line_width == priv.line_width && settings.text_height == priv.text_height) {
    return;
  }
  priv.width = info.width;
  priv.height = info.height;
  priv.line_width = settings.line_width;
  priv.text_height = settings.text_height;
  priv.painter.configure(info, settings.line_width, settings.text_height);
}

static Status gst_dv_overlay_paint(GstDvOverlay* self, GstBuffer* frame,
                                   const DvOverlaySettings& settings,
                                   const std::vector<Drawing>& scene) {
  DVNN_TRY(dvnn::gst::check_video_meta(self->priv->video, frame));
  // Mapping for writing also copies memory that others hold, for example a tee's other branch.
  VideoFrameMap mapped(self->priv->video, frame, GST_MAP_READWRITE);
  if (!mapped.ok()) {
    return Error{ErrorCode::kMalformed, "the frame's memory cannot be mapped for writing"};
  }
  DVNN_TRY(dvnn::gst::check_frame_memory(mapped.frame()));
  DVNN_TRY(dvnn::gst::check_frame_alignment(mapped.frame()));
  gst_dv_overlay_configure_painter(self, mapped->info, settings);
  const dvnn::gst::CompositionPtr composition(gst_video_overlay_composition_new(nullptr));
  int row = 0;
  for (const Drawing& drawing : scene) {
    self->priv->painter.draw(drawing, row, composition.get());
    if (!drawing.box) ++row;
  }
  gst_video_overlay_composition_blend(composition.get(), mapped.get());
  return {};
}

static Status gst_dv_overlay_draw(GstDvOverlay* self, GstBuffer* frame,
                                  const DvOverlaySettings& settings) {
  const GstClockTime time = dvnn::gst::running_time(GST_BASE_TRANSFORM(self)->segment, frame);
  const std::vector<Drawing> scene =
      self->priv->scene.read(frame, time,
                             {settings.labels, settings.confidence,
                              static_cast<GstClockTime>(settings.hold * GST_MSECOND)});
  if (scene.empty()) return {};
  return gst_dv_overlay_paint(self, frame, settings, scene);
}

static GstFlowReturn gst_dv_overlay_transform_ip(GstBaseTransform* trans, GstBuffer* frame) {
  GstDvOverlay* self = GST_DV_OVERLAY(trans);
  DvOverlaySettings settings;
  {
    const ObjectLock lock(self);
    settings = self->priv->settings;
  }
  return dvnn::gst::guard(self, "the objects cannot be drawn", GST_FLOW_ERROR, [&] {
    const Status status = gst_dv_overlay_draw(self, frame, settings);
    if (status.ok()) return GST_FLOW_OK;
    dvnn::gst::post_error(GST_ELEMENT(self), Topic::kData, status.error());
    return GST_FLOW_ERROR;
  });
}

// --- stream ------------------------------------------------------------------------------------

static gboolean gst_dv_overlay_set_caps(GstBaseTransform* trans, GstCaps* incaps, GstCaps*) {
  GstDvOverlayPrivate& priv = *GST_DV_OVERLAY(trans)->priv;
  if (!dvnn::gst::video_info_from_caps(incaps, &priv.video)) return FALSE;
  priv.width = priv.height = 0;  // have the painter configured again
  priv.scene.reset();
  return TRUE;
}

static gboolean gst_dv_overlay_sink_event(GstBaseTransform* trans, GstEvent* event) {
  const GstEventType type = GST_EVENT_TYPE(event);
  if (type == GST_EVENT_FLUSH_STOP || type == GST_EVENT_STREAM_START) {
    GST_DV_OVERLAY(trans)->priv->scene.reset();
  }
  return GST_BASE_TRANSFORM_CLASS(gst_dv_overlay_parent_class)->sink_event(trans, event);
}

static gboolean gst_dv_overlay_stop(GstBaseTransform* trans) {
  GST_DV_OVERLAY(trans)->priv->scene.reset();
  return TRUE;
}

// --- object ------------------------------------------------------------------------------------

static void gst_dv_overlay_set_property(GObject* object, guint id, const GValue* value,
                                        GParamSpec*) {
  gst_dv_overlay_properties().set(GST_ELEMENT(object), &GST_DV_OVERLAY(object)->priv->settings, id,
                                  value);
}

static void gst_dv_overlay_get_property(GObject* object, guint id, GValue* value, GParamSpec*) {
  gst_dv_overlay_properties().get(GST_ELEMENT(object), &GST_DV_OVERLAY(object)->priv->settings, id,
                                  value);
}

static void gst_dv_overlay_finalize(GObject* object) {
  delete GST_DV_OVERLAY(object)->priv;
  G_OBJECT_CLASS(gst_dv_overlay_parent_class)->finalize(object);
}

static void gst_dv_overlay_init(GstDvOverlay* self) {
  self->priv = new GstDvOverlayPrivate();
  gst_video_info_init(&self->priv->video);
  gst_base_transform_set_in_place(GST_BASE_TRANSFORM(self), TRUE);
}

static void gst_dv_overlay_class_init(GstDvOverlayClass* klass) {
  GObjectClass* object_class = G_OBJECT_CLASS(klass);
  GstElementClass* element_class = GST_ELEMENT_CLASS(klass);
  GstBaseTransformClass* trans_class = GST_BASE_TRANSFORM_CLASS(klass);
  GST_DEBUG_CATEGORY_INIT(dv_overlay_debug, "dvoverlay", 0, "Drawing of objects");
  object_class->set_property = GST_DEBUG_FUNCPTR(gst_dv_overlay_set_property);
  object_class->get_property = GST_DEBUG_FUNCPTR(gst_dv_overlay_get_property);
  object_class->finalize = GST_DEBUG_FUNCPTR(gst_dv_overlay_finalize);
  gst_dv_overlay_properties().install(object_class);
  gst_element_class_set_static_metadata(
      element_class, "DV object overlay", "Filter/Editor/Video",
      "Draws the objects that dvdecode found: boxes, labels and confidences",
      "gst-dvnn developers");
  gst_element_class_add_static_pad_template(element_class, &dv_overlay_sink_template);
  gst_element_class_add_static_pad_template(element_class, &dv_overlay_src_template);
  trans_class->stop = GST_DEBUG_FUNCPTR(gst_dv_overlay_stop);
  trans_class->set_caps = GST_DEBUG_FUNCPTR(gst_dv_overlay_set_caps);
  trans_class->sink_event = GST_DEBUG_FUNCPTR(gst_dv_overlay_sink_event);
  trans_class->transform_ip = GST_DEBUG_FUNCPTR(gst_dv_overlay_transform_ip);
}
