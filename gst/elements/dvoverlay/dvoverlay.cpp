// SPDX-License-Identifier: Apache-2.0
/**
 * SECTION:element-dvoverlay
 * @title: dvoverlay
 * @short_description: draws objects onto the frame
 *
 * dvoverlay draws every object of a frame's #GstDvObjectsMeta: the mask as a tint, the box or,
 * where it has one, the outline, the points with the lines of their skeleton, and a label of what
 * it is: its class, or the text that was read there, the confidence, and numbers. The colour
 * belongs to the class or, by #GstDvOverlay:color-by, to the track. Lines and letters follow the
 * frame's height. Then it draws every #GstVideoRegionOfInterestMeta that another element attached,
 * with its type as the label. Labels may be in any language that the installed fonts have.
 *
 * What a second network says of an object is written below that; what is said of the whole frame
 * is listed in its upper left corner.
 *
 * Below the objects it draws the areas and lines that dvzones watched in the frame, with what they
 * have counted and, at lines, an arrow in the direction that counts as forward, and, where
 * #GstDvOverlay:trails-ms asks for it, the way of each track: where the middle of its box's lower
 * edge was.
 *
 * Where downstream draws overlays itself (caps with the feature `meta:GstVideoOverlayComposition`,
 * as video sinks have), the frame stays as it is, and what is drawn travels with it.
 *
 * #GstDvOverlay:blur and #GstDvOverlay:pixelate make objects of some classes unrecognisable: the
 * frame's own pixels within their boxes become averages of an eighth of the box. Boxes of frames
 * that were passed without inference are the last ones, so use dvinfer's settings that infer each
 * frame where this is to hide people.
 *
 * On frames that dvinfer passed without inference, the objects of the last inferred frame stay for
 * #GstDvOverlay:hold-ms milliseconds, so that boxes do not flicker where the network is slower than
 * the camera.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 videotestsrc num-buffers=100 ! dvconvert ! dvinfer ! dvdecode ! dvoverlay
 * draw-confidence=false ! videoconvert ! autovideosink
 * ]| Draws labels without confidences.
 * |[
 * gst-launch-1.0 videotestsrc num-buffers=100 ! dvconvert ! dvinfer ! dvdecode ! dvoverlay
 * show="QR code" pixelate="QR code" ! videoconvert ! autovideosink
 * ]| Draws one class alone, and makes it unreadable.
 * |[
 * gst-launch-1.0 videotestsrc num-buffers=100 ! dvconvert ! dvinfer ! dvdecode threshold=0.1 !
 * dvtrack ! dvzones zones="{\"lines\":[{\"name\":\"gate\",\"points\":[[0.5,1.0],[0.5,0.0]]}]}" !
 * dvoverlay color-by=track trails-ms=3000 ! videoconvert ! autovideosink
 * ]| Draws a line, how many have crossed it, and the last three seconds of each track.
 */
#include "elements/dvoverlay/dvoverlay.h"

#include <gst/video/video.h>

#include <algorithm>

#include "elements/dvoverlay/overlaypainter.h"
#include "elements/dvoverlay/overlayscene.h"
#include "elements/objectclass.h"
#include "errors.h"
#include "frames/framecheck.h"
#include "frames/framemap.h"
#include "frames/frameobscurer.h"
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
using dvnn::draw::Item;
using dvnn::gst::CapsPtr;
using dvnn::gst::ColorBy;
using dvnn::gst::ObjectLock;
using dvnn::gst::own_private;
using dvnn::gst::own_properties;
using dvnn::gst::Scene;
using dvnn::gst::Topic;
using dvnn::gst::VideoFrameMap;
using dvnn::gst::When;

namespace {

struct DvOverlaySettings {
  bool labels = true;
  bool confidence = true;
  bool tracks = true;
  guint line_width = 0;
  guint text_height = 0;
  guint hold = 1000;
  ColorBy color_by = ColorBy::kClass;
  std::string show, hide, blur, pixelate;
  bool zones = true;
  bool counts = true;
  guint trails = 0;
};

const GEnumValue kColors[] = {
    {static_cast<gint>(ColorBy::kClass), "A colour for each class", "class"},
    {static_cast<gint>(ColorBy::kTrack), "A colour for each track", "track"},
    {0, nullptr, nullptr}};

#define DVNN_COMPOSITION_CAPS                                                                      \
  DVNN_VIDEO_CAPS                                                                                  \
  "; " GST_VIDEO_CAPS_MAKE_WITH_FEATURES(GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY                     \
                                         ", " GST_CAPS_FEATURE_META_GST_VIDEO_OVERLAY_COMPOSITION, \
                                         DVNN_VIDEO_FORMATS)

}  // namespace

