// SPDX-License-Identifier: Apache-2.0
// The ground against a camera of the test's own, which projects places in metres to pixels, the
// other way than the code does; speeds of seeded walks that it sees; and who counts by speed and
// heading.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>

#include "base/format.h"
#include "base/json.h"
#include "check_suite.h"
#include "zones/config.h"
#include "zones/ground.h"
#include "zones/ground_motion.h"
#include "zones/zones.h"

namespace dvnn::test::ground_tests {

DVNN_SUITE(zones_ground);

using namespace dvnn::zones;

namespace {

constexpr image::Size kFrame{1280, 720};

// A pinhole camera over (0, 0), which looks along y and down by `tilt`, degrees.
struct Camera {
  double height = 4, tilt = 25, view = 70, turn = 0;
  // Returns false for what is behind the camera.
  bool see(double x, double y, double z, double* u, double* v) const {
    const double a = turn * M_PI / 180, t = tilt * M_PI / 180;
    const double right = x * std::cos(a) - y * std::sin(a);
    const double ahead = x * std::sin(a) + y * std::cos(a), down = height - z;
    const double depth = ahead * std::cos(t) + down * std::sin(t);
    const double below = down * std::cos(t) - ahead * std::sin(t);
    const double focal = kFrame.width / 2 / std::tan(view * M_PI / 360);
    *u = kFrame.width / 2 + focal * right / depth;
    *v = kFrame.height / 2 + focal * below / depth;
    return depth > 0.1;
  }
  bool shows(double x, double y, double* u, double* v) const {
    return see(x, y, 0, u, v) && *u >= 0 && *v >= 0 && *u < kFrame.width && *v < kFrame.height;
  }
};

Result<Ground> read(const std::string& text) {
  return read_ground(parse_json(text, "ground").value(), "ground");
}

Ground ground_of(const std::string& text) {
  auto ground = read(text);
  ck_assert_msg(ground.ok(), "%s", ground.ok() ? "" : ground.error().message.c_str());
  return ground.value();
}

struct Random {
  std::mt19937_64 engine;
  double between(double least, double most) {
    return std::uniform_real_distribution<double>(least, most)(engine);
  }
  double noise(double deviation) { return deviation * std::normal_distribution<double>()(engine); }
};

// Describes a camera's ground by `count` places that it sees, pointed at with an error in pixels.
std::string pairs_of(const Camera& camera, int count, double error, bool pixels, Random* random) {
  std::string points, metres;
  for (int i = 0; i < count;) {
    const double x = random->between(-12, 12), y = random->between(2, 25);
    double u = 0, v = 0;
    if (!camera.shows(x, y, &u, &v)) continue;
    u += random->noise(error), v += random->noise(error);
    if (!pixels) u /= kFrame.width, v /= kFrame.height;
    points += format("%s[%.12g,%.12g]", i ? "," : "", u, v);
    metres += format("%s[%.12g,%.12g]", i ? "," : "", x, y);
    ++i;
  }
  return format(R"({"unit":"%s","points":[)", pixels ? "pixels" : "fractions") + points +
         R"(],"metres":[)" + metres + "]}";
}

// Returns the largest distance between places and where the ground puts them, in shares of how far
// they are.
double worst_of(const Ground& ground, const Camera& camera, Random* random) {
  double worst = 0;
  for (int i = 0; i < 200; ++i) {
    const double x = random->between(-10, 10), y = random->between(2, 25);
    double u = 0, v = 0;
    if (!camera.shows(x, y, &u, &v)) continue;
    const auto found = on_ground(ground, kFrame, u, v);
    ck_assert(found.has_value());
    worst = std::max(worst, std::hypot(found->at.x - x, found->at.y - y) / std::hypot(x, y));
  }
  return worst;
}

void refuses(const std::string& text, const std::string& why) {
  const auto ground = read(text);
  ck_assert_msg(!ground.ok(), "%s is taken", text.c_str());
  ck_assert_msg(ground.error().message.find(why) != std::string::npos, "'%s' does not say '%s'",
                ground.error().message.c_str(), why.c_str());
}

}  // namespace

DVNN_TEST(pairs_give_the_ground_that_they_are_of) {
  Random random{std::mt19937_64(dvnn_seed(7))};
  for (int scene = 0; scene < dvnn_rounds(200); ++scene) {
    const Camera camera{random.between(2, 8), random.between(10, 60), random.between(40, 100),
                        random.between(-20, 20)};
    const int count = 4 + scene % 9;
    const std::string text = pairs_of(camera, count, 0, scene % 2 == 0, &random);
    auto ground = read(text);
    // Four random places may all but lie on a line.
    if (!ground.ok() && count == 4) continue;
    ck_assert_msg(ground.ok(), "%s", ground.ok() ? "" : ground.error().message.c_str());
    const double worst = worst_of(ground.value(), camera, &random);
    ck_assert_msg(worst < 1e-5, "scene %d: off by %g of the distance: %s", scene, worst,
                  text.c_str());
    ck_assert(ground.value().residual < 1e-5);
  }
}

// Pointing at pixels by hand is off by some; more pairs make that good, and the residual tells it.
DVNN_TEST(many_pairs_average_their_errors) {
  Random random{std::mt19937_64(dvnn_seed(7))};
  double few = 0, many = 0;
  for (int scene = 0; scene < 60; ++scene) {
    const Camera camera{random.between(3, 6), random.between(20, 50), random.between(50, 90), 0};
    few += worst_of(ground_of(pairs_of(camera, 6, 2, true, &random)), camera, &random);
    const Ground ground = ground_of(pairs_of(camera, 40, 2, true, &random));
    many += worst_of(ground, camera, &random);
    ck_assert(ground.residual > 0.005 && ground.worst >= ground.residual);
    ck_assert(fit_of(ground).find("40 points meet within") == 0);
  }
  ck_assert_msg(many < 0.5 * few, "%g of 40 pairs, %g of 6", many / 60, few / 60);
}

DVNN_TEST(a_camera_and_a_rectangle_describe_the_ground_as_well) {
  Random random{std::mt19937_64(dvnn_seed(7))};
  const Camera camera{5, 30, 65, 0};
  const Ground by_camera = ground_of(R"({"height":5,"tilt":30,"field-of-view":65})");
  ck_assert(worst_of(by_camera, camera, &random) < 1e-9);
  const double corners[4][2] = {{0, 0}, {3, 0}, {3, 6}, {0, 6}};
  std::string points;
  for (const auto& corner : corners) {
    double u = 0, v = 0;
    ck_assert(camera.shows(corner[0] - 1, corner[1] + 5, &u, &v));
    points += format("%s[%.12g,%.12g]", points.empty() ? "" : ",", u, v);
  }
  const Ground by_corners =
      ground_of(R"({"unit":"pixels","rectangle":[3,6],"points":[)" + points + "]}");
  double u = 0, v = 0;
  ck_assert(camera.shows(2, 9, &u, &v));
  const auto found = on_ground(by_corners, kFrame, u, v);
  ck_assert(found && std::abs(found->at.x - 3) < 1e-6 && std::abs(found->at.y - 4) < 1e-6);
  // The slope is what a step of a pixel does.
  const auto right = on_ground(by_corners, kFrame, u + 1e-3, v);
  const auto below = on_ground(by_corners, kFrame, u, v + 1e-3);
  ck_assert(std::abs((right->at.x - found->at.x) / 1e-3 - found->xx) < 1e-5 &&
            std::abs((right->at.y - found->at.y) / 1e-3 - found->yx) < 1e-5 &&
            std::abs((below->at.x - found->at.x) / 1e-3 - found->xy) < 1e-5 &&
            std::abs((below->at.y - found->at.y) / 1e-3 - found->yy) < 1e-5);
  // The horizon of a camera that looks down by 30 degrees is above the picture's middle.
  const double horizon =
      kFrame.height / 2 - kFrame.width / 2 / std::tan(65 * M_PI / 360) * std::tan(M_PI / 6);
  ck_assert(!on_ground(by_camera, kFrame, 640, horizon - 1));
  ck_assert(on_ground(by_camera, kFrame, 640, horizon + 5));
}

DVNN_TEST(what_describes_no_ground_is_refused) {
  refuses("[]", "must be an object");
  refuses(R"({"points":[[0,0],[1,0],[1,1]],"metres":[[0,0],[1,0],[1,1]]})", "array of 4 to 256");
  refuses(R"({"points":[[0,0],[1,0],[1,1],[0,1]],"metres":[[0,0],[1,0],[1,1],[0,1],[2,2]]})",
          "has 5 pairs, 'points' has 4");
  refuses(R"({"points":[[0,0],[1,0],[1,1],[0,1]],"metres":[[0,0],[1,0],[1,1],[0,"1"]]})",
          "which is no pair");
  refuses(R"({"points":[[0,0],[0.1,0.1],[0.2,0.2],[0.3,0.3]],"metres":[[0,0],[1,0],[1,1],[0,1]]})",
          "do not determine a plane");
  refuses(R"({"points":[[0.2,0.5],[0.8,0.5],[1,1],[0,1]],"metres":[[0,0],[1,1],[2,2],[3,3]]})",
          "do not determine a plane");
  refuses(R"({"points":[[0,0],[1,0],[1,1],[0,1]],"metres":[[0,0],[1,1],[3,0],[0,1]]})",
          "in the same order");
  refuses(R"({"points":[[0,0],[1,0],[1,1],[0,1],[0.5,0.5]],)"
          R"("metres":[[0,0],[2,1],[3,0],[0,4],[1,2]]})",
          "beyond the horizon");
  refuses(R"({"points":[[0,0],[1,0],[1,1],[0,1]],"rectangle":[3]})", "must be [width, length]");
  refuses(R"({"points":[[0,0],[1,0],[1,1],[0,1]],"rectangle":[3,1],"metres":[[0,0]]})", "");
  refuses(R"({"points":[[0,0],[1,0],[1,1],[0,1]],"rectangle":[3,1],"unit":"feet"})",
          "must be fractions or pixels");
  refuses(R"({"height":4,"tilt":30})", "field-of-view");
  refuses(R"({"height":0,"tilt":30,"field-of-view":60})", "is 0, must be above 0");
  refuses(R"({"height":4,"tilt":95,"field-of-view":60})", "below 90");
  refuses(R"({"height":4,"tilt":30,"field-of-view":60,"points":[]})", "no field 'points'");
}

// A walk across the picture at an even speed, seen by boxes that tremble.
struct Walk {
  double x, y, along_x, along_y, speed, height;
};

// How far speeds are off, as shares of the true ones, and how many lie within twice the deviation
// that is told.
struct Errors {
  std::vector<double> speeds, headings;
  size_t within = 0;
};

void walk(const Camera& camera, const Walk& walker, double rate, double noise, Random* random,
          Errors* errors) {
  GroundMotion motion;
  motion.configure(ground_of(format(R"({"height":%g,"tilt":%g,"field-of-view":%g})", camera.height,
                                    camera.tilt, camera.view)),
                   kFrame);
  std::optional<objects::Movement> last;
  double since = -1;
  for (int i = 0; i < 12 * rate; ++i) {
    const double seconds = i / rate;
    const double x = walker.x + walker.along_x * walker.speed * seconds;
    const double y = walker.y + walker.along_y * walker.speed * seconds;
    double u = 0, v = 0, top_u = 0, top_v = 0;
    if (!camera.shows(x, y, &u, &v) || !camera.see(x, y, walker.height, &top_u, &top_v)) break;
    const double size = v - top_v, off = noise * size;
    // A fifth of the sightings is missing.
    if (random->between(0, 1) < 0.2) continue;
    const double foot = v + random->noise(off), middle = u + random->noise(off);
    const auto now = motion.see(static_cast<Time>(seconds * 1e9), 7,
                                {middle - size / 5, top_v, middle + size / 5, foot}, false);
    if (!now) continue;
    if (since < 0) since = seconds;
    if (seconds - since >= 3) last = now;
  }
  if (!last) return;
  errors->speeds.push_back(std::abs(last->speed - walker.speed) / walker.speed);
  const double heading = std::atan2(walker.along_x, walker.along_y) * 180 / M_PI;
  errors->headings.push_back(std::abs(std::remainder(last->heading - heading, 360)));
  errors->within += std::abs(last->speed - walker.speed) < 2 * last->speed_deviation ? 1 : 0;
}

double share_of(std::vector<double> values, double share) {
  const auto at = static_cast<size_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(at), values.end());
  return values[at];
}

