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
  for (const Area& area : config.areas) {
    area_edges_.push_back(edges_of(area, true, frame));
    idle_distances_.push_back(pixels_of(area, area.idle_distance, frame));
  }
  for (const Line& line : config.lines) line_edges_.push_back(edges_of(line, false, frame));
  crowds_.assign(areas_.size(), {});
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
  if (stay->inside == enters) return;
  AreaState& state = areas_[index];
  AreaCounts& own = state.by_label[label];
  if (!enters) {
    watch_stay(index, time, id, label, stay);
    stay->inside = false;
    --state.all.inside, --own.inside;
    ++state.all.left, ++own.left;
    add(EventKind::kLeave, index, id, label, time).duration = time - stay->since;
    return;
  }
  stay->inside = true;
  stay->dwelt = stay->idled = stay->sped = false;
  stay->moved_in = true;
  stay->since = stay->still_since = time;
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

// Takes a track's sighting. `from` is the one before, or null.
void Zones::visit(const Sighting& sighting, const Place* from, Time time, Track* track) {
  const uint64_t id = sighting.track;
  const std::string& label = track->label;
  for (size_t i = 0; i < areas_.size(); ++i) {
    const Area& area = areas_[i].area;
    if (!is_wanted(area, label)) continue;
    Stay& stay = track->stays[i];
    const Edges& edges = area_edges_[i];
    const Point& to = track->place.at(area.anchor);
    if (area.anchor == Anchor::kOverlap) {
      flip(i, share_inside(edges.points, sighting.box) >= area.share, time, id, label, &stay);
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
    if (!stay.inside) continue;
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
    if (!from) continue;
    track->passages[i].move(line_edges_[i], from->at(line.anchor), from->time,
                            track->place.at(line.anchor), time,
                            [&](const Passage::Crossed& crossed) {
                              const bool forward = crossed.direction > 0;
                              LineCounts &all = lines_[i].all, &own = lines_[i].by_label[label];
                              ++(forward ? all.forward : all.backward);
                              ++(forward ? own.forward : own.backward);
                              add(EventKind::kCross, i, id, label, crossed.time).forward = forward;
                            });
  }
}

void Zones::leave_all(uint64_t id, Track* track) {
  for (size_t i = 0; i < areas_.size(); ++i) {
    flip(i, false, track->place.time, id, track->label, &track->stays[i]);
  }
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

void Zones::sort_events() {
  std::stable_sort(events_.begin(), events_.end(),
                   [](const Event& a, const Event& b) { return a.time < b.time; });
}

void Zones::update(Time time, Span<const Sighting> sightings) {
  events_.clear();
  if (areas_.empty() && lines_.empty()) return;
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
      track.stays.resize(areas_.size());
      track.passages.resize(lines_.size());
      visit(sighting, nullptr, time, &track);
      continue;
    }
    // A track counts once in a frame.
    if (known->second.place.time >= time) continue;
    const Place before = known->second.place;
    known->second.place = now;
    if (sighting.ground) known->second.ground = sighting.ground;
    visit(sighting, &before, time, &known->second);
  }
  for (auto at = tracks_.begin(); at != tracks_.end();) {
    if (time - at->second.place.time > patience_) {
      leave_all(at->first, &at->second);
      at = tracks_.erase(at);
    } else {
      ++at;
    }
  }
  watch_crowds(time);
  last_ = time;
  sort_events();
}

void Zones::end() {
  events_.clear();
  for (auto& [id, track] : tracks_) leave_all(id, &track);
  tracks_.clear();
  watch_crowds(last_);
  sort_events();
}

}  // namespace dvnn::zones
