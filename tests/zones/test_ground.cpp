// SPDX-License-Identifier: Apache-2.0
// The ground against a camera of the test's own, which projects places in metres to pixels, the
// other way than the code does; and speeds of seeded walks that it sees.
#include "zones/ground.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>

#include "base/format.h"
#include "base/json.h"
#include "check_suite.h"
#include "zones/ground_motion.h"

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

}  // namespace dvnn::test::ground_tests
