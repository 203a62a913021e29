// SPDX-License-Identifier: Apache-2.0
// What is small enough to be counted by hand. The curves are held against another implementation in
// check_coco.py.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "check_suite.h"
#include "evaluate/bootstrap.h"
#include "evaluate/confusion.h"
#include "evaluate/naming.h"
#include "evaluate/thresholds.h"
#include "evaluate/whole_pictures.h"
#include "match/crowd.h"

namespace dvnn::test::evaluate_numbers_tests {

DVNN_SUITE(evaluate_numbers);

using match_crowd::Crowd;
using match_crowd::Vector;
using namespace evaluate;

namespace {

Truth truth_of(int class_id, const Box& box) {
  Truth truth;
  truth.class_id = class_id;
  truth.box = box;
  truth.area = box.area();
  return truth;
}

Found found_of(int class_id, double score, const Box& box) {
  Found found;
  found.class_id = class_id;
  found.score = score;
  found.box = box;
  return found;
}

// One class; found objects with these scores, which are right or not, and `missed` others.
ClassJudgement judged(const std::vector<std::pair<double, bool>>& scores, uint32_t missed) {
  ClassJudgement of;
  Wanted wanted;
  wanted.count[kAll] = missed;
  for (const auto& [score, right] : scores) {
    Judged found;
    found.score = score;
    found.right[kAll] = right ? 1 : 0;
    wanted.count[kAll] += right;
    of.found.push_back(found);
  }
  of.wanted.push_back(wanted);
  return of;
}

}  // namespace

DVNN_TEST(the_best_threshold_has_the_largest_f1) {
  // F1 at the scores: 2/5, 4/6, 4/7, 6/8, 6/9.
  const ClassJudgement of =
      judged({{.9, true}, {.8, true}, {.7, false}, {.6, true}, {.3, false}}, 1);
  const Operation best = best_operation(of);
  ck_assert(best.right == 3 && best.wrong == 1 && best.missed == 1);
  ck_assert_double_eq(best.f1(), 6.0 / 8);
  // Half-way to the next score, in few digits.
  ck_assert_double_eq(best.threshold, 0.45);
  const Operation there = operation_at(of, best.threshold);
  ck_assert(there.right == 3 && there.wrong == 1 && there.missed == 1);
  ck_assert_double_eq(operation_at(of, 0.3).precision(), 3.0 / 5);
}

DVNN_TEST(a_threshold_parts_scores_however_close) {
  const float low = 0.5F, high = std::nextafter(low, 1.0F);
  const ClassJudgement of =
      judged({{double{high}, true}, {double{low}, false}, {double{low}, false}}, 0);
  const Operation best = best_operation(of);
  ck_assert(best.right == 1 && best.wrong == 0);
  // As dvdecode reads it.
  const auto read = static_cast<float>(best.threshold);
  ck_assert(high >= read && low < read);
}

DVNN_TEST(a_wanted_precision_is_reached_with_a_margin) {
  std::vector<std::pair<double, bool>> scores;
  for (int i = 0; i < 200; ++i)
    scores.emplace_back(1 - i * 0.004, i % 10 != 9);  // nine of ten are right
  const ClassJudgement of = judged(scores, 0);
  const Chosen easy = operation_of_precision(of, 0.8);
  ck_assert(easy.reached && easy.operation.right + easy.operation.wrong == 200);
  // The share is 0.9, so a lower bound of 0.95 cannot be reached.
  const Chosen hard = operation_of_precision(of, 0.95);
  ck_assert(!hard.reached && hard.operation.right > 0);
  // Wilson's bound of 9 of 10 and z = 1.645, by hand: (0.9 + 0.13528 - 0.20652) / 1.27055.
  ck_assert_double_eq_tol(lower_bound_of_share(9, 10), 0.65228, 1e-5);
  ck_assert_double_eq(lower_bound_of_share(0, 0), 0);
}

DVNN_TEST(what_is_taken_for_what) {
  const Box here = {0, 0, 10, 10}, there = {100, 0, 10, 10}, far = {300, 0, 10, 10};
  Picture picture;
  picture.truths = {truth_of(0, here), truth_of(1, there), truth_of(0, far)};
  picture.truths.push_back(truth_of(1, {200, 0, 50, 50}));
  picture.truths[3].crowd = true;
  // The surer one takes the object; the other one of the two is an alarm. What is in the crowd does
  // not count.
  const std::vector<Found> found = {found_of(1, .6, here), found_of(0, .9, here),
                                    found_of(0, .8, there), found_of(1, .7, {201, 1, 9, 9}),
                                    found_of(0, .05, far)};
  const Comparison comparison = compare(picture, found, {0.1, 0.1});
  Confusion confusion(2);
  confusion.add(picture, found, comparison);
  const uint64_t wanted[3][3] = {{1, 0, 1}, {1, 0, 0}, {0, 1, 0}};
  for (size_t t = 0; t < 3; ++t) {
    for (size_t f = 0; f < 3; ++f)
      ck_assert_msg(confusion.count(t, f) == wanted[t][f], "%zu, %zu", t, f);
  }
  ck_assert_uint_eq(comparison.mistakes(picture, found), 3);
}

DVNN_TEST(of_equal_boxes_the_one_of_the_same_class_is_taken) {
  const Box box = {0, 0, 10, 10};
  Picture picture;
  picture.truths = {truth_of(1, box), truth_of(0, box), truth_of(2, box)};
  const std::vector<Found> found = {found_of(0, .9, box)};
  const Comparison comparison = compare(picture, found, {0, 0, 0});
  ck_assert(comparison.pairs.size() == 1 && comparison.pairs[0].truth == 1);
}

DVNN_TEST(top_five_are_the_five_most_confident_ones) {
  DataSet data;
  data.classes = {"a", "b"};
  data.pictures.resize(4);
  data.pictures[0].class_id = data.pictures[1].class_id = data.pictures[2].class_id = 0;
  data.pictures[3].class_id = 1;
  FoundByPicture found(4);
  for (int i = 0; i < 6; ++i) found[0].push_back(found_of(i == 4 ? 0 : 1, 1 - 0.1 * i, {}));
  for (int i = 0; i < 6; ++i) found[1].push_back(found_of(i == 5 ? 0 : 1, 1 - 0.1 * i, {}));
  // The same score: the first one is ahead.
  found[2] = {found_of(0, .5, {}), found_of(1, .5, {})};
  const std::vector<size_t> places = places_of(data, found);
  ck_assert(places == (std::vector<size_t>{4, 5, 0, SIZE_MAX}));
  const Accuracy all = accuracy_of(data, places, {true, true});
  ck_assert(all.all.pictures == 4 && all.all.first == 1 && all.all.among_five == 2);
  const Accuracy known = accuracy_of(data, places, {true, false});
  ck_assert(known.all.pictures == 3 && known.classes[1].pictures == 0);
}

// The share of heads in n throws has a known spread: the interval is 1.96 of its standard
// deviations to both sides.
DVNN_TEST(intervals_are_as_wide_as_theory_has_them) {
  std::mt19937 random(dvnn_seed(3));
  std::vector<double> throws(400);
  double heads = 0;
  for (double& t : throws) heads += t = random() % 4 == 0;
  const auto share = [&](const std::vector<uint32_t>& weights) -> std::vector<double> {
    double sum = 0, count = 0;
    for (size_t i = 0; i < weights.size(); ++i) {
      sum += weights[i] * throws[i];
      count += weights[i];
    }
    ck_assert_double_eq(count, 400);
    return {sum / count, -1};
  };
  const auto intervals = bootstrap(throws.size(), 2000, 1, share);
  const double p = heads / 400, deviation = std::sqrt(p * (1 - p) / 400);
  // The limits are percentiles of 2,000 samples: their own spread is a tenth of a deviation.
  ck_assert_double_eq_tol(intervals[0].low, p - 1.96 * deviation, 0.4 * deviation);
  ck_assert_double_eq_tol(intervals[0].high, p + 1.96 * deviation, 0.4 * deviation);
  ck_assert_double_eq(intervals[1].low, -1);
  const auto again = bootstrap(throws.size(), 2000, 1, share);
  ck_assert_double_eq(again[0].low, intervals[0].low);
}

DVNN_TEST(pixels_overlap_by_class) {
  PixelCount count;
  ck_assert_double_eq(count.mean_overlap(), -1);
  for (int i = 0; i < 6; ++i) count.add(0, 0);
  for (int i = 0; i < 2; ++i) count.add(0, 1);
  for (int i = 0; i < 3; ++i) count.add(1, 1);
  count.add(1, kMostPixelClasses);  // something that is none of the classes
  count.add(1, 7);                  // a class that is not there
  ck_assert_double_eq(count.overlap(0), 6.0 / 8);
  ck_assert_double_eq(count.overlap(1), 3.0 / 7);
  ck_assert_double_eq(count.overlap(7), 0);
  ck_assert_double_eq(count.overlap(2), -1);
  ck_assert_double_eq_tol(count.mean_overlap(), (6.0 / 8 + 3.0 / 7) / 3, 1e-15);
  ck_assert_double_eq(count.accuracy(), 9.0 / 13);
  ck_assert_uint_eq(count.pixels(1), 5);
}

// Examples that textbooks give: of Levenshtein's distance, and of an inserted and a lost word.
DVNN_TEST(texts_are_compared_by_edits) {
  const struct {
    const char *truth, *read;
    uint64_t characters, edits, words, word_edits;
  } cases[] = {{"sitting", "kitten", 7, 3, 1, 1},
               {"Saturday", "Sunday", 8, 3, 1, 1},
               {"", "abc", 0, 3, 0, 1},
               {"abc", "", 3, 3, 1, 1},
               {"the cat sat", "the  cat on", 11, 4, 3, 1},
               {"a b c d", "b c d e", 7, 4, 4, 2},
               // Two code points of two bytes each.
               {"\xc3\xbc\xc3\x9f", "u\xc3\x9f", 2, 1, 1, 1}};
  ReadingCount all;
  for (const auto& c : cases) {
    const ReadingCount count = count_reading(c.truth, c.read);
    ck_assert_msg(count.characters == c.characters && count.character_edits == c.edits,
                  "'%s', '%s': %d of %d", c.truth, c.read, int(count.character_edits),
                  int(count.characters));
    ck_assert(count.words == c.words && count.word_edits == c.word_edits && count.exact == 0);
    all.add(count, 2);
  }
  all.add(count_reading("ab", "ab"));
  ck_assert_double_eq(all.character_error(), 42.0 / 78);
  ck_assert_double_eq(all.word_error(), 16.0 / 23);
  ck_assert_double_eq(all.exact_share(), 1.0 / 15);
  ck_assert_double_eq(ReadingCount().character_error(), -1);
  ck_assert_double_eq(count_reading("", "ab").character_error(), -1);
}

// Directions in a plane, as degrees: 0, 10 and 40 of identity 1, 15 and 50 of 2, 90 of 3.
DVNN_TEST(identities_are_ranked_by_cosine) {
  const double degrees[] = {0, 10, 40, 15, 50, 90};
  std::vector<std::vector<float>> embeddings;
  for (const double angle : degrees) {
    const double radians = angle * 3.14159265358979 / 180;
    const double length = 1 + angle;  // does not count
    embeddings.push_back({static_cast<float>(length * std::cos(radians)),
                          static_cast<float>(length * std::sin(radians))});
  }
  const EmbeddingFigures figures = compare_embeddings(embeddings, {1, 1, 1, 2, 2, 3});
  // 0: 10, 15, 40, ... right at places 1 and 3. 10: 15, 0, 40: at 2 and 3. 40: 50, 15, 10, 0: 3, 4.
  // 15: 10, 0, 40, 50: at 4. 50: 40, 15: at 2.
  const double precisions[] = {(1.0 + 2.0 / 3) / 2, (1.0 / 2 + 2.0 / 3) / 2,
                               (1.0 / 3 + 2.0 / 4) / 2, 1.0 / 4, 1.0 / 2};
  const uint64_t places[] = {0, 1, 2, 3, 1};
  ck_assert_uint_eq(figures.queries.size(), 5);
  double sum = 0;
  for (size_t i = 0; i < 5; ++i) {
    ck_assert_uint_eq(figures.queries[i].place, places[i]);
    ck_assert_double_eq_tol(figures.queries[i].precision, precisions[i], 1e-12);
    sum += precisions[i];
  }
  ck_assert_double_eq_tol(figures.mean_precision(), sum / 5, 1e-12);
  ck_assert_double_eq(figures.rank(1), 1.0 / 5);
  ck_assert_double_eq(figures.rank(2), 3.0 / 5);
  // 11 pairs of two identities: one may be accepted at 0.1, that of 5 degrees; the next are of 10.
  ck_assert(figures.same_pairs == 4 && figures.other_pairs == 11 && figures.rates.size() == 1);
  ck_assert_double_eq_tol(figures.rates[0].threshold, std::cos(10 * 3.14159265358979 / 180), 1e-6);
  ck_assert_double_eq(EmbeddingFigures().rank(1), -1);
}

// Equal embeddings tell nothing: the wrong ones come first, and no pair is accepted.
DVNN_TEST(equal_embeddings_are_no_success) {
  const std::vector<std::vector<float>> embeddings(8, {0.3F, 0.4F});
  const EmbeddingFigures figures = compare_embeddings(embeddings, {1, 1, 2, 2, 3, 3, 4, 4});
  ck_assert_double_eq(figures.rank(1), 0);
  ck_assert_double_eq_tol(figures.mean_precision(), 1.0 / 7, 1e-12);
  ck_assert_uint_eq(figures.rates.size(), 1);
  ck_assert_double_eq(figures.rates[0].true_accepts, 0);
}

// The mistakes of a gallery against its plain definition, and proposals on pictures that they have
// not seen.

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

}  // namespace dvnn::test::evaluate_numbers_tests
