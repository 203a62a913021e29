// SPDX-License-Identifier: Apache-2.0
#include "elements/dvconvert/regionchooser.h"

#include <gst/video/video.h>

#include <algorithm>
#include <limits>

#include "meta/metas.h"
#ifdef DVNN_HAVE_ANALYTICS
#include "meta/exchange/analytics.h"
#endif

namespace dvnn::gst {
namespace {

// Other elements may attach any number of metas.
constexpr size_t kMostRegions = 1024;

// Returns the part of a frame that its GstVideoCropMeta shows, in pixels of the whole frame.
image::Corners visible_part(GstBuffer* frame, const image::Size& size) {
  const GstVideoCropMeta* crop = gst_buffer_get_video_crop_meta(frame);
  if (!crop) return {0, 0, size.width, size.height};
  const double x = crop->x, y = crop->y;
  return {x, y, x + crop->width, y + crop->height};
}

RegionView region_view(const image::View& how, const image::RelativeRect& part,
                       GstDvRegionKind kind) {
  RegionView region;
  region.view = how;
  region.view.region = part;
  region.view.alone = true;
  region.tag.kind = kind;
  return region;
}

}  // namespace

void RegionChooser::configure(const RegionSettings& settings) {
  // Skips the copy of the settings' texts for the many streams without regions.
  const bool none = settings.regions == RegionMode::kFrame;
  if (none && settings_.regions == RegionMode::kFrame) return;
  kept_ = settings.of_list == settings_.of_list && settings.of_file == settings_.of_file &&
                  settings.grids == settings_.grids && settings.overlap == settings_.overlap &&
                  settings.regions == settings_.regions
              ? std::move(kept_)
              : nullptr;
  types_.set(settings.region_metas);
  classes_.set(settings.object_class);
  settings_ = settings;
}

RegionChooser::List RegionChooser::choose(GstBuffer* frame, GstClockTime time,
                                          const image::Size& size, const image::View& how) {
  unknown_ = false;
  if (settings_.regions == RegionMode::kFrame) return nullptr;
  const image::Corners visible = visible_part(frame, size);
  if (!(kept_visible_ == visible) || !(kept_how_ == how)) kept_.reset();
  kept_visible_ = visible;
  kept_how_ = how;
  if (settings_.regions == RegionMode::kObjects) {
    find_objects(frame, size);
    spend_budget(time);
    return choose_objects(visible, how);
  }
  return settings_.regions == RegionMode::kList ? choose_list(frame, visible, how)
                                                : take_turn(choose_tiles(how));
}

void RegionChooser::add_metas(GstBuffer* frame, const image::Corners& visible,
                              const image::View& how, RegionViews* views) const {
  for (const GstVideoRegionOfInterestMeta* roi : region_metas(frame)) {
    const gchar* type = g_quark_to_string(roi->roi_type);
    if (!types_.has("*") && !types_.has(type ? type : "")) continue;
    const double x = roi->x, y = roi->y;
    const auto part = regions::part_of({x, y, x + roi->w, y + roi->h}, visible);
    if (!part) continue;
    if (views->size() == kMostRegions) return;
    views->push_back(region_view(how, *part, GST_DV_REGION_LIST));
    views->back().tag.name = roi->roi_type;
  }
#ifdef DVNN_HAVE_ANALYTICS
  for (const AnalyticsObject& object : read_analytics(frame, kMostRegions)) {
    if (!object.is_detection || views->size() == kMostRegions) continue;
    const gchar* label = g_quark_to_string(object.label);
    if (!types_.has("*") && !types_.has(label ? label : "")) continue;
    // An element that writes both kinds of metas describes the same thing twice.
    const auto part = regions::part_of(object.box, visible);
    const auto is_it = [&](const RegionView& view) { return view.view.region == *part; };
    if (!part || std::any_of(views->begin(), views->end(), is_it)) continue;
    views->push_back(region_view(how, *part, GST_DV_REGION_LIST));
    views->back().tag.name = object.label;
  }
#endif
}

RegionChooser::List RegionChooser::choose_list(GstBuffer* frame, const image::Corners& visible,
                                               const image::View& how) {
  if (!kept_) {
    auto views = std::make_shared<RegionViews>();
    const SharedAreas& areas = settings_.of_list ? settings_.of_list : settings_.of_file;
    for (size_t i = 0; areas && i < areas->size(); ++i) {
      const auto part = regions::part_of((*areas)[i], visible);
      if (!part) continue;
      views->push_back(region_view(how, *part, GST_DV_REGION_LIST));
      views->back().tag.name = g_quark_from_string((*areas)[i].name.c_str());
    }
    kept_ = std::move(views);
  }
  if (types_.empty()) return kept_;
  auto views = std::make_shared<RegionViews>(*kept_);
  add_metas(frame, visible, how, views.get());
  return views;
}

RegionChooser::List RegionChooser::choose_tiles(const image::View& how) {
  if (!kept_) {
    SharedGrids grids = settings_.grids;
    if (!grids)
      grids = std::make_shared<const std::vector<regions::Grid>>(
          regions::parse_grids(settings_.tiles).value());
    auto views = std::make_shared<RegionViews>();
    for (const image::RelativeRect& tile :
         regions::tiles_of(*grids, settings_.overlap, how.region)) {
      views->push_back(region_view(how, tile, GST_DV_REGION_TILE));
    }
    kept_ = std::move(views);
  }
  return kept_;
}

// Returns the name of the network that found an object, or null.
static const gchar* network_of(const GstDvObject& object, const GstDvObjectsMeta& meta) {
  if (object.network < 0) return nullptr;
  const GstDvPass* pass = gst_dv_objects_meta_get_pass(&meta, static_cast<guint>(object.network));
  return pass ? pass->network : nullptr;
}

bool RegionChooser::is_wanted(const GstDvObject& object, const GstDvObjectsMeta& meta,
                              const image::Size& size) const {
  if (object.kind != GST_DV_OBJECT_DETECTION || !gst_dv_object_has_box(&object)) return false;
  const std::string& network = settings_.object_network;
  if (!network.empty() && g_strcmp0(network_of(object, meta), network.c_str()) != 0) return false;
  if (!classes_.empty() && !classes_.has(object.label)) return false;
  const double longer = std::max(object.x1 - object.x0, object.y1 - object.y0);
  return longer >= settings_.min_size * size.height &&
         (settings_.max_size <= 0 || longer <= settings_.max_size * size.height);
}

// Returns whether the network whose objects are asked for has passed the frame without inference or
// has not seen it.
static bool is_unseen(const GstDvObjectsMeta* meta, const std::string& network) {
  const guint passes = meta ? gst_dv_objects_meta_get_n_passes(meta) : 0;
  if (passes == 0) return true;
  const gint index = network.empty() ? static_cast<gint>(passes) - 1
                                     : gst_dv_objects_meta_find_pass(meta, network.c_str());
  return index < 0 || gst_dv_objects_meta_get_pass(meta, static_cast<guint>(index))->state ==
                          GST_DV_PASS_SKIPPED;
}

void RegionChooser::find_objects(GstBuffer* frame, const image::Size& size) {
  const GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
  wanted_.clear();
  const guint count = meta ? gst_dv_objects_meta_get_n_objects(meta) : 0;
  for (guint i = 0; i < count && wanted_.size() < kMostRegions; ++i) {
    const GstDvObject* object = gst_dv_objects_meta_get_object(meta, i);
    if (is_wanted(*object, *meta, size)) wanted_.push_back(object);
  }
  unknown_ = wanted_.empty() && is_unseen(meta, settings_.object_network);
  const auto is_unknown = [](const GstDvObject* object) { return object->track_id == 0; };
  in_turn_ = room_ > 0 && !std::all_of(wanted_.begin(), wanted_.end(), is_unknown);
  if (!in_turn_) return;
  wanted_.erase(std::remove_if(wanted_.begin(), wanted_.end(), is_unknown), wanted_.end());
}

// Keeps those of `wanted_` that the budget allows, most urgent first. Limits by time do not apply
// to frames without a time.
void RegionChooser::spend_budget(GstClockTime time) {
  regions::BudgetRules rules;
  rules.max_per_frame = settings_.max_per_frame;
  if (in_turn_ && (rules.max_per_frame == 0 || rules.max_per_frame > room_)) {
    rules.max_per_frame = room_;
  }
  rules.max_rate = settings_.max_rate;
  rules.refresh = static_cast<regions::Time>(settings_.refresh_ms) * GST_MSECOND;
  if (!rules.limits() && !budget_.any_settled()) return;
  if (!GST_CLOCK_TIME_IS_VALID(time)) rules.refresh = 0, rules.max_rate = 0, time = 0;
  candidates_.clear();
  for (const GstDvObject* object : wanted_) {
    candidates_.push_back({object->track_id, {object->x0, object->y0, object->x1, object->y1}});
  }
  const auto chosen = budget_.choose(rules, static_cast<regions::Time>(time), candidates_);
  std::vector<const GstDvObject*> left;
  for (size_t i : chosen) left.push_back(wanted_[i]);
  wanted_.swap(left);
}

// Returns the parallelogram of an object in the frame, in pixels, if the settings ask for one and
// its points or outline are known.
std::optional<image::Slant> RegionChooser::slant_of(const GstDvObject& object) const {
  std::vector<regions::Place> places;
  if (settings_.align == RegionAlign::kPoints) {
    for (guint i = 0; i < gst_dv_object_get_n_points(&object); ++i) {
      regions::Place place;
      gfloat confidence = 0;
      gst_dv_object_get_point(&object, i, &place.first, &place.second, &confidence);
      // A point without confidence was not seen; its coordinates mean nothing.
      if (!(confidence > 0)) place.first = std::numeric_limits<double>::quiet_NaN();
      places.push_back(place);
    }
    return regions::align_points(places, settings_.places, settings_.align_aspect);
  }
  constexpr guint kCorners = 4;
  if (settings_.align != RegionAlign::kOutline ||
      gst_dv_object_get_n_corners(&object) != kCorners) {
    return std::nullopt;
  }
  for (guint i = 0; i < kCorners; ++i) {
    regions::Place place;
    gst_dv_object_get_corner(&object, i, &place.first, &place.second);
    places.push_back(place);
  }
  return regions::align_corners(places, settings_.margin);
}

// Returns the part of the visible frame that shows an object's box and its margin, as a share of
// the visible part. Nothing if it lies outside.
std::optional<image::RelativeRect> RegionChooser::share_of(const GstDvObject& object,
                                                           const image::Corners& visible) const {
  const double x = settings_.margin * (object.x1 - object.x0),
               y = settings_.margin * (object.y1 - object.y0);
  const image::Corners box = {object.x0 - x, object.y0 - y, object.x1 + x, object.y1 + y};
  if (settings_.align != RegionAlign::kAspect) return regions::part_of(box, visible);
  const image::RelativeRect share =
      regions::share_of(regions::widened(box, settings_.align_aspect), visible);
  if (!share.check_reach().ok()) return std::nullopt;
  return share;
}

RegionChooser::List RegionChooser::choose_objects(const image::Corners& visible,
                                                  const image::View& how) const {
  if (unknown_) return nullptr;
  auto views = std::make_shared<RegionViews>();
  for (const GstDvObject* object : wanted_) {
    const auto part = share_of(*object, visible);
    if (!part) continue;
    views->push_back(region_view(how, *part, GST_DV_REGION_OBJECT));
    views->back().tag.object = object->id;
    if (const auto slant = slant_of(*object)) {
      const image::Slant shares = regions::shares_of(*slant, visible);
      if (shares.check().ok()) views->back().view.slant = shares;
    }
  }
  return views;
}

RegionChooser::List RegionChooser::take_turn(const List& all) {
  const size_t count = settings_.tiles_per_frame;
  if (count == 0 || count >= all->size()) return all;
  auto views = std::make_shared<RegionViews>();
  for (size_t i = 0; i < count; ++i) views->push_back((*all)[(turn_ + i) % all->size()]);
  turn_ = (turn_ + count) % all->size();
  return views;
}

}  // namespace dvnn::gst
