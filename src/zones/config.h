// SPDX-License-Identifier: Apache-2.0
// Configuration of areas and lines, as users write it in JSON. docs/zones.md has the fields.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "objects/object.h"
#include "zones/geometry.h"
#include "zones/ground.h"

namespace dvnn::zones {

/// Directions from one clockwise to another, in degrees clockwise from the ground's y axis.
struct HeadingRange {
  double from = 0, to = 0;
};

/// Conditions of a track's motion on the ground: how fast it goes, and which way.
struct MotionCondition {
  double min_speed = 0, max_speed = 0;  // metres per second; 0: any
  std::optional<HeadingRange> heading;  // nothing: any

  bool any() const { return min_speed > 0 || max_speed > 0 || heading.has_value(); }
};

/// Returns whether a track meets the condition. That begins once it surely does, and ends once it
/// surely does not, by two standard deviations; in between, and while its speed is not known, it is
/// as `before`. What stands has no heading.
bool meets(const MotionCondition& condition, const std::optional<objects::Movement>& movement,
           bool before);

using Time = int64_t;  // nanoseconds
constexpr Time kMillisecond = 1000000;

/// Which part of an object's box has to be in an area or cross a line.
enum class Anchor : uint8_t {
  kCentre,
  kFoot,     // middle of the lower edge
  kOverlap,  // areas only: a share of the whole box
  kCover,    // areas only: a share of the area
};

struct Shape {
  std::string name;
  std::vector<std::pair<double, double>> points;
  bool pixels = false;  // else fractions of the frame's width and height
  Anchor anchor = Anchor::kFoot;
  std::vector<std::string> labels;  // empty: all
  double band = 0;         // reach of tremor around edges: pixels or fraction of the frame's height
  MotionCondition motion;  // that tracks must meet to count
};

struct Area : Shape {
  double share = 0.5;           // least share of the box with kOverlap, of the area with kCover
  Time dwell = 0;               // time for kDwell; 0: no event
  Time idle = 0;                // time for kIdle; 0: no event
  double idle_distance = 0.02;  // largest move that still is idle, in the units of `band`
  int crowd = 0;                // objects for kCrowd; 0: no event
  Time crowd_time = 0;
  double speed_limit = 0;     // for kSpeeding, metres per second; 0: no event
  double distance_below = 0;  // for kTooClose, metres; 0: no event
  Time distance_time = 0;
  Time occupied = 0;  // stay after which the area is occupied; 0: it is no bay
  Time free = 0;      // absence after which it is free
};

struct Line : Shape {};

/// An area in which motion does not count (dvmotion); dvzones has no use for it.
struct Mask : Shape {};

/// What is collected of where tracks spend their time.
struct HeatConfig {
  double cell = 0;  // side of a cell: metres with a ground, else fraction of the frame's height
  Time period = 0;  // after which seconds are told
  std::vector<std::string> labels;  // empty: all
};

/// Which pairs of tracks are told.
struct DistancesConfig {
  double below = 0;                 // metres
  std::vector<std::string> labels;  // empty: all
};

struct Config {
  std::vector<Area> areas;
  std::vector<Line> lines;
  std::vector<Mask> masks;
  std::optional<Ground> ground;  // nothing: no metres are known
  std::optional<HeatConfig> heat;
  std::optional<DistancesConfig> distances;
};

/// Reads the configuration from JSON. `what` names the text in errors; of a text of several lines,
/// they also say where the shape or member with the mistake is.
Result<Config> parse_config(const std::string& text, const std::string& what);

/// Returns a shape's points as places in a frame.
std::vector<Point> places_of(const Shape& shape, const image::Size& frame);
/// Converts a length from the shape's units to pixels.
double pixels_of(const Shape& shape, double length, const image::Size& frame);

}  // namespace dvnn::zones
