// SPDX-License-Identifier: Apache-2.0
/**
 * SECTION:element-dvzones
 * @title: dvzones
 * @short_description: tells what tracks do at areas and lines
 *
 * dvzones watches the objects that dvtrack has named, at areas (polygons) and lines that
 * #GstDvZones:zones or #GstDvZones:zones-file describe, and reports when they enter, leave, dwell,
 * idle and cross, and when an area is crowded. Each event is reported once, with the time at which
 * the straight path between two sightings crosses an edge, even if frames in between are missing. A
 * point that lands on a line has not crossed it before it leaves it on the other side.
 *
 * Only inferred frames count, and only objects that a network has found in them, unless
 * #GstDvZones:count-predicted is set. Where dvmotion says that nothing moves, tracked objects count
 * as seen.
 *
 * ## Messages
 *
 * An element message `dvnn-zone-event` is posted for each event: `event` (string: `enter`, `leave`,
 * `dwell`, `idle`, `cross`, `crowd`, `crowd-end`, `speeding`, `occupied`, `free`, `too-close`,
 * `too-close-end`), `area` or `line` (string, its name),
 * `timestamp`, `stream-time` and `running-time` (guint64) of the event, `track-id` (guint64) and
 * `label` (string) of the object; for lines `direction` (string: `forward` is from the line's left
 * to its right, seen along it), for areas `duration` (guint64, of the stay so far, in nanoseconds)
 * and `inside` (uint, the number of objects then in the area). If a ground is described, `speed`
 * (double) is that of the object in metres per second, once it is known. Of bays and of pairs,
 * `since` (guint64) is the timestamp at which what is told began; of pairs, `other-id` (guint64) is
 * the other track, and `distance` and `distance-deviation` (double) are metres.
 *
 * An element message `dvnn-zone-heat` is posted in each period of the zones' `heat`, and at the end
 * of the stream: `from` and `to` (guint64), the timestamps of the time that it is of, `unit`
 * (string: `metres` or `pixels`), `cell` (double, the side of a cell), `left-out` (double, seconds
 * in cells that are not told) and the list `labels` of structures with `name` (string), `seconds`
 * (double, in all) and `cells` (array of doubles: column, row and seconds of each cell).
 *
 * ## Ground
 *
 * The member `ground` of the zones says how the picture lies on the ground. Then tracked objects
 * are told where they stand and how fast they go, in metres: gst_dv_object_get_ground(),
 * docs/ground.md. Areas and lines may ask for speeds and headings, and areas for distances between
 * tracks.
 *
 * ## Counts
 *
 * #GstDvZones:counts holds, for each area and line, how many objects are inside, have entered and
 * left, or crossed in each direction, in all and by label. Frames carry the same as the custom meta
 * `GstDvZonesMeta`: its structure has `events` (a list of the frame's) and `counts`. Areas that are
 * bays also have `occupied` (gboolean) and `since` (guint64), and `distances` is a list of the
 * pairs of tracks that are near each other. dvoverlay draws areas and lines with their counts,
 * pairs and heat. Each event, and heat, is also sent downstream, as a serialised custom event of
 * the message's structure.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 -m videotestsrc num-buffers=100 ! dvconvert ! dvinfer ! dvdecode threshold=0.1 !
 * dvtrack ! dvzones zones="{\"lines\":[{\"name\":\"gate\",\"points\":[[0.5,1.0],[0.5,0.0]]}]}" !
 * fakesink
 * ]| Prints who crosses the middle of the picture, and which way.
 *
 * Since: 0.1.0
 */
#include "elements/elements.h"

#include <gst/video/video.h>

#include <algorithm>
#include <memory>

#include "elements/dvzones/heatpicture.h"
#include "elements/dvzones/zonereport.h"
#include "elements/neighbours.h"
#include "elements/valuelists.h"
#include "elements/zonesource.h"
#include "frames/camerasteps.h"
#include "frames/caps.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "log.h"
#include "meta/movedmeta.h"
#include "meta/objectvalue.h"
#include "motion/affine.h"
#include "refs.h"
#include "times.h"
#include "zones/ground_motion.h"

DVNN_LOG_CATEGORY(zones_category, "dvzones", "Areas and lines")
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT zones_category()

