// SPDX-License-Identifier: Apache-2.0
/**
 * SECTION:element-dvzones
 * @title: dvzones
 * @short_description: tells what tracks do at areas and lines
 *
 * dvzones watches the objects that dvtrack has named, at areas (polygons) and lines that
 * #GstDvZones:zones or #GstDvZones:zones-file describe, and tells when they enter, leave, dwell,
 * idle and cross, and when an area is crowded. Each happens once, at the time at which the way
 * between two frames crosses an edge, also where frames in between are missing. A point that lands
 * on a line has not crossed it before it leaves it on the other side.
 *
 * Only frames that a network has looked at count, and the objects that it has seen there, unless
 * #GstDvZones:count-predicted is set.
 *
 * ## Messages
 *
 * An element message `dvnn-zone-event` for each event: `event` (string: `enter`, `leave`, `dwell`,
 * `idle`, `cross`, `crowd`, `crowd-end`), `area` or `line` (string, its name), `timestamp`,
 * `stream-time` and `running-time` (guint64) of the event, `track-id` (guint64) and `label`
 * (string) of who it was; for lines `direction` (string: `forward` is from the line's left to its
 * right, seen along it), for areas `duration` (guint64, of the stay so far) and `inside` (uint, how
 * many are in it then).
 *
 * ## Counts
 *
 * #GstDvZones:counts has, for each area and line, how many are inside, have entered and left, or
 * crossed in each direction, in all and by label. Frames carry the same as the custom meta
 * `GstDvZonesMeta`: its structure has `events` (a list of the frame's) and `counts`. dvoverlay
 * draws areas and lines with their counts. Each event is also sent downstream, as a serialised
 * custom event of the message's structure.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 -m videotestsrc num-buffers=100 ! dvconvert ! dvinfer ! dvdecode threshold=0.1 !
 * dvtrack ! dvzones zones="{\"lines\":[{\"name\":\"gate\",\"points\":[[0.5,1.0],[0.5,0.0]]}]}" !
 * fakesink
 * ]| Prints who crosses the middle of the picture, and which way.
 */
#include "elements/dvzones/dvzones.h"

#include <gst/video/video.h>

#include <memory>

#include "elements/dvzones/zonereport.h"
#include "elements/dvzones/zonesettings.h"
#include "elements/foundevents.h"
#include "elements/objectclass.h"
#include "frames/camerasteps.h"
#include "frames/videocaps.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "guard.h"
#include "motion/affine.h"
#include "properties.h"
#include "refs.h"
#include "times.h"

GST_DEBUG_CATEGORY_STATIC(dv_zones_debug);
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT dv_zones_debug

using dvnn::gst::made_once;
using dvnn::gst::ObjectLock;
using dvnn::gst::own_private;
using dvnn::gst::own_properties;
using dvnn::gst::SharedZones;
using dvnn::gst::StructurePtr;
using dvnn::gst::zone_properties;
using dvnn::gst::ZoneSettings;
using dvnn::zones::Sighting;

struct GstDvZonesPrivate {
  explicit GstDvZonesPrivate(GstPad* src) : found(src) {}
  // Under the object lock.
  ZoneSettings settings;
  StructurePtr counts;
  // Streaming thread only.
  SharedZones zones_now;  // what `zones` is made of
  dvnn::image::Size size, size_now;
  bool post_messages = true, predicted = false;
  GstClockTime last = GST_CLOCK_TIME_NONE;
  dvnn::zones::Zones zones;
  dvnn::gst::ZoneShapes shapes;  // as frames carry them; null once they have changed
  std::vector<Sighting> sightings;
  dvnn::gst::CameraSteps steps;
  dvnn::motion::Affine camera;  // from where the zones were drawn to what the camera shows now
  dvnn::gst::FoundEvents found;
};

struct _GstDvZones {
  GstBaseTransform parent;
  GstDvZonesPrivate* priv;
};

G_DEFINE_TYPE(GstDvZones, gst_dv_zones, GST_TYPE_BASE_TRANSFORM)
GST_ELEMENT_REGISTER_DEFINE(dvzones, "dvzones", GST_RANK_NONE, GST_TYPE_DV_ZONES)