double median_of(const std::vector<double>& values) {
  return share_of(values, 0.5);
}

DVNN_TEST(speeds_are_those_of_the_walks) {
  Random random{std::mt19937_64(dvnn_seed(7))};
  for (const double rate : {5.0, 25.0, 60.0}) {
    Errors errors;
    while (errors.speeds.size() < static_cast<size_t>(dvnn_rounds(300))) {
      const Camera camera{random.between(4, 8), random.between(20, 45), random.between(50, 90), 0};
      const double angle = random.between(0, 2 * M_PI);
      const Walk walker{random.between(-8, 8), random.between(4, 25),  std::sin(angle),
                        std::cos(angle),       random.between(0.8, 5), random.between(1.5, 2)};
      walk(camera, walker, rate, 0.02, &random, &errors);
    }
    const double speed = median_of(errors.speeds), heading = median_of(errors.headings);
    const double share =
        static_cast<double>(errors.within) / static_cast<double>(errors.speeds.size());
    std::printf(
        "%2g frames/s: speeds off by %.2f %% (nine of ten within %.1f %%), headings by %.2f "
        "degrees; %.0f %% within two deviations\n",
        rate, 100 * speed, 100 * share_of(errors.speeds, 0.9), heading, 100 * share);
    ck_assert_msg(speed < 0.03, "%g frames/s: speeds are off by %.3f", rate, speed);
    ck_assert_msg(heading < 3, "%g frames/s: headings are off by %.2f degrees", rate, heading);
    ck_assert_msg(share > 0.85, "%g frames/s: %.2f lie within two deviations", rate, share);
  }
}

