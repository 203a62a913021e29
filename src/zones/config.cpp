// SPDX-License-Identifier: Apache-2.0
#include "zones/config.h"

#include <array>
#include <cmath>
#include <set>

#include "base/format.h"
#include "base/json.h"
#include "base/written_json.h"

namespace dvnn::zones {
namespace {

constexpr size_t kMostShapes = 256, kMostPoints = 256, kMostLabels = 256;
constexpr size_t kMostShownBytes = 67;                   // of a user's text in messages
constexpr int64_t kLongest = int64_t{24} * 3600 * 1000;  // milliseconds

void read_points(JsonReader* in, size_t least, Shape* shape) {
  const Json* list = in->member("points");
  if (!list || !list->is_array() || list->size() < least || list->size() > kMostPoints) {
    return in->fail("points",
                    format("must be an array of %zu to %zu pairs [x, y]", least, kMostPoints));
  }
  for (const Json& pair : *list) {
    const bool good = pair.is_array() && pair.size() == 2 && pair.at(0).is_number() &&
                      pair.at(1).is_number() && std::isfinite(pair.at(0).get<double>()) &&
                      std::isfinite(pair.at(1).get<double>());
    if (!good) return in->fail("points", "has " + shown(pair) + ", which is no pair [x, y]");
    shape->points.emplace_back(pair.at(0).get<double>(), pair.at(1).get<double>());
  }
}

void read_labels(JsonReader* in, Shape* shape) {
  const Json* list = in->member("labels");
  if (!list) return;
  if (!list->is_array() || list->size() > kMostLabels) {
    return in->fail("labels", "must be an array of labels");
  }
  for (const Json& label : *list) {
    if (!label.is_string()) return in->fail("labels", "has " + shown(label) + ", which is no text");
    shape->labels.push_back(label.get<std::string>());
  }
}

// Reads one of the given words; returns its index, or 0 if the field is absent.
size_t read_choice(JsonReader* in, const char* name, const std::vector<std::string>& words) {
  const std::string word = in->text(name, words[0]);
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == word) return i;
  }
  in->fail(name, "is '" + short_text(word, kMostShownBytes) + "', must be one of " + joined(words));
  return 0;
}

double read_length(JsonReader* in, const char* name, double fallback) {
  const double length = in->number(name, fallback);
  if (length < 0) in->fail(name, "must not be below 0");
  return length;
}

void read_shape(JsonReader* in, size_t least_points, Shape* shape) {
  shape->name = in->text("name");
  if (shape->name.empty()) in->fail("name", "must not be empty");
  shape->pixels = read_choice(in, "unit", {"fractions", "pixels"}) == 1;
  shape->band = read_length(in, "band", 0);
  read_points(in, least_points, shape);
  read_labels(in, shape);
}

Time read_time(JsonReader* in, const char* name) {
  return in->integer(name, 0, kLongest, 0) * kMillisecond;
}

// Refuses a polygon that crosses itself.
Status check_simple(const Shape& shape, const std::string& what) {
  // Scaled alike for every frame: a polygon that is simple in these units is so in any frame.
  std::vector<Point> places;
  const double scale = shape.pixels ? 1 : 4096;
  for (const auto& [x, y] : shape.points) places.push_back(place(x * scale, y * scale));
  if (!is_simple(places)) {
    return invalid_argument(what +
                            ": its edges meet or cross each other elsewhere than at its corners");
  }
  return {};
}