static guint prop_zone_counts;  // the row after those of the settings

static GstStaticPadTemplate dv_zones_sink_template = GST_STATIC_PAD_TEMPLATE(
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS("video/x-raw(ANY)"));
static GstStaticPadTemplate dv_zones_src_template = GST_STATIC_PAD_TEMPLATE(
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS("video/x-raw(ANY)"));

// --- events ------------------------------------------------------------------------------------

// Posts the events of the last change, and keeps the counts for whoever reads them. `list`, if it
// is there, gets the events.
static void gst_dv_zones_tell(GstDvZones* self, GValue* list) {
  GstDvZonesPrivate& priv = *self->priv;
  for (const dvnn::zones::Event& event : priv.zones.events()) {
    StructurePtr fields(
        dvnn::gst::event_structure(event, priv.zones, GST_BASE_TRANSFORM(self)->segment));
    GST_DEBUG_OBJECT(self, "%" GST_PTR_FORMAT, fields.get());
    priv.found.tell(fields.get());
    if (list) {
      GValue item = G_VALUE_INIT;
      g_value_init(&item, GST_TYPE_STRUCTURE);
      g_value_set_boxed(&item, fields.get());
      gst_value_list_append_and_take_value(list, &item);
    }
    if (priv.post_messages) {
      gst_element_post_message(GST_ELEMENT(self),
                               gst_message_new_element(GST_OBJECT(self), fields.release()));
    }
  }
  priv.shapes.reset();
  StructurePtr counts(dvnn::gst::counts_structure(priv.zones));
  const ObjectLock lock(self);
  counts.swap(priv.counts);
}

// Ends what is in areas, and forgets it: the stream jumps, or ends.
static void gst_dv_zones_end(GstDvZones* self) {
  self->priv->zones.end();
  self->priv->last = GST_CLOCK_TIME_NONE;
  self->priv->camera = {};
  self->priv->shapes.reset();
  gst_dv_zones_tell(self, nullptr);
}

// --- frames ------------------------------------------------------------------------------------

// Takes over what has been set, and tells of those who thereby leave an area.
static void gst_dv_zones_configure(GstDvZones* self, const dvnn::image::Size& size) {
  GstDvZonesPrivate& priv = *self->priv;
  SharedZones chosen;
  {
    const ObjectLock lock(self);
    chosen = priv.settings.chosen();
    priv.post_messages = priv.settings.post_messages;
    priv.predicted = priv.settings.count_predicted;
    priv.zones.set_patience(static_cast<dvnn::zones::Time>(priv.settings.leave_after_ms) *
                            dvnn::zones::kMillisecond);
  }
  const bool resized = size.width != priv.size_now.width || size.height != priv.size_now.height;
  if (chosen == priv.zones_now && !resized) return;
  static const dvnn::zones::Config none;
  // Names of the old shapes are needed for what ends with them.
  gst_dv_zones_end(self);
  priv.zones.configure(chosen ? *chosen : none, size);
  priv.shapes.reset();
  priv.zones_now = chosen;
  priv.size_now = size;
}

// Returns whether a network has looked at the frame, or none ever does.
static bool gst_dv_zones_is_seen(const GstDvObjectsMeta* meta, bool predicted) {
  const guint passes = gst_dv_objects_meta_get_n_passes(meta);
  for (guint i = 0; i < passes; ++i) {
    const GstDvPassState state = gst_dv_objects_meta_get_pass(meta, i)->state;
    if (state == GST_DV_PASS_INFERRED || (predicted && state == GST_DV_PASS_PREDICTED)) return true;
  }
  return passes == 0;
}