struct GstDvOverlayPrivate {
  // Under the object lock.
  DvOverlaySettings settings;
  // Streaming thread only.
  GstVideoInfo video;
  bool composes = false;  // downstream draws
  dvnn::gst::SceneSettings scene_settings;
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
static GstStaticPadTemplate dv_overlay_src_template = GST_STATIC_PAD_TEMPLATE(
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS(DVNN_COMPOSITION_CAPS));

static const dvnn::gst::Properties<DvOverlaySettings>& gst_dv_overlay_properties() {
  static const auto* const rows = [] {
    auto* table = new dvnn::gst::Properties<DvOverlaySettings>();
    table->boolean(&DvOverlaySettings::labels, When::kPlaying,
                   {"draw-labels", "Draw labels", "Write the label at each box"});
    table->boolean(&DvOverlaySettings::confidence, When::kPlaying,
                   {"draw-confidence", "Draw confidence", "Write the confidence in percent"});
    table->boolean(
        &DvOverlaySettings::tracks, When::kPlaying,
        {"draw-tracks", "Draw tracks", "Write the number of the track, where there is one"});
    table->number(&DvOverlaySettings::line_width, When::kPlaying, 0, 100,
                  {"line-width", "Line width",
                   "Width of a box's lines in pixels; 0 to go by the frame's height"});
    table->number(&DvOverlaySettings::text_height, When::kPlaying, 0, 500,
                  {"text-height", "Text height",
                   "Height of the letters in pixels; 0 to go by the frame's height"});
    table->number(&DvOverlaySettings::hold, When::kPlaying, 0, G_MAXUINT,
                  {"hold-ms", "Hold",
                   "Milliseconds of running time for which the last objects stay on frames without "
                   "inference"});
    table->choice(&DvOverlaySettings::color_by, When::kPlaying,
                  dvnn::gst::register_enum("GstDvOverlayColorBy", kColors),
                  {"color-by", "Color by", "The fact that an object's colour tells"});
    dvnn::gst::add_label_list(&DvOverlaySettings::show, "show", "show-array", "Show",
                              "Labels of objects to draw, between commas; empty for all", table);
    dvnn::gst::add_label_list(&DvOverlaySettings::hide, "hide", "hide-array", "Hide",
                              "Labels of objects that are not drawn, between commas", table);
    dvnn::gst::add_label_list(
        &DvOverlaySettings::blur, "blur", "blur-array", "Blur",
        "Labels of objects whose pixels are blurred, drawn or not, between commas", table);
    dvnn::gst::add_label_list(
        &DvOverlaySettings::pixelate, "pixelate", "pixelate-array", "Pixelate",
        "Labels of objects whose pixels become large squares, drawn or not, between "
        "commas",
        table);
    table->boolean(&DvOverlaySettings::zones, When::kPlaying,
                   {"draw-zones", "Draw zones", "Draw the areas and lines of dvzones"});
    table->boolean(&DvOverlaySettings::counts, When::kPlaying,
                   {"draw-counts", "Draw counts",
                    "Write how many are in an area, and how many have crossed a line either way"});
    constexpr guint kLongestTrail = 60 * 1000;
    table->number(&DvOverlaySettings::trails, When::kPlaying, 0, kLongestTrail,
                  {"trails-ms", "Trails",
                   "Milliseconds of running time for which trails show where the feet of tracks "
                   "have been"});
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

static bool gst_dv_overlay_obscures(const std::vector<Item>& items) {
  return std::any_of(items.begin(), items.end(),
                     [](const Item& item) { return item.obscure != dvnn::draw::Obscure::kNo; });
}

// Draws into the frame's memory: all, or only what downstream cannot draw for us.
static Status gst_dv_overlay_paint(GstDvOverlay* self, GstBuffer* frame,
                                   const DvOverlaySettings& settings, const Scene& scene) {
  DVNN_TRY(dvnn::gst::check_video_meta(self->priv->video, frame));
  // Mapping for writing also copies memory that others hold, for example a tee's other branch.
  VideoFrameMap mapped(self->priv->video, frame, GST_MAP_READWRITE);
  if (!mapped.ok()) {
    return Error{ErrorCode::kMalformed, "the frame's memory cannot be mapped for writing"};
  }
  DVNN_TRY(dvnn::gst::check_frame_memory(mapped.frame()));
  DVNN_TRY(dvnn::gst::check_frame_alignment(mapped.frame()));
  dvnn::gst::obscure_items(scene.items, mapped.get());
  if (self->priv->composes) return {};
  gst_dv_overlay_configure_painter(self, mapped->info, settings);
  gst_video_overlay_composition_blend(self->priv->painter.compose(scene.items, scene.figures).get(),
                                      mapped.get());
  return {};
}

static void gst_dv_overlay_attach(GstDvOverlay* self, GstBuffer* frame,
                                  const DvOverlaySettings& settings, const Scene& scene) {
  GstVideoInfo info = self->priv->video;
  if (const GstVideoMeta* meta = gst_buffer_get_video_meta(frame)) {
    info.width = static_cast<gint>(meta->width);
    info.height = static_cast<gint>(meta->height);
  }
  gst_dv_overlay_configure_painter(self, info, settings);
  const dvnn::gst::CompositionPtr composition =
      self->priv->painter.compose(scene.items, scene.figures);
  if (gst_video_overlay_composition_n_rectangles(composition.get()) == 0) return;
  gst_buffer_add_video_overlay_composition_meta(frame, composition.get());
}

static void gst_dv_overlay_read_settings(const DvOverlaySettings& settings,
                                         dvnn::gst::SceneSettings* scene) {
  scene->caption = {settings.labels, settings.confidence, settings.tracks};
  scene->hold = static_cast<GstClockTime>(settings.hold) * GST_MSECOND;
  scene->color_by = settings.color_by;
  scene->show.set(settings.show);
  scene->hide.set(settings.hide);
  scene->blur.set(settings.blur);
  scene->pixelate.set(settings.pixelate);
  scene->zones = settings.zones;
  scene->counts = settings.counts;
  scene->trails = static_cast<GstClockTime>(settings.trails) * GST_MSECOND;
}

static Status gst_dv_overlay_draw(GstDvOverlay* self, GstBuffer* frame,
                                  const DvOverlaySettings& settings) {
  GstDvOverlayPrivate& priv = *self->priv;
  const GstClockTime time = dvnn::gst::running_time(GST_BASE_TRANSFORM(self)->segment, frame);
  gst_dv_overlay_read_settings(settings, &priv.scene_settings);
  Scene scene = priv.scene.read(frame, time, priv.scene_settings);
  GST_LOG_OBJECT(self, "frame at %" GST_TIME_FORMAT ": %zu objects and %zu figures are drawn",
                 GST_TIME_ARGS(time), scene.items.size(), scene.figures.size());
  scene.flatten(dvnn::gst::lines_per_row(priv.video));
  if (scene.empty()) return {};
  if (!priv.composes || gst_dv_overlay_obscures(scene.items)) {
    DVNN_TRY(gst_dv_overlay_paint(self, frame, settings, scene));
  }
  if (priv.composes) gst_dv_overlay_attach(self, frame, settings, scene);
  return {};
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

static bool gst_dv_overlay_is_composed(const GstCaps* caps, guint index) {
  const GstCapsFeatures* features = gst_caps_get_features(caps, index);
  return features && !gst_caps_features_is_any(features) &&
         gst_caps_features_contains(features, GST_CAPS_FEATURE_META_GST_VIDEO_OVERLAY_COMPOSITION);
}

// The caps, each with the same frames drawn upon by downstream or, towards upstream, by us.
static GstCaps* gst_dv_overlay_transform_caps(GstBaseTransform*, GstPadDirection direction,
                                              GstCaps* caps, GstCaps* filter) {
  GstCaps* result = gst_caps_new_empty();
  for (guint i = 0; i < gst_caps_get_size(caps); ++i) {
    const GstStructure* structure = gst_caps_get_structure(caps, i);
    GstCapsFeatures* features = gst_caps_get_features(caps, i);
    const bool system = gst_caps_features_is_any(features) ||
                        gst_caps_features_contains(features, GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY);
    const bool composed = gst_dv_overlay_is_composed(caps, i);
    if (direction == GST_PAD_SINK || !composed) {
      gst_caps_append_structure_full(result, gst_structure_copy(structure),
                                     gst_caps_features_copy(features));
    }
    if (!system || composed != (direction == GST_PAD_SRC)) continue;
    gst_caps_append_structure_full(
        result, gst_structure_copy(structure),
        direction == GST_PAD_SRC
            ? gst_caps_features_new(GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY, nullptr)
            : gst_caps_features_new(GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY,
                                    GST_CAPS_FEATURE_META_GST_VIDEO_OVERLAY_COMPOSITION, nullptr));
  }
  if (!filter) return result;
  const CapsPtr all(result);
  return gst_caps_intersect_full(filter, all.get(), GST_CAPS_INTERSECT_FIRST);
}

// Returns whether somebody downstream names the feature: elements that take anything do not draw.
static bool gst_dv_overlay_is_asked_for(GstBaseTransform* trans) {
  const CapsPtr caps(gst_pad_peer_query_caps(GST_BASE_TRANSFORM_SRC_PAD(trans), nullptr));
  for (guint i = 0; caps && i < gst_caps_get_size(caps.get()); ++i) {
    if (gst_dv_overlay_is_composed(caps.get(), i)) return true;
  }
  return false;
}

// Returns whether downstream will draw what travels with frames of these caps.
static bool gst_dv_overlay_is_taken(GstBaseTransform* trans, GstCaps* caps) {
  const dvnn::gst::QueryPtr query(gst_query_new_allocation(caps, FALSE));
  return gst_pad_peer_query(GST_BASE_TRANSFORM_SRC_PAD(trans), query.get()) &&
         gst_query_find_allocation_meta(query.get(), GST_VIDEO_OVERLAY_COMPOSITION_META_API_TYPE,
                                        nullptr);
}

static GstCaps* gst_dv_overlay_fixate_caps(GstBaseTransform* trans, GstPadDirection direction,
                                           GstCaps* caps, GstCaps* others) {
  if (direction != GST_PAD_SINK) {
    return GST_BASE_TRANSFORM_CLASS(gst_dv_overlay_parent_class)
        ->fixate_caps(trans, direction, caps, others);
  }
  const CapsPtr offered(others);
  CapsPtr plain(gst_caps_new_empty()), composed(gst_caps_new_empty());
  for (guint i = 0; i < gst_caps_get_size(others); ++i) {
    gst_caps_append((gst_dv_overlay_is_composed(others, i) ? composed : plain).get(),
                    gst_caps_copy_nth(others, i));
  }
  if (!gst_caps_is_empty(composed.get())) composed.reset(gst_caps_fixate(composed.release()));
  const bool takes =
      !gst_caps_is_empty(composed.get()) &&
      (gst_caps_is_empty(plain.get()) ||
       (gst_dv_overlay_is_asked_for(trans) && gst_dv_overlay_is_taken(trans, composed.get())));
  return takes ? composed.release() : gst_caps_fixate(plain.release());
}

static gboolean gst_dv_overlay_set_caps(GstBaseTransform* trans, GstCaps* incaps,
                                        GstCaps* outcaps) {
  GstDvOverlayPrivate& priv = *GST_DV_OVERLAY(trans)->priv;
  if (!dvnn::gst::video_info_from_caps(incaps, &priv.video)) return FALSE;
  priv.width = priv.height = 0;  // have the painter configured again
  priv.scene.reset();
  priv.composes = gst_dv_overlay_is_composed(outcaps, 0);
  GST_DEBUG_OBJECT(trans, "%s draws", priv.composes ? "downstream" : "dvoverlay");
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
  own_private<GstDvOverlay>(object_class);
  own_properties<GstDvOverlay, gst_dv_overlay_properties>(object_class);
  gst_element_class_set_static_metadata(
      element_class, "DV object overlay", "Filter/Editor/Video",
      "Draws the objects that dvdecode found: boxes, outlines, points, masks and labels",
      "gst-dvnn developers");
  gst_element_class_add_static_pad_template(element_class, &dv_overlay_sink_template);
  gst_element_class_add_static_pad_template(element_class, &dv_overlay_src_template);
  trans_class->stop = GST_DEBUG_FUNCPTR(gst_dv_overlay_stop);
  trans_class->transform_caps = GST_DEBUG_FUNCPTR(gst_dv_overlay_transform_caps);
  trans_class->fixate_caps = GST_DEBUG_FUNCPTR(gst_dv_overlay_fixate_caps);
  trans_class->set_caps = GST_DEBUG_FUNCPTR(gst_dv_overlay_set_caps);
  trans_class->sink_event = GST_DEBUG_FUNCPTR(gst_dv_overlay_sink_event);
  trans_class->transform_ip = GST_DEBUG_FUNCPTR(gst_dv_overlay_transform_ip);
}