// Conditions of areas and lines.

namespace {

constexpr image::Size kSmallFrame{200, 100};

std::optional<objects::Movement> moving(double speed, double deviation, double heading = 0) {
  return objects::Movement{0, 0, 0.1, speed, deviation, heading};
}

// Zones of one area and one line with the same condition, and what they tell.
struct Scene {
  Zones zones;
  explicit Scene(const std::string& condition) {
    auto config = parse_config(
        R"({"areas":[{"name":"a","points":[[0.2,0.4],[0.4,0.4],[0.4,0.8],[0.2,0.8]],)" + condition +
            R"(}],"lines":[{"name":"l","unit":"pixels","points":[[100,90],[100,10]],)" + condition +
            R"(}],"ground":{"points":[[0,0],[1,0],[1,1],[0,1]],"rectangle":[20,10]}})",
        "zones");
    ck_assert_msg(config.ok(), "%s", config.ok() ? "" : config.error().message.c_str());
    zones.configure(config.value(), kSmallFrame);
  }
  std::string see(Time ms, double x, const std::optional<objects::Movement>& movement) {
    const Sighting seen[] = {{1, "person", {x - 5, 40, x + 5, 60}, movement}};
    zones.update(ms * kMillisecond, Span<const Sighting>(seen, 1));
    std::string told;
    for (const Event& e : zones.events()) {
      const char* name = e.kind == EventKind::kEnter   ? "enter"
                         : e.kind == EventKind::kLeave ? "leave"
                                                       : "cross";
      told += format("%s%s@%d", told.empty() ? "" : ", ", name,
                     static_cast<int>(e.time / kMillisecond));
    }
    return told;
  }
};

}  // namespace