static void gst_dv_zones_collect(GstDvZonesPrivate* priv, const GstDvObjectsMeta* meta) {
  priv->sightings.clear();
  const dvnn::motion::Affine to_zones = priv->camera.inverse();
  for (guint i = 0; i < gst_dv_objects_meta_get_n_objects(meta); ++i) {
    const GstDvObject* object = gst_dv_objects_meta_get_object(meta, i);
    if (object->track_id == 0 || !gst_dv_object_has_box(object) ||
        (object->predicted && !priv->predicted)) {
      continue;
    }
    priv->sightings.push_back({object->track_id, object->label,
                               to_zones.apply({object->x0, object->y0, object->x1, object->y1})});
  }
}

static void gst_dv_zones_attach(GstDvZones* self, GstBuffer* frame, GValue* events) {
  GstDvZonesPrivate& priv = *self->priv;
  if (!priv.shapes) priv.shapes = dvnn::gst::shown_shapes(priv.zones, priv.size_now, priv.camera);
  dvnn::gst::add_zone_shapes(frame, priv.shapes);
  GstCustomMeta* meta = gst_buffer_get_custom_meta(frame, dvnn::gst::kZonesMeta);
  if (!meta) meta = gst_buffer_add_custom_meta(frame, dvnn::gst::kZonesMeta);
  if (!meta) return;
  GstStructure* fields = gst_custom_meta_get_structure(meta);
  gst_structure_set_value(fields, "events", events);
  const StructurePtr counts(dvnn::gst::counts_structure(priv.zones));
  gst_structure_set(fields, "counts", GST_TYPE_STRUCTURE, counts.get(), nullptr);
}

// Zones stand in the scene, not in the frame: under a camera that moves they go where the ground
// goes, and who stands still passes no line.
static void gst_dv_zones_follow_camera(GstDvZonesPrivate* priv, GstBuffer* frame) {
  const auto motion = priv->steps.next(frame);
  if (!motion || motion->is_identity()) return;
  const dvnn::motion::Affine camera = priv->camera.then(*motion);
  if (!camera.is_plausible()) return;
  priv->camera = camera;
  priv->shapes.reset();
}

static GstFlowReturn gst_dv_zones_frame(GstDvZones* self, GstBuffer* frame) {
  GstDvZonesPrivate& priv = *self->priv;
  gst_dv_zones_configure(self, dvnn::gst::frame_size(frame, self->priv->size));
  gst_dv_zones_follow_camera(&priv, frame);
  if (priv.zones.areas().empty() && priv.zones.lines().empty()) return GST_FLOW_OK;
  const GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
  const GstClockTime time = GST_BUFFER_PTS(frame);
  dvnn::gst::Value events(GST_TYPE_LIST);
  if (meta && GST_CLOCK_TIME_IS_VALID(time) && time <= G_MAXINT64 / 2 &&
      gst_dv_zones_is_seen(meta, priv.predicted)) {
    if (GST_CLOCK_TIME_IS_VALID(priv.last) && time < priv.last) gst_dv_zones_end(self);
    priv.last = time;
    gst_dv_zones_collect(&priv, meta);
    priv.zones.update(static_cast<dvnn::zones::Time>(time), priv.sightings);
    GST_LOG_OBJECT(self, "frame at %" GST_TIME_FORMAT ": %zu tracks, %zu events",
                   GST_TIME_ARGS(time), priv.sightings.size(), priv.zones.events().size());
    if (!priv.zones.events().empty()) gst_dv_zones_tell(self, events.get());
  }
  gst_dv_zones_attach(self, frame, events.get());
  return GST_FLOW_OK;
}

static GstFlowReturn gst_dv_zones_transform_ip(GstBaseTransform* trans, GstBuffer* frame) {
  return dvnn::gst::guard(trans, "the frame's tracks cannot be watched", GST_FLOW_ERROR,
                          [&] { return gst_dv_zones_frame(GST_DV_ZONES(trans), frame); });
}

// --- stream ------------------------------------------------------------------------------------

static gboolean gst_dv_zones_set_caps(GstBaseTransform* trans, GstCaps* incaps, GstCaps*) {
  const dvnn::image::Size size = dvnn::gst::frame_size(incaps);
  GST_DV_ZONES(trans)->priv->size = size;
  return size.width > 0 && size.height > 0;
}

