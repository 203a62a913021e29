// SPDX-License-Identifier: Apache-2.0
/**
 * SECTION:element-dvoverlay
 * @title: dvoverlay
 * @short_description: draws objects onto the frame
 *
 * dvoverlay draws every object of a frame's #GstDvObjectsMeta: the mask as a tint, the outline or
 * else the box, the points with the lines of their skeleton, and a caption: the text that was read
 * or else the class, the confidence, and numbers. The colour
 * belongs to the class or, by #GstDvOverlay:color-by, to the track. Lines and letters follow the
 * frame's height. Then it draws every #GstVideoRegionOfInterestMeta that another element attached,
 * with its type as the label. Labels may be in any language that the installed fonts have.
 *
 * Where dvdecode or dvread compare several looks (`agree`), the confidence is followed by how sure
 * they are together and how many they are: `99%/3`. With #GstDvOverlay:only-agreed, what they do
 * not agree on is not drawn.
 *
 * The results of a second network on an object are written below it; results about the whole frame
 * are listed in its upper left corner.
 *
 * Below the objects it draws the areas and lines that dvzones watched in the frame, with their
 * counts. An arrow at a line points forward; a bay is red while it is occupied, and green while it
 * is free; pairs of tracks that are near each other are joined, with their metres. With
 * #GstDvOverlay:draw-heat it draws where tracks have spent their time since the start, and with
 * #GstDvOverlay:trails-ms the path of each track: where the middle of its box's lower edge was.
 *
 * Applications draw by a #GstDvDrawingMeta: lines, polygons, texts and pictures, below the objects
 * or above them.
 *
 * If downstream draws overlays itself (caps with the feature `meta:GstVideoOverlayComposition`, as
 * video sinks have), the frame stays as it is, and the overlay travels with it.
 *
 * #GstDvOverlay:blur and #GstDvOverlay:pixelate make objects of some classes unrecognisable: the
 * frame's own pixels within their boxes become averages of an eighth of the box. To hide people,
 * let dvinfer infer every frame: frames that it passes have only the boxes of an earlier one.
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
 *
 * Since: 0.1.0
 */
#include "elements/elements.h"

#include <gst/video/video.h>

#include <algorithm>

#include "elements/dvoverlay/overlaypainter.h"
#include "elements/dvoverlay/overlayscene.h"
#include "errors.h"
#include "frames/caps.h"
#include "frames/framemap.h"
#include "frames/frameobscurer.h"
#include "log.h"
#include "properties.h"
#include "refs.h"
#include "times.h"

DVNN_LOG_CATEGORY(overlay_category, "dvoverlay", "Drawing of objects")
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT overlay_category()

#define DVNN_COMPOSITION_CAPS                                                                      \
  DVNN_VIDEO_CAPS                                                                                  \
  "; " GST_VIDEO_CAPS_MAKE_WITH_FEATURES(GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY                     \
                                         ", " GST_CAPS_FEATURE_META_GST_VIDEO_OVERLAY_COMPOSITION, \
                                         DVNN_VIDEO_FORMATS)

