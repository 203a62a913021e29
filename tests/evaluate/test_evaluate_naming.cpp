// SPDX-License-Identifier: Apache-2.0
// The mistakes of a gallery against its plain definition, and proposals on pictures that they have
// not seen.
#include "evaluate/naming.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "check_suite.h"
#include "match/crowd.h"

namespace dvnn::test::naming_tests {

DVNN_SUITE(evaluate_naming);

using evaluate::NamingFigures;
using evaluate::NamingTrial;
using match_crowd::Crowd;
using match_crowd::Vector;

namespace {

struct Pictures {
  std::vector<Vector> looks;
  std::vector<int> people;
};

Pictures pictures_of(Crowd* crowd, size_t first, size_t last, size_t each) {
  Pictures all;
  for (size_t person = first; person < last; ++person) {
    for (size_t i = 0; i < each; ++i) {
      all.looks.push_back(crowd->look(person));
      all.people.push_back(static_cast<int>(person));
    }
  }
  return all;
}

// Whom a gallery of all pictures but `out`, without the person `without`, names; -1: nobody.
int named(const Pictures& all, const Vector& look, size_t out, int without, double threshold,
          double margin) {
  std::vector<std::pair<double, int>> best;
  for (size_t i = 0; i < all.looks.size(); ++i) {
    if (i == out || all.people[i] == without) continue;
    best.emplace_back(match_crowd::cosine_of(look, all.looks[i]), all.people[i]);
  }
  std::sort(best.rbegin(), best.rend());
  if (best.empty() || best[0].first < threshold) return -1;
  for (const auto& [likeness, person] : best) {
    if (person != best[0].second) return best[0].first - likeness >= margin ? best[0].second : -1;
  }
  return best[0].second;
}

}  // namespace

DVNN_TEST(mistakes_are_those_of_the_plain_definition) {
  for (unsigned round = 0; round < 4; ++round) {
    Crowd crowd(6, 24, 1.3, dvnn_seed(40 + round));
    Pictures all = pictures_of(&crowd, 0, 6, 3);
    all.looks.push_back(crowd.look(0));
    all.people.push_back(99);  // one who has a single picture
    const auto trials = evaluate::try_names(all.looks, all.people);
    for (const double margin : {0.0, 0.07}) {
      for (int step = 0; step <= 20; ++step) {
        const double threshold = 0.05 * step + 0.0101;
        const NamingFigures figures = evaluate::naming_at(trials, threshold, margin);
        uint64_t rejects = 0, wrong = 0, accepts = 0, known = 0;
        for (size_t i = 0; i < all.looks.size(); ++i) {
          if (all.people[i] != 99) {
            ++known;
            const int who = named(all, all.looks[i], i, -2, threshold, margin);
            rejects += who == -1 ? 1 : 0;
            wrong += who != -1 && who != all.people[i] ? 1 : 0;
          }
          accepts += named(all, all.looks[i], i, all.people[i], threshold, margin) != -1 ? 1 : 0;
        }
        ck_assert_uint_eq(figures.rejects.count, rejects);
        ck_assert_uint_eq(figures.wrong.count, wrong);
        ck_assert_uint_eq(figures.accepts.count, accepts);
        ck_assert_uint_eq(figures.rejects.of, known);
        ck_assert_uint_eq(figures.accepts.of, all.looks.size());
      }
    }
  }
}

// Wilson, 1927, with 1.6449 deviations: 0 of 10 is at most 0.2130, 5 of 10 is 0.2693 to 0.7307.
DVNN_TEST(intervals_are_wilson_s) {
  const evaluate::CountedShare none{0, 10}, half{5, 10}, unknown{0, 0};
  ck_assert_double_eq_tol(none.least(), 0, 1e-9);
  ck_assert_double_eq_tol(none.most(), 0.2130, 1e-3);
  ck_assert_double_eq_tol(half.least(), 0.2693, 1e-3);
  ck_assert_double_eq_tol(half.most(), 0.7307, 1e-3);
  ck_assert_double_eq(unknown.most(), 1);
}

// Five people with 20 pictures each, of which one is always taken for another: 20 of 100 pictures
// tell as little as one of five people. By hand: share 0.2, squares 4 * 4^2 + 16^2 = 320, times
// 5/4, by 100 * 0.2 * 0.8 = 16: 25. (Fewer than five pictures' worth, as one of five is luck.)
DVNN_TEST(an_interval_counts_people_who_are_alike) {
  std::vector<NamingTrial> trials;
  for (int person = 0; person < 5; ++person) {
    for (int i = 0; i < 20; ++i) trials.push_back({0.9, person == 0 ? 0.8 : 0.1, 0, person});
  }
  const NamingFigures figures = evaluate::naming_at(trials, 0.5, 0);
  ck_assert_uint_eq(figures.accepts.count, 20);
  ck_assert_uint_eq(figures.accepts.of, 100);
  ck_assert_double_eq_tol(figures.accepts.effect, 25, 1e-9);
  ck_assert_double_eq(figures.rejects.effect, 1);
  // One whom half of all pictures of each are like is no cluster.
  for (size_t i = 0; i < trials.size(); ++i) trials[i].other = i % 2 == 0 ? 0.8 : 0.1;
  ck_assert_double_eq(evaluate::naming_at(trials, 0.5, 0).accepts.effect, 1);
}

// Returns how many of `count` may be what happens with this probability: three standard deviations
// more than expected.
static double at_most(double count, double probability) {
  return count * probability + 3 * std::sqrt(count * probability * (1 - probability));
}

// Pictures of other people than those of the first half, and of the same ones: what was proposed
// on the first half holds on 19 of 20 others (12 of 504 halves are above, of six seeds).
DVNN_TEST(a_proposal_holds_on_the_other_half) {
  size_t halves = 0, broken = 0;
  double worst = 0, sum = 0;
  uint64_t rejected = 0, known = 0;
  for (int round = 0; round < dvnn_rounds(40) + 2; ++round) {
    Crowd crowd(160, 64, 1.1, dvnn_seed(900 + static_cast<unsigned>(round)));
    const Pictures first = pictures_of(&crowd, 0, 80, 5), same = pictures_of(&crowd, 0, 80, 5),
                   others = pictures_of(&crowd, 80, 160, 5);
    const auto proposal =
        evaluate::propose_naming(evaluate::try_names(first.looks, first.people), 0.02);
    ck_assert(proposal.reached);
    for (const Pictures* half : {&same, &others}) {
      const NamingFigures held =
          evaluate::naming_at(evaluate::try_names(half->looks, half->people),
                              proposal.figures.threshold, proposal.figures.margin);
      ++halves;
      const double accepts = std::max(held.accepts.share(), held.wrong.share());
      worst = std::max(worst, accepts);
      sum += accepts;
      if (accepts > 0.02) ++broken;
      rejected += held.rejects.count;
      known += held.rejects.of;
    }
  }
  std::printf("%zu halves, %zu above 2 %%, worst %.2f %%; %.1f %% rejected\n", halves, broken,
              100 * worst, 100 * static_cast<double>(rejected) / static_cast<double>(known));
  const auto all = static_cast<double>(halves);
  ck_assert_double_le(static_cast<double>(broken), at_most(all, 0.05));
  ck_assert_double_le(sum, 0.02 * all);
}

// Three pictures each of four people show little, and the proposal says so. It makes no mistake on
// what it has seen, lies between both kinds, and the interval has what is true.
DVNN_TEST(few_pictures_promise_little) {
  int inside = 0, rounds = 0;
  for (; rounds < dvnn_rounds(20) + 4; ++rounds) {
    Crowd crowd(204, 64, 0.9, dvnn_seed(70 + static_cast<unsigned>(rounds)));
    const Pictures few = pictures_of(&crowd, 0, 4, 3), many = pictures_of(&crowd, 4, 204, 1);
    const auto proposal =
        evaluate::propose_naming(evaluate::try_names(few.looks, few.people), 0.01);
    ck_assert(!proposal.reached);
    ck_assert_uint_eq(proposal.figures.accepts.count, 0);
    ck_assert_double_gt(proposal.figures.accepts.most(), 0.15);
    size_t accepted = 0;
    for (const Vector& stranger : many.looks) {
      accepted += named(few, stranger, few.looks.size(), -2, proposal.figures.threshold,
                        proposal.figures.margin) != -1;
    }
    inside += static_cast<double>(accepted) / 200 <= proposal.figures.accepts.most() ? 1 : 0;
  }
  ck_assert_double_le(rounds - inside, at_most(rounds, 0.05));
}

}  // namespace dvnn::test::naming_tests
