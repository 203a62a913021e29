// SPDX-License-Identifier: Apache-2.0
#include "zones/config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/format.h"
#include "base/json.h"

namespace dvnn::zones {
namespace {

// By chance, 1 in 40 is off by more deviations to one side.
constexpr double kSure = 2;

enum class Answer { kNo, kUnsure, kYes };

// `margin`: by how much it holds, below 0 if it does not.
Answer answer(double margin, double deviation) {
  if (margin > kSure * deviation) return Answer::kYes;
  return margin < -kSure * deviation ? Answer::kNo : Answer::kUnsure;
}

double turned(double from, double to) {
  const double angle = std::fmod(to - from, 360);
  return angle < 0 ? angle + 360 : angle;
}

Answer heads(const HeadingRange& range, const objects::Movement& movement) {
  if (!(movement.speed > movement.speed_deviation)) return Answer::kNo;
  if (!(movement.speed > kSure * movement.speed_deviation)) return Answer::kUnsure;
  const double width = turned(range.from, range.to), at = turned(range.from, movement.heading);
  const double margin =
      at <= width ? std::min(at, width - at) : -std::min(at - width, double{360} - at);
  return answer(margin, std::atan2(movement.speed_deviation, movement.speed) * 180 / M_PI);
}

}  // namespace

bool meets(const MotionCondition& condition, const std::optional<objects::Movement>& movement,
           bool before) {
  if (!movement || !movement->knows_speed()) return before;
  const double speed = movement->speed, deviation = movement->speed_deviation;
  Answer all = Answer::kYes;
  if (condition.min_speed > 0) all = std::min(all, answer(speed - condition.min_speed, deviation));
  if (condition.max_speed > 0) all = std::min(all, answer(condition.max_speed - speed, deviation));
  if (condition.heading) all = std::min(all, heads(*condition.heading, *movement));
  return all == Answer::kUnsure ? before : all == Answer::kYes;
}

namespace {

// The way to what is being read: names of members and indices of elements.
using JsonPath = std::vector<std::string>;

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

void read_labels(JsonReader* in, std::vector<std::string>* labels) {
  const Json* list = in->member("labels");
  if (!list) return;
  if (!list->is_array() || list->size() > kMostLabels) {
    return in->fail("labels", "must be an array of labels");
  }
  for (const Json& label : *list) {
    if (!label.is_string()) return in->fail("labels", "has " + shown(label) + ", which is no text");
    labels->push_back(label.get<std::string>());
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
  read_labels(in, &shape->labels);
}

Time read_time(JsonReader* in, const char* name, Time fallback = 0) {
  return in->integer(name, 0, kLongest, fallback / kMillisecond) * kMillisecond;
}

MotionCondition read_motion(JsonReader* in) {
  MotionCondition motion;
  motion.min_speed = read_length(in, "min-speed", 0);
  motion.max_speed = read_length(in, "max-speed", 0);
  if (motion.max_speed > 0 && motion.max_speed <= motion.min_speed) {
    in->fail("max-speed", "must be above 'min-speed'");
  }
  if (!in->member("heading")) return motion;
  const std::vector<float> range = in->numbers("heading", 2);
  const auto is_angle = [](double angle) { return angle >= 0 && angle <= 360; };
  if (range.size() != 2 || !is_angle(range[0]) || !is_angle(range[1]) || range[0] == range[1]) {
    in->fail("heading", "must be [from, to], two different angles of 0 to 360 degrees");
    return motion;
  }
  motion.heading = HeadingRange{range[0], range[1]};
  return motion;
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
  constexpr std::array kAnchors = {Anchor::kFoot, Anchor::kCentre, Anchor::kOverlap,
                                   Anchor::kCover};
  area.anchor = kAnchors[read_choice(&in, "anchor", {"foot", "centre", "overlap", "cover"})];
  area.share = in.number("share", 0.5);
  if (!(area.share > 0 && area.share <= 1)) in.fail("share", "must be above 0 and at most 1");
  area.dwell = read_time(&in, "dwell");
  area.idle = read_time(&in, "idle");
  area.idle_distance = read_length(&in, "idle-distance", area.pixels ? 10 : 0.02);
  area.crowd = static_cast<int>(in.integer("crowd", 0, 1000000, 0));
  area.crowd_time = read_time(&in, "crowd-time");
  area.speed_limit = read_length(&in, "speed-limit", 0);
  area.motion = read_motion(&in);
  area.distance_below = read_length(&in, "distance-below", 0);
  area.distance_time = read_time(&in, "distance-time");
  area.occupied = read_time(&in, "occupied");
  area.free = read_time(&in, "free", area.occupied);
  if (area.occupied == 0 && json.contains("free")) in.fail("free", "needs 'occupied'");
  DVNN_TRY(in.status());
  // A field whose name is misspelt would count everything.
  DVNN_TRY(check_members(
      json, what, {"name",    "points",         "unit",          "labels",    "anchor",
                   "band",    "share",          "dwell",         "idle",      "idle-distance",
                   "crowd",   "crowd-time",     "speed-limit",   "min-speed", "max-speed",
                   "heading", "distance-below", "distance-time", "occupied",  "free"}));
  DVNN_TRY(check_simple(area, what));
  return area;
}

Result<Line> read_line(const Json& json, const std::string& what) {
  Line line;
  JsonReader in(json, what);
  read_shape(&in, 2, &line);
  line.anchor =
      read_choice(&in, "anchor", {"foot", "centre"}) == 0 ? Anchor::kFoot : Anchor::kCentre;
  line.motion = read_motion(&in);
  DVNN_TRY(in.status());
  DVNN_TRY(check_members(
      json, what,
      {"name", "points", "unit", "labels", "anchor", "band", "min-speed", "max-speed", "heading"}));
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

Result<HeatConfig> read_heat(const Json& json, bool metres, const std::string& what) {
  if (!json.is_object()) return invalid_argument(what + " must be an object");
  HeatConfig heat;
  JsonReader in(json, what);
  heat.cell = in.number("cell", metres ? 0.5 : 0.025);
  const double least = metres ? 0.05 : 0.002, most = metres ? 1000 : 1;
  if (!(heat.cell >= least && heat.cell <= most)) {
    in.fail("cell", format("is %g, must be %g to %g %s", heat.cell, least, most,
                           metres ? "metres" : "of the frame's height"));
  }
  heat.period = read_time(&in, "period", 60000 * kMillisecond);
  if (heat.period < 1000 * kMillisecond) in.fail("period", "must be at least 1000 milliseconds");
  read_labels(&in, &heat.labels);
  DVNN_TRY(in.status());
  DVNN_TRY(check_members(json, what, {"cell", "period", "labels"}));
  return heat;
}

Result<DistancesConfig> read_distances(const Json& json, const std::string& what) {
  if (!json.is_object()) return invalid_argument(what + " must be an object");
  DistancesConfig distances;
  JsonReader in(json, what);
  distances.below = in.number("below");
  if (in.ok() && !(distances.below > 0 && distances.below <= 1000)) {
    in.fail("below", format("is %g, must be above 0 and at most 1000 metres", distances.below));
  }
  read_labels(&in, &distances.labels);
  DVNN_TRY(in.status());
  DVNN_TRY(check_members(json, what, {"below", "labels"}));
  return distances;
}

// Returns the name of a field that says something in metres, or null.
const char* metric_field(const MotionCondition& motion) {
  if (motion.min_speed > 0) return "min-speed";
  if (motion.max_speed > 0) return "max-speed";
  return motion.heading ? "heading" : nullptr;
}

const char* metric_field(const Area& area) {
  if (area.speed_limit > 0) return "speed-limit";
  if (area.distance_below > 0) return "distance-below";
  return metric_field(area.motion);
}

// Refuses metres where none are known.
Status check_metres(const Config& config, const std::string& what, JsonPath* path) {
  if (config.ground) return {};
  const auto needs = [&](const std::string& of, const char* field) {
    return invalid_argument(what + ": " + of + " has " + field + ", which needs a 'ground'");
  };
  const auto quoted = [](const char* field) { return std::string("a '") + field + "'"; };
  for (size_t i = 0; i < config.areas.size(); ++i) {
    const char* field = metric_field(config.areas[i]);
    *path = {"areas", std::to_string(i), field ? field : ""};
    if (field) return needs(format("areas[%zu]", i), quoted(field).c_str());
  }
  for (size_t i = 0; i < config.lines.size(); ++i) {
    const char* field = metric_field(config.lines[i].motion);
    *path = {"lines", std::to_string(i), field ? field : ""};
    if (field) return needs(format("lines[%zu]", i), quoted(field).c_str());
  }
  *path = {"distances"};
  if (config.distances) return invalid_argument(what + ": 'distances' needs a 'ground'");
  return {};
}

// Reads a list of shapes. Their names must differ.
template <typename Read, typename Out>
Status read_list(const Json& json, const char* name, const std::string& what, Read read,
                 JsonPath* path, Out* out) {
  const auto list = json.find(name);
  if (list == json.end()) return {};
  if (!list->is_array() || list->size() > kMostShapes) {
    return invalid_argument(what +
                            format(": '%s' must be an array of at most %zu", name, kMostShapes));
  }
  std::set<std::string> names;
  for (size_t i = 0; i < list->size(); ++i) {
    *path = {name, std::to_string(i)};
    DVNN_ASSIGN(auto shape, read(list->at(i), what + format(": %s[%zu]", name, i)));
    if (!names.insert(shape.name).second) {
      return invalid_argument(what + format(": %s[%zu] is called '", name, i) +
                              short_text(shape.name, kMostShownBytes) + "' like another one");
    }
    out->push_back(std::move(shape));
  }
  return {};
}

Result<Config> read_config(const std::string& text, const std::string& what, JsonPath* path) {
  Config config;
  DVNN_ASSIGN(Json json, parse_written_json(text, what));
  if (!json.is_object()) {
    return invalid_argument(what +
                            " must be an object with 'areas', 'lines', 'masks', 'ground', "
                            "'heat' and 'distances'");
  }
  DVNN_TRY(check_members(json, what, {"areas", "lines", "masks", "ground", "heat", "distances"}));
  DVNN_TRY(read_list(json, "areas", what, read_area, path, &config.areas));
  DVNN_TRY(read_list(json, "lines", what, read_line, path, &config.lines));
  DVNN_TRY(read_list(json, "masks", what, read_mask, path, &config.masks));
  if (json.contains("ground")) {
    *path = {"ground"};
    DVNN_ASSIGN(config.ground, read_ground(json.at("ground"), what + ": ground"));
  }
  if (json.contains("heat")) {
    *path = {"heat"};
    DVNN_ASSIGN(config.heat,
                read_heat(json.at("heat"), config.ground.has_value(), what + ": heat"));
  }
  if (json.contains("distances")) {
    *path = {"distances"};
    DVNN_ASSIGN(config.distances, read_distances(json.at("distances"), what + ": distances"));
  }
  DVNN_TRY(check_metres(config, what, path));
  return config;
}

}  // namespace

Result<Config> parse_config(const std::string& text, const std::string& what) {
  if (text.empty()) return Config();
  JsonPath path;
  auto config = read_config(text, what, &path);
  const std::string place = config.ok() ? "" : place_of_value(text, path);
  if (place.empty()) return config;
  return Error(config.error().code, config.error().message + " (" + place + ")");
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
