// SPDX-License-Identifier: Apache-2.0
// Still cameras over rendered scenes, in which the places of all that moves are known.
#include "motion/motion_watch.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <random>
#include <string>
#include <vector>

#include "check_suite.h"

namespace dvnn::test::motion_watch_tests {

DVNN_SUITE(motion_motion_watch);

using namespace dvnn::motion;

namespace {

constexpr int kWidth = 640, kHeight = 360;
constexpr int64_t kSecond = 1000000000;

using Random = std::mt19937_64;

double between(double low, double high, Random* random) {
  return std::uniform_real_distribution<double>(low, high)(*random);
}

// A thing that walks straight on from `from` to `to` seconds, and stands before and after within
// the picture.
struct Walker {
  double from, to;
  double x, y, width, height;  // at `from`, pixels
  double speed_x, speed_y;     // pixels per second
  double shade;                // brightness; its texture varies around it
  unsigned texture;

  image::Corners at(double time) const {
    const double t = std::clamp(time, from, to) - from;
    const double left = x + speed_x * t, top = y + speed_y * t;
    return {left, top, left + width, top + height};
  }
};

struct Conditions {
  double noise = 2;     // standard deviation, levels
  double shake = 0;     // most shift of the camera, pixels
  double flicker = 0;   // of all light, as a share
  double drift = 0;     // share by which light changes in 20 seconds
  double step_at = -1;  // time at which light changes at once
  double step = 1.3;    // factor of that
  double rate = 25;     // frames per second
};

class Scene {
 public:
  Scene(const Conditions& conditions, uint64_t seed) : conditions_(conditions), random_(seed) {
    wall_.resize(kWidth * kHeight);
    std::vector<double> raw(wall_.size(), 110);
    for (int k = 0; k < 300; ++k) {
      const int x = static_cast<int>(between(0, kWidth, &random_)),
                y = static_cast<int>(between(0, kHeight, &random_));
      const int w = static_cast<int>(between(5, 90, &random_)),
                h = static_cast<int>(between(5, 90, &random_));
      const double shade = between(-45, 45, &random_);
      for (int j = y; j < std::min(kHeight, y + h); ++j) {
        for (int i = x; i < std::min(kWidth, x + w); ++i)
          raw[static_cast<size_t>(j * kWidth + i)] += shade;
      }
    }
    for (size_t i = 0; i < raw.size(); ++i)
      wall_[i] = static_cast<float>(std::clamp(raw[i], 5.0, 190.0));
    soft_wall_ = wall_;
    blur(wall_, {1, 1, kWidth - 1, kHeight - 1}, &soft_wall_);
    std::normal_distribution<float> noise(0, static_cast<float>(conditions_.noise));
    noise_.resize(1 << 16);
    for (float& value : noise_) value = noise(random_);
  }
  std::vector<Walker> walkers;

  const std::vector<uint8_t>& render(double time) {
    const auto light = static_cast<float>(light_at(time));
    const double dx = between(-conditions_.shake, conditions_.shake, &random_),
                 dy = between(-conditions_.shake, conditions_.shake, &random_);
    const Part all{0, 0, kWidth, kHeight};
    shift(soft_wall_, all, dx, dy, &picture_);
    sharp_.resize(picture_.size());
    // The rest is as the wall was blurred.
    for (const Walker& walker : walkers) {
      const image::Corners box = walker.at(time);
      const Part around = all.with(box.x0 - dx, box.y0 - dy, box.x1 - dx, box.y1 - dy, 3);
      shift(wall_, around, dx, dy, &sharp_);
      for (int y = around.y0; y < around.y1; ++y) {
        for (const Walker& other : walkers) paint(other, other.at(time), dx, y + dy, around, y);
      }
      blur(sharp_, around.inner(), &picture_);
    }
    frame_.resize(picture_.size());
    for (int y = 0; y < kHeight; ++y) {
      const float* noise = &noise_[random_() % (noise_.size() - kWidth)];
      const float* from = &picture_[static_cast<size_t>(y * kWidth)];
      uint8_t* to = &frame_[static_cast<size_t>(y * kWidth)];
      for (int x = 0; x < kWidth; ++x) {
        to[x] = static_cast<uint8_t>(std::clamp(light * from[x] + noise[x] + 0.5f, 0.0f, 255.0f));
      }
    }
    return frame_;
  }