DVNN_TEST(conditions_begin_and_end_when_they_surely_do) {
  MotionCondition slow;
  slow.max_speed = 1;
  ck_assert(!meets(slow, {}, false) && meets(slow, {}, true));
  ck_assert(meets(slow, moving(0.7, 0.1), false));
  ck_assert(!meets(slow, moving(0.9, 0.1), false) && meets(slow, moving(0.9, 0.1), true));
  ck_assert(meets(slow, moving(1.1, 0.1), true) && !meets(slow, moving(1.3, 0.1), true));
  ck_assert(!meets(slow, moving(0, 0.4), false));  // not known
  MotionCondition fast;
  fast.min_speed = 5;
  ck_assert(meets(fast, moving(6, 0.4), false) && !meets(fast, moving(5.5, 0.4), false));
  ck_assert(meets(fast, moving(4.5, 0.4), true) && !meets(fast, moving(4, 0.4), true));
  MotionCondition between = slow;
  between.min_speed = 0.5;
  ck_assert(meets(between, moving(0.75, 0.1), false) && !meets(between, moving(0.2, 0.1), true));
}

DVNN_TEST(headings_are_ranges_around_the_clock) {
  MotionCondition north;
  north.heading = HeadingRange{315, 45};
  for (double heading = 0; heading < 360; heading += 5) {
    const bool inside = heading < 45 || heading > 315, edge = heading == 45 || heading == 315;
    const bool was_inside = meets(north, moving(2, 0.01, heading), true);
    const bool was_outside = meets(north, moving(2, 0.01, heading), false);
    ck_assert_msg(was_inside == (inside || edge) && was_outside == inside, "%g", heading);
  }
  // A speed that is little known makes a heading that is little known: 2 atan(0.25) are 28 degrees.
  ck_assert(meets(north, moving(1, 0.25, 10), false) && !meets(north, moving(1, 0.25, 20), false));
  ck_assert(meets(north, moving(1, 0.25, 70), true) && !meets(north, moving(1, 0.25, 75), true));
  // What stands has none.
  ck_assert(!meets(north, moving(0.1, 0.2, 0), true));
  ck_assert(meets(north, moving(0.3, 0.2, 0), true) && !meets(north, moving(0.3, 0.2, 0), false));
}

