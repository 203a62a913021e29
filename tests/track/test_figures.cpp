// SPDX-License-Identifier: Apache-2.0
// The judge, against cases that are worked out by hand, against HOTA's definition with its sets
// written out, and against the numbers of TrackEval, the reference implementation of all three.
#include "evaluate/track_figures.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "check_suite.h"

namespace dvnn::test::figures_tests {

DVNN_SUITE(track_figures);

using namespace evaluate::tracks;

namespace {

constexpr Box kHere{0, 0, 10, 10}, kFar{100, 100, 110, 110};

Frames constant(size_t frames, const std::vector<NamedBox>& boxes) {
  return Frames(frames, boxes);
}

// Six things that go their ways, and boxes that are off, missing and misnamed.
void make_example(Frames* truth, Frames* tracks) {
  unsigned state = 1;
  const auto any = [&](int below) {
    state = state * 1664525u + 1013904223u;
    return static_cast<int>((state >> 8) % static_cast<unsigned>(below));
  };
  truth->resize(60);
  tracks->resize(60);
  for (int f = 0; f < 60; ++f) {
    for (int k = 0; k < 6; ++k) {
      const double x = 40 * k + 3 * (k % 2 ? f : -f) + 200, y = 10 * k;
      if (any(10) > 0) (*truth)[static_cast<size_t>(f)].push_back({k, {x, y, x + 40, y + 80}});
      if (any(10) <= 1) continue;
      const double a = x + any(30) - 15, b = y + any(30) - 15;
      const long name = 100 + (k + f / 17) % 6 + (any(20) == 0 ? 50 : 0);
      const double right = a + 38 + any(8), low = b + 76 + any(12);
      (*tracks)[static_cast<size_t>(f)].push_back({name, {a, b, right, low}});
    }
  }
}

}  // namespace

DVNN_TEST(figures_are_those_worked_out_by_hand) {
  const Frames same = constant(4, {{1, kHere}});
  const struct {
    const char* what;
    Frames tracks;
    double mota, idf1;
    long switches, fragments;
  } cases[] = {
      {"all found", constant(4, {{7, kHere}}), 1, 1, 0, 0},
      // The longer identity has 2 of 4: 2 * 2 / (4 + 4).
      {"a switch", {{{7, kHere}}, {{7, kHere}}, {{8, kHere}}, {{8, kHere}}}, 0.75, 0.5, 1, 0},
      // Three found, one missed: 1 - (1 + 1) / 4, and 2 * 2 / (4 + 3).
      {"a switch in a gap", {{{7, kHere}}, {{7, kHere}}, {}, {{8, kHere}}}, 0.5, 4.0 / 7, 1, 1},
      {"a false track", constant(4, {{7, kHere}, {9, kFar}}), 0, 2.0 / 3, 0, 0},
      {"nothing", constant(4, {}), 0, 0, 0, 0}};
  for (const auto& c : cases) {
    const Figures f = figures_of(same, c.tracks);
    ck_assert_msg(std::fabs(f.mota() - c.mota) < 1e-9 && std::fabs(f.idf1() - c.idf1) < 1e-9 &&
                      f.switches == c.switches && f.fragments == c.fragments,
                  "%s: %g, %g, %ld, %ld", c.what, f.mota(), f.idf1(), f.switches, f.fragments);
  }
  // Two swap their names after half of the time.
  const Frames two = constant(4, {{1, kHere}, {2, kFar}});
  Frames swap = two;
  std::swap(swap[2][0].id, swap[2][1].id), std::swap(swap[3][0].id, swap[3][1].id);
  const Figures swapped = figures_of(two, swap);
  ck_assert_int_eq(swapped.switches, 2);
  ck_assert_double_eq_tol(swapped.mota(), 0.75, 1e-9);
  // Boxes are all right: DetA is 1. Of each pair, half of the frames is the other one's: for 2 of
  // the 4 + 4 - 2 frames together, so HOTA is the root of a third.
  ck_assert_double_eq_tol(swapped.det_a(), 1, 1e-9);
  ck_assert_double_eq_tol(swapped.ass_a(), 1.0 / 3, 1e-9);
  ck_assert_double_eq_tol(swapped.hota(), std::sqrt(1.0 / 3), 1e-9);
  // Exactly half an overlap is a match, less is none.
  ck_assert_int_eq(figures_of({{{1, kHere}}}, {{{1, {0, 0, 20, 10}}}}).matches, 1);
  ck_assert_int_eq(figures_of({{{1, kHere}}}, {{{1, {0, 0, 21, 10}}}}).matches, 0);
  // Who keeps a pair that still overlaps by half does not lose it to a better one.
  const Figures kept =
      figures_of(constant(2, {{1, kHere}}), {{{5, kHere}}, {{5, {2, 0, 12, 10}}, {6, kHere}}});
  ck_assert_int_eq(kept.switches, 0);
  // Sequences add up as if they were one.
  Figures sum = swapped;
  sum.add(kept);
  ck_assert_int_eq(sum.truths, 10);
  ck_assert_double_eq_tol(sum.mota(), (swapped.mota() * 8 + kept.mota() * 2) / 10, 1e-9);
}

DVNN_TEST(figures_are_those_of_the_reference_implementation) {
  Frames truth, tracks;
  make_example(&truth, &tracks);
  const Figures f = figures_of(truth, tracks);
  // TrackEval's HOTA, CLEAR and Identity on these boxes.
  ck_assert_double_eq_tol(f.hota(), 0.178254567, 1e-9);
  ck_assert_double_eq_tol(f.det_a(), 0.419177539, 1e-9);
  ck_assert_double_eq_tol(f.ass_a(), 0.077364579, 1e-9);
  ck_assert_double_eq_tol(f.loc_a(), 0.708461423, 1e-9);
  ck_assert_double_eq_tol(f.mota(), 0.091185410, 1e-9);
  ck_assert_double_eq_tol(f.idf1(), 0.185007974, 1e-9);
  ck_assert_int_eq(f.switches, 44);
  ck_assert_int_eq(f.fragments, 78);
  ck_assert_int_eq(f.matches, 186);
}

// A(c) of the definition, with its sets counted box by box: of a true positive c, the frames in
// which its two ids are a true positive, those of its true id elsewhere, and those of its track.
DVNN_TEST(associations_are_the_definitions) {
  // Things far from one another, so that matches are known.
  const Frames truth = {
      {{1, kHere}, {2, kFar}}, {{1, kHere}}, {{1, kHere}, {2, kFar}}, {{2, kFar}}};
  const Frames tracks = {
      {{5, kHere}, {6, kFar}}, {{6, kHere}}, {{5, kHere}, {5, kFar}}, {{6, kFar}}};
  double sum = 0;
  int positives = 0;
  for (size_t t = 0; t < truth.size(); ++t) {
    for (const NamedBox& a : truth[t]) {
      for (const NamedBox& b : tracks[t]) {
        if (a.box.x0 != b.box.x0) continue;
        double together = 0, misses = 0, others = 0;
        for (size_t u = 0; u < truth.size(); ++u) {
          bool true_there = false, track_there = false, both = false;
          for (const NamedBox& c : truth[u]) {
            for (const NamedBox& d : tracks[u])
              both |= c.id == a.id && d.id == b.id && c.box.x0 == d.box.x0;
            true_there |= c.id == a.id;
          }
          int count = 0;
          for (const NamedBox& d : tracks[u]) count += d.id == b.id;
          track_there = count > 0;
          together += both;
          misses += true_there && !both;
          others += track_there ? count - both : 0;
        }
        sum += together / (together + misses + others);
        ++positives;
      }
    }
  }
  const Figures f = figures_of(truth, tracks);
  ck_assert_int_eq(f.hits[0], positives);
  ck_assert_double_eq_tol(f.ass_a(), sum / positives, 1e-9);
}

DVNN_TEST(what_is_ignored_counts_neither_way) {
  const Frames truth = {{{1, kHere}}};
  const Frames tracks = {
      {{5, kHere}, {6, kFar}, {7, {200, 200, 260, 260}}, {8, {300, 300, 320, 320}}}};
  ck_assert_uint_eq(counted(truth, tracks, {})[0].size(), 4);
  Ignored ignored;
  ignored.things = {{{9, kFar}}};
  ck_assert_uint_eq(counted(truth, tracks, ignored)[0].size(), 3);
  // More than half of the box in the area, whatever the area's own size.
  ignored.areas = {{{0, {200, 200, 231, 900}}}};
  ck_assert_uint_eq(counted(truth, tracks, ignored)[0].size(), 2);
  ignored.areas = {{{0, {200, 200, 229, 900}}}};
  ck_assert_uint_eq(counted(truth, tracks, ignored)[0].size(), 3);
  // Low boxes that match nothing; one that matches counts, low as it is.
  ignored.height = 25;
  ck_assert_uint_eq(counted(truth, tracks, ignored)[0].size(), 2);
  ck_assert_int_eq(counted(truth, tracks, ignored)[0][0].id, 5);
  // A box that fits a true one better than an ignored one stays.
  ignored = {};
  ignored.things = {{{9, {3, 0, 13, 10}}}};
  ck_assert_uint_eq(counted(truth, {{{5, kHere}}}, ignored)[0].size(), 1);
}

DVNN_TEST(pairs_are_the_heaviest) {
  // All permutations of four tell the best.
  unsigned state = 3;
  for (int round = 0; round < 200; ++round) {
    std::vector<double> weights(4 * 3);
    for (double& weight : weights) {
      state = state * 1664525u + 1013904223u;
      weight = (state >> 8) % 7;
    }
    std::vector<int> order{0, 1, 2, 3};
    double best = 0;
    do {
      double sum = 0;
      for (size_t column = 0; column < 3; ++column)
        sum += weights[static_cast<size_t>(order[column]) * 3 + column];
      best = std::max(best, sum);
    } while (std::next_permutation(order.begin(), order.end()));
    double found = 0;
    std::set<int> columns;
    const std::vector<int> pairs = heaviest_pairs(4, 3, weights);
    for (size_t row = 0; row < 4; ++row) {
      if (pairs[row] < 0) continue;
      ck_assert(columns.insert(pairs[row]).second);
      found += weights[row * 3 + static_cast<size_t>(pairs[row])];
    }
    ck_assert_double_eq_tol(found, best, 1e-9);
  }
}

}  // namespace dvnn::test::figures_tests
