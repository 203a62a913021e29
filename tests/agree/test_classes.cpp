// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <map>
#include <random>

#include "agree/votes.h"
#include "check_suite.h"

namespace dvnn::test::class_votes_tests {

DVNN_SUITE(agree_classes);

using namespace dvnn::agree;
using Named = ClassVotes::Named;

namespace {

ClassVotes votes_of(const std::vector<std::vector<Named>>& looks) {
  ClassVotes votes;
  for (const auto& look : looks) votes.add(look);
  return votes;
}

bool is_near(double a, double b) {
  return std::abs(a - b) < 1e-9;
}

}  // namespace

DVNN_TEST(one_look_says_what_it_says) {
  const ClassVotes votes = votes_of({{{3, "car", 0.8}, {1, "bus", 0.1}}});
  ck_assert_uint_eq(votes.result().size(), 1);
  ck_assert_int_eq(votes.result()[0].class_id, 3);
  ck_assert(is_near(votes.result()[0].confidence, 0.8));
  ck_assert(is_near(votes.probability(), 0.8));
  ck_assert(ClassVotes().empty() && ClassVotes().result().empty());
  ck_assert(ClassVotes().probability() == 0);
}

DVNN_TEST(no_look_alone_is_certain) {
  const ClassVotes votes = votes_of({{{3, "car", 1.0}}});
  ck_assert(is_near(votes.probability(), kMostConfidence));
  ck_assert(votes.probability() < kAgreed);
}

// The product of the odds, as Bayes' rule has it, without a logarithm.
DVNN_TEST(odds_of_looks_are_multiplied) {
  std::mt19937 random(dvnn_seed(std::random_device{}()));
  std::uniform_real_distribution<double> any(0.3, 0.75);
  for (int round = 0; round < dvnn_rounds(2000); ++round) {
    ClassVotes votes;
    double odds[3] = {1, 1, 1};
    bool seen[3] = {};
    for (int look = 0; look < 4; ++look) {
      const int best = static_cast<int>(random() % 3);
      const double p = any(random);
      votes.add({{best, "", p}});
      for (int c = 0; c < 3; ++c) {
        const double own = c == best ? p : std::min(1 - p, 0.5);
        odds[c] *= own / (1 - own);
      }
      seen[best] = true;
    }
    double most = 0;
    for (int c = 0; c < 3; ++c) most = seen[c] ? std::max(most, odds[c]) : most;
    ck_assert_msg(is_near(votes.probability(), most / (1 + most)), "%.12f, not %.12f",
                  votes.probability(), most / (1 + most));
  }
}

DVNN_TEST(a_class_that_is_named_late_has_missed_looks) {
  const std::vector<Named> first = {{0, "a", 0.7}}, second = {{1, "b", 0.8}};
  const ClassVotes one = votes_of({first, second}), other = votes_of({second, first});
  ck_assert(is_near(one.probability(), other.probability()));
  ck_assert_int_eq(one.result()[0].class_id, 1);
  ck_assert_int_eq(other.result()[0].class_id, 1);
  ck_assert(one.probability() < 0.8);
}

DVNN_TEST(classes_that_do_not_exclude_each_other_are_decided_one_by_one) {
  ClassVotes votes;
  for (int look = 0; look < 4; ++look) votes.add({{0, "hat", 0.9}, {1, "coat", 0.8}});
  ck_assert(!votes.exclusive());
  ck_assert_uint_eq(votes.result().size(), 2);
  ck_assert(votes.probability() > kAgreed);
  votes.add({{0, "hat", 0.9}, {2, "bag", 0.6}});
  ck_assert_uint_eq(votes.result().size(), 2);  // a bag at one of five looks is none
}

DVNN_TEST(a_class_that_changes_is_noticed) {
  ClassVotes votes;
  for (int look = 0; look < 1000; ++look) votes.add({{0, "open", 0.95}});
  for (int look = 0; look < 6; ++look) votes.add({{1, "closed", 0.95}});
  dvnn_assert_text(votes.result()[0].label, "closed");
}

DVNN_TEST(confidences_that_are_no_numbers_count_for_nothing) {
  ClassVotes votes;
  votes.add({{0, "a", std::nan("")}, {1, "b", -3}, {2, "c", 1e300}});
  ck_assert(std::isfinite(votes.probability()));
  ck_assert_int_eq(votes.result()[0].class_id, 2);
}

}  // namespace dvnn::test::class_votes_tests
