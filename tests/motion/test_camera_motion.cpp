// SPDX-License-Identifier: Apache-2.0
// Cameras over a rendered scene, whose motion is known.
#include "motion/camera_motion.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <random>

#include "check_suite.h"
#include "counted_new.h"

namespace dvnn::test::camera_motion_tests {

DVNN_SUITE(motion_camera_motion);

using namespace dvnn::motion;

namespace {

constexpr int64_t kInterval = 40000000;  // nanoseconds

// A wall of blotches, of which the camera sees a part.
class Scene {
 public:
  explicit Scene(int width, int height) : width_(width), height_(height), pixels_(count()) {
    std::mt19937 random(3);
    std::fill(pixels_.begin(), pixels_.end(), 120.0f);
    for (int k = 0; k < 2500; ++k) {
      const int x = any(&random, width_), y = any(&random, height_);
      const int wide = 8 + any(&random, 60), high = 8 + any(&random, 60);
      const float shade = static_cast<float>(any(&random, 100) - 50);
      for (int j = y; j < std::min(height_, y + high); ++j) {
        for (int i = x; i < std::min(width_, x + wide); ++i) at(i, j) += shade;
      }
    }
  }
  static int any(std::mt19937* random, int below) {
    return static_cast<int>((*random)() % static_cast<unsigned>(below));
  }
  // The frame of which `place` says where its pixels are in the scene; a share of its width is
  // covered by something that goes its own way.
  void render(const Affine& place, double covered, int shift, int width, int height,
              std::mt19937* random, std::vector<uint8_t>* frame) {
    frame->resize(static_cast<size_t>(width) * static_cast<size_t>(height));
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        double u = x + 0.5, v = y + 0.5;
        place.apply(&u, &v);
        float value = between(u - 0.5, v - 0.5);
        if (x > 0.3 * width && x < (0.3 + covered) * width)
          value = between((x * 3 + shift) % 700, y);
        value += static_cast<float>(any(random, 9) - 4);
        (*frame)[static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)] =
            static_cast<uint8_t>(std::clamp(value, 0.0f, 255.0f));
      }
    }
  }

 private:
  size_t count() const { return static_cast<size_t>(width_) * static_cast<size_t>(height_); }
  float& at(int x, int y) {
    return pixels_[static_cast<size_t>(y) * static_cast<size_t>(width_) + static_cast<size_t>(x)];
  }
  float between(double x, double y) {
    x = std::clamp(x, 0.0, width_ - 2.0), y = std::clamp(y, 0.0, height_ - 2.0);
    const int i = static_cast<int>(x), j = static_cast<int>(y);
    const float a = static_cast<float>(x - i), b = static_cast<float>(y - j);
    return (1 - b) * ((1 - a) * at(i, j) + a * at(i + 1, j)) +
           b * ((1 - a) * at(i, j + 1) + a * at(i + 1, j + 1));
  }

  int width_, height_;
  std::vector<float> pixels_;
};

// Where a frame's pixels are in the scene, when the camera looks from there.
Affine place_of(double x, double y, double angle, double zoom, int width, int height) {
  const double cosine = zoom * std::cos(angle), sine = zoom * std::sin(angle);
  return Affine{1, 0, -width / 2.0, 0, 1, -height / 2.0}.then({cosine, -sine, x, sine, cosine, y});
}

double farthest(const Affine& a, const Affine& b, int width, int height) {
  double most = 0;
  for (const double x : {0, width}) {
    for (const double y : {0, height}) {
      double ax = x, ay = y, bx = x, by = y;
      a.apply(&ax, &ay);
      b.apply(&bx, &by);
      most = std::max(most, std::hypot(ax - bx, ay - by));
    }
  }
  return most;
}

Luma luma_of(const std::vector<uint8_t>& frame, int width, int height) {
  return {frame.data(), width, height, width, 1};
}

}  // namespace

DVNN_TEST(what_stands_still_tells_how_the_camera_moves) {
  constexpr int kWidth = 960, kHeight = 540;
  Scene scene(2400, 1400);
  const struct {
    const char* what;
    double pan, shake, turn, zoom, covered;
  } cameras[] = {{"a pan", 12, 0, 0, 0, 0},          {"shaking", 0, 6, 0, 0, 0},
                 {"turning", 0, 0, 0.01, 0, 0},      {"zooming", 0, 0, 0, 0.01, 0},
                 {"all of it", 8, 4, 0.01, 0.01, 0}, {"a bus in front", 8, 4, 0.005, 0.005, 0.35}};
  for (const auto& camera : cameras) {
    std::mt19937 random(5);
    std::normal_distribution<double> normal(0, 1);
    CameraMotion motion;
    Affine before, sum, first;
    std::vector<uint8_t> frame;
    double worst = 0;
    for (int i = 0; i < 30; ++i) {
      const Affine place = place_of(
          900 + camera.pan * i + camera.shake * normal(random), 700 + camera.shake * normal(random),
          camera.turn * normal(random), 1 + camera.zoom * normal(random), kWidth, kHeight);
      scene.render(place, camera.covered, 23 * i, kWidth, kHeight, &random, &frame);
      Affine found;
      const bool known = motion.see(luma_of(frame, kWidth, kHeight), &found);
      ck_assert_msg(known == (i > 0), "%s: frame %d", camera.what, i);
      if (i == 0) first = place;
      if (i > 0) {
        worst = std::max(worst, farthest(found, before.then(place.inverse()), kWidth, kHeight));
        sum = sum.then(found);
      }
      before = place;
    }
    ck_assert_msg(worst < 1, "%s: off by %.2f pixels", camera.what, worst);
    // Errors do not add up: a camera that comes back is where it was.
    const double drift = farthest(sum, first.then(before.inverse()), kWidth, kHeight);
    ck_assert_msg(drift < 3, "%s: %.2f pixels in the end", camera.what, drift);
  }
}

