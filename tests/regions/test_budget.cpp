// SPDX-License-Identifier: Apache-2.0
#include "regions/budget.h"

#include <algorithm>
#include <map>
#include <random>

#include "check_suite.h"

namespace dvnn::test::budget_tests {

DVNN_SUITE(regions_budget);

using namespace dvnn::regions;

namespace {

constexpr Time kMs = 1000000;

Candidate thing(uint64_t track, double size = 10) {
  return {track, {0, 0, size, size}};
}

using Indices = std::vector<size_t>;

}  // namespace

DVNN_TEST(without_limits_all_are_looked_at_in_their_order) {
  Budget budget;
  const std::vector<Candidate> three = {thing(3), thing(0), thing(1)};
  ck_assert(budget.choose({}, 0, three) == (Indices{0, 1, 2}));
}

DVNN_TEST(a_track_is_looked_at_again_after_so_long) {
  Budget budget;
  BudgetRules rules;
  rules.refresh = 500 * kMs;
  const std::vector<Candidate> one = {thing(7)}, untracked = {thing(0)};
  ck_assert_uint_eq(budget.choose(rules, 0, one).size(), 1);
  ck_assert_uint_eq(budget.choose(rules, 499 * kMs, one).size(), 0);
  ck_assert_uint_eq(budget.choose(rules, 500 * kMs, one).size(), 1);
  ck_assert_uint_eq(budget.choose(rules, 600 * kMs, one).size(), 0);
  for (Time t = 600; t < 610; ++t) {
    ck_assert_uint_eq(budget.choose(rules, t * kMs, untracked).size(), 1);
  }
}

DVNN_TEST(a_settled_track_is_looked_at_again_when_it_has_grown_by_half) {
  for (const Time refresh : {Time{0}, 50 * kMs}) {
    Budget budget;
    BudgetRules rules;
    rules.refresh = refresh;
    const auto looks = [&](Time t, double size) {
      const std::vector<Candidate> one = {thing(7, size)};
      return budget.choose(rules, t * kMs, one).size();
    };
    ck_assert(!budget.any_settled());
    ck_assert_uint_eq(looks(0, 10), 1);
    budget.settle(7, true);
    ck_assert(budget.any_settled());
    ck_assert_uint_eq(looks(1000, 10), 0);
    ck_assert_uint_eq(looks(2000, 14.9), 0);
    ck_assert_uint_eq(looks(3000, 15), 1);
    // A look opens it, as does being told so.
    ck_assert_uint_eq(looks(4000, 15), 1);
    budget.settle(7, true);
    ck_assert_uint_eq(looks(5000, 15), 0);
    budget.settle(7, false);
    ck_assert_uint_eq(looks(6000, 15), 1);
  }
}

DVNN_TEST(a_track_may_be_settled_before_it_was_seen) {
  Budget budget;
  const std::vector<Candidate> small = {thing(7, 10)}, large = {thing(7, 15)};
  budget.settle(7, true);
  budget.settle(0, true);  // no track
  ck_assert_uint_eq(budget.choose({}, 40 * kMs, small).size(), 0);
  ck_assert_uint_eq(budget.choose({}, 80 * kMs, large).size(), 1);
  const std::vector<Candidate> untracked = {thing(0)};
  ck_assert_uint_eq(budget.choose({}, 120 * kMs, untracked).size(), 1);
}

DVNN_TEST(a_look_that_is_withdrawn_leaves_its_track_settled) {
  Budget budget;
  const std::vector<Candidate> small = {thing(7, 10)}, large = {thing(7, 20)};
  budget.choose({}, 0, small);
  budget.settle(7, true);
  ck_assert_uint_eq(budget.choose({}, 40 * kMs, large).size(), 1);
  budget.withdraw();
  ck_assert_uint_eq(budget.choose({}, 80 * kMs, small).size(), 0);
  ck_assert_uint_eq(budget.choose({}, 120 * kMs, large).size(), 1);
}

DVNN_TEST(a_box_that_grew_by_a_fifth_is_looked_at_at_once) {
  Budget budget;
  BudgetRules rules;
  rules.refresh = 5000 * kMs;
  const auto looks = [&](Time t, double size) {
    const std::vector<Candidate> one = {thing(7, size)};
    return budget.choose(rules, t * kMs, one).size();
  };
  ck_assert_uint_eq(looks(0, 10), 1);
  ck_assert_uint_eq(looks(40, 11.9), 0);
  ck_assert_uint_eq(looks(80, 12), 1);
  ck_assert_uint_eq(looks(120, 14), 0);  // since the last look
  ck_assert_uint_eq(looks(160, 5), 0);   // one that shrank is no better
}

DVNN_TEST(new_ones_come_before_changed_ones_before_the_oldest) {
  Budget budget;
  BudgetRules rules;
  const auto choose = [&](Time t, const std::vector<Candidate>& all) {
    return budget.choose(rules, t * kMs, all);
  };
  choose(0, {thing(1)});
  choose(10, {thing(2)});
  choose(20, {thing(3)});
  const std::vector<Candidate> all = {thing(3), thing(2), thing(1, 13), thing(4), thing(0)};
  rules.max_per_frame = 4;
  ck_assert(choose(100, all) == (Indices{3, 4, 2, 1}));
  // Then it is the turn of the one that was left out.
  rules.max_per_frame = 1;
  const std::vector<Candidate> tracked = {thing(1, 13), thing(2), thing(3), thing(4)};
  ck_assert(choose(140, tracked) == (Indices{2}));
}

DVNN_TEST(nobody_starves) {
  Budget budget;
  BudgetRules rules;
  rules.max_per_frame = 3;
  std::vector<Candidate> all;
  for (uint64_t track = 1; track <= 20; ++track) all.push_back(thing(track));
  std::map<size_t, int> looks;
  for (Time t = 0; t < 200; ++t) {
    for (size_t i : budget.choose(rules, t * 40 * kMs, all)) ++looks[i];
  }
  for (size_t i = 0; i < all.size(); ++i) ck_assert_int_eq(looks[i], 30);
}

DVNN_TEST(the_rate_holds_over_time) {
  std::mt19937 random(dvnn_seed(9));
  for (const double rate : {0.5, 4.0, 30.0}) {
    Budget budget;
    BudgetRules rules;
    rules.max_rate = rate;
    size_t looks = 0;
    Time now = 0;
    while (now < 60000 * kMs) {
      std::vector<Candidate> all(random() % 20);
      looks += budget.choose(rules, now, all).size();
      now += static_cast<Time>(1 + random() % 80) * kMs;
    }
    const double seconds = static_cast<double>(now) / 1e9;
    ck_assert_double_le(static_cast<double>(looks), rate * seconds + std::max(1.0, rate));
    ck_assert_double_ge(static_cast<double>(looks), 0.9 * rate * seconds - 1);
  }
}

DVNN_TEST(a_frame_that_is_not_looked_at_costs_nothing) {
  Budget budget;
  BudgetRules rules;
  rules.refresh = 500 * kMs;
  rules.max_rate = 1;
  const std::vector<Candidate> one = {thing(7)}, twice = {thing(7), thing(7)};
  ck_assert_uint_eq(budget.choose(rules, 0, one).size(), 1);
  budget.withdraw();
  ck_assert_uint_eq(budget.choose(rules, 40 * kMs, one).size(), 1);
  ck_assert_uint_eq(budget.choose(rules, 600 * kMs, one).size(), 0);  // the rate
  ck_assert_uint_eq(budget.choose(rules, 1100 * kMs, twice).size(), 1);
  budget.withdraw();
  ck_assert_uint_eq(budget.choose(rules, 1140 * kMs, one).size(), 1);
}

DVNN_TEST(a_stream_that_jumps_back_begins_anew) {
  Budget budget;
  BudgetRules rules;
  rules.refresh = 500 * kMs;
  const std::vector<Candidate> one = {thing(7)};
  ck_assert_uint_eq(budget.choose(rules, 9000 * kMs, one).size(), 1);
  ck_assert_uint_eq(budget.choose(rules, 10 * kMs, one).size(), 1);
  ck_assert_uint_eq(budget.choose(rules, 20 * kMs, one).size(), 0);
  budget.reset();
  ck_assert_uint_eq(budget.choose(rules, 30 * kMs, one).size(), 1);
}

}  // namespace dvnn::test::budget_tests