 private:
  double light_at(double time) {
    double light = 1 + conditions_.drift * std::sin(time * 2 * M_PI / 40);
    light *= 1 + between(-conditions_.flicker, conditions_.flicker, &random_);
    return conditions_.step_at >= 0 && time >= conditions_.step_at ? light * conditions_.step
                                                                   : light;
  }
  // Part of a picture, from the first pixel to behind the last.
  struct Part {
    int x0, y0, x1, y1;

    // What a box and so many pixels around it have of this part.
    Part with(double left, double top, double right, double bottom, int margin) const {
      const auto pixel = [](double at, int most) {
        return static_cast<int>(std::clamp<double>(at, 0, most));
      };
      return {pixel(left - margin, x1), pixel(top - margin, y1), pixel(right + margin, x1),
              pixel(bottom + margin, y1)};
    }
    Part inner() const { return {x0 + 1, y0 + 1, x1 - 1, y1 - 1}; }
  };
  // A lens blurs edges over a pixel or two.
  static void blur(const std::vector<float>& from, const Part& part, std::vector<float>* to) {
    const auto soft = [](const float* at, ptrdiff_t step) {
      return (at[-step] + 2 * at[0] + at[step]) / 4;
    };
    for (int y = part.y0; y < part.y1; ++y) {
      const float* line = from.data() + y * kWidth;
      float* into = to->data() + y * kWidth;
      for (int x = part.x0; x < part.x1; ++x) {
        into[x] =
            (soft(line + x - kWidth, 1) + 2 * soft(line + x, 1) + soft(line + x + kWidth, 1)) / 4;
      }
    }
  }
  // What a camera sees that looks this many pixels farther to the right and down.
  static void shift(const std::vector<float>& from, const Part& part, double dx, double dy,
                    std::vector<float>* to) {
    to->resize(from.size());
    const int i = static_cast<int>(std::floor(dx)), j = static_cast<int>(std::floor(dy));
    const auto a = static_cast<float>(dx - i), b = static_cast<float>(dy - j);
    const auto line = [&](int y) { return from.data() + std::clamp(y, 0, kHeight - 1) * kWidth; };
    for (int y = part.y0; y < part.y1; ++y) {
      const float *upper = line(y + j), *lower = line(y + j + 1);
      float* into = to->data() + y * kWidth;
      for (int x = part.x0; x < part.x1; ++x) {
        const int left = std::clamp(x + i, 0, kWidth - 1),
                  right = std::clamp(x + i + 1, 0, kWidth - 1);
        into[x] = (1 - b) * ((1 - a) * upper[left] + a * upper[right]) +
                  b * ((1 - a) * lower[left] + a * lower[right]);
      }
    }
  }
  // Paints the walker's part of line `row` of the picture, which is at `y` of the scene.
  void paint(const Walker& walker, const image::Corners& box, double dx, double y, const Part& part,
             int row) {
    if (y < box.y0 || y >= box.y1) return;
    const auto v = static_cast<unsigned>((y - box.y0) / 4);
    const int first = std::max(part.x0, static_cast<int>(std::ceil(box.x0 - dx)));
    for (int x = first; x < part.x1 && x + dx < box.x1; ++x) {
      const auto u = static_cast<unsigned>((x + dx - box.x0) / 4);
      const unsigned texture = ((u * 7919 + v * 104729 + walker.texture) >> 3) % 31;
      sharp_[static_cast<size_t>(row * kWidth + x)] =
          static_cast<float>(walker.shade + texture - 15.0);
    }
  }

