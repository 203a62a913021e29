// SPDX-License-Identifier: Apache-2.0
#include "track/common_motion.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "check_suite.h"
#include "motion/affine.h"
#include "track/track_stream.h"

namespace dvnn::test::common_motion_tests {

DVNN_SUITE(track_common_motion);

using namespace dvnn::track;

namespace {

constexpr double kMiddle = 300;  // of the places of things, which are from 0 to 600

// The mean of how far the estimate is from the truth at the places of things, of cameras that shake
// by `shake` pixels, come nearer and turn by `slope` of the places, while a third of the things
// goes its own way.
double mean_error(double shake, double slope, int things, double* moved) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal(0, 1);
  std::uniform_real_distribution<double> share(0, 1);
  CommonMotion common;
  double error = 0;
  *moved = 0;
  constexpr int kFrames = 400, kUsed = 200;
  for (int i = 0; i < kFrames; ++i) {
    const double x = shake * normal(random), y = shake * normal(random);
    const double grown = slope * normal(random), turned = slope * normal(random);
    const motion::Affine truth{1 + grown, -turned,   x + (turned - grown) * kMiddle,
                               turned,    1 + grown, y - (turned + grown) * kMiddle};
    common.begin();
    std::vector<std::pair<double, double>> places;
    for (int k = 0; k < things; ++k) {
      const double at_x = 2 * kMiddle * share(random), at_y = 2 * kMiddle * share(random);
      double to_x = at_x, to_y = at_y;
      truth.apply(&to_x, &to_y);
      const double own = k % 3 == 0 ? 30 * normal(random) : 0;
      common.add(at_x, at_y, to_x - at_x + own + 3 * normal(random),
                 to_y - at_y + 3 * normal(random), 9, 9);
      places.emplace_back(at_x, at_y);
    }
    const motion::Affine camera = common.solve();
    if (i < kFrames - kUsed) continue;  // until the shaking is known
    for (const auto& place : places) {
      double true_x = place.first, true_y = place.second, x1 = true_x, y1 = true_y;
      truth.apply(&true_x, &true_y);
      camera.apply(&x1, &y1);
      error += std::hypot(x1 - true_x, y1 - true_y) / kUsed / things;
      *moved += std::hypot(x1 - place.first, y1 - place.second) / kUsed / things;
    }
  }
  return error;
}

}  // namespace

DVNN_TEST(what_all_do_alike_is_the_cameras) {
  double moved = 0;
  double error = mean_error(20, 0, 12, &moved);
  ck_assert_msg(error < 3, "off by %g", error);
  // Without the scale and the turn it would be off by 16 pixels.
  error = mean_error(20, 0.05, 20, &moved);
  ck_assert_msg(error < 4, "off by %g where it comes nearer", error);
}

DVNN_TEST(a_camera_that_stands_is_left_alone) {
  for (const int things : {4, 12, 40}) {
    double moved = 0;
    mean_error(0, 0, things, &moved);
    ck_assert_msg(moved < 0.5, "%d things: %g pixels", things, moved);
  }
  CommonMotion common;
  common.begin();
  for (int i = 0; i < 3; ++i) common.add(100.0 * i, 0, 50, 50, 1, 1);
  ck_assert(common.solve().is_identity());  // too few
}

DVNN_TEST(tracks_move_with_a_camera_that_is_known) {
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

DVNN_TEST(a_shaking_camera_takes_nobodys_name) {
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

DVNN_TEST(a_lens_that_zooms_takes_nobodys_name) {
  // Steps of up to 5 % in the end: 13 pixels at the outer boxes, which are 36 wide.
  std::mt19937 random(9);
  std::uniform_real_distribution<double> step(-0.05, 0.05);
  for (const bool common : {true, false}) {
    Settings settings = times(200, 2000);
    settings.common_motion = common;
    Stream stream(settings);
    int switches = 0;
    double nearer = 0.9;
    uint64_t names[15] = {};
    for (int i = 0; i < 300; ++i) {
      nearer += step(random) * std::min(1.0, i / 60.0) - 0.2 * (nearer - 0.9);
      const motion::Affine zoom{nearer, 0, 320 * (1 - nearer), 0, nearer, 240 * (1 - nearer)};
      std::vector<Detection> all;
      for (int k = 0; k < 15; ++k) {
        all.push_back(at(20 + 140 * (k % 5), 40 + 160 * (k / 5)));
        all.back().box = zoom.apply(all.back().box);
      }
      if (i % 30 > 24) all.erase(all.end() - 5, all.end());
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

}  // namespace dvnn::test::common_motion_tests