namespace dvnn::gst {
namespace {

struct ZoneSettings : ZoneSource {
  guint leave_after_ms = 2000;
  bool count_predicted = false;
  bool post_messages = true;
};

Properties<ZoneSettings> zone_properties() {
  Properties<ZoneSettings> table;
  add_zone_source("Areas and lines as JSON (docs/zones.md), instead of those of zones-file",
                  "File with areas and lines as JSON", &table);
  constexpr guint kLongest = 3600 * 1000;
  table.number(&ZoneSettings::leave_after_ms, When::kPlaying, 0, kLongest,
               {"leave-after-ms", "Leave after",
                "Milliseconds after which a track that is not seen has left; at least "
                "dvtrack's max-lost-ms"});
  table.boolean(&ZoneSettings::count_predicted, When::kPlaying,
                {"count-predicted", "Count predicted",
                 "Predicted objects count too, at once, although they may turn out to be wrong"});
  table.boolean(&ZoneSettings::post_messages, When::kPlaying,
                {"post-messages", "Post messages",
                 "Post an element message 'dvnn-zone-event' for each event"});
  table.see_every_frame();
  return table;
}

// Whether the frame's edge may hide where an object stands.
bool hides_foot(const image::Corners& box, const image::Size& frame) {
  return box.x0 <= 1 || box.x1 >= frame.width - 1 || box.y1 >= frame.height - 1;
}

bool has_pairs(const ZoneScene& scene) {
  return std::any_of(scene.shapes.begin(), scene.shapes.end(),
                     [](const ZoneShape& shape) { return shape.kind == ZoneKind::kPair; });
}

class ZonesElement final : public ElementWithSettings<ZoneSettings> {
 public:
  explicit ZonesElement(GstBaseTransform* element)
      : ElementWithSettings(element), found_(GST_BASE_TRANSFORM_SRC_PAD(element)) {}

  void stop() override;
  bool set_caps(GstCaps* in, GstCaps* out) override;
  void event(GstEvent* event) override;
  void event_passed() override { found_.release(); }
  GstFlowReturn frame(GstBuffer* frame) override;
  StructurePtr counts() override;

 private:
  void tell(GValue* list);
  void tell_heat(bool at_once);
  void keep_counts();
  void end();
  void configure(const image::Size& size);
  bool is_seen(const GstDvObjectsMeta* meta, const MovedAreas& moved) const;
  void collect(const GstDvObjectsMeta* meta, const MovedAreas& moved, GstClockTime time);
  void attach(GstBuffer* frame, GValue* events);
  void follow_camera(GstBuffer* frame);
  bool is_jump(GstBuffer* frame, GstClockTime time) const;
  void warn_of_pairs();

