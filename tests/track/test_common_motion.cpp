// SPDX-License-Identifier: Apache-2.0
#include "track/common_motion.h"

#include <cmath>
#include <random>

#include "check_suite.h"
#include "motion/affine.h"
#include "track/track_stream.h"

namespace dvnn::test::common_motion_tests {

using namespace dvnn::track;

namespace {

// The mean of how far the estimate is from the truth, of cameras that shake by `shake` pixels while
// a third of the things goes its own way.
double mean_error(double shake, int things, double* moved) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal(0, 1);
  CommonMotion common;
  double error = 0;
  *moved = 0;
  constexpr int kFrames = 400, kUsed = 200;
  for (int i = 0; i < kFrames; ++i) {
    const double x = shake * normal(random), y = shake * normal(random);
    common.begin();
    for (int k = 0; k < things; ++k) {
      const double own = k % 3 == 0 ? 30 * normal(random) : 0;
      common.add(x + own + 3 * normal(random), y + 3 * normal(random), 9, 9);
    }
    const motion::Affine camera = common.solve();
    if (i < kFrames - kUsed) continue;  // until the shaking is known
    error += std::hypot(camera.x0 - x, camera.y0 - y) / kUsed;
    *moved += std::hypot(camera.x0, camera.y0) / kUsed;
  }
  return error;
}

}  // namespace

START_TEST(what_all_do_alike_is_the_cameras) {
  double moved = 0;
  const double error = mean_error(20, 12, &moved);
  ck_assert_msg(error < 3, "off by %g", error);
}
END_TEST

START_TEST(a_camera_that_stands_is_left_alone) {
  for (const int things : {4, 12, 40}) {
    double moved = 0;
    mean_error(0, things, &moved);
    ck_assert_msg(moved < 0.5, "%d things: %g pixels", things, moved);
  }
  CommonMotion common;
  common.begin();
  for (int i = 0; i < 3; ++i) common.add(50, 50, 1, 1);
  ck_assert(common.solve().is_identity());  // too few
}
END_TEST

START_TEST(tracks_move_with_a_camera_that_is_known) {
  // The camera turns by more than the boxes are wide, between two frames; all stand still.
  const motion::Affine turn{1.01, -0.01, 60, 0.01, 1.01, -20};
  for (const bool known : {true, false}) {
    Settings settings = times(200, 2000);
    settings.common_motion = false;
    Stream stream(settings);
    std::vector<Detection> all{at(100, 100), at(200, 120), at(300, 80)};
    for (int i = 0; i < 10; ++i) stream.see(40 * i, all);
    for (Detection& detection : all) detection.box = turn.apply(detection.box);
    if (known) stream.tracker.move(turn);
    stream.see(400, all);
    for (size_t i = 0; i < 3; ++i) ck_assert_int_eq(stream.id(i) == i + 1, known);
    if (known) ck_assert_double_eq_tol(stream.tracker.track_of(0)->filter.speed_x(), 0, 1);
  }
}
END_TEST

START_TEST(a_shaking_camera_takes_nobodys_name) {
  // Steps of 10 pixels between frames, of boxes 40 wide; one is hidden for a while.
  std::mt19937 random(9);
  std::normal_distribution<double> normal(0, 10);
  for (const bool common : {true, false}) {
    Settings settings = times(200, 2000);
    settings.common_motion = common;
    Stream stream(settings);
    double x = 0, y = 0;
    int switches = 0;
    uint64_t names[6] = {};
    for (int i = 0; i < 300; ++i) {
      x += normal(random) - 0.1 * x, y += normal(random) - 0.1 * y;
      std::vector<Detection> all;
      for (int k = 0; k < 6; ++k) all.push_back(at(60 + 90 * k + x, 150 + 20 * (k % 2) + y));
      if (i % 30 > 24) all.pop_back();
      stream.see(40 * i, all);
      for (size_t k = 0; k < all.size(); ++k) {
        switches += i > 20 && stream.id(k) != names[k];
        names[k] = stream.id(k);
      }
    }
    ck_assert_msg(common ? switches == 0 : switches > 50, "%s: %d switches",
                  common ? "followed" : "not", switches);
  }
}
END_TEST

DVNN_SUITE(track_common_motion, what_all_do_alike_is_the_cameras,
           a_camera_that_stands_is_left_alone, tracks_move_with_a_camera_that_is_known,
           a_shaking_camera_takes_nobodys_name)

}  // namespace dvnn::test::common_motion_tests
