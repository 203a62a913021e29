// SPDX-License-Identifier: Apache-2.0
/**
 * SECTION:element-dvoverlay
 * @title: dvoverlay
 * @short_description: draws detections onto the frame
 *
 * dvoverlay draws every region of interest that carries a `detection` or `classification` structure
 * (as dvdecode attaches them): the box, the label, the confidence, in a colour that belongs to the
 * class. Lines and letters follow the frame's height.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 videotestsrc num-buffers=100 ! dvconvert ! dvinfer ! dvdecode ! dvoverlay
 * confidence=false ! videoconvert ! autovideosink
 * ]| Draws labels without confidences.
 */
#include "elements/dvoverlay.h"

#include <gst/video/video.h>

#include "elements/overlaypainter.h"
#include "frames/frameconverter.h"

GST_DEBUG_CATEGORY_STATIC(dv_overlay_debug);
#define GST_CAT_DEFAULT dv_overlay_debug

#define DEFAULT_LABELS TRUE
#define DEFAULT_CONFIDENCE TRUE
#define DEFAULT_LINE_WIDTH 0
#define DEFAULT_TEXT_HEIGHT 0

enum { PROP_0, PROP_LABELS, PROP_CONFIDENCE, PROP_LINE_WIDTH, PROP_TEXT_HEIGHT };

namespace {

struct OverlayState {
  // Properties, under the object lock.
  gboolean labels = DEFAULT_LABELS;
  gboolean confidence = DEFAULT_CONFIDENCE;
  guint line_width = DEFAULT_LINE_WIDTH;
  guint text_height = DEFAULT_TEXT_HEIGHT;
  bool changed = false;  // line width or text height
  // Streaming thread only.
  GstVideoInfo video;
  dvnn::gst::OverlayPainter painter;
};

}  // namespace

struct _GstDvOverlay {
  GstBaseTransform parent;
  OverlayState* state;
};

G_DEFINE_TYPE(GstDvOverlay, gst_dv_overlay, GST_TYPE_BASE_TRANSFORM)
GST_ELEMENT_REGISTER_DEFINE(dvoverlay, "dvoverlay", GST_RANK_NONE, GST_TYPE_DV_OVERLAY)

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE(
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS(GST_VIDEO_CAPS_MAKE(DVNN_VIDEO_FORMATS)));
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE(
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS(GST_VIDEO_CAPS_MAKE(DVNN_VIDEO_FORMATS)));

// Reads a region's detection; false for regions of other makers.
static bool gst_dv_overlay_read(GstVideoRegionOfInterestMeta* roi, bool labels, bool confidence,
                                dvnn::gst::Drawing* drawing) {
  const GstStructure* s = gst_video_region_of_interest_meta_get_param(roi, "detection");
  drawing->box = s != nullptr;
  if (!s) s = gst_video_region_of_interest_meta_get_param(roi, "classification");
  if (!s) return false;
  gdouble score = 0;
  drawing->x0 = roi->x;
  drawing->y0 = roi->y;
  drawing->x1 = roi->x + roi->w;
  drawing->y1 = roi->y + roi->h;
  gst_structure_get(s, "x0", G_TYPE_DOUBLE, &drawing->x0, "y0", G_TYPE_DOUBLE, &drawing->y0, "x1",
                    G_TYPE_DOUBLE, &drawing->x1, "y1", G_TYPE_DOUBLE, &drawing->y1, nullptr);
  gst_structure_get_int(s, "class-id", &drawing->class_id);
  if (labels) drawing->text = g_quark_to_string(roi->roi_type);
  if (confidence && gst_structure_get_double(s, "confidence", &score)) {
    gchar* percent = g_strdup_printf("%s%.0f%%", labels ? " " : "", 100 * score);
    drawing->text += percent;
    g_free(percent);
  }
  return true;
}

static gboolean gst_dv_overlay_set_caps(GstBaseTransform* trans, GstCaps* incaps, GstCaps*) {
  OverlayState& state = *GST_DV_OVERLAY(trans)->state;
  if (!gst_video_info_from_caps(&state.video, incaps)) return FALSE;
  GST_OBJECT_LOCK(trans);
  state.changed = false;
  const guint line_width = state.line_width, text_height = state.text_height;
  GST_OBJECT_UNLOCK(trans);
  state.painter.configure(state.video, line_width, text_height);
  return TRUE;
}

