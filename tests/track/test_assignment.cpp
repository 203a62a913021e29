// SPDX-License-Identifier: Apache-2.0
#include "track/association.h"

#include <cmath>
#include <functional>
#include <random>

#include "check_suite.h"

namespace dvnn::test::assignment_tests {

DVNN_SUITE(track_assignment);

using namespace dvnn::track;

namespace {

using Gains = std::vector<std::vector<double>>;  // 0 and below: no pair

// Every set of pairs there is.
double best_by_trying_all(const Gains& gains, size_t row, std::vector<bool>* taken) {
  if (row == gains.size()) return 0;
  double best = best_by_trying_all(gains, row + 1, taken);
  for (size_t column = 0; column < taken->size(); ++column) {
    if ((*taken)[column] || !(gains[row][column] > 0)) continue;
    (*taken)[column] = true;
    best = std::max(best, gains[row][column] + best_by_trying_all(gains, row + 1, taken));
    (*taken)[column] = false;
  }
  return best;
}

// Returns the sum of the chosen gains; no row or column may be chosen twice.
double sum_of(const Gains& gains, size_t columns, Assignment* assignment) {
  assignment->begin(gains.size(), columns);
  for (size_t row = 0; row < gains.size(); ++row) {
    for (size_t column = 0; column < columns; ++column) {
      assignment->offer(row, column, gains[row][column]);
    }
  }
  const std::vector<int>& chosen = assignment->solve();
  ck_assert_uint_eq(chosen.size(), gains.size());
  std::vector<bool> taken(columns);
  double sum = 0;
  for (size_t row = 0; row < gains.size(); ++row) {
    if (chosen[row] == Assignment::kNone) continue;
    const auto column = static_cast<size_t>(chosen[row]);
    ck_assert_uint_lt(column, columns);
    ck_assert(!taken[column]);
    taken[column] = true;
    ck_assert_double_gt(gains[row][column], 0);
    sum += gains[row][column];
  }
  return sum;
}

}  // namespace

DVNN_TEST(the_sum_is_that_of_trying_all) {
  std::mt19937 random(dvnn_seed(1));
  std::uniform_real_distribution<double> gain(0, 1);
  Assignment assignment;  // one for all, as trackers use it
  for (int round = 0; round < dvnn_rounds(4000); ++round) {
    const size_t rows = random() % 7, columns = random() % 7;
    const double density = gain(random);
    Gains gains(rows, std::vector<double>(columns, 0));
    for (auto& row : gains) {
      for (double& value : row) {
        // Whole numbers make ties.
        if (gain(random) < density) value = round % 2 ? gain(random) : 1 + random() % 3;
      }
    }
    std::vector<bool> taken(columns);
    const double best = best_by_trying_all(gains, 0, &taken);
    ck_assert_double_eq_tol(sum_of(gains, columns, &assignment), best, 1e-9);
  }
}

DVNN_TEST(the_greedy_choice_is_not_taken) {
  // The best pair alone would leave the second row without one.
  Assignment assignment;
  ck_assert_double_eq_tol(sum_of({{1.0, 0.9}, {0.8, 0}}, 2, &assignment), 1.7, 1e-12);
}

DVNN_TEST(what_is_no_gain_is_no_pair) {
  Assignment assignment;
  assignment.begin(2, 2);
  assignment.offer(0, 0, 0);
  assignment.offer(0, 1, -1);
  assignment.offer(1, 1, std::nan(""));
  for (int column : assignment.solve()) ck_assert_int_eq(column, Assignment::kNone);
}

DVNN_TEST(a_crowd_is_as_good_turned_around) {
  std::mt19937 random(dvnn_seed(2));
  std::uniform_real_distribution<double> gain(0, 1);
  Gains gains(90, std::vector<double>(60)), turned(60, std::vector<double>(90));
  for (size_t i = 0; i < 90; ++i) {
    for (size_t j = 0; j < 60; ++j) gains[i][j] = turned[j][i] = gain(random);
  }
  Assignment assignment;
  const double sum = sum_of(gains, 60, &assignment);
  ck_assert_double_eq_tol(sum_of(turned, 90, &assignment), sum, 1e-9);
  ck_assert_double_gt(sum, 57);  // of 60, chosen among 90 each
}

}  // namespace dvnn::test::assignment_tests
