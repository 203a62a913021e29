// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <random>

#include "agree/means.h"
#include "agree/votes.h"
#include "check_suite.h"

namespace dvnn::test::number_mean_tests {

DVNN_SUITE(agree_numbers);

using namespace dvnn::agree;

namespace {

// Huber's loss of all values at a place, for a bend at that distance.
double loss(const std::vector<double>& values, double place, double bend) {
  double sum = 0;
  for (const double value : values) {
    const double distance = std::abs(value - place);
    sum += distance <= bend ? distance * distance / 2 : bend * (distance - bend / 2);
  }
  return sum;
}

}  // namespace

// The loss is convex, so thirds find its least place.
DVNN_TEST(the_mean_has_the_least_of_hubers_loss) {
  std::mt19937 random(dvnn_seed(std::random_device{}()));
  for (int round = 0; round < dvnn_rounds(500); ++round) {
    std::normal_distribution<double> near(40, 5);
    std::uniform_real_distribution<double> far(-500, 500);
    std::vector<double> values;
    for (size_t i = 0, count = 3 + random() % 20; i < count; ++i) {
      values.push_back(random() % 5 == 0 ? far(random) : near(random));
    }
    const RobustMean mean = robust_mean(values);
    ck_assert(mean.deviation > 0);
    double low = -500, high = 500;
    for (int step = 0; step < 200; ++step) {
      const double a = low + (high - low) / 3, b = high - (high - low) / 3;
      const bool left =
          loss(values, a, 1.5 * mean.deviation) < loss(values, b, 1.5 * mean.deviation);
      (left ? high : low) = left ? b : a;
    }
    // The loss may be flat at its least place.
    const double most = loss(values, (low + high) / 2, 1.5 * mean.deviation);
    ck_assert_msg(loss(values, mean.value, 1.5 * mean.deviation) <= most * (1 + 1e-6) + 1e-9,
                  "%.9f has a larger loss than %.9f", mean.value, (low + high) / 2);
  }
}

DVNN_TEST(an_outlier_hardly_moves_the_mean) {
  NumberMean mean;
  for (const double value : {30.0, 31.0, 29.0, 30.5, 900.0}) mean.add(value);
  ck_assert(std::abs(mean.value() - 30.5) < 1);
  mean.add(std::nan(""));
  mean.add(std::numeric_limits<double>::infinity());
  ck_assert_uint_eq(mean.looks(), 5);
  ck_assert(NumberMean().value() == 0 && NumberMean().probability() == 0);
}

DVNN_TEST(numbers_far_apart_need_more_looks) {
  NumberMean near, far;
  for (int look = 0; look < 8; ++look) {
    near.add(30 + look % 3);
    far.add(30 + 15 * (look % 3 - 1));
  }
  ck_assert(near.probability() > kAgreed);
  ck_assert(far.probability() < kAgreed);
}

DVNN_TEST(three_equal_numbers_are_no_proof) {
  NumberMean mean;
  for (int look = 0; look < 3; ++look) mean.add(7);
  ck_assert(mean.probability() == 0);
  for (int look = 0; look < 3; ++look) mean.add(7);
  ck_assert(mean.probability() > kAgreed);
}

DVNN_TEST(the_largest_numbers_stay_finite) {
  NumberMean mean;
  for (int look = 0; look < 6; ++look) mean.add(look % 2 ? 1.7e308 : -1.7e308);
  ck_assert(std::isfinite(mean.value()));
}

DVNN_TEST(a_mean_of_unit_vectors_has_unit_length) {
  EmbeddingMean mean;
  mean.add({1, 0});
  ck_assert(mean.cosine() == 0);
  mean.add({0, 1});
  const std::vector<float> value = mean.value();
  ck_assert(std::abs(value[0] - std::sqrt(0.5f)) < 1e-6f && std::abs(value[1] - value[0]) < 1e-6f);
  // Other vectors keep their lengths.
  mean.add({3, 4});
  ck_assert(std::abs(mean.value()[1] - 5.0f / 3) < 1e-6f);
  mean.add({1, 2, 3});
  ck_assert_uint_eq(mean.value().size(), 3);
  ck_assert(mean.cosine() == 0);
}

DVNN_TEST(an_embedding_without_a_direction_is_left_out) {
  EmbeddingMean mean;
  mean.add({0, 0});
  mean.add({std::nanf(""), 1});
  mean.add({});
  ck_assert(mean.empty() && mean.value().empty());
}

// The cosine to the true direction, as the mean of many simulations has it.
DVNN_TEST(the_expected_cosine_is_what_comes) {
  std::mt19937 random(dvnn_seed(std::random_device{}()));
  std::normal_distribution<double> noise(0, 0.12);
  const int rounds = dvnn_rounds(2000);
  double told = 0, true_one = 0;
  for (int round = 0; round < rounds; ++round) {
    EmbeddingMean mean;
    for (int look = 0; look < 6; ++look) {
      std::vector<float> one(16);
      double squares = 0;
      for (size_t i = 0; i < one.size(); ++i) {
        one[i] = static_cast<float>((i == 0 ? 1 : 0) + noise(random));
        squares += static_cast<double>(one[i]) * static_cast<double>(one[i]);
      }
      for (float& value : one) value /= static_cast<float>(std::sqrt(squares));
      mean.add(one);
    }
    told += mean.cosine() / rounds;
    true_one += static_cast<double>(mean.value()[0]) / rounds;
  }
  ck_assert_msg(std::abs(told - true_one) < 0.004, "%.4f, but it is %.4f", told, true_one);
}

DVNN_TEST(an_embedding_that_changes_is_followed) {
  EmbeddingMean mean;
  for (int look = 0; look < 500; ++look) mean.add({1, 0});
  for (int look = 0; look < 40; ++look) mean.add({0, 1});
  ck_assert(mean.value()[1] > 0.9f);
}

}  // namespace dvnn::test::number_mean_tests
