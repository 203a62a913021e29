// SPDX-License-Identifier: Apache-2.0
// Watches tracks at areas and lines. Between two sightings a track is regarded as moving straight,
// so that nothing is missed between frames, and events have the times at which they happened, not
// those of frames. A Zones is used by one thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/span.h"
#include "zones/bay.h"
#include "zones/config.h"
#include "zones/ground.h"
#include "zones/heat.h"
#include "zones/nearness.h"
#include "zones/passage.h"

namespace dvnn::zones {

/// A tracked object in a frame.
struct Sighting {
  uint64_t track = 0;
  const char* label = "";
  image::Corners box;
  std::optional<objects::Movement> ground = {};  // nothing: not known
};

enum class EventKind : uint8_t {
  kEnter,     // entered an area
  kLeave,     // left an area, or the stream while in it
  kDwell,     // was in an area for its `dwell`, once a stay
  kIdle,      // did not move in an area for its `idle`, once until it moves
  kCross,     // crossed a line
  kCrowd,     // an area has held its `crowd` for its `crowd_time`
  kCrowdEnd,  // and no longer does
  kSpeeding,  // was faster than an area's `speed_limit` there, once a stay
  kOccupied,  // a bay is occupied
  kFree,      // and is free again
  kTooClose,  // two tracks in an area have been nearer than `distance_below`
  kTooCloseEnd,
};

struct Event {
  EventKind kind;
  size_t shape = 0;    // index of the area, or for kCross of the line
  uint64_t track = 0;  // 0 for events of an area as a whole
  uint64_t other = 0;  // of kTooClose and its end: the second track
  std::string label;   // of the track
  Time time = 0;
  Time duration = 0;            // of the stay, rest, crowd, nearness or occupancy so far
  bool forward = true;          // of a crossing: from the line's left to its right, seen along it
  size_t inside = 0;            // tracks in the area at that time
  std::optional<double> speed;  // of the track, metres per second, if it is known
  std::optional<Time> since;    // of bays and pairs: when what is told began
  // Of pairs: metres between the two at that time, at the end the least, and their deviation.
  std::optional<double> distance, distance_deviation;
};

/// Counts of a label's tracks, or of all tracks.
struct AreaCounts {
  uint64_t inside = 0, entered = 0, left = 0;
};
struct LineCounts {
  uint64_t forward = 0, backward = 0;
};
struct AreaState {
  Area area;
  AreaCounts all;
  std::map<std::string, AreaCounts> by_label;
  std::optional<Bay> bay;  // if the area is one
};
struct LineState {
  Line line;
  LineCounts all;
  std::map<std::string, LineCounts> by_label;
};

class Zones {
 public:
  /// Sets the shapes that count from the next sighting on. A shape with the name of an earlier one
  /// keeps its counts. Tracks leave their areas at the last time, and may enter the new ones.
  void configure(const Config& config, const image::Size& frame);
  /// Sets the time after which an unseen track counts as gone, from where it was last seen.
  void set_patience(Time patience) { patience_ = patience; }
  /// Takes the tracks of the next frame. Tracks that are not in it are missing, not gone.
  void update(Time time, Span<const Sighting> sightings);
  /// Lets all tracks leave from where they were last seen: the stream ends or jumps. Bays stay
  /// occupied.
  void end();
  /// Returns what heat came together if its period is over, or `at_once`; and begins anew.
  std::optional<HeatReport> take_heat(bool at_once);

  /// Returns the events of the last call, ordered by time.
  const std::vector<Event>& events() const { return events_; }
  const std::vector<AreaState>& areas() const { return areas_; }
  const std::vector<LineState>& lines() const { return lines_; }
  const Heat& heat() const { return heat_; }
  /// Returns the pairs of tracks of the last frame that are near each other, nearest first; none if
  /// `distances` are not configured.
  const std::vector<NearPair>& near() const { return near_; }
  /// Returns whether a frame had more tracks in one spot than are compared.
  bool skipped_pairs() const { return skipped_pairs_; }
  /// Returns the index of the first area that was to be compared on the ground, but has a corner
  /// that is not on it.
  std::optional<size_t> area_off_the_ground() const { return off_ground_; }

  /// Limit of tracks at a time; others are ignored.
  static constexpr size_t kMostTracks = 10000;

 private:
  // A track at an area.
  struct Stay {
    Passage passage;
    bool within = false;  // the area, whether it counts or not
    bool meets = true;    // the area's condition of motion
    bool inside = false, dwelt = false, idled = false, moved_in = false, sped = false;
    Time since = 0, left = 0;
    Time still_since = 0;
    Point still_at;
  };
  struct Place {
    Time time = 0;
    Point centre, foot;
    const Point& at(Anchor anchor) const { return anchor == Anchor::kCentre ? centre : foot; }
  };
  struct Track {
    std::string label;
    Place place;  // where it was last seen
    std::vector<Stay> stays;
    std::vector<Passage> passages;
    std::vector<bool> meets;                  // the lines' conditions
    std::optional<objects::Movement> ground;  // as last known
    Neighbour standing;                       // valid if `stands`
    bool stands = false;
  };
  // Whether an area is crowded, whether that was reported, and since when.
  struct Crowd {
    bool there = false, told = false;
    Time since = 0;
  };

  void visit(const Sighting& sighting, const Place* from, Time time, Track* track);
  void flip(size_t area, bool enters, Time time, uint64_t id, const std::string& label, Stay* stay);
  void count(size_t area, bool enters, Time time, uint64_t id, const std::string& label,
             Stay* stay);
  bool covers(size_t area, const image::Corners& box) const;
  void heat_up(const Sighting& sighting, const Place* from, Time time, Track* track);
  void watch_stay(size_t area, Time time, uint64_t id, const std::string& label, Stay* stay);
  void leave_all(uint64_t id, Track* track);
  void watch_crowds(Time time);
  void watch_bays(Time time);
  void watch_pairs(Time time);
  void find_pairs(Time time);
  void tell_pairs(size_t area, const std::vector<NearChange>& changes);
  void forget(Time time);
  Event& add(EventKind kind, size_t shape, uint64_t id, const std::string& label, Time time);
  void sort_events();

  std::vector<AreaState> areas_;
  std::vector<LineState> lines_;
  std::vector<Edges> area_edges_, line_edges_;
  std::vector<double> idle_distances_;  // pixels
  std::vector<Crowd> crowds_;
  std::vector<Cover> covers_;
  std::vector<NearWatch> watches_;  // of areas with a `distance_below`
  std::optional<DistancesConfig> distances_;
  std::vector<NearPair> near_;
  bool skipped_pairs_ = false, appears_ = false, lost_ = false, on_ground_ = false;
  std::optional<size_t> off_ground_;
  Heat heat_;
  std::map<uint64_t, Track> tracks_;  // ordered, so that events are, too
  std::vector<Event> events_;
  Time patience_ = 2000 * kMillisecond, last_ = 0;
};

}  // namespace dvnn::zones
