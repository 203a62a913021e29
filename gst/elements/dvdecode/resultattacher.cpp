// SPDX-License-Identifier: Apache-2.0
#include "elements/dvdecode/resultattacher.h"

#include <iterator>
#include <utility>

#include "infer/knowntracks.h"
#include "meta/exchange/roiexport.h"
#include "meta/objectvalue.h"
#include "objects/object.h"

#ifdef DVNN_HAVE_ANALYTICS
#include "meta/exchange/analytics.h"
#endif

namespace dvnn::gst {
namespace {

// Maps fractions of a box to frame pixels, for map_to_frame().
objects::FrameMap to_frame(const image::Corners& box) {
  objects::FrameMap map;
  map.input = {1, 1};
  map.transform.scale_x = 1 / (box.x1 - box.x0);
  map.transform.scale_y = 1 / (box.y1 - box.y0);
  map.transform.offset_x = -box.x0 * map.transform.scale_x;
  map.transform.offset_y = -box.y0 * map.transform.scale_y;
  return map;
}

// Maps frame pixels to fractions of a box.
objects::FrameMap to_fractions(const image::Corners& box) {
  objects::FrameMap map;
  map.input = {1, 1};
  map.transform.scale_x = box.x1 - box.x0;
  map.transform.scale_y = box.y1 - box.y0;
  map.transform.offset_x = box.x0;
  map.transform.offset_y = box.y0;
  return map;
}

}  // namespace

void KeptResults::begin_frame(GstClockTime pts) {
  ++frame_;
  if (!GST_CLOCK_TIME_IS_VALID(pts)) return;
  if (pts < now_ || tracks_.size() > kMostTracks) reset();
  now_ = pts;
  for (auto known = tracks_.begin(); known != tracks_.end();) {
    const bool old = now_ - known->second.seen > kForgotten;
    known = old ? tracks_.erase(known) : std::next(known);
  }
}

void KeptResults::renew(guint64 track, const image::Corners& box, bool late) {
  Known& known = tracks_[track];
  known.parts.clear();
  known.box = box;
  known.seen = now_;
  known.frame = frame_;
  known.late = late;
  known.compared = false;
}

void KeptResults::add(guint64 track, const objects::Object& found) {
  const auto known = tracks_.find(track);
  if (known == tracks_.end() || !has_area(known->second.box)) return;
  objects::Objects one = {found};
  objects::map_to_frame(to_fractions(known->second.box), &one);
  known->second.parts.take(&one);
}

KeptResults::State KeptResults::agree(guint64 track, const agree::Rules& rules) {
  const auto found = tracks_.find(track);
  if (found == tracks_.end() || found->second.frame != frame_ || found->second.compared) {
    return State::kOpen;
  }
  Known& known = found->second;
  known.reading.add_look(rules, known.parts, known.box.x1 - known.box.x0,
                         known.box.y1 - known.box.y0);
  known.parts = known.reading.results();
  known.compared = true;
  const bool was_settled = std::exchange(known.settled, known.reading.settled());
  if (known.settled) return State::kSettled;
  return was_settled ? State::kReopened : State::kOpen;
}

bool KeptResults::is_seen(guint64 track) const {
  const auto known = tracks_.find(track);
  return known != tracks_.end() && known->second.frame == frame_ && !known->second.late;
}

const objects::Objects* KeptResults::recall(guint64 track, const image::Corners& box) {
  const auto known = tracks_.find(track);
  if (known == tracks_.end()) return nullptr;
  if (known->second.frame == frame_ && !known->second.compared) return nullptr;
  known->second.seen = now_;
  if (known->second.parts.empty() || !has_area(box)) return nullptr;
  moved_ = known->second.parts;
  objects::map_to_frame(to_frame(box), &moved_);
  return &moved_;
}

namespace {

// Returns the region that an object was found in; region i is at index i.
const GstDvTensorMeta* region_of(const objects::Object& found,
                                 const ResultAttacher::Regions& regions) {
  const bool known = found.region < regions.size() && regions[found.region]->region == found.region;
  return known ? regions[found.region] : nullptr;
}

// Returns the object whose region it is, or null if it was removed since.
GstDvObject* whole_of(const GstDvTensorMeta* region, const GstDvObjectsMeta* meta) {
  return region && region->object != 0 ? gst_dv_objects_meta_find_object(meta, region->object)
                                       : nullptr;
}

image::Corners box_of(const GstDvObject& object) {
  return {object.x0, object.y0, object.x1, object.y1};
}

// Attaches a result: as a part of `whole`, the other network's object that it was found on, if
// there is one. Returns the object that has the result.
GstDvObject* add_result(GstBuffer* frame, GstDvObjectsMeta* meta, gint pass,
                        const objects::Object& found, GstDvObject* whole, guint exports) {
  if (whole && found.kind == objects::Kind::kAttributes && write_attributes(found, whole)) {
    if (exports & kRegions) export_text(*whole, frame);
    return whole;
  }
  GstDvObject* object = write_object(found, meta);
  object->network = pass;
  object->parent = whole ? whole->id : 0;
  if (exports & kRegions) export_roi(*object, frame);
  return object;
}

// An object without a track has one look, with which nothing can agree.
void note_single_look(const objects::Object& found, GstDvObject* object) {
  if (agree::is_comparable(found)) write_agreement({1, found.confidence, false}, object);
}

void write_analytics([[maybe_unused]] GstBuffer* frame, [[maybe_unused]] guint exports) {
#ifdef DVNN_HAVE_ANALYTICS
  if (exports & kAnalytics) export_analytics(frame);
#endif
}

}  // namespace

// Removes from the frame the objects that the network was shown.
void ResultAttacher::replace(GstBuffer* frame, GstDvObjectsMeta* meta, const Regions& regions) {
  for (const GstDvTensorMeta* region : regions) {
    const GstDvObject* whole = whole_of(region, meta);
    if (!whole) continue;
    remove_roi(*whole, frame);
    gst_dv_objects_meta_remove_object(meta, whole->id);
  }
}

// Notes which tracked objects the network was shown in this frame.
void ResultAttacher::renew(GstDvObjectsMeta* meta, const gchar* network, const Regions& regions) {
  for (const GstDvTensorMeta* region : regions) {
    const GstDvObject* whole = whole_of(region, meta);
    if (!whole || whole->track_id == 0) continue;
    // Results of another network do not apply, on any track.
    if (network_ != network) kept_.reset();
    network_ = network;
    kept_.renew(whole->track_id, box_of(*whole), region->predicted);
  }
}

// Compares what was found on tracked objects in this frame with earlier looks at them.
void ResultAttacher::agree(GstDvObjectsMeta* meta, const Regions& regions,
                           const DecodeSettings& settings) {
  for (const GstDvTensorMeta* region : regions) {
    const GstDvObject* whole = whole_of(region, meta);
    if (!whole || whole->track_id == 0 || whole->parent != 0) continue;
    agree::Rules rules;
    rules.looks = settings.agree;
    rules.pattern = settings.patterns ? settings.patterns->find(whole->label) : nullptr;
    const KeptResults::State state = kept_.agree(whole->track_id, rules);
    if (state == KeptResults::State::kOpen) continue;
    settled_.push_back({whole->track_id, state == KeptResults::State::kSettled});
  }
}

void ResultAttacher::recall(GstBuffer* frame, GstDvObjectsMeta* meta, gint pass,
                            const DecodeSettings& settings, ObjectsMessage* message) {
  if (kept_.empty()) return;
  const guint count = gst_dv_objects_meta_get_n_objects(meta);
  for (guint i = 0; i < count; ++i) {
    GstDvObject* whole = gst_dv_objects_meta_get_object(meta, i);
    if (whole->track_id == 0 || whole->parent != 0) continue;
    const objects::Objects* parts = kept_.recall(whole->track_id, box_of(*whole));
    if (!parts) continue;
    for (const objects::Object& part : *parts) {
      GstDvObject* object = add_result(frame, meta, pass, part, whole, settings.exports);
      if (object != whole && !kept_.is_seen(whole->track_id)) object->predicted = TRUE;
      if (message) message->append(*object, meta);
    }
  }
}

guint ResultAttacher::attach(GstBuffer* frame, const gchar* network, const Regions& regions,
                             const objects::Objects& found, bool refine,
                             const DecodeSettings& settings, ObjectsMessage* message) {
  GstDvObjectsMeta* meta = gst_buffer_add_dv_objects_meta(frame);
  gint pass = gst_dv_objects_meta_find_pass(meta, network);
  if (pass < 0) {
    // A dvinfer would have added the pass; these outputs come from another element.
    pass = static_cast<gint>(gst_dv_objects_meta_add_pass(meta, network, GST_DV_PASS_INFERRED));
  }
  if (refine) {
    replace(frame, meta, regions);
  } else {
    renew(meta, network, regions);
  }
  settled_.clear();
  const bool compares = settings.agree > 0 && !refine;
  guint attached = 0;
  for (const objects::Object& one : found) {
    if (attached == settings.max_detections) break;
    ++attached;
    const GstDvTensorMeta* region = region_of(one, regions);
    GstDvObject* whole = whole_of(region, meta);
    const bool tracked = whole && whole->track_id != 0;
    if (tracked) kept_.add(whole->track_id, one);
    // Attached below, with what earlier looks say; recall() leaves parts of objects out.
    if (tracked && compares && whole->parent == 0) continue;
    GstDvObject* object = add_result(frame, meta, pass, one, whole, settings.exports);
    if (compares && whole) note_single_look(one, object);
    if (object != whole && region) object->region = region->region_name;
    if (object != whole && region && region->predicted) object->predicted = TRUE;
    if (message) message->append(*object, meta);
  }
  if (compares) agree(meta, regions, settings);
  recall(frame, meta, pass, settings, message);
  write_analytics(frame, settings.exports);
  return attached;
}

void ResultAttacher::attach_known(GstBuffer* frame, const gchar* network,
                                  const DecodeSettings& settings, ObjectsMessage* message) {
  if (kept_.empty() || network_ != network) return;
  GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
  const guint passes = meta ? gst_dv_objects_meta_get_n_passes(meta) : 0;
  if (passes == 0) return;
  recall(frame, meta, static_cast<gint>(passes) - 1, settings, message);
  write_analytics(frame, settings.exports);
}

}  // namespace dvnn::gst