namespace dvnn::gst {
namespace {

using draw::Item;

struct OverlaySettings {
  bool labels = true;
  bool confidence = true;
  bool tracks = true;
  guint line_width = 0;
  guint text_height = 0;
  guint hold = 1000;
  ColorBy color_by = ColorBy::kClass;
  std::string show, hide, blur, pixelate;
  bool only_agreed = false;
  bool zones = true;
  bool counts = true;
  bool shapes = true;
  bool heat = false;
  guint trails = 0;
};

const GEnumValue kColors[] = {
    {static_cast<gint>(ColorBy::kClass), "A colour for each class", "class"},
    {static_cast<gint>(ColorBy::kTrack), "A colour for each track", "track"},
    {0, nullptr, nullptr}};

Properties<OverlaySettings> overlay_properties() {
  Properties<OverlaySettings> table;
  table.boolean(&OverlaySettings::labels, When::kPlaying,
                {"draw-labels", "Draw labels", "Write the label at each box"});
  table.boolean(&OverlaySettings::confidence, When::kPlaying,
                {"draw-confidence", "Draw confidence", "Write the confidence in percent"});
  table.boolean(
      &OverlaySettings::tracks, When::kPlaying,
      {"draw-tracks", "Draw tracks", "Write the number of the track, where there is one"});
  table.number(&OverlaySettings::line_width, When::kPlaying, 0, 100,
               {"line-width", "Line width",
                "Width of a box's lines in pixels; 0 to go by the frame's height"});
  table.number(&OverlaySettings::text_height, When::kPlaying, 0, 500,
               {"text-height", "Text height",
                "Height of the letters in pixels; 0 to go by the frame's height"});
  table.number(&OverlaySettings::hold, When::kPlaying, 0, kMostMilliseconds,
               {"hold-ms", "Hold",
                "Milliseconds of running time for which the last objects stay on frames without "
                "inference"});
  table.choice(&OverlaySettings::color_by, When::kPlaying,
               register_enum("GstDvOverlayColorBy", kColors),
               {"color-by", "Color by", "Whether colours stand for classes or for tracks"});
  add_label_list(&OverlaySettings::show, "show", "show-array", "Show",
                 "Labels of objects to draw, between commas; empty for all", &table);
  add_label_list(&OverlaySettings::hide, "hide", "hide-array", "Hide",
                 "Labels of objects that are not drawn, between commas", &table);
  add_label_list(&OverlaySettings::blur, "blur", "blur-array", "Blur",
                 "Labels of objects whose pixels are blurred, drawn or not, between commas",
                 &table);
  add_label_list(&OverlaySettings::pixelate, "pixelate", "pixelate-array", "Pixelate",
                 "Labels of objects whose pixels become large squares, drawn or not, between "
                 "commas",
                 &table);
  table.boolean(&OverlaySettings::only_agreed, When::kPlaying,
                {"only-agreed", "Only agreed",
                 "Leave out classes, texts and numbers on which looks do not agree yet (agree of "
                 "dvdecode and dvread)"});
  table.boolean(&OverlaySettings::zones, When::kPlaying,
                {"draw-zones", "Draw zones",
                 "Draw the areas and lines of dvzones, and pairs that are near each other"});
  table.boolean(&OverlaySettings::counts, When::kPlaying,
                {"draw-counts", "Draw counts",
                 "Write how many are in an area or whether a bay is free, and how many have "
                 "crossed a line"});
  table.boolean(&OverlaySettings::heat, When::kPlaying,
                {"draw-heat", "Draw heat",
                 "Draw where tracks have spent their time, if the zones of dvzones have heat"});
  table.boolean(&OverlaySettings::shapes, When::kPlaying,
                {"draw-shapes", "Draw shapes",
                 "Draw the lines, polygons, texts and pictures that an application attached "
                 "(GstDvDrawingMeta)"});
  constexpr guint kLongestTrail = 60 * 1000;
  table.number(&OverlaySettings::trails, When::kPlaying, 0, kLongestTrail,
               {"trails-ms", "Trails",
                "Milliseconds of running time for which trails show where the feet of tracks "
                "have been"});
  return table;
}

class OverlayElement final : public ElementWithSettings<OverlaySettings> {
 public:
  explicit OverlayElement(GstBaseTransform* element) : ElementWithSettings(element) {
    gst_video_info_init(&video_);
  }

  void stop() override { scene_.reset(); }
  bool set_caps(GstCaps* in, GstCaps* out) override;
  void event(GstEvent* event) override;
  GstFlowReturn frame(GstBuffer* frame) override;

 private:
  void configure_painter(const GstVideoInfo& info);
  Status paint(GstBuffer* frame, const Scene& scene);
  void attach(GstBuffer* frame, const Scene& scene);
  Status draw(GstBuffer* frame);