DVNN_TEST(tracks_count_while_they_meet_the_condition) {
  Scene scene(R"("min-speed":2)");
  dvnn_assert_text(scene.see(0, 20, {}), "");
  dvnn_assert_text(scene.see(100, 60, {}), "");  // in the area, but of unknown speed
  dvnn_assert_text(scene.see(200, 60, moving(3, 0.1)), "enter@200");
  dvnn_assert_text(scene.see(300, 60, moving(1.9, 0.1)), "");
  dvnn_assert_text(scene.see(400, 60, moving(1, 0.1)), "leave@400");
  dvnn_assert_text(scene.see(500, 70, moving(1, 0.1)), "");
  ck_assert(scene.zones.areas()[0].all.inside == 0 && scene.zones.areas()[0].all.entered == 1);
  dvnn_assert_text(scene.see(600, 70, moving(3, 0.1)), "enter@600");
  dvnn_assert_text(scene.see(700, 90, moving(3, 0.1)), "leave@650");
  dvnn_assert_text(scene.see(800, 110, moving(1, 0.1)), "");  // too slow for the line
  dvnn_assert_text(scene.see(900, 90, moving(3, 0.1)), "cross@850");
  dvnn_assert_text(scene.see(1000, 70, moving(3, 0.1)), "enter@950");  // on the edge's time
}

DVNN_TEST(a_heading_tells_who_goes_the_wrong_way) {
  Scene scene(R"("heading":[180,360])");
  dvnn_assert_text(scene.see(0, 20, moving(2, 0.1, 90)), "");
  dvnn_assert_text(scene.see(100, 60, moving(2, 0.1, 90)), "");
  dvnn_assert_text(scene.see(200, 70, moving(2, 0.1, 270)), "enter@200");
  dvnn_assert_text(scene.see(300, 75, moving(0.1, 0.1, 270)), "leave@300");
}