  const Conditions conditions_;
  Random random_;
  std::vector<float> wall_, soft_wall_;  // as it is, and through the lens
  std::vector<float> sharp_, picture_, noise_;
  std::vector<uint8_t> frame_;
};

Luma luma_of(const std::vector<uint8_t>& frame) {
  return {frame.data(), kWidth, kHeight, kWidth, 1};
}

bool covers(const std::vector<image::Corners>& areas, const image::Corners& box) {
  const double x = (std::max(0.0, box.x0) + std::min<double>(kWidth, box.x1)) / 2,
               y = (std::max(0.0, box.y0) + std::min<double>(kHeight, box.y1)) / 2;
  return std::any_of(areas.begin(), areas.end(), [&](const image::Corners& area) {
    return x >= area.x0 && x <= area.x1 && y >= area.y0 && y <= area.y1;
  });
}

struct Seen {
  int quiet = 0, looked_quiet = 0;  // frames long after any motion, without verification
  int moving = 0, missed = 0;       // frames of walkers that walk, and those without their area
};

// Watches a scene for `seconds`.
Seen watch(Scene* scene, const Conditions& conditions, double seconds, const MotionRules& rules) {
  MotionWatch motion;
  motion.configure(rules);
  Seen seen;
  for (double time = 0; time < seconds; time += 1 / conditions.rate) {
    const auto at = static_cast<int64_t>(time * kSecond);
    const Reason reason = motion.see(at, luma_of(scene->render(time)));
    if (time < 1) continue;
    const bool looked = reason != Reason::kStill;
    ck_assert_int_eq(looked, !motion.areas().empty());
    bool quiet = true;
    for (const Walker& walker : scene->walkers) {
      if (time > walker.from - 0.1 && time < walker.to + 3.5) quiet = false;
      // Two frames late is soon enough.
      if (time < walker.from + 2.5 / conditions.rate || time > walker.to) continue;
      const image::Corners box = walker.at(time);
      if (box.x1 < 12 || box.x0 > kWidth - 12 || box.y1 < 12 || box.y0 > kHeight - 12) continue;
      ++seen.moving;
      seen.missed += !covers(motion.areas(), box);
    }
    if (!quiet || reason == Reason::kVerify) continue;
    ++seen.quiet;
    seen.looked_quiet += looked;
  }
  return seen;
}

Walker some_walker(double from, Random* random) {
  Walker walker{};
  walker.from = from;
  walker.to = from + between(1, 4, random);
  walker.height = between(14, 90, random);
  walker.width = walker.height * between(0.4, 1.6, random);
  walker.x = between(0, kWidth, random);
  walker.y = between(0, kHeight - walker.height, random);
  const double speed = between(15, 250, random), way = between(0, 2 * M_PI, random);
  walker.speed_x = speed * std::cos(way);
  walker.speed_y = speed * std::sin(way) * 0.3;
  walker.shade = between(0, 1, random) < 0.5 ? between(20, 60, random) : between(150, 190, random);
  walker.texture = static_cast<unsigned>((*random)());
  return walker;
}

}  // namespace

// Sums what is seen of some scenes in which two walkers come and stay.
static Seen watch_scenes(const Conditions& conditions, int count, const MotionRules& rules) {
  static uint64_t seed = dvnn_seed(1);
  Seen all;
  for (int k = 0; k < count; ++k) {
    Random random(++seed);
    Scene scene(conditions, seed);
    for (int i = 0; i < 2; ++i) scene.walkers.push_back(some_walker(2 + 9 * i, &random));
    const Seen seen = watch(&scene, conditions, 22, rules);
    all.quiet += seen.quiet, all.looked_quiet += seen.looked_quiet;
    all.moving += seen.moving, all.missed += seen.missed;
  }
  return all;
}

DVNN_TEST(what_walks_is_seen_and_quiet_streets_rest) {
  struct Row {
    const char* name;
    Conditions conditions;
    double most_missed, most_looked;  // shares
  };
  const Row rows[] = {{"plain", {}, 0.02, 0},
                      {"noise of 6 levels", {6}, 0.02, 0},
                      {"shaking by a quarter of a cell", {2, 0.5}, 0.05, 0.1},
                      {"shaking by half a cell: looked at often", {2, 1}, 0.08, 1},
                      {"lamps and clouds", {2, 0, 0.04, 0.12}, 0.03, 0.02},
                      {"light that is switched on", {2, 0, 0, 0, 12, 1.25}, 0.02, 0.02},
                      {"8 frames per second", {3, 0.3, 0.01, 0.05, -1, 1, 8}, 0.05, 0.1}};
  size_t number = 0;
  for (const Row& row : rows) {
    if (!dvnn_plays(number++)) continue;
    const Seen seen = watch_scenes(row.conditions, 1, {});
    std::printf("%s: %d of %d looks missed, %d of %d quiet frames looked at\n", row.name,
                seen.missed, seen.moving, seen.looked_quiet, seen.quiet);
    // One walker may be hard to see for half a second, which is much of a single scene.
    constexpr int kHalfASecond = 12;
    ck_assert_msg(seen.missed <= row.most_missed * seen.moving + kHalfASecond, "%s", row.name);
    ck_assert_msg(seen.looked_quiet <= row.most_looked * seen.quiet + kHalfASecond, "%s", row.name);
  }
}

// A block that crosses the picture within 2 s, from 3 s on.
static Walker crossing() {
  return {3, 5, 40, 100, 60, 60, 200, 0, 200, 7};
}

// Returns the reasons for frames of a scene at these seconds.
static std::vector<Reason> reasons(MotionWatch* motion, Scene* scene, double until, double rate,
                                   std::vector<double>* times) {
  std::vector<Reason> all;
  for (double time = 0; time < until; time += 1 / rate) {
    all.push_back(motion->see(static_cast<int64_t>(time * kSecond), luma_of(scene->render(time))));
    times->push_back(time);
  }
  return all;
}

static bool within(double time, double from, double to) {
  return time >= from && time <= to;
}

DVNN_TEST(each_frame_has_its_reason) {
  Scene scene({}, 5);
  scene.walkers.push_back(crossing());
  MotionWatch motion;
  MotionRules rules;
  rules.hold = 2 * kSecond;
  rules.verify = 10 * kSecond;
  motion.configure(rules);
  std::vector<double> times;
  const std::vector<Reason> all = reasons(&motion, &scene, 24, 20, &times);
  int held = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    const double time = times[i];
    if (time < 0.5)
      ck_assert_int_eq(static_cast<int>(all[i]), static_cast<int>(Reason::kEverywhere));
    if (within(time, 0.6, 2.9))
      ck_assert_int_eq(static_cast<int>(all[i]), static_cast<int>(Reason::kStill));
    if (within(time, 3.15, 5))
      ck_assert_int_eq(static_cast<int>(all[i]), static_cast<int>(Reason::kMoving));
    held += all[i] == Reason::kHeld;
    if (within(time, 10.55, 10.65))
      ck_assert_int_eq(static_cast<int>(all[i]), static_cast<int>(Reason::kVerify));
    if (within(time, 9.5, 10.3) || within(time, 11, 20)) {
      ck_assert_int_eq(static_cast<int>(all[i]), static_cast<int>(Reason::kStill));
    }
  }
  ck_assert_int_ge(held, 30);
  ck_assert_int_le(held, 40);
}