Result<Area> read_area(const Json& json, const std::string& what) {
  Area area;
  JsonReader in(json, what);
  read_shape(&in, 3, &area);
  constexpr std::array kAnchors = {Anchor::kFoot, Anchor::kCentre, Anchor::kOverlap};
  area.anchor = kAnchors[read_choice(&in, "anchor", {"foot", "centre", "overlap"})];
  area.share = in.number("share", 0.5);
  if (!(area.share > 0 && area.share <= 1)) in.fail("share", "must be above 0 and at most 1");
  area.dwell = read_time(&in, "dwell");
  area.idle = read_time(&in, "idle");
  area.idle_distance = read_length(&in, "idle-distance", area.pixels ? 10 : 0.02);
  area.crowd = static_cast<int>(in.integer("crowd", 0, 1000000, 0));
  area.crowd_time = read_time(&in, "crowd-time");
  area.speed_limit = read_length(&in, "speed-limit", 0);
  DVNN_TRY(in.status());
  // A field whose name is misspelt would count everything.
  DVNN_TRY(check_members(json, what,
                         {"name", "points", "unit", "labels", "anchor", "band", "share", "dwell",
                          "idle", "idle-distance", "crowd", "crowd-time", "speed-limit"}));
  DVNN_TRY(check_simple(area, what));
  return area;
}

Result<Line> read_line(const Json& json, const std::string& what) {
  Line line;
  JsonReader in(json, what);
  read_shape(&in, 2, &line);
  line.anchor =
      read_choice(&in, "anchor", {"foot", "centre"}) == 0 ? Anchor::kFoot : Anchor::kCentre;
  DVNN_TRY(in.status());
  DVNN_TRY(check_members(json, what, {"name", "points", "unit", "labels", "anchor", "band"}));
  return line;
}

Result<Mask> read_mask(const Json& json, const std::string& what) {
  Mask mask;
  JsonReader in(json, what);
  read_shape(&in, 3, &mask);
  DVNN_TRY(in.status());
  DVNN_TRY(check_members(json, what, {"name", "points", "unit"}));
  DVNN_TRY(check_simple(mask, what));
  return mask;
}

// Reads a list of shapes. Their names must differ.
template <typename Read, typename Out>
Status read_list(const Json& json, const char* name, const std::string& what, Read read, Out* out) {
  const auto list = json.find(name);
  if (list == json.end()) return {};
  if (!list->is_array() || list->size() > kMostShapes) {
    return invalid_argument(what +
                            format(": '%s' must be an array of at most %zu", name, kMostShapes));
  }
  std::set<std::string> names;
  for (size_t i = 0; i < list->size(); ++i) {
    DVNN_ASSIGN(auto shape, read(list->at(i), what + format(": %s[%zu]", name, i)));
    if (!names.insert(shape.name).second) {
      return invalid_argument(what + format(": %s[%zu] is called '", name, i) +
                              short_text(shape.name, kMostShownBytes) + "' like another one");
    }
    out->push_back(std::move(shape));
  }
  return {};
}

}  // namespace

Result<Config> parse_config(const std::string& text, const std::string& what) {
  Config config;
  if (text.empty()) return config;
  DVNN_ASSIGN(Json json, parse_written_json(text, what));
  if (!json.is_object()) {
    return invalid_argument(what +
                            " must be an object with 'areas', 'lines', 'masks' and 'ground'");
  }
  DVNN_TRY(check_members(json, what, {"areas", "lines", "masks", "ground"}));
  DVNN_TRY(read_list(json, "areas", what, read_area, &config.areas));
  DVNN_TRY(read_list(json, "lines", what, read_line, &config.lines));
  DVNN_TRY(read_list(json, "masks", what, read_mask, &config.masks));
  if (json.contains("ground")) {
    DVNN_ASSIGN(config.ground, read_ground(json.at("ground"), what + ": ground"));
  }
  for (size_t i = 0; i < config.areas.size(); ++i) {
    if (config.areas[i].speed_limit > 0 && !config.ground) {
      return invalid_argument(
          what + format(": areas[%zu] has a 'speed-limit', which needs a 'ground'", i));
    }
  }
  return config;
}

std::vector<Point> places_of(const Shape& shape, const image::Size& frame) {
  std::vector<Point> places;
  for (const auto& [x, y] : shape.points) {
    places.push_back(shape.pixels ? place(x, y) : place(x * frame.width, y * frame.height));
  }
  return places;
}

double pixels_of(const Shape& shape, double length, const image::Size& frame) {
  return shape.pixels ? length : length * frame.height;
}

}  // namespace dvnn::zones