DVNN_TEST(mistakes_of_metres_are_named) {
  const std::string area = R"("areas":[{"name":"a","points":[[0,0],[1,0],[1,1]])";
  const std::string ground =
      R"(],"ground":{"points":[[0,0],[1,0],[1,1],[0,1]],"rectangle":[20,10]}})";
  const auto refuses = [&](const std::string& text, const char* why) {
    const auto config = parse_config(text, "zones");
    ck_assert_msg(!config.ok(), "%s is taken", text.c_str());
    ck_assert_msg(config.error().message.find(why) != std::string::npos, "'%s' does not say '%s'",
                  config.error().message.c_str(), why);
  };
  const auto of_area = [&](const char* more) { return "{" + area + more + "}" + ground; };
  refuses("{" + area + R"(,"min-speed":1}]})",
          "areas[0] has a 'min-speed', which needs a 'ground'");
  refuses("{" + area + R"(,"distance-below":1}]})", "'distance-below', which needs a 'ground'");
  refuses(R"({"lines":[{"name":"a","points":[[0,0],[1,0]],"heading":[0,90]}]})",
          "lines[0] has a 'heading', which needs a 'ground'");
  refuses(R"({"distances":{"below":1}})", "'distances' needs a 'ground'");
  refuses(of_area(R"(,"heading":[0])"), "field 'heading'");
  refuses(of_area(R"(,"heading":[0,361])"), "two different angles");
  refuses(of_area(R"(,"heading":[10,10])"), "two different angles");
  refuses(of_area(R"(,"min-speed":-1)"), "must not be below 0");
  refuses(of_area(R"(,"min-speed":2,"max-speed":1)"), "must be above 'min-speed'");
  refuses(of_area(R"(,"free":1000)"), "needs 'occupied'");
  refuses(of_area(R"(,"occupied":-1)"), "occupied");
  refuses(of_area(R"(,"anchor":"covers")"), "foot, centre, overlap, cover");
  refuses(R"({"heat":[]})", "heat must be an object");
  refuses(R"({"heat":{"cell":5}})", "is 5, must be 0.002 to 1 of the frame's height");
  refuses(R"({"heat":{"period":10}})", "at least 1000 milliseconds");
  refuses(R"({"heat":{"cells":1}})", "there is no field 'cells', but cell, period, labels");
  refuses(R"({"heat":{"labels":[1]}})", "which is no text");
  refuses("{" + area + "}" + ground.substr(0, ground.size() - 1) + R"(,"heat":{"cell":0.01}})",
          "must be 0.05 to 1000 metres");
  refuses("{" + area + "}" + ground.substr(0, ground.size() - 1) + R"(,"distances":{"below":0}})",
          "above 0 and at most 1000 metres");
  refuses("{" + area + "}" + ground.substr(0, ground.size() - 1) + R"(,"distances":{}})", "below");
}

DVNN_TEST(mistakes_in_files_have_a_line_and_a_column) {
  const auto message = [](const std::string& text) {
    const auto config = parse_config(text, "zones");
    ck_assert_msg(!config.ok(), "%s is taken", text.c_str());
    return config.error().message;
  };
  const std::string good = R"({"name":"a","points":[[0,0],[1,0],[1,1]]})";
  const std::string far = message("{\n \"areas\": [\n  " + good + ",\n    " +
                                  R"({"name":"b","points":[[0,0],[1,0],[1,1]],"dwel":1}]})");
  ck_assert_msg(far.find("areas[1]: there is no field 'dwel'") != std::string::npos &&
                    far.find("(line 4, column 5)") != std::string::npos,
                "%s", far.c_str());
  // Names that occur elsewhere, and values of all kinds in between.
  const std::string line = message(
      "{\n\"areas\": [" + good + R"(], "masks": [{"name":"lines","points":[[0,0],[1,0],[1,1]]}],)" +
      "\n\"lines\":\n[{\"name\": \"x\", \"points\": [[0,0],[1,0]], \"min-speed\": 1}]}");
  ck_assert_msg(line.find("(line 4, column 51)") != std::string::npos, "%s", line.c_str());
  const std::string heat = message("{\"areas\":[],\n\"heat\":{\"cell\":7}}");
  ck_assert_msg(heat.find("(line 2, column 6)") != std::string::npos, "%s", heat.c_str());
  ck_assert(message("{\"heat\":{\"cell\":7}}").find("(line") == std::string::npos);
  ck_assert(message("{\n\"heet\":1}").find("(line") == std::string::npos);
}

}  // namespace dvnn::test::ground_tests
