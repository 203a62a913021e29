// SPDX-License-Identifier: Apache-2.0
#include "elements/dvoverlay/overlayscene.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#ifdef DVNN_HAVE_ANALYTICS
#include "meta/exchange/analytics.h"
#endif
#include "elements/dvoverlay/overlayshapes.h"
#include "meta/exchange/roiexport.h"
#include "meta/metas.h"
#include "meta/objectvalue.h"
#include "meta/zoneshapesmeta.h"

namespace dvnn::gst {
namespace {

constexpr size_t kMostTrails = 1000;
// Steps are at least this fraction (1/250) of a trail's length apart in time.
constexpr GstClockTime kMostSteps = 250;

}  // namespace

void Trails::begin(GstClockTime now, GstClockTime length) {
  if (now < now_) trails_.clear();
  now_ = now;
  length_ = length;
  for (auto at = trails_.begin(); at != trails_.end();) {
    auto& steps = at->second.steps;
    while (!steps.empty() && now - steps.front().time > length) steps.pop_front();
    at = steps.empty() ? trails_.erase(at) : std::next(at);
  }
}

void Trails::add(gint network, guint64 track, const objects::Point& foot, int color) {
  const auto key = std::make_pair(network, track);
  auto at = trails_.find(key);
  if (at == trails_.end()) {
    if (trails_.size() == kMostTrails) return;
    at = trails_.emplace(key, Trail()).first;
  }
  Trail& trail = at->second;
  trail.color = color;
  // The last step follows the track until it is far enough from the one before.
  const size_t count = trail.steps.size();
  if (count > 1 && now_ - trail.steps[count - 2].time < length_ / kMostSteps) {
    trail.steps.pop_back();
  }
  trail.steps.push_back({now_, foot});
}

void Trails::draw(std::vector<draw::Figure>* figures) const {
  for (const auto& [key, trail] : trails_) {
    draw::Figure figure;
    for (const Step& step : trail.steps) figure.points.push_back(step.foot);
    figure.tapers = true;
    figure.color = trail.color;
    figures->push_back(std::move(figure));
  }
}

namespace {

using draw::Item;

// More than this cannot be told apart on a screen; frames may carry any number of metas.
constexpr size_t kMaxItems = 1000, kMaxPoints = 20000;
constexpr size_t kMaxHeldNetworks = 16;

// A screen shows no more of a label, and each item has a copy of it.
constexpr size_t kMaxLabelBytes = 256;

std::string bounded(const char* text) {
  return text ? std::string(text, strnlen(text, kMaxLabelBytes)) : std::string();
}

// Applies the settings that depend on the label.
void apply_label(const std::string& label, const SceneSettings& settings, Item* item) {
  item->shown = settings.is_shown(label);
  item->obscure = settings.obscure_of(label);
}

int color_of_object(const GstDvObject& object, const SceneSettings& settings) {
  constexpr guint64 kMostNumbers = 1 << 20;
  const bool by_track = settings.color_by == ColorBy::kTrack && object.track_id != 0;
  return by_track ? static_cast<int>(object.track_id % kMostNumbers) : object.class_id;
}

// Reads an object. Returns false if it has no place in the frame to draw at.
bool read_item(const GstDvObject& object, const GstDvObjectsMeta* meta,
               const SceneSettings& settings, Item* item) {
  constexpr unsigned kDrawn =
      objects::kPoints | objects::kOutlines | objects::kMasks | objects::kTexts | objects::kNumbers;
  const std::string label = bounded(object.label);
  // Of a hidden object only the box is needed, in case it is obscured.
  objects::Object value;
  read_object(object, meta, settings.is_shown(label) ? kDrawn : 0, &value);
  const bool told = !settings.only_agreed || objects::keep_agreed(&value);
  const bool has_place = objects::has_box(value) || !value.points.empty() ||
                         !value.outline.empty() || value.mask.there();
  if (!has_place) return false;
  *item = draw::item_of(std::move(value), settings.caption);
  item->color = color_of_object(object, settings);
  apply_label(label, settings, item);
  item->shown = item->shown && told;  // what is to be obscured is, agreed or not
  return item->shown || item->obscure != draw::Obscure::kNo;
}

guint color_number(const gchar* type) {
  guint number = 5381;
  for (size_t i = 0; i < kMaxLabelBytes && type[i]; ++i) {
    number = number * 33 + static_cast<guchar>(type[i]);
  }
  return number & 0xff;
}

// Reads the exact box of a region of interest, if the region has not been scaled since.
bool read_exact_box(const GstStructure* fields, const image::Corners& region,
                    image::Corners* exact) {
  image::Corners box;
  if (!gst_structure_get(fields, "x0", G_TYPE_DOUBLE, &box.x0, "y0", G_TYPE_DOUBLE, &box.y0, "x1",
                         G_TYPE_DOUBLE, &box.x1, "y1", G_TYPE_DOUBLE, &box.y1, nullptr)) {
    return false;
  }
  auto same = [](double a, double b) { return std::fabs(a - b) <= 1; };
  if (!same(box.x0, region.x0) || !same(box.y0, region.y0) || !same(box.x1, region.x1) ||
      !same(box.y1, region.y1)) {
    return false;
  }
  *exact = box;
  return true;
}

// Reads a region of interest of any element: rectangle and type, and the fields that dvdecode adds.
Item read_region(GstVideoRegionOfInterestMeta* roi, const SceneSettings& settings) {
  objects::Object region;
  region.box = {static_cast<double>(roi->x), static_cast<double>(roi->y),
                static_cast<double>(roi->x) + roi->w, static_cast<double>(roi->y) + roi->h};
  const gchar* type = g_quark_to_string(roi->roi_type);
  region.label = bounded(type);
  // Gives each type without a class a colour of its own.
  region.class_id = type ? static_cast<int>(color_number(type)) : 0;
  region.confidence = -1;
  const GstStructure* fields = gst_video_region_of_interest_meta_get_param(roi, "detection");
  for (const char* name : {"classification", "attributes"}) {
    if (fields) break;
    fields = gst_video_region_of_interest_meta_get_param(roi, name);
    if (fields) region.kind = objects::Kind::kClassification;
  }
  if (fields) {
    gdouble confidence = -1;
    gst_structure_get_int(fields, "class-id", &region.class_id);
    gst_structure_get_double(fields, "confidence", &confidence);
    region.confidence = static_cast<float>(confidence);
    region.text = bounded(gst_structure_get_string(fields, "text"));
    read_exact_box(fields, region.box, &region.box);
  }
  Item item = draw::item_of(std::move(region), settings.caption);
  apply_label(item.object.label, settings, &item);
  return item;
}

void read_regions(GstBuffer* frame, const GstDvObjectsMeta* meta, const SceneSettings& settings,
                  ItemList* scene) {
  // The objects whose exports these regions may be, by region id.
  std::unordered_map<gint, const GstDvObject*> objects;
  const guint count = meta ? gst_dv_objects_meta_get_n_objects(meta) : 0;
  for (guint i = 0; i < count; ++i) {
    const GstDvObject* object = gst_dv_objects_meta_get_object(meta, i);
    objects.emplace(roi_id(object->id), object);
  }
  for (GstVideoRegionOfInterestMeta* roi : region_metas(frame)) {
    const auto object = objects.find(roi->id);
    if (object != objects.end() && is_roi_of(*roi, *object->second)) continue;
    scene->add(read_region(roi, settings));
  }
}

// Returns a shape's text: its name, if labels are drawn, and its counts.
std::string text_of(const ZoneShape& shape, const SceneSettings& settings) {
  std::string text = settings.caption.labels ? bounded(shape.name.c_str()) : std::string();
  if (!settings.counts || shape.kind == ZoneKind::kPair) return text;
  if (!text.empty()) text += ": ";
  if (shape.occupied) return text + (*shape.occupied ? "occupied" : "free");
  return text + (shape.kind == ZoneKind::kLine
                     ? '+' + std::to_string(shape.forward) + " -" + std::to_string(shape.backward)
                     : std::to_string(shape.inside));
}

// Reads the areas and lines of all dvzones that have seen the frame.
void read_zones(GstBuffer* frame, const SceneSettings& settings,
                std::vector<draw::Figure>* figures) {
  constexpr int kFirstColor = 1000;    // far from those of the first classes
  constexpr int kRed = 0, kGreen = 1;  // hues of 0 and 137 degrees
  for (const ZoneShapes& shapes : get_zone_shapes(frame)) {
    for (const ZoneShape& shape : shapes->shapes) {
      if (figures->size() == kMaxItems) return;
      draw::Figure figure;
      for (const auto& [x, y] : shape.points) {
        objects::Point point;
        point.x = x;
        point.y = y;
        figure.points.push_back(point);
      }
      // The text of a pair stands at its middle.
      if (shape.kind == ZoneKind::kPair && figure.points.size() == 2) {
        objects::Point middle = figure.points[0];
        middle.x = (middle.x + figure.points[1].x) / 2;
        middle.y = (middle.y + figure.points[1].y) / 2;
        figure.points.insert(figure.points.begin(), middle);
      }
      figure.closed = shape.kind == ZoneKind::kArea;
      figure.arrow = shape.kind == ZoneKind::kLine;
      figure.color = kFirstColor + static_cast<int>(figures->size());
      if (shape.kind == ZoneKind::kPair) figure.color = kRed;
      if (shape.occupied) figure.color = *shape.occupied ? kRed : kGreen;
      figure.text = text_of(shape, settings);
      figures->push_back(std::move(figure));
    }
  }
}

// Reads the heat of the labels that are drawn. Of several dvzones, the first one that has any.
void read_heat(GstBuffer* frame, const SceneSettings& settings, draw::HeatMap* map) {
  for (const ZoneShapes& shapes : get_zone_shapes(frame)) {
    if (!shapes->heat) continue;
    const HeatGrid& grid = *shapes->heat;
    for (const HeatGrid::Label& label : grid.labels) {
      if (!settings.is_shown(bounded(label.label.c_str()))) continue;
      map->place = grid.place;
      map->columns = grid.columns;
      map->rows = grid.rows;
      map->values.resize(label.seconds.size());
      for (size_t i = 0; i < label.seconds.size(); ++i) map->values[i] += label.seconds[i];
    }
    if (!map->values.empty()) return;
  }
}

#ifdef DVNN_HAVE_ANALYTICS
// Reads the analytics metas of other elements.
void read_others(GstBuffer* frame, const SceneSettings& settings, ItemList* scene) {
  for (const AnalyticsObject& object : read_analytics(frame, kMaxAnalyticsEntries)) {
    const gchar* label = g_quark_to_string(object.label);  // null without a label
    objects::Object found;
    if (!object.is_detection) found.kind = objects::Kind::kClassification;
    found.box = object.box;
    found.class_id = label ? static_cast<int>(color_number(label)) : 0;
    found.label = bounded(label);
    found.confidence = object.confidence;
    Item item = draw::item_of(std::move(found), settings.caption);
    apply_label(item.object.label, settings, &item);
    scene->add(std::move(item));
  }
}
#endif

}  // namespace

bool ItemList::full() const {
  return items_.size() >= kMaxItems;
}

// Beyond the limit, an object is no longer drawn, but still obscured.
void ItemList::add(draw::Item item) {
  points_ += item.object.points.size() + item.object.outline.size();
  if (points_ > kMaxPoints) {
    item.object.points.clear();
    item.object.outline.clear();
  }
  if (!full()) {
    if (item.shown || item.obscure != draw::Obscure::kNo) items_.push_back(std::move(item));
    return;
  }
  if (item.obscure == draw::Obscure::kNo) return;
  if (!any_joined_) {
    joined_ = draw::Item();
    joined_.shown = false;
    joined_.obscure = item.obscure;
    joined_.object.box = item.object.box;
    any_joined_ = true;
    return;
  }
  image::Corners& all = joined_.object.box;
  const image::Corners& more = item.object.box;
  all = {std::min(all.x0, more.x0), std::min(all.y0, more.y0), std::max(all.x1, more.x1),
         std::max(all.y1, more.y1)};
}

void ItemList::add(const ItemList& list) {
  for (const draw::Item& item : list.items_) add(item);
  if (!list.any_joined_) return;
  const bool was_full = full();
  if (was_full) {
    add(list.joined_);
  } else {
    items_.push_back(list.joined_);
  }
}

std::vector<draw::Item> ItemList::take() {
  std::vector<draw::Item> all = std::move(items_);
  if (any_joined_) all.push_back(std::move(joined_));
  *this = ItemList();
  return all;
}

static void flatten(int lines_per_row, image::Corners* place) {
  place->y0 /= lines_per_row;
  place->y1 /= lines_per_row;
}

static void flatten(int lines_per_row, std::vector<objects::Point>* points) {
  for (objects::Point& point : *points) point.y /= lines_per_row;
}

void Scene::flatten(int lines_per_row) {
  for (draw::Item& item : items) {
    gst::flatten(lines_per_row, &item.object.box);
    gst::flatten(lines_per_row, &item.object.outline);
    gst::flatten(lines_per_row, &item.object.points);
    gst::flatten(lines_per_row, &item.object.mask.place);
  }
  for (draw::Figure& figure : figures) gst::flatten(lines_per_row, &figure.points);
  for (draw::Shape& shape : shapes) gst::flatten(lines_per_row, &shape.points);
  gst::flatten(lines_per_row, &heat.place);
}

// Keeps the last objects of a network for a while on frames that it did not see.
void OverlayScene::hold_or_recall(const GstDvPass& pass, ItemList items, GstClockTime time,
                                  GstClockTime hold, ItemList* scene) {
  if (!pass.network) return scene->add(items);
  const bool timed = GST_CLOCK_TIME_IS_VALID(time);
  if (pass.state == GST_DV_PASS_SKIPPED && items.empty()) {
    const auto held = held_.find(pass.network);
    if (held == held_.end() || !timed) return;
    // An earlier time than the held one's means that the stream jumped.
    if (time >= held->second.time && time - held->second.time <= hold) {
      scene->add(held->second.items);
    } else {
      held_.erase(held);
    }
    return;
  }
  scene->add(items);
  if (timed && hold > 0) {
    if (held_.size() >= kMaxHeldNetworks) held_.clear();
    held_[pass.network] = {time, std::move(items)};
  }
}

void OverlayScene::read_objects(const GstDvObjectsMeta* meta, GstClockTime time,
                                const SceneSettings& settings, ItemList* scene) {
  const guint passes = gst_dv_objects_meta_get_n_passes(meta);
  // One group for each pass, and a last one for objects without a pass.
  std::vector<ItemList> groups(passes + 1);
  size_t total = 0;
  for (guint i = 0; i < gst_dv_objects_meta_get_n_objects(meta); ++i) {
    const GstDvObject* object = gst_dv_objects_meta_get_object(meta, i);
    // Beyond the limit, only objects that are to be obscured count.
    if (total >= kMaxItems && settings.obscure_of(bounded(object->label)) == draw::Obscure::kNo) {
      continue;
    }
    Item item;
    if (!read_item(*object, meta, settings, &item)) continue;
    const bool known = object->network >= 0 && static_cast<guint>(object->network) < passes;
    groups[known ? static_cast<guint>(object->network) : passes].add(std::move(item));
    ++total;
  }
  for (guint i = 0; i < passes; ++i) {
    hold_or_recall(*gst_dv_objects_meta_get_pass(meta, i), std::move(groups[i]), time,
                   settings.hold, scene);
  }
  scene->add(groups[passes]);
}

void OverlayScene::read_trails(const GstDvObjectsMeta* meta, GstClockTime time,
                               const SceneSettings& settings, std::vector<draw::Figure>* figures) {
  if (settings.trails == 0 || !GST_CLOCK_TIME_IS_VALID(time)) return trails_.reset();
  trails_.begin(time, settings.trails);
  for (guint i = 0; meta && i < gst_dv_objects_meta_get_n_objects(meta); ++i) {
    const GstDvObject* object = gst_dv_objects_meta_get_object(meta, i);
    if (object->track_id == 0 || !gst_dv_object_has_box(object) ||
        !settings.is_shown(bounded(object->label))) {
      continue;
    }
    objects::Point foot;
    foot.x = (object->x0 + object->x1) / 2;
    foot.y = object->y1;
    trails_.add(object->network, object->track_id, foot, color_of_object(*object, settings));
  }
  trails_.draw(figures);
}

Scene OverlayScene::read(GstBuffer* frame, GstClockTime time, const SceneSettings& settings) {
  ItemList items;
  const GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
  if (meta) read_objects(meta, time, settings, &items);
  read_regions(frame, meta, settings, &items);
#ifdef DVNN_HAVE_ANALYTICS
  read_others(frame, settings, &items);
#endif
  Scene scene;
  scene.items = items.take();
  if (settings.zones) read_zones(frame, settings, &scene.figures);
  if (settings.heat) read_heat(frame, settings, &scene.heat);
  read_trails(meta, time, settings, &scene.figures);
  if (settings.shapes) scene.shapes = read_shapes(frame);
  return scene;
}

}  // namespace dvnn::gst
