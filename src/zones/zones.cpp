// SPDX-License-Identifier: Apache-2.0
#include "zones/zones.h"

#include <algorithm>
#include <cmath>

namespace dvnn::zones {
namespace {

bool is_wanted(const Shape& shape, const std::string& label) {
  return shape.labels.empty() ||
         std::find(shape.labels.begin(), shape.labels.end(), label) != shape.labels.end();
}

// Orders the corners so that inside is right of each edge: a track that crosses to the right
// enters.
void turn_inwards(std::vector<Point>* points) {
  double twice = 0;
  for (size_t i = 0, last = points->size() - 1; i < points->size(); last = i++) {
    const Point &a = (*points)[last], &b = (*points)[i];
    twice += static_cast<double>(a.x) * static_cast<double>(b.y) -
             static_cast<double>(b.x) * static_cast<double>(a.y);
  }
  if (twice < 0) std::reverse(points->begin(), points->end());
}

Edges edges_of(const Shape& shape, bool closed, const image::Size& frame) {
  Edges edges;
  edges.points = places_of(shape, frame);
  edges.closed = closed;
  edges.band = pixels_of(shape, shape.band, frame);
  if (closed) {
    turn_inwards(&edges.points);
  } else {
    edges.points.erase(std::unique(edges.points.begin(), edges.points.end()), edges.points.end());
  }
  return edges;
}

// Returns the states for a new list of shapes. Shapes with the name of an old one keep its counts.
template <typename State, typename Given, typename Shapes>
std::vector<State> states_of(const Shapes& shapes, Given given, std::vector<State>* old) {
  std::vector<State> states;
  for (const auto& shape : shapes) {
    State state;
    for (State& known : *old) {
      if ((known.*given).name == shape.name) state = std::move(known);
    }
    state.*given = shape;
    states.push_back(std::move(state));
  }
  return states;
}

}  // namespace

void Zones::configure(const Config& config, const image::Size& frame) {
  end();
  areas_ = states_of(config.areas, &AreaState::area, &areas_);
  lines_ = states_of(config.lines, &LineState::line, &lines_);
  area_edges_.clear();
  line_edges_.clear();
  idle_distances_.clear();
  covers_.assign(areas_.size(), {});
  watches_.assign(areas_.size(), {});
  off_ground_.reset();
  for (size_t i = 0; i < config.areas.size(); ++i) {
    const Area& area = config.areas[i];
    area_edges_.push_back(edges_of(area, true, frame));
    idle_distances_.push_back(pixels_of(area, area.idle_distance, frame));
    watches_[i].configure(area.distance_below, area.distance_time);
    if (area.anchor == Anchor::kCover) {
      covers_[i].configure(area_edges_[i].points, config.ground, frame);
      if (config.ground && !covers_[i].on_the_ground() && !off_ground_) off_ground_ = i;
    }
    std::optional<Bay>& bay = areas_[i].bay;
    if (area.occupied == 0) {
      bay.reset();
    } else {
      if (!bay) bay.emplace();
      bay->configure(area.occupied, area.free);
    }
  }
  for (const Line& line : config.lines) line_edges_.push_back(edges_of(line, false, frame));
  crowds_.assign(areas_.size(), {});
  distances_ = config.distances;
  near_.clear();
  on_ground_ = config.ground.has_value();
  const double cell = config.heat ? config.heat->cell * (on_ground_ ? 1 : frame.height) : 0;
  heat_.configure(config.heat, on_ground_, cell);
}

Event& Zones::add(EventKind kind, size_t shape, uint64_t id, const std::string& label, Time time) {
  Event event;
  event.kind = kind;
  event.shape = shape;
  event.track = id;
  event.label = label;
  event.time = time;
  if (kind != EventKind::kCross) event.inside = areas_[shape].all.inside;
  const auto track = tracks_.find(id);
  if (track != tracks_.end() && track->second.ground && track->second.ground->knows_speed()) {
    event.speed = track->second.ground->speed;
  }
  events_.push_back(std::move(event));
  return events_.back();
}

void Zones::flip(size_t index, bool enters, Time time, uint64_t id, const std::string& label,
                 Stay* stay) {
  if (stay->within == enters) return;
  stay->within = enters;
  if (!enters || stay->meets) count(index, enters, time, id, label, stay);
}

// Lets a track that is in an area, or was, count as entering it or leaving it.
void Zones::count(size_t index, bool enters, Time time, uint64_t id, const std::string& label,
                  Stay* stay) {
  if (stay->inside == enters) return;
  AreaState& state = areas_[index];
  AreaCounts& own = state.by_label[label];
  if (!enters) {
    watch_stay(index, time, id, label, stay);
    stay->inside = false;
    stay->left = time;
    if (state.bay) state.bay->leave(id, time, lost_);
    --state.all.inside, --own.inside;
    ++state.all.left, ++own.left;
    add(EventKind::kLeave, index, id, label, time).duration = time - stay->since;
    return;
  }
  stay->inside = true;
  stay->dwelt = stay->idled = stay->sped = false;
  stay->moved_in = true;
  stay->since = stay->still_since = time;
  if (state.bay) state.bay->enter(id, label, time, appears_);
  ++state.all.inside, ++own.inside;
  ++state.all.entered, ++own.entered;
  add(EventKind::kEnter, index, id, label, time);
}

// Adds the events of a stay that are due by `time`.
void Zones::watch_stay(size_t index, Time time, uint64_t id, const std::string& label, Stay* stay) {
  const Area& area = areas_[index].area;
  if (area.dwell > 0 && !stay->dwelt && time - stay->since >= area.dwell) {
    stay->dwelt = true;
    add(EventKind::kDwell, index, id, label, stay->since + area.dwell).duration = area.dwell;
  }
  if (area.idle > 0 && !stay->idled && time - stay->still_since >= area.idle) {
    stay->idled = true;
    add(EventKind::kIdle, index, id, label, stay->still_since + area.idle).duration = area.idle;
  }
}

// Returns whether enough of a box is in the area, or of the area is covered by the box.
bool Zones::covers(size_t index, const image::Corners& box) const {
  const Area& area = areas_[index].area;
  const double share = area.anchor == Anchor::kCover ? covers_[index].share(box)
                                                     : share_inside(area_edges_[index].points, box);
  return share >= area.share;
}

// Takes a track's sighting. `from` is the one before, or null.
void Zones::visit(const Sighting& sighting, const Place* from, Time time, Track* track) {
  const uint64_t id = sighting.track;
  const std::string& label = track->label;
  for (size_t i = 0; i < areas_.size(); ++i) {
    const Area& area = areas_[i].area;
    if (!is_wanted(area, label)) continue;
    Stay& stay = track->stays[i];
    appears_ = !from;
    if (!from) stay.meets = !area.motion.any();
    const Edges& edges = area_edges_[i];
    const Point& to = track->place.at(area.anchor);
    if (area.anchor == Anchor::kOverlap || area.anchor == Anchor::kCover) {
      flip(i, covers(i, sighting.box), time, id, label, &stay);
    } else if (from) {
      stay.passage.move(edges, from->at(area.anchor), from->time, to, time,
                        [&](const Passage::Crossed& crossed) {
                          flip(i, crossed.direction > 0, crossed.time, id, label, &stay);
                        });
    } else if (contains(edges.points, to)) {
      // A track that begins on the edge may be entering or leaving.
      if (edges.band > 0 || edges.is_off(to)) {
        flip(i, true, time, id, label, &stay);
      } else {
        stay.passage.begin_inside(time);
      }
    }
    if (area.motion.any()) {
      stay.meets = meets(area.motion, track->ground, stay.meets);
      count(i, stay.within && stay.meets, time, id, label, &stay);
    }
    if (!stay.inside) continue;
    if (areas_[i].bay) areas_[i].bay->see(id, label, time);
    if (stay.moved_in) stay.still_at = to;
    stay.moved_in = false;
    if (std::hypot(static_cast<double>(to.x - stay.still_at.x),
                   static_cast<double>(to.y - stay.still_at.y)) > idle_distances_[i] * kUnits) {
      stay.still_at = to;
      stay.still_since = time;
      stay.idled = false;
    }
    watch_stay(i, time, id, label, &stay);
    // Only what is surely faster counts: two deviations are 1 in 40 by chance.
    const auto& ground = track->ground;
    const bool fast = area.speed_limit > 0 && ground && ground->knows_speed() &&
                      ground->speed - 2 * ground->speed_deviation > area.speed_limit;
    if (fast && !stay.sped) add(EventKind::kSpeeding, i, id, label, time);
    stay.sped |= fast;
  }
  for (size_t i = 0; i < lines_.size(); ++i) {
    const Line& line = lines_[i].line;
    if (!is_wanted(line, label)) continue;
    const bool counts = !line.motion.any() || meets(line.motion, track->ground, track->meets[i]);
    track->meets[i] = counts;
    if (!from) continue;
    track->passages[i].move(line_edges_[i], from->at(line.anchor), from->time,
                            track->place.at(line.anchor), time,
                            [&](const Passage::Crossed& crossed) {
                              if (!counts) return;
                              const bool forward = crossed.direction > 0;
                              LineCounts &all = lines_[i].all, &own = lines_[i].by_label[label];
                              ++(forward ? all.forward : all.backward);
                              ++(forward ? own.forward : own.backward);
                              add(EventKind::kCross, i, id, label, crossed.time).forward = forward;
                            });
  }
}

// Lets a track leave all areas from where it was last seen.
void Zones::leave_all(uint64_t id, Track* track) {
  lost_ = true;
  for (size_t i = 0; i < areas_.size(); ++i) {
    flip(i, false, track->place.time, id, track->label, &track->stays[i]);
  }
  lost_ = false;
}

void Zones::watch_crowds(Time time) {
  for (size_t i = 0; i < areas_.size(); ++i) {
    const Area& area = areas_[i].area;
    if (area.crowd == 0) continue;
    Crowd& crowd = crowds_[i];
    const bool there = areas_[i].all.inside >= static_cast<uint64_t>(area.crowd);
    if (there && !crowd.there) crowd.since = time;
    crowd.there = there;
    if (there && !crowd.told && time - crowd.since >= area.crowd_time) {
      crowd.told = true;
      add(EventKind::kCrowd, i, 0, "", time).duration = time - crowd.since;
    } else if (!there && crowd.told) {
      crowd.told = false;
      add(EventKind::kCrowdEnd, i, 0, "", time).duration = time - crowd.since;
    }
  }
}

void Zones::watch_bays(Time time) {
  std::vector<BayChange> changes;
  for (size_t i = 0; i < areas_.size(); ++i) {
    if (!areas_[i].bay) continue;
    changes.clear();
    areas_[i].bay->watch(time, &changes);
    for (const BayChange& change : changes) {
      Event& event = add(change.occupied ? EventKind::kOccupied : EventKind::kFree, i, change.track,
                         change.label, change.time);
      event.since = change.since;
      event.duration = change.duration;
    }
  }
}

void Zones::tell_pairs(size_t area, const std::vector<NearChange>& changes) {
  for (const NearChange& change : changes) {
    const auto track = tracks_.find(change.first);
    Event& event =
        add(change.begins ? EventKind::kTooClose : EventKind::kTooCloseEnd, area, change.first,
            track == tracks_.end() ? "" : track->second.label, change.time);
    event.other = change.second;
    event.since = change.since;
    event.duration = change.time - change.since;
    event.distance = change.metres;
    event.distance_deviation = change.deviation;
  }
}

// Compares the tracks in each area that asks for it, as far as they were seen in this frame.
void Zones::watch_pairs(Time time) {
  std::vector<Neighbour> seen;
  std::vector<NearChange> changes;
  for (size_t i = 0; i < areas_.size(); ++i) {
    if (!(areas_[i].area.distance_below > 0)) continue;
    seen.clear();
    changes.clear();
    for (const auto& [id, track] : tracks_) {
      const bool now = track.stands && track.place.time == time && track.standing.now.time == time;
      if (now && track.stays[i].inside) seen.push_back(track.standing);
    }
    const auto inside_since = [&](uint64_t id) -> std::optional<Time> {
      const auto track = tracks_.find(id);
      if (track == tracks_.end() || !track->second.stays[i].inside) return {};
      return track->second.stays[i].since;
    };
    // Tracks that are given up are still known here.
    const auto left = [&](uint64_t id) {
      const auto track = tracks_.find(id);
      if (track == tracks_.end()) return time;
      return track->second.stays[i].inside ? time : track->second.stays[i].left;
    };
    const bool all =
        watches_[i].watch(time, Span<const Neighbour>(seen), inside_since, left, &changes);
    skipped_pairs_ |= !all;
    tell_pairs(i, changes);
  }
}

// Finds the pairs that are told in documents.
void Zones::find_pairs(Time time) {
  near_.clear();
  if (!distances_) return;
  std::vector<Neighbour> seen;
  const std::vector<std::string>& labels = distances_->labels;
  for (const auto& [id, track] : tracks_) {
    if (!track.stands || track.standing.now.time != time) continue;
    if (labels.empty() || std::find(labels.begin(), labels.end(), track.label) != labels.end()) {
      seen.push_back(track.standing);
    }
  }
  skipped_pairs_ |= !find_near(Span<const Neighbour>(seen), distances_->below, &near_);
}

// Counts the time since a track was last seen for the places on its way.
void Zones::heat_up(const Sighting& sighting, const Place* from, Time time, Track* track) {
  Standing& now = track->standing.now;
  if (on_ground_) {
    if (!sighting.ground) return;
    track->standing.before = now;
    track->standing.has_before = track->stands;
    now = {time, {sighting.ground->x, sighting.ground->y}, sighting.ground->deviation};
    const Standing& before = track->standing.before;
    if (track->stands) {
      heat_.move(track->label, {before.at.x, before.at.y}, before.time, {now.at.x, now.at.y}, time);
    }
    track->stands = true;
  } else if (from) {
    const auto pixels = [](const Point& point) {
      return HeatPlace{static_cast<double>(point.x) / kUnits,
                       static_cast<double>(point.y) / kUnits};
    };
    heat_.move(track->label, pixels(from->foot), from->time, pixels(track->place.foot), time);
  }
}

// Gives up tracks that have not been seen for too long.
void Zones::forget(Time time) {
  for (auto at = tracks_.begin(); at != tracks_.end();) {
    at = time - at->second.place.time > patience_ ? tracks_.erase(at) : std::next(at);
  }
}

void Zones::sort_events() {
  std::stable_sort(events_.begin(), events_.end(),
                   [](const Event& a, const Event& b) { return a.time < b.time; });
}

void Zones::update(Time time, Span<const Sighting> sightings) {
  events_.clear();
  if (areas_.empty() && lines_.empty() && !heat_.is_on() && !distances_) return;
  for (const Sighting& sighting : sightings) {
    const image::Corners& box = sighting.box;
    Place now;
    now.time = time;
    now.centre = place((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2);
    now.foot = place((box.x0 + box.x1) / 2, box.y1);
    auto known = tracks_.find(sighting.track);
    if (known == tracks_.end()) {
      if (tracks_.size() == kMostTracks) continue;
      known = tracks_.emplace(sighting.track, Track()).first;
      Track& track = known->second;
      track.label = sighting.label;
      track.place = now;
      track.ground = sighting.ground;
      track.standing.track = sighting.track;
      track.stays.resize(areas_.size());
      track.passages.resize(lines_.size());
      track.meets.resize(lines_.size());
      heat_up(sighting, nullptr, time, &track);
      visit(sighting, nullptr, time, &track);
      continue;
    }
    // A track counts once in a frame.
    if (known->second.place.time >= time) continue;
    const Place before = known->second.place;
    known->second.place = now;
    if (sighting.ground) known->second.ground = sighting.ground;
    heat_up(sighting, &before, time, &known->second);
    visit(sighting, &before, time, &known->second);
  }
  for (auto& [id, track] : tracks_) {
    if (time - track.place.time > patience_) leave_all(id, &track);
  }
  watch_pairs(time);
  find_pairs(time);
  forget(time);
  watch_crowds(time);
  watch_bays(time);
  heat_.see(time);
  last_ = time;
  sort_events();
}

void Zones::end() {
  events_.clear();
  std::vector<NearChange> changes;
  for (size_t i = 0; i < watches_.size(); ++i) {
    changes.clear();
    watches_[i].end(&changes);
    tell_pairs(i, changes);
  }
  for (auto& [id, track] : tracks_) leave_all(id, &track);
  tracks_.clear();
  near_.clear();
  watch_crowds(last_);
  for (AreaState& state : areas_) {
    if (state.bay) state.bay->jump();
  }
  heat_.jump();
  sort_events();
}

std::optional<HeatReport> Zones::take_heat(bool at_once) {
  if (!at_once && !heat_.is_due()) return {};
  return heat_.take();
}

}  // namespace dvnn::zones