  // Streaming thread only.
  GstVideoInfo video_;
  bool composes_ = false;  // whether downstream draws
  SceneSettings scene_settings_;
  OverlayScene scene_;
  OverlayPainter painter_;
  // The size that the painter was configured for.
  gint width_ = 0, height_ = 0;
  guint line_width_ = 0, text_height_ = 0;
};

// --- drawing -----------------------------------------------------------------------------------

// `info` describes the mapped frame. A frame that a meta crops is larger than its caps say.
void OverlayElement::configure_painter(const GstVideoInfo& info) {
  const OverlaySettings& settings = current();
  if (info.width == width_ && info.height == height_ && settings.line_width == line_width_ &&
      settings.text_height == text_height_) {
    return;
  }
  width_ = info.width;
  height_ = info.height;
  line_width_ = settings.line_width;
  text_height_ = settings.text_height;
  painter_.configure(info, settings.line_width, settings.text_height);
}

bool obscures(const std::vector<Item>& items) {
  return std::any_of(items.begin(), items.end(),
                     [](const Item& item) { return item.obscure != draw::Obscure::kNo; });
}

// Draws into the frame's memory: everything, or only what downstream cannot draw.
Status OverlayElement::paint(GstBuffer* frame, const Scene& scene) {
  DVNN_TRY(check_video_meta(video_, frame));
  // Mapping for writing copies memory that others share, such as a tee's other branch.
  VideoFrameMap mapped(video_, frame, GST_MAP_READWRITE);
  if (!mapped.ok()) return malformed("the frame's memory cannot be mapped for writing");
  DVNN_TRY(check_frame_memory(mapped.frame()));
  DVNN_TRY(check_frame_alignment(mapped.frame()));
  obscure_items(scene.items, mapped.get());
  if (composes_) return {};
  configure_painter(mapped->info);
  gst_video_overlay_composition_blend(
      painter_.compose(scene.items, scene.figures, scene.shapes, scene.heat).get(), mapped.get());
  return {};
}

void OverlayElement::attach(GstBuffer* frame, const Scene& scene) {
  GstVideoInfo info = video_;
  if (const GstVideoMeta* meta = gst_buffer_get_video_meta(frame)) {
    info.width = static_cast<gint>(meta->width);
    info.height = static_cast<gint>(meta->height);
  }
  configure_painter(info);
  const CompositionPtr composition =
      painter_.compose(scene.items, scene.figures, scene.shapes, scene.heat);
  if (gst_video_overlay_composition_n_rectangles(composition.get()) == 0) return;
  gst_buffer_add_video_overlay_composition_meta(frame, composition.get());
}

void read_settings(const OverlaySettings& settings, SceneSettings* scene) {
  scene->caption = {settings.labels, settings.confidence, settings.tracks};
  scene->hold = static_cast<GstClockTime>(settings.hold) * GST_MSECOND;
  scene->color_by = settings.color_by;
  scene->show.set(settings.show);
  scene->hide.set(settings.hide);
  scene->blur.set(settings.blur);
  scene->pixelate.set(settings.pixelate);
  scene->only_agreed = settings.only_agreed;
  scene->zones = settings.zones;
  scene->counts = settings.counts;
  scene->shapes = settings.shapes;
  scene->heat = settings.heat;
  scene->trails = static_cast<GstClockTime>(settings.trails) * GST_MSECOND;
}

Status OverlayElement::draw(GstBuffer* frame) {
  const GstClockTime time = running_time(segment(), frame);
  read_settings(take_settings(), &scene_settings_);
  Scene scene = scene_.read(frame, time, scene_settings_);
  GST_LOG_OBJECT(
      element(), "frame at %" GST_TIME_FORMAT ": %zu objects, %zu figures and %zu shapes are drawn",
      GST_TIME_ARGS(time), scene.items.size(), scene.figures.size(), scene.shapes.size());
  scene.flatten(lines_per_row(video_));
  if (scene.empty()) return {};
  if (!composes_ || obscures(scene.items)) {
    DVNN_TRY(paint(frame, scene));
  }
  if (composes_) attach(frame, scene);
  return {};
}

GstFlowReturn OverlayElement::frame(GstBuffer* frame) {
  const Status status = draw(frame);
  if (status.ok()) return GST_FLOW_OK;
  post_error(element(), Topic::kData, status.error());
  return GST_FLOW_ERROR;
}

// --- stream ------------------------------------------------------------------------------------

bool is_composed(const GstCaps* caps, guint index) {
  const GstCapsFeatures* features = gst_caps_get_features(caps, index);
  return features && !gst_caps_features_is_any(features) &&
         gst_caps_features_contains(features, GST_CAPS_FEATURE_META_GST_VIDEO_OVERLAY_COMPOSITION);
}

// Offers, beside the caps themselves, the same frames with overlays that downstream draws or,
// towards upstream, that this element draws.
GstCaps* transform_caps(GstBaseTransform*, GstPadDirection direction, GstCaps* caps,
                        GstCaps* filter) {
  GstCaps* result = gst_caps_new_empty();
  for (guint i = 0; i < gst_caps_get_size(caps); ++i) {
    const GstStructure* structure = gst_caps_get_structure(caps, i);
    GstCapsFeatures* features = gst_caps_get_features(caps, i);
    const bool system = gst_caps_features_is_any(features) ||
                        gst_caps_features_contains(features, GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY);
    const bool composed = is_composed(caps, i);
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

// Returns whether an element downstream names the feature. Elements that accept any caps do not
// draw.
bool is_asked_for(GstBaseTransform* trans) {
  const CapsPtr caps(gst_pad_peer_query_caps(GST_BASE_TRANSFORM_SRC_PAD(trans), nullptr));
  for (guint i = 0; caps && i < gst_caps_get_size(caps.get()); ++i) {
    if (is_composed(caps.get(), i)) return true;
  }
  return false;
}

// Returns whether downstream will draw overlays attached to frames of these caps.
bool is_taken(GstBaseTransform* trans, GstCaps* caps) {
  const QueryPtr query(gst_query_new_allocation(caps, FALSE));
  return gst_pad_peer_query(GST_BASE_TRANSFORM_SRC_PAD(trans), query.get()) &&
         gst_query_find_allocation_meta(query.get(), GST_VIDEO_OVERLAY_COMPOSITION_META_API_TYPE,
                                        nullptr);
}

GstCaps* fixate_caps(GstBaseTransform* trans, GstPadDirection direction, GstCaps* caps,
                     GstCaps* others) {
  if (direction != GST_PAD_SINK) {
    return parent_class_of(trans)->fixate_caps(trans, direction, caps, others);
  }
  const CapsPtr offered(others);
  CapsPtr plain(gst_caps_new_empty()), composed(gst_caps_new_empty());
  for (guint i = 0; i < gst_caps_get_size(others); ++i) {
    gst_caps_append((is_composed(others, i) ? composed : plain).get(),
                    gst_caps_copy_nth(others, i));
  }
  if (!gst_caps_is_empty(composed.get())) composed.reset(gst_caps_fixate(composed.release()));
  const bool takes =
      !gst_caps_is_empty(composed.get()) &&
      (gst_caps_is_empty(plain.get()) || (is_asked_for(trans) && is_taken(trans, composed.get())));
  return takes ? composed.release() : gst_caps_fixate(plain.release());
}

bool OverlayElement::set_caps(GstCaps* in, GstCaps* out) {
  if (!video_info_from_caps(in, &video_)) return false;
  width_ = height_ = 0;  // have the painter configured again
  scene_.reset();
  composes_ = is_composed(out, 0);
  GST_DEBUG_OBJECT(element(), "%s draws", composes_ ? "downstream" : "dvoverlay");
  return true;
}

void OverlayElement::event(GstEvent* event) {
  const GstEventType type = GST_EVENT_TYPE(event);
  if (type == GST_EVENT_FLUSH_STOP || type == GST_EVENT_STREAM_START) scene_.reset();
}

void adapt(GstBaseTransformClass* klass) {
  klass->transform_caps = GST_DEBUG_FUNCPTR(transform_caps);
  klass->fixate_caps = GST_DEBUG_FUNCPTR(fixate_caps);
}

}  // namespace

static gboolean register_dvoverlay(GstPlugin* plugin) {
  static const ElementClass element = {
      {"GstDvOverlay", "dvoverlay", "DV object overlay", "Filter/Editor/Video",
       "Draws the objects that dvdecode found: boxes, outlines, points, masks and labels",
       "the objects cannot be drawn", DVNN_VIDEO_CAPS, DVNN_COMPOSITION_CAPS},
      properties_of<overlay_properties>,
      create_element<OverlayElement>,
      adapt};
  return register_element(plugin, element);
}

GST_ELEMENT_REGISTER_DEFINE_CUSTOM(dvoverlay, register_dvoverlay)

}  // namespace dvnn::gst