static gboolean gst_dv_zones_sink_event(GstBaseTransform* trans, GstEvent* event) {
  const GstEventType type = GST_EVENT_TYPE(event);
  dvnn::gst::FoundEvents& found = GST_DV_ZONES(trans)->priv->found;
  if (type == GST_EVENT_FLUSH_STOP) found.hold();
  if (type == GST_EVENT_EOS || type == GST_EVENT_FLUSH_STOP || type == GST_EVENT_STREAM_START) {
    dvnn::gst::guard(trans, "the stream's zones cannot end",
                     [&] { gst_dv_zones_end(GST_DV_ZONES(trans)); });
  }
  const gboolean taken =
      GST_BASE_TRANSFORM_CLASS(gst_dv_zones_parent_class)->sink_event(trans, event);
  found.release();
  return taken;
}

// Counts begin anew with the next start.
static gboolean gst_dv_zones_stop(GstBaseTransform* trans) {
  GstDvZonesPrivate& priv = *GST_DV_ZONES(trans)->priv;
  priv.zones = {};
  priv.steps.reset();
  priv.camera = {};
  priv.shapes.reset();
  priv.zones_now.reset();
  priv.size = priv.size_now = {};
  priv.last = GST_CLOCK_TIME_NONE;
  return TRUE;
}

// --- object ------------------------------------------------------------------------------------

static void gst_dv_zones_get_property(GObject* object, guint id, GValue* value, GParamSpec*) {
  GstDvZonesPrivate& priv = *GST_DV_ZONES(object)->priv;
  if (id == prop_zone_counts) {
    const ObjectLock lock(object);
    if (priv.counts) g_value_set_boxed(value, priv.counts.get());
    return;
  }
  made_once<zone_properties>().get(GST_ELEMENT(object), &priv.settings, id, value);
}

static void gst_dv_zones_init(GstDvZones* self) {
  self->priv = new GstDvZonesPrivate(GST_BASE_TRANSFORM_SRC_PAD(self));
  gst_base_transform_set_in_place(GST_BASE_TRANSFORM(self), TRUE);
}

static void gst_dv_zones_class_init(GstDvZonesClass* klass) {
  GObjectClass* object_class = G_OBJECT_CLASS(klass);
  GstElementClass* element_class = GST_ELEMENT_CLASS(klass);
  GstBaseTransformClass* trans_class = GST_BASE_TRANSFORM_CLASS(klass);
  GST_DEBUG_CATEGORY_INIT(dv_zones_debug, "dvzones", 0, "Areas and lines");
  dvnn::gst::register_zones_meta();
  own_private<GstDvZones>(object_class);
  prop_zone_counts = own_properties<GstDvZones, made_once<zone_properties>>(object_class) + 1;
  object_class->get_property = GST_DEBUG_FUNCPTR(gst_dv_zones_get_property);
  g_object_class_install_property(
      object_class, prop_zone_counts,
      g_param_spec_boxed("counts", "Counts",
                         "What has happened at each area and line since the start, in all and by "
                         "label (docs/zones.md)",
                         GST_TYPE_STRUCTURE,
                         static_cast<GParamFlags>(G_PARAM_READABLE | G_PARAM_STATIC_STRINGS)));
  gst_element_class_set_static_metadata(
      element_class, "DV zones and lines", "Filter/Analyzer/Video",
      "Tells what the tracks that dvtrack has named do at areas and lines", "gst-dvnn developers");
  gst_element_class_add_static_pad_template(element_class, &dv_zones_sink_template);
  gst_element_class_add_static_pad_template(element_class, &dv_zones_src_template);
  trans_class->stop = GST_DEBUG_FUNCPTR(gst_dv_zones_stop);
  trans_class->set_caps = GST_DEBUG_FUNCPTR(gst_dv_zones_set_caps);
  trans_class->sink_event = GST_DEBUG_FUNCPTR(gst_dv_zones_sink_event);
  trans_class->transform_ip = GST_DEBUG_FUNCPTR(gst_dv_zones_transform_ip);
}
