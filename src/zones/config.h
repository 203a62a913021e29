// SPDX-License-Identifier: Apache-2.0
// Areas and lines as users write them down, in JSON. docs/zones.md has the fields.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "zones/geometry.h"

namespace dvnn::zones {

using Time = int64_t;  // nanoseconds
constexpr Time kMillisecond = 1000000;

/// The place of an object that counts.
enum class Anchor : uint8_t {
  kCentre,
  kFoot,     // the middle of the lower edge
  kOverlap,  // areas: a share of the whole box
};

struct Shape {
  std::string name;
  std::vector<std::pair<double, double>> points;
  bool pixels = false;  // else fractions of the frame's width and height
  Anchor anchor = Anchor::kFoot;
  std::vector<std::string> labels;  // empty: all
  double band = 0;                  // pixels, or a fraction of the frame's height
};

struct Area : Shape {
  double share = 0.5;           // anchor kOverlap: of the box
  Time dwell = 0;               // 0: nobody asks
  Time idle = 0;                // 0: nobody asks
  double idle_distance = 0.02;  // how far is not moved; in the units of `band`
  int crowd = 0;                // 0: nobody asks
  Time crowd_time = 0;
};

struct Line : Shape {};

struct Config {
  std::vector<Area> areas;
  std::vector<Line> lines;
};

/// `what` names the text in errors.
Result<Config> parse_config(const std::string& text, const std::string& what);

/// The points in places of a frame.
std::vector<Point> places_of(const Shape& shape, const image::Size& frame);
/// A length of the shape's units in pixels.
double pixels_of(const Shape& shape, double length, const image::Size& frame);

}  // namespace dvnn::zones
