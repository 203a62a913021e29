// SPDX-License-Identifier: Apache-2.0
// Watches what tracks do at areas and lines. Between two sightings a track moves straight: so
// nothing is missed where frames are, and events have the times at which they happened, not those
// of frames. Of one thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/span.h"
#include "zones/config.h"
#include "zones/passage.h"

namespace dvnn::zones {

/// A tracked object in a frame.
struct Sighting {
  uint64_t track = 0;
  const char* label = "";
  image::Corners box;
};

enum class EventKind : uint8_t {
  kEnter,     // an area
  kLeave,     // it, or the stream while in it
  kDwell,     // was in it for as long as its `dwell`, once a stay
  kIdle,      // did not move in it for as long as its `idle`, once until it moves
  kCross,     // a line
  kCrowd,     // as many as its `crowd` have been in the area for its `crowd_time`
  kCrowdEnd,  // and are not any more
};

struct Event {
  EventKind kind;
  size_t shape = 0;    // index of the area or, where a line was crossed, of the line
  uint64_t track = 0;  // 0 where it is about an area as a whole
  std::string label;   // of the track
  Time time = 0;
  Time duration = 0;    // of the stay so far, or of the rest
  bool forward = true;  // of a crossing: from the line's left to its right, seen along it
  size_t inside = 0;    // how many are in the area then
};

/// Numbers of a label's tracks, or of all.
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
};
struct LineState {
  Line line;
  LineCounts all;
  std::map<std::string, LineCounts> by_label;
};

class Zones {
 public:
  /// Sets the shapes that count from the next sighting on. Those of a name that there was keep what
  /// they have counted; a track in an area leaves it, at the last time, and may enter the new
  /// one.
  void configure(const Config& config, const image::Size& frame);
  /// A track that was not seen for so long is gone, from where it was seen last.
  void set_patience(Time patience) { patience_ = patience; }
  /// The next frame. Tracks that it does not show are missing there, not gone.
  void update(Time time, Span<const Sighting> sightings);
  /// Everything has gone from where it was seen last: the end of a stream, or a jump.
  void end();

  /// The events that the last call has found, in the order of their times.
  const std::vector<Event>& events() const { return events_; }
  const std::vector<AreaState>& areas() const { return areas_; }
  const std::vector<LineState>& lines() const { return lines_; }

  /// Tracks beyond these are not looked at.
  static constexpr size_t kMostTracks = 10000;

 private:
  // A track at an area.
  struct Stay {
    Passage passage;
    bool inside = false, dwelt = false, idled = false, moved_in = false;
    Time since = 0;
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
    Place place;  // where it was seen last
    std::vector<Stay> stays;
    std::vector<Passage> passages;
  };
  // Tells whether an area is crowded, and for how long.
  struct Crowd {
    bool there = false, told = false;
    Time since = 0;
  };

  void visit(const Sighting& sighting, const Place* from, Time time, Track* track);
  void flip(size_t area, bool enters, Time time, uint64_t id, const std::string& label, Stay* stay);
  void watch_stay(size_t area, Time time, uint64_t id, const std::string& label, Stay* stay);
  void leave_all(uint64_t id, Track* track);
  void watch_crowds(Time time);
  Event& add(EventKind kind, size_t shape, uint64_t id, const std::string& label, Time time);
  void sort_events();

  std::vector<AreaState> areas_;
  std::vector<LineState> lines_;
  std::vector<Edges> area_edges_, line_edges_;
  std::vector<double> idle_distances_;  // pixels
  std::vector<Crowd> crowds_;
  std::map<uint64_t, Track> tracks_;  // in an order, so that events have one
  std::vector<Event> events_;
  Time patience_ = 2000 * kMillisecond, last_ = 0;
};

}  // namespace dvnn::zones