DVNN_TEST(areas_hold_what_moves_and_little_else) {
  Scene scene({}, 6);
  scene.walkers.push_back(crossing());
  MotionWatch motion;
  for (double time = 0; time < 4.6; time += 0.04) {
    motion.see(static_cast<int64_t>(time * kSecond), luma_of(scene.render(time)));
  }
  ck_assert_uint_eq(motion.areas().size(), 1);
  const image::Corners area = motion.areas()[0], box = scene.walkers[0].at(4.56);
  ck_assert(area.x0 <= box.x0 && area.y0 <= box.y0 && area.x1 >= box.x1 && area.y1 >= box.y1);
  // The margin, and the way of 0.3 s.
  ck_assert(area.x1 < box.x1 + 20 && area.y0 > box.y0 - 20 && area.x0 > box.x0 - 90);
}

DVNN_TEST(masks_hide_motion) {
  Scene scene({}, 7);
  scene.walkers.push_back(crossing());
  MotionWatch motion;
  motion.set_mask([](double, double y) { return y > 80 && y < 180; });
  std::vector<double> times;
  const std::vector<Reason> all = reasons(&motion, &scene, 8, 20, &times);
  for (size_t i = 0; i < all.size(); ++i) {
    if (times[i] > 0.6)
      ck_assert_int_eq(static_cast<int>(all[i]), static_cast<int>(Reason::kStill));
  }
}

DVNN_TEST(another_scene_is_looked_at_once) {
  Scene one({}, 8), other({}, 9);
  MotionWatch motion;
  int looked = 0;
  for (int i = 0; i < 100; ++i) {
    Scene& scene = i < 50 ? one : other;
    const Reason reason = motion.see(i * kSecond / 20, luma_of(scene.render(i / 20.0)));
    if (i == 50) ck_assert_int_eq(static_cast<int>(reason), static_cast<int>(Reason::kEverywhere));
    if (i >= 50) looked += reason != Reason::kStill;
  }
  ck_assert_int_le(looked, 3);
}