DVNN_TEST(cuts_and_blank_walls_tell_nothing) {
  constexpr int kWidth = 640, kHeight = 480;
  Scene scene(2400, 1400);
  std::mt19937 random(5);
  CameraMotion motion;
  std::vector<uint8_t> frame;
  Affine found;
  const auto see = [&] { return motion.see(luma_of(frame, kWidth, kHeight), &found); };
  scene.render(place_of(500, 500, 0, 1, kWidth, kHeight), 0, 0, kWidth, kHeight, &random, &frame);
  ck_assert(!see());
  ck_assert(see());
  scene.render(place_of(1700, 900, 1, 1, kWidth, kHeight), 0, 0, kWidth, kHeight, &random, &frame);
  ck_assert_msg(!see() && found.is_identity(), "a cut");
  ck_assert_msg(see(), "the scene after it");
  std::fill(frame.begin(), frame.end(), uint8_t{90});
  ck_assert(!see() && !see());
  // Too small to tell, and another size.
  ck_assert(!motion.see(luma_of(frame, 40, 30), &found));
  ck_assert(!motion.see(luma_of(frame, 320, 240), &found));
}

DVNN_TEST(other_layouts_are_the_same_picture) {
  constexpr int kWidth = 640, kHeight = 480;
  Scene scene(2400, 1400);
  std::mt19937 random(5);
  CameraMotion plain, packed;
  std::vector<uint8_t> frame, wide(static_cast<size_t>(kWidth) * kHeight * 4 + 1000);
  for (int i = 0; i < 3; ++i) {
    scene.render(place_of(700 + 9 * i, 500, 0, 1, kWidth, kHeight), 0, 0, kWidth, kHeight, &random,
                 &frame);
    for (size_t y = 0; y < kHeight; ++y) {
      for (size_t x = 0; x < kWidth; ++x)
        wide[y * (4 * kWidth + 2) + 4 * x] = frame[y * kWidth + x];
    }
    Affine a, b;
    ck_assert_int_eq(plain.see(luma_of(frame, kWidth, kHeight), &a),
                     packed.see({wide.data(), kWidth, kHeight, 4 * kWidth + 2, 4}, &b));
    ck_assert(a.x0 == b.x0 && a.y0 == b.y0 && a.xx == b.xx && a.xy == b.xy);
    ck_assert_double_eq_tol(a.x0, i > 0 ? -9 : 0, 0.5);
  }
}

DVNN_TEST(cameras_that_stand_are_seldom_looked_at) {
  constexpr int kWidth = 320, kHeight = 240;
  Scene scene(1400, 900);
  std::mt19937 random(5);
  std::vector<uint8_t> frame;
  const struct {
    Camera camera;
    int looks_standing, looks_moving;  // of 50 frames at 25 a second
  } cases[] = {{Camera::kStatic, 0, 0}, {Camera::kMoving, 50, 50}, {Camera::kAuto, 4, 48}};
  for (const auto& c : cases) {
    CameraWatch watch;
    watch.configure(c.camera);
    int looks[2] = {}, told = 0;
    for (int i = 0; i < 100; ++i) {
      const int64_t time = kInterval * i;
      if (!watch.wants(time)) continue;
      ++looks[i >= 50];
      const double x = i < 50 ? 500 : 500 + 6 * (i - 50);
      scene.render(place_of(x, 400, 0, 1, kWidth, kHeight), 0, 0, kWidth, kHeight, &random, &frame);
      Affine motion;
      if (!watch.see(time, luma_of(frame, kWidth, kHeight), &motion)) continue;
      ++told;
      ck_assert_double_eq_tol(motion.x0, i > 50 ? -6 : 0, 0.3);
    }
    ck_assert_msg(std::abs(looks[0] - c.looks_standing) <= 1, "%d looks", looks[0]);
    ck_assert_msg(std::abs(looks[1] - c.looks_moving) <= 1, "%d looks", looks[1]);
    ck_assert_int_ge(told, c.looks_moving - 3);
  }
}

DVNN_TEST(frames_take_no_memory) {
  constexpr int kWidth = 1920, kHeight = 1080;
  Scene scene(2400, 1400);
  std::mt19937 random(5);
  std::vector<uint8_t> frames[3];
  for (int i = 0; i < 3; ++i) {
    scene.render(place_of(1100 + 20 * i, 700, 0, 1, kWidth, kHeight), 0, 0, kWidth, kHeight,
                 &random, &frames[i]);
  }
  CameraMotion motion;
  Affine found;
  for (int i = 0; i < 12; ++i) motion.see(luma_of(frames[i % 3], kWidth, kHeight), &found);
  const size_t before = test::counted_news;
  const std::clock_t began = std::clock();
  for (int i = 0; i < 60; ++i) motion.see(luma_of(frames[i % 3], kWidth, kHeight), &found);
  const double seconds = static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
  ck_assert_uint_eq(test::counted_news, before);
  std::printf("a frame of 1920x1080: %.3f ms of CPU time\n", 1000 * seconds / 60);
}

}  // namespace dvnn::test::camera_motion_tests