  StructurePtr counts_;  // under the object lock
  // Streaming thread only.
  SharedZones zones_now_;  // the configuration of `zones_`
  image::Size size_, size_now_;
  GstClockTime last_ = GST_CLOCK_TIME_NONE;
  zones::Zones zones_;
  zones::GroundMotion ground_;
  ZoneShapes shapes_;  // attached to frames; null once they have changed
  HeatPicture heat_;
  bool warned_of_pairs_ = false;
  std::vector<zones::Sighting> sightings_;
  CameraSteps steps_;
  motion::Affine camera_;  // from the frame in which the zones were set to the current one
  FoundEvents found_;
};

// --- events ------------------------------------------------------------------------------------

// Posts the events of the last change and updates the property `counts`. `list`, if not null, gets
// the events.
void ZonesElement::tell(GValue* list) {
  for (const zones::Event& event : zones_.events()) {
    StructurePtr fields(event_structure(event, zones_, segment()));
    GST_DEBUG_OBJECT(transform(), "%" GST_PTR_FORMAT, fields.get());
    found_.tell(fields.get());
    if (list) append_structure(gst_structure_copy(fields.get()), list);
    if (current().post_messages) post(fields.release());
  }
  shapes_.reset();
  keep_counts();
}

void ZonesElement::keep_counts() {
  StructurePtr counts(counts_structure(zones_));
  const ObjectLock lock(transform());
  counts.swap(counts_);
}

// Tells what heat has come together, if its period is over.
void ZonesElement::tell_heat(bool at_once) {
  const auto report = zones_.take_heat(at_once);
  if (!report) return;
  StructurePtr fields(heat_structure(*report, segment()));
  GST_DEBUG_OBJECT(transform(), "heat of %zu labels", report->labels.size());
  found_.tell(fields.get());
  if (current().post_messages) post(fields.release());
}

// Ends all stays and forgets tracks, because the stream jumps or ends.
void ZonesElement::end() {
  tell_heat(true);
  zones_.end();
  ground_.reset();
  last_ = GST_CLOCK_TIME_NONE;
  camera_ = {};
  shapes_.reset();
  tell(nullptr);
}

// --- frames ------------------------------------------------------------------------------------

// Takes over new settings, and reports the tracks that thereby leave an area.
void ZonesElement::configure(const image::Size& size) {
  const ZoneSettings& settings = take_settings();
  const SharedZones chosen = settings.chosen();
  zones_.set_patience(static_cast<zones::Time>(settings.leave_after_ms) * zones::kMillisecond);
  const bool resized = size.width != size_now_.width || size.height != size_now_.height;
  if (chosen == zones_now_ && !resized) return;
  static const zones::Config none;
  // Events that end stays need the names of the old shapes, so this comes first.
  end();
  zones_.configure(chosen ? *chosen : none, size);
  ground_.configure(chosen ? chosen->ground : std::nullopt, size);
  heat_.configure(chosen ? chosen->ground : std::nullopt, size);
  if (const auto area = zones_.area_off_the_ground()) {
    GST_WARNING_OBJECT(transform(),
                       "area '%s' reaches beyond the horizon, so what covers it is compared in "
                       "the picture",
                       zones_.areas()[*area].area.name.c_str());
  }
  if (chosen && chosen->ground) {
    GST_INFO_OBJECT(transform(), "ground: %s", zones::fit_of(*chosen->ground).c_str());
  }
  shapes_.reset();
  keep_counts();  // of the new ones, before anything happens at them
  zones_now_ = chosen;
  size_now_ = size;
}

// Returns whether the frame counts: a network has inferred it, or nothing has moved, or it has no
// passes at all.
bool ZonesElement::is_seen(const GstDvObjectsMeta* meta, const MovedAreas& moved) const {
  const bool predicted = current().count_predicted || (moved && moved->empty());
  const guint passes = gst_dv_objects_meta_get_n_passes(meta);
  for (guint i = 0; i < passes; ++i) {
    const GstDvPassState state = gst_dv_objects_meta_get_pass(meta, i)->state;
    if (state == GST_DV_PASS_INFERRED || (predicted && state == GST_DV_PASS_PREDICTED)) return true;
  }
  return passes == 0;
}

// Tells tracks how they move on the ground, and collects those that are seen. Where nothing moves,
// they are where they were.
void ZonesElement::collect(const GstDvObjectsMeta* meta, const MovedAreas& moved,
                           GstClockTime time) {
  sightings_.clear();
  const motion::Affine to_zones = camera_.inverse();
  for (guint i = 0; i < gst_dv_objects_meta_get_n_objects(meta); ++i) {
    GstDvObject* object = gst_dv_objects_meta_get_object(meta, i);
    if (object->track_id == 0 || !gst_dv_object_has_box(object)) continue;
    const image::Corners box = {object->x0, object->y0, object->x1, object->y1};
    const bool guessed = object->predicted && !is_at_rest(moved, box);
    const image::Corners there = to_zones.apply(box);
    const auto movement = ground_.see(static_cast<zones::Time>(time), object->track_id, there,
                                      guessed || hides_foot(box, size_now_));
    if (movement) write_ground(*movement, object);
    if (guessed && !current().count_predicted) continue;
    sightings_.push_back({object->track_id, object->label, there, movement});
  }
}

void ZonesElement::attach(GstBuffer* frame, GValue* events) {
  const auto time = static_cast<zones::Time>(GST_CLOCK_TIME_IS_VALID(last_) ? last_ : 0);
  const auto heat = heat_.at(time, zones_.heat(), camera_);
  if (!shapes_ || shapes_->heat != heat || !zones_.near().empty()) {
    auto scene = std::make_shared<ZoneScene>();
    scene->shapes = shown_shapes(zones_, size_now_, camera_, sightings_);
    scene->heat = heat;
    shapes_ = std::move(scene);
  }
  add_zone_shapes(frame, shapes_);
  GstCustomMeta* meta = gst_buffer_get_custom_meta(frame, kZonesMeta);
  if (!meta) meta = gst_buffer_add_custom_meta(frame, kZonesMeta);
  if (!meta) return;
  GstStructure* fields = gst_custom_meta_get_structure(meta);
  gst_structure_set_value(fields, "events", events);
  const StructurePtr counts(counts_structure(zones_));
  gst_structure_set(fields, "counts", GST_TYPE_STRUCTURE, counts.get(), nullptr);
}

// Moves the zones with the scene: under a camera that moves, things that stand still cross no line.
void ZonesElement::follow_camera(GstBuffer* frame) {
  const auto motion = steps_.next(frame);
  if (!motion || motion->is_identity()) return;
  const motion::Affine camera = camera_.then(*motion);
  if (!camera.is_plausible()) return;
  camera_ = camera;
  shapes_.reset();
}

// Whether the stream jumps: back, or over a gap that is marked as one and in which tracks would
// have left.
bool ZonesElement::is_jump(GstBuffer* frame, GstClockTime time) const {
  if (!GST_CLOCK_TIME_IS_VALID(last_)) return false;
  if (time < last_) return true;
  return GST_BUFFER_FLAG_IS_SET(frame, GST_BUFFER_FLAG_DISCONT) &&
         time - last_ > static_cast<GstClockTime>(current().leave_after_ms) * GST_MSECOND;
}

void ZonesElement::warn_of_pairs() {
  if (!zones_.skipped_pairs() || warned_of_pairs_) return;
  warned_of_pairs_ = true;
  GST_WARNING_OBJECT(transform(),
                     "more objects are in one spot than are compared: some that are "
                     "near each other are not told");
}

GstFlowReturn ZonesElement::frame(GstBuffer* frame) {
  configure(frame_size(frame, size_));
  follow_camera(frame);
  const bool has_shapes = !zones_.areas().empty() || !zones_.lines().empty() ||
                          (zones_now_ && (zones_now_->heat || zones_now_->distances));
  if (!has_shapes && !(zones_now_ && zones_now_->ground)) return GST_FLOW_OK;
  const GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
  const GstClockTime time = GST_BUFFER_PTS(frame);
  Value events(GST_TYPE_LIST);
  const MovedAreas moved = moved_areas(frame);
  const bool timed = meta && GST_CLOCK_TIME_IS_VALID(time) && time <= G_MAXINT64 / 2;
  if (timed) {
    if (is_jump(frame, time)) end();
    last_ = time;
    collect(meta, moved, time);
    ground_.forget_before(static_cast<zones::Time>(time) -
                          current().leave_after_ms * zones::kMillisecond);
  }
  if (timed && is_seen(meta, moved)) {
    zones_.update(static_cast<zones::Time>(time), sightings_);
    GST_LOG_OBJECT(transform(), "frame at %" GST_TIME_FORMAT ": %zu tracks, %zu events",
                   GST_TIME_ARGS(time), sightings_.size(), zones_.events().size());
    const bool pairs = !zones_.near().empty() || (shapes_ && has_pairs(*shapes_));
    if (!zones_.events().empty() || pairs) tell(events.get());
    tell_heat(false);
    warn_of_pairs();
  }
  if (has_shapes) attach(frame, events.get());
  return GST_FLOW_OK;
}

// --- stream ------------------------------------------------------------------------------------

bool ZonesElement::set_caps(GstCaps* in, GstCaps*) {
  size_ = frame_size(in);
  return size_.width > 0 && size_.height > 0;
}

void ZonesElement::event(GstEvent* event) {
  const GstEventType type = GST_EVENT_TYPE(event);
  if (type == GST_EVENT_FLUSH_STOP) found_.hold();
  if (type == GST_EVENT_EOS || type == GST_EVENT_FLUSH_STOP || type == GST_EVENT_STREAM_START) {
    end();
  }
}

// Resets the counts: they begin anew with the next start.
void ZonesElement::stop() {
  zones_ = {};
  ground_ = {};
  heat_ = {};
  steps_.reset();
  warned_of_pairs_ = false;
  camera_ = {};
  shapes_.reset();
  zones_now_.reset();
  size_ = size_now_ = {};
  last_ = GST_CLOCK_TIME_NONE;
}

StructurePtr ZonesElement::counts() {
  const ObjectLock lock(transform());
  return StructurePtr(counts_ ? gst_structure_copy(counts_.get()) : nullptr);
}

}  // namespace

static gboolean register_dvzones(GstPlugin* plugin) {
  static const ElementClass element = {
      {"GstDvZones", "dvzones", "DV zones and lines", "Filter/Analyzer/Video",
       "Tells what the tracks that dvtrack has named do at areas and lines",
       "the frame's tracks cannot be watched", kAnyVideo, kAnyVideo,
       "What has happened at each area and line since the start, in all and by label "
       "(docs/zones.md)"},
      properties_of<zone_properties>,
      create_element<ZonesElement>};
  return register_element(plugin, element);
}

GST_ELEMENT_REGISTER_DEFINE_CUSTOM(dvzones, register_dvzones)

}  // namespace dvnn::gst
