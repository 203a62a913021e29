// SPDX-License-Identifier: Apache-2.0
// The filter against the textbook's: matrices, and noise that is integrated in small steps.
#include "track/kalman.h"

#include <cmath>

#include "check_suite.h"

namespace dvnn::test::kalman_tests {

DVNN_SUITE(track_kalman);

using namespace dvnn::track;

namespace {

// One coordinate and its speed by the differential equations of mean and covariance, in Euler's
// steps: dx = v dt, dv = -v / tau dt + noise.
struct Reference {
  double x, v, p[2][2];

  void predict(const Motion& motion, double size, double seconds, double push) {
    constexpr int kSteps = 200000;
    const double dt = seconds / kSteps, f[2][2] = {{0, 1}, {0, -1 / motion.seconds}};
    for (int step = 0; step < kSteps; ++step) {
      double d[2][2];
      for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 2; ++j) {
          d[i][j] = i != j ? 0 : (i == 1 ? push * motion.noise : motion.walk) * size * size;
          for (int k = 0; k < 2; ++k) d[i][j] += f[i][k] * p[k][j] + p[i][k] * f[j][k];
        }
      }
      x += v * dt;
      v -= v / motion.seconds * dt;
      for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 2; ++j) p[i][j] += d[i][j] * dt;
      }
    }
  }
  // P - K S K', with K = P H' / S.
  void correct(double measured, double variance) {
    const double s = p[0][0] + variance, k[2] = {p[0][0] / s, p[1][0] / s}, off = measured - x;
    x += k[0] * off;
    v += k[1] * off;
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 2; ++j) p[i][j] -= k[i] * s * k[j];
    }
  }
};

void expect_same(const Axis& axis, const Reference& reference) {
  ck_assert_double_eq_tol(axis.x, reference.x, 1e-3 * (1 + std::fabs(reference.x)));
  ck_assert_double_eq_tol(axis.v, reference.v, 1e-3 * (1 + std::fabs(reference.v)));
  ck_assert_double_eq_tol(axis.xx, reference.p[0][0], 1e-3 * reference.p[0][0]);
  ck_assert_double_eq_tol(axis.xv, reference.p[0][1], 1e-3 * std::fabs(reference.p[0][1]) + 1e-6);
  ck_assert_double_eq_tol(axis.vv, reference.p[1][1], 1e-3 * reference.p[1][1]);
}

}  // namespace

DVNN_TEST(an_axis_is_the_textbooks) {
  for (const Motion& motion : {BoxFilter::kPlace, BoxFilter::kExtent, Motion{0.1, 7, 0.3}}) {
    constexpr double kSize = 40, kVariance = 9, kPush = 3;
    Axis axis;
    axis.x = 100;
    axis.xx = 4;
    axis.vv = 900;
    Reference reference{100, 0, {{4, 0}, {0, 900}}};
    const struct {
      double seconds, measured;
    } sightings[] = {{0.04, 103}, {0.04, 105}, {0.4, 120}, {0.001, 119}, {2, 180}};
    for (const auto& sighting : sightings) {
      axis.predict(Step(motion, sighting.seconds), kSize, kPush);
      reference.predict(motion, kSize, sighting.seconds, kPush);
      expect_same(axis, reference);
      axis.correct(sighting.measured, kVariance);
      reference.correct(sighting.measured, kVariance);
      expect_same(axis, reference);
    }
  }
}

DVNN_TEST(one_long_step_is_many_short_ones) {
  for (double seconds : {0.01, 0.4, 5.0}) {
    BoxFilter once({100, 100, 140, 200}, 0.05);
    once.predict(0.04);
    once.correct({104, 101, 145, 202}, 0.05);
    BoxFilter often = once;
    once.predict(seconds);
    for (int i = 0; i < 1000; ++i) often.predict(seconds / 1000);
    for (int i = 0; i < 4; ++i) {
      const Axis &a = once.axis(i), &b = often.axis(i);
      ck_assert_double_eq_tol(a.x, b.x, 1e-6 * std::fabs(a.x));
      ck_assert_double_eq_tol(a.v, b.v, 1e-6 * (1e-3 + std::fabs(a.v)));
      ck_assert_double_eq_tol(a.xx, b.xx, 1e-6 * a.xx);
      ck_assert_double_eq_tol(a.xv, b.xv, 1e-6 * std::fabs(a.xv));
      ck_assert_double_eq_tol(a.vv, b.vv, 1e-6 * a.vv);
    }
  }
}

DVNN_TEST(a_steady_way_is_continued) {
  BoxFilter filter({0, 0, 40, 100}, 0.05);
  for (int i = 1; i <= 50; ++i) {
    filter.predict(0.04);
    filter.correct({2.0 * i, 0, 40 + 2.0 * i, 100}, 0.05);
  }
  ck_assert_double_eq_tol(filter.speed_x(), 50, 3);  // pixels per second
  ck_assert_double_eq_tol(filter.speed_y(), 0, 0.5);
  filter.predict(0.4);
  ck_assert_double_eq_tol(filter.box().x0, 120, 4);
}

DVNN_TEST(nothing_flies_on_for_ever) {
  BoxFilter filter({0, 0, 40, 40}, 0.05);
  filter.predict(0.001);
  filter.correct({400, 0, 440, 40}, 0.05);
  ck_assert_double_le(filter.speed_x(), BoxFilter::kFastest * filter.size() + 1e-9);
  const double limit = filter.box().x0 + filter.speed_x() * BoxFilter::kPlace.seconds;
  filter.predict(1e6);
  ck_assert_double_le(filter.box().x0, limit + 1e-6);
  ck_assert_double_eq_tol(filter.speed_x(), 0, 1e-9);
}

DVNN_TEST(no_box_is_empty) {
  BoxFilter filter({0, 0, 40, 40}, 0.05);
  for (int i = 0; i < 20; ++i) {
    filter.predict(0.04);
    filter.correct({10.0 + i, 10.0 + i, 40.0 - i, 40.0 - i}, 0.05);
    filter.predict(0.04);
    ck_assert_double_ge(filter.box().x1 - filter.box().x0, 1);
    ck_assert_double_ge(filter.box().y1 - filter.box().y0, 1);
  }
}

}  // namespace dvnn::test::kalman_tests
