// SPDX-License-Identifier: Apache-2.0
#include "track/learned.h"

#include <cmath>
#include <random>

#include "check_suite.h"
#include "track/track.h"

namespace dvnn::test::learned_tests {

DVNN_SUITE(track_learned);

using namespace dvnn::track;

namespace {

constexpr int64_t kInterval = 40000000;  // nanoseconds

// What Tremor says on average of boxes 40 x 80 on a way, whose edges are off by so much.
double mean_of(double noise, double speed, double acceleration, const Cuts& cuts) {
  std::mt19937 random(3);
  std::normal_distribution<double> off(0, 1);
  Tremor tremor;
  double sum = 0;
  int count = 0;
  for (int i = 0; i < 4000; ++i) {
    const double t = 0.04 * i, x = speed * t + acceleration * t * t / 2;
    const image::Corners box{x + noise * off(random), 100 + noise * off(random),
                             x + 40 + noise * off(random), 180 + noise * off(random)};
    const double variance = tremor.add(i * kInterval, box, cuts);
    ck_assert_int_eq(std::isfinite(variance), i >= 3);
    if (i < 3) continue;
    sum += variance;
    ++count;
  }
  return sum / count;
}

}  // namespace

DVNN_TEST(tremor_is_what_edges_are_off_and_not_their_way) {
  const Cuts none;
  ck_assert_double_eq_tol(mean_of(2, 0, 0, none), 4, 0.3);
  ck_assert_double_eq_tol(mean_of(2, 300, 0, none), 4, 0.3);
  ck_assert_double_eq_tol(mean_of(2, 300, 40, none), 4, 0.3);
  // A way without noise trembles by nothing, or less.
  ck_assert_double_eq_tol(mean_of(0, 300, 0, none), 0, 1e-9);
  ck_assert_double_le(mean_of(0, 0, 400, none), 0);
}

DVNN_TEST(tremor_begins_anew_after_a_gap) {
  Tremor tremor;
  const image::Corners box{0, 0, 40, 80};
  for (int i = 0; i < 5; ++i) {
    ck_assert_int_eq(std::isfinite(tremor.add(i * kInterval, box, {})), i >= 3);
  }
  for (int i = 10; i < 14; ++i) {
    ck_assert_int_eq(std::isfinite(tremor.add(i * kInterval, box, {})), i >= 13);
  }
  Cuts both;
  both.width = both.height = true;
  ck_assert(!std::isfinite(tremor.add(14 * kInterval, box, both)));
}

DVNN_TEST(shapes_are_those_of_a_class) {
  Learned learned;
  ck_assert_double_eq(learned.shape_of(1), 0);
  for (int i = 0; i < 50; ++i) {
    learned.see_whole(1, {0, 0, 40, 80});
    learned.see_whole(2, {0, 0, 90, 30});
  }
  ck_assert_double_eq_tol(learned.shape_of(1), 0.5, 1e-9);
  ck_assert_double_eq_tol(learned.shape_of(2), 3, 1e-9);
  ck_assert_double_eq(learned.shape_of(3), 0);
}

DVNN_TEST(usual_heights_are_those_of_a_second_and_vary_by_class) {
  UsualHeight height;
  for (int i = 0; i < 5; ++i) {
    ck_assert(!height.is_known());
    height.add(std::log(80), 0.04);
  }
  ck_assert(height.is_known());
  ck_assert_double_eq_tol(std::exp(height.logarithm()), 80, 1e-9);
  // What is over in a moment counts little, and what lasts for seconds is what is usual.
  height.add(std::log(40), 0.04);
  ck_assert_double_ge(std::exp(height.logarithm()), 68);
  for (int i = 0; i < 75; ++i) height.add(std::log(40), 0.04);
  ck_assert_double_eq_tol(std::exp(height.logarithm()), 40, 2);
  height.scale(2);
  ck_assert_double_eq_tol(std::exp(height.logarithm()), 80, 4);
  Learned learned;
  std::mt19937 random(3);
  std::normal_distribution<double> off(0, 0.1);
  const double guess = learned.usual_variance(1);
  for (int i = 0; i < 2000; ++i) learned.see_usual_height(1, off(random));
  ck_assert_double_eq_tol(learned.usual_variance(1), 0.01, 0.003);
  ck_assert_double_eq(learned.usual_variance(2), guess);
}

DVNN_TEST(entries_are_learned_for_each_axis) {
  Learned learned;
  const double guess = learned.entry_speed(1).mean;
  for (int i = 0; i < 200; ++i) learned.see_entry(0, i % 2 ? 1 : 3);
  ck_assert_double_eq_tol(learned.entry_speed(0).mean, 2, 0.1);
  ck_assert_double_eq_tol(learned.entry_speed(0).variance, 1, 0.1);
  ck_assert_double_eq(learned.entry_speed(1).mean, guess);
  // Who always comes at the same speed may come at another one.
  for (int i = 0; i < 1000; ++i) learned.see_entry(1, 2);
  ck_assert_double_gt(learned.entry_speed(1).variance, 0.01);
}

DVNN_TEST(an_extent_is_set_at_the_hidden_side) {
  for (const int hidden : {-1, 1}) {
    BoxFilter filter({0, 100, 40, 180}, 0.05);
    for (int i = 1; i <= 10; ++i) {
      filter.predict(0.04);
      filter.correct({4.0 * i, 100, 40 + 4.0 * i, 180}, 0.05);
    }
    const image::Corners before = filter.box();
    const double speed = filter.speed_x();
    filter.set_extent(0, 70, hidden);
    const image::Corners after = filter.box();
    ck_assert_double_eq_tol(after.x1 - after.x0, 70, 1e-9);
    ck_assert_double_eq_tol(hidden < 0 ? after.x1 - before.x1 : after.x0 - before.x0, 0, 1e-9);
    ck_assert_double_eq(filter.speed_x(), speed);
    ck_assert_double_eq_tol(after.y0 - before.y0, 0, 1e-9);
  }
}

DVNN_TEST(a_filter_that_lags_is_pushed_more_and_one_that_follows_noise_less) {
  // A box on a way whose speed changes at random as `pushed` says, seen with an error of 5 %.
  const auto learned_push = [](double pushed, int class_id, Learned* learned) {
    std::mt19937 random(3);
    std::normal_distribution<double> normal(0, 1);
    constexpr double kSeconds = 0.2, kOff = 0.05, kSize = 100;
    BoxFilter filter({0, 0, kSize, kSize}, kOff);
    Surprise before;
    double x = kSize / 2, v = 0;
    for (int i = 0; i < 3000; ++i) {
      v += kSize * std::sqrt(pushed * BoxFilter::kPlace.noise * kSeconds) * normal(random) -
           v * kSeconds / BoxFilter::kPlace.seconds;
      x += v * kSeconds;
      filter.predict(kSeconds, learned->push_of(class_id));
      const double seen = x + kOff * kSize * normal(random);
      Surprise now;
      now.of[0] =
          (seen - filter.axis(0).x) / std::sqrt(filter.axis(0).xx + kOff * kOff * kSize * kSize);
      learned->see_surprises(class_id, before, now);
      before = now;
      filter.correct({seen - kSize / 2, 0, seen + kSize / 2, kSize}, kOff);
    }
    return learned->push_of(class_id).place;
  };
  Learned learned;
  const double calm = learned_push(0.2, 1, &learned), wild = learned_push(20, 2, &learned);
  ck_assert_msg(calm > 0.05 && calm < 0.8, "%g", calm);
  ck_assert_msg(wild > 7 && wild <= 50, "%g", wild);
  ck_assert_double_eq(learned.push_of(1).extent, 1);  // nothing was said of it
  ck_assert_double_eq(learned.push_of(3).place, 1);   // nor of that class
}

DVNN_TEST(detectors_that_guess_beyond_the_frame_are_known) {
  const image::Size frame{640, 480};
  Learned cuts, guesses, trembles;
  for (int i = 0; i < 50; ++i) {
    cuts.see_edge({0, 100, 30, 200}, frame);
    trembles.see_edge({-0.04 * 30, 100, 30, 200}, frame);  // by less than a tenth
    guesses.see_edge({i % 4 == 0 ? -20.0 : 0.0, 100, 30, 200}, frame);
    guesses.see_edge({200, 100, 240, 200}, frame);  // at no edge: says nothing
  }
  ck_assert(!cuts.is_amodal() && !trembles.is_amodal());
  ck_assert(guesses.is_amodal());
}

DVNN_TEST(only_detectors_that_are_sure_of_nearly_all_boast) {
  Learned modest, boasts;
  ck_assert_double_eq(modest.boast(), 0);
  for (int i = 0; i < 1000; ++i) {
    modest.see_sure(std::log(0.9 / 0.1));
    boasts.see_sure(i % 10 == 0 ? 0 : std::log(0.98 / 0.02));
  }
  ck_assert_double_eq(modest.boast(), 0);
  ck_assert_msg(boasts.boast() > 0.4 && boasts.boast() < 1, "%g", boasts.boast());
  ck_assert_double_eq(boasts.modesty(), 1);
  Learned doubts;
  for (int i = 0; i < 1000; ++i) doubts.see_sure(0.7);
  ck_assert_double_eq_tol(doubts.modesty(), 2, 0.05);
}

DVNN_TEST(where_most_starts_are_false_a_track_needs_more_evidence) {
  Learned stream, doubtful, sure;
  ck_assert_double_eq_tol(stream.doubt_of_starts(), 0, 1e-9);
  for (int i = 0; i < 400; ++i) {
    doubtful.see_start(i % 10 == 0);
    sure.see_start(i % 10 != 0);
  }
  ck_assert_double_eq_tol(doubtful.doubt_of_starts(), std::log(9 / 2.0), 0.1);
  ck_assert_double_eq_tol(sure.doubt_of_starts(), -std::log(9 * 2.0), 0.1);
}

DVNN_TEST(a_missed_look_says_the_less_the_more_looks_miss) {
  Learned steady, blinks, blind;
  for (int i = 0; i < 1000; ++i) {
    steady.see_look(i % 50 == 0);
    blinks.see_look(i % 5 == 0);
    blind.see_look(i % 2 == 0);
  }
  ck_assert_double_eq(steady.absence(), 1);
  ck_assert_double_eq_tol(blinks.absence(), std::log(0.4 / 0.2), 0.05);
  ck_assert_double_eq(blind.absence(), 0);
}

DVNN_TEST(labels_that_flip_say_less) {
  Learned steady, flips;
  for (int i = 0; i < 1000; ++i) {
    steady.see_label(false);
    flips.see_label(i % 4 == 0);
  }
  ck_assert_double_eq(steady.other_class(), 0.5);
  ck_assert_double_eq_tol(flips.other_class(), 0.75, 0.03);
}

DVNN_TEST(looks_of_one_thing_are_more_alike_than_those_of_two) {
  Learned sharp, poor, mute;
  for (int i = 0; i < 2000; ++i) {
    const double off = i % 2 == 0 ? 0.05 : -0.05;
    sharp.see_own_look(0.9 + off), sharp.see_other_look(0.1 + off);
    poor.see_own_look(0.7 + 2 * off), poor.see_other_look(0.6 + 2 * off);
    mute.see_own_look(0), mute.see_other_look(0);
  }
  // Far from what two are like, and not far below what one is.
  ck_assert_double_eq_tol(sharp.least_likeness(), 0.8, 0.01);
  ck_assert_double_eq_tol(poor.least_likeness(), 0.9, 0.01);
  ck_assert_double_eq(mute.least_likeness(), 0.3);
  ck_assert_double_eq_tol(sharp.trust_in_looks(), 1, 1e-9);
  ck_assert_double_eq_tol(poor.trust_in_looks(), 0.5, 0.05);
  ck_assert_double_eq_tol(mute.trust_in_looks(), 0, 0.01);
}

}  // namespace dvnn::test::learned_tests