static GstFlowReturn gst_dv_overlay_transform_ip(GstBaseTransform* trans, GstBuffer* frame) {
  GstDvOverlay* self = GST_DV_OVERLAY(trans);
  OverlayState& state = *self->state;
  GST_OBJECT_LOCK(self);
  const bool labels = state.labels, confidence = state.confidence;
  const bool changed = std::exchange(state.changed, false);
  const guint line_width = state.line_width, text_height = state.text_height;
  GST_OBJECT_UNLOCK(self);
  if (changed) state.painter.configure(state.video, line_width, text_height);

  GstVideoOverlayComposition* composition = gst_video_overlay_composition_new(nullptr);
  gpointer iterator = nullptr;
  int row = 0;
  while (GstMeta* meta = gst_buffer_iterate_meta_filtered(
             frame, &iterator, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
    dvnn::gst::Drawing drawing;
    if (!gst_dv_overlay_read(reinterpret_cast<GstVideoRegionOfInterestMeta*>(meta), labels,
                             confidence, &drawing)) {
      continue;
    }
    state.painter.draw(drawing, row, composition);
    if (!drawing.box) ++row;
  }
  GstFlowReturn flow = GST_FLOW_OK;
  if (gst_video_overlay_composition_n_rectangles(composition) > 0) {
    // Mapping for writing copies memory that somebody else (a tee's other branch) holds, too.
    GstVideoFrame mapped;
    if (gst_video_frame_map(&mapped, &state.video, frame, GST_MAP_READWRITE)) {
      gst_video_overlay_composition_blend(composition, &mapped);
      gst_video_frame_unmap(&mapped);
    } else {
      GST_ELEMENT_ERROR(self, RESOURCE, WRITE, ("the frame's memory cannot be mapped for writing"),
                        (nullptr));
      flow = GST_FLOW_ERROR;
    }
  }
  gst_video_overlay_composition_unref(composition);
  return flow;
}

static void gst_dv_overlay_set_property(GObject* object, guint id, const GValue* value,
                                        GParamSpec* pspec) {
  OverlayState& state = *GST_DV_OVERLAY(object)->state;
  GST_OBJECT_LOCK(object);
  switch (id) {
    case PROP_LABELS:
      state.labels = g_value_get_boolean(value);
      break;
    case PROP_CONFIDENCE:
      state.confidence = g_value_get_boolean(value);
      break;
    case PROP_LINE_WIDTH:
      state.line_width = g_value_get_uint(value);
      state.changed = true;
      break;
    case PROP_TEXT_HEIGHT:
      state.text_height = g_value_get_uint(value);
      state.changed = true;
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
      break;
  }
  GST_OBJECT_UNLOCK(object);
}

static void gst_dv_overlay_get_property(GObject* object, guint id, GValue* value,
                                        GParamSpec* pspec) {
  const OverlayState& state = *GST_DV_OVERLAY(object)->state;
  GST_OBJECT_LOCK(object);
  switch (id) {
    case PROP_LABELS:
      g_value_set_boolean(value, state.labels);
      break;
    case PROP_CONFIDENCE:
      g_value_set_boolean(value, state.confidence);
      break;
    case PROP_LINE_WIDTH:
      g_value_set_uint(value, state.line_width);
      break;
    case PROP_TEXT_HEIGHT:
      g_value_set_uint(value, state.text_height);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
      break;
  }
  GST_OBJECT_UNLOCK(object);
}

static void gst_dv_overlay_finalize(GObject* object) {
  delete GST_DV_OVERLAY(object)->state;
  G_OBJECT_CLASS(gst_dv_overlay_parent_class)->finalize(object);
}

static void gst_dv_overlay_init(GstDvOverlay* self) {
  self->state = new OverlayState();
  gst_base_transform_set_in_place(GST_BASE_TRANSFORM(self), TRUE);
}

static void gst_dv_overlay_class_init(GstDvOverlayClass* klass) {
  GObjectClass* object_class = G_OBJECT_CLASS(klass);
  GstElementClass* element_class = GST_ELEMENT_CLASS(klass);
  GstBaseTransformClass* trans_class = GST_BASE_TRANSFORM_CLASS(klass);
  const auto flags = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                              GST_PARAM_MUTABLE_PLAYING);
  GST_DEBUG_CATEGORY_INIT(dv_overlay_debug, "dvoverlay", 0, "Drawing of detections");
  object_class->set_property = gst_dv_overlay_set_property;
  object_class->get_property = gst_dv_overlay_get_property;
  object_class->finalize = gst_dv_overlay_finalize;
  g_object_class_install_property(
      object_class, PROP_LABELS,
      g_param_spec_boolean("labels", "Labels", "Write the label at each box", DEFAULT_LABELS,
                           flags));
  g_object_class_install_property(
      object_class, PROP_CONFIDENCE,
      g_param_spec_boolean("confidence", "Confidence", "Write the confidence in percent",
                           DEFAULT_CONFIDENCE, flags));
  g_object_class_install_property(
      object_class, PROP_LINE_WIDTH,
      g_param_spec_uint("line-width", "Line width",
                        "Width of a box's lines in pixels; 0: by the frame's height", 0, 100,
                        DEFAULT_LINE_WIDTH, flags));
  g_object_class_install_property(
      object_class, PROP_TEXT_HEIGHT,
      g_param_spec_uint("text-height", "Text height",
                        "Height of the letters in pixels; 0: by the frame's height", 0, 500,
                        DEFAULT_TEXT_HEIGHT, flags));
  gst_element_class_set_static_metadata(
      element_class, "DV detection overlay", "Filter/Editor/Video",
      "Draws the detections that dvdecode attached: boxes, labels and confidences",
      "gst-dvnn developers");
  gst_element_class_add_static_pad_template(element_class, &sink_template);
  gst_element_class_add_static_pad_template(element_class, &src_template);
  trans_class->set_caps = gst_dv_overlay_set_caps;
  trans_class->transform_ip = gst_dv_overlay_transform_ip;
}