DVNN_TEST(jumps_begin_anew_and_small_frames_are_always_looked_at) {
  Scene scene({}, 10);
  MotionWatch motion;
  for (int i = 0; i < 40; ++i) motion.see(i * kSecond / 20, luma_of(scene.render(i / 20.0)));
  ck_assert(motion.areas().empty());
  // Back in time, a long gap, another size.
  ck_assert(motion.see(0, luma_of(scene.render(0))) == Reason::kEverywhere);
  ck_assert(motion.see(100 * kSecond, luma_of(scene.render(0))) == Reason::kEverywhere);
  Luma half = luma_of(scene.render(0));
  half.width /= 2;
  ck_assert(motion.see(100 * kSecond + 1, half) == Reason::kEverywhere);
  half.width = 8;
  for (int i = 0; i < 40; ++i) {
    ck_assert(motion.see((101 + i) * kSecond, half) == Reason::kEverywhere);
    ck_assert_uint_eq(motion.areas().size(), 1);
  }
}

// Thousands of flakes, each in another place in each frame, that no margin joins. Merged one by
// one, a frame would take seconds; at times that stand still, their number would grow without end.
DVNN_TEST(snow_is_a_few_areas) {
  constexpr int kPitch = 8, kFrames = 400, kFirst = 20, kStands = 40;
  std::vector<uint8_t> frame(kWidth * kHeight);
  Random random(dvnn_seed(11));
  MotionWatch motion;
  MotionRules rules;
  rules.margin = 0;
  rules.least = 0.005;
  motion.configure(rules);
  for (int i = 0; i < kFrames; ++i) {
    std::fill(frame.begin(), frame.end(), uint8_t{100});
    const auto top = static_cast<int>(random() % kPitch),
               left = static_cast<int>(random() % kPitch);
    for (int y = top; i >= kFirst && y + 4 < kHeight; y += 2 * kPitch) {
      for (int x = left; x + 8 < kWidth; x += 2 * kPitch) {
        if (random() % 2) continue;
        for (int j = 0; j < 4; ++j) {
          std::fill_n(&frame[static_cast<size_t>((y + j) * kWidth + x)], 8, uint8_t{220});
        }
      }
    }
    const Reason reason = motion.see(std::min(i, kStands) * kSecond / 25, luma_of(frame));
    if (i < kFirst) continue;
    ck_assert_int_eq(static_cast<int>(reason), static_cast<int>(Reason::kMoving));
    ck_assert_uint_ge(motion.areas().size(), 1);
    ck_assert_uint_le(motion.areas().size(), 16);
  }
  ck_assert(covers(motion.areas(),
                   {kWidth / 2.0 - 1, kHeight / 2.0 - 1, kWidth / 2.0 + 1, kHeight / 2.0 + 1}));
}

// Flashes make white and black of most cells, whose background is a guess meanwhile: it stays one
// that a frame can have.
DVNN_TEST(a_flashing_lamp_blinds_no_background) {
  constexpr int kSide = 64, kFlashes = 14000, kSteady = 1500, kBlock = 16;
  LumaPyramid::Level scene{kSide, kSide, std::vector<float>(kSide * kSide)}, seen = scene;
  Random random(dvnn_seed(12));
  for (float& value : scene.pixels) value = static_cast<float>(random() % 256);
  const std::vector<uint8_t> masked(scene.pixels.size());
  Background background;
  for (int i = 0; i < kFlashes; ++i) {
    const float light = i % 2 ? 1.9F : 0.55F;
    for (size_t k = 0; k < seen.pixels.size(); ++k)
      seen.pixels[k] = std::min(255.0F, light * scene.pixels[k]);
    background.see(seen, 0.04, 8, masked);
  }
  for (int i = 0; i < kSteady; ++i) background.see(scene, 0.04, 8, masked);
  ck_assert_double_lt(background.unknown_share(), 0.1);
  for (size_t k = 0; k < kBlock * kSide; ++k) scene.pixels[k] = scene.pixels[k] < 128 ? 200 : 50;
  background.see(scene, 0.04, 8, masked);
  const auto& marks = background.marks();
  ck_assert_int_gt(std::count(marks.begin(), marks.begin() + kBlock * kSide, 1),
                   kBlock * kSide / 2);
}

DVNN_TEST(frames_take_little_time) {
  std::vector<uint8_t> frame(1920 * 1080);
  Random random(1);
  for (uint8_t& pixel : frame) pixel = static_cast<uint8_t>(100 + random() % 8);
  MotionWatch motion;
  const Luma luma{frame.data(), 1920, 1080, 1920, 1};
  const std::clock_t began = std::clock();
  for (int i = 0; i < 60; ++i) motion.see(i * kSecond / 25, luma);
  const double seconds = static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
  std::printf("a frame of 1920x1080: %.3f ms of CPU time\n", 1000 * seconds / 60);
}

}  // namespace dvnn::test::motion_watch_tests
