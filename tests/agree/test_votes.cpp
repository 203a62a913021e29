// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <map>
#include <random>

#include "agree/votes.h"
#include "check_suite.h"

namespace dvnn::test::votes_tests {

DVNN_SUITE(agree_votes);

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

namespace {

TextVotes readings_of(const std::vector<std::string>& readings, double confidence = 0.9) {
  TextVotes votes;
  for (const std::string& reading : readings) votes.add(reading, confidence);
  return votes;
}

Pattern pattern(const char* text) {
  auto parsed = Pattern::parse(text);
  ck_assert_msg(parsed.ok(), "%s", text);
  return parsed.value();
}

}  // namespace

DVNN_TEST(wrong_characters_at_different_places_are_outvoted) {
  dvnn_assert_text(readings_of({"AB123", "A8123", "AB12B"}).result().text, "AB123");
}

DVNN_TEST(missing_and_doubled_characters_are_outvoted) {
  dvnn_assert_text(readings_of({"AB123", "B123", "AB1123"}).result().text, "AB123");
  dvnn_assert_text(readings_of({"A123", "AB13", "AB123"}).result().text, "AB123");
  dvnn_assert_text(readings_of({"123", "XAB123", "AB123", "AB12"}).result().text, "AB123");
}

DVNN_TEST(the_surer_character_wins) {
  TextVotes votes;
  votes.add("AB", 0, {0.9f, 0.3f});
  votes.add("AD", 0, {0.9f, 0.8f});
  dvnn_assert_text(votes.result().text, "AD");
  // Confidences that are not as many as the characters do not count.
  TextVotes even;
  even.add("AB", 0.9, {0.1f});
  dvnn_assert_text(even.result().text, "AB");
}

DVNN_TEST(characters_of_several_bytes_stay_whole) {
  dvnn_assert_text(readings_of({"京都あ", "京部あ", "京都お"}).result().text, "京都あ");
}

DVNN_TEST(a_text_is_agreed_by_two_or_three_sure_looks) {
  ck_assert(readings_of({"AB123"}, 1).result().probability < kAgreed);
  ck_assert(readings_of({"AB123", "AB123", "AB123"}, 1).result().probability > kAgreed);
  ck_assert(readings_of({"AB123", "AB124", "AB125"}, 1).result().probability < kAgreed);
}

DVNN_TEST(what_does_not_match_the_pattern_is_no_rival) {
  const Pattern plate = pattern("[A-Z]{2}[0-9]{3}");
  const TextVotes votes = readings_of({"ABI23", "ABI23", "AB123"}, 0.8);
  dvnn_assert_text(votes.result().text, "ABI23");
  dvnn_assert_text(votes.result(&plate).text, "AB123");
  ck_assert(votes.result(&plate).matches);
  // A reading beyond repair is told, and is never sure.
  const TextVotes::Agreed none = readings_of({"hello", "hello", "hello"}).result(&plate);
  dvnn_assert_text(none.text, "hello");
  ck_assert(!none.matches && none.probability == 0);
}

DVNN_TEST(codes_are_compared_as_a_whole) {
  TextVotes votes(TextVotes::By::kText);
  for (const char* text : {"4006381333931", "4006381333932", "4006381333931"}) votes.add(text, 1);
  dvnn_assert_text(votes.result().text, "4006381333931");
  ck_assert(votes.result().probability > 0.9 && votes.result().probability < kAgreed);
  votes.add("4006381333931", 1);
  ck_assert(votes.result().probability > kAgreed);
}

DVNN_TEST(long_texts_are_compared_as_a_whole) {
  const std::string text(5000, 'x');
  dvnn_assert_text(readings_of({text, text + "y", text}).result().text, text.c_str());
}

DVNN_TEST(what_changed_is_read_anew) {
  TextVotes votes;
  for (int look = 0; look < 100; ++look) votes.add("OPEN", 1);
  for (int look = 0; look < 16; ++look) votes.add("SHUT", 1);
  dvnn_assert_text(votes.result().text, "SHUT");
}

// What four places of readings may hold, by Bayes' rule for each place alone.
struct Places {
  static constexpr size_t kPlaces = 4, kLetters = 3;
  double likely[kPlaces][kLetters + 1];  // the last one is any other letter
  bool read[kPlaces][kLetters] = {};

  Places() { std::fill_n(likely[0], kPlaces * (kLetters + 1), 1.0); }
  void see(size_t at, size_t letter, double p) {
    read[at][letter] = true;
    for (size_t other = 0; other <= kLetters; ++other) {
      likely[at][other] *= other == letter ? p : 1 - p;
    }
  }
  double probability(size_t at, size_t letter) const {
    if (!read[at][letter]) return 0;
    double sum = likely[at][kLetters];
    for (size_t other = 0; other < kLetters; ++other) {
      if (read[at][other]) sum += likely[at][other];
    }
    return likely[at][letter] / sum;
  }
};

// All 81 texts that can be made of those places. The digits keep readings aligned.
DVNN_TEST(the_most_probable_text_of_all_is_found) {
  std::mt19937 random(dvnn_seed(std::random_device{}()));
  const Pattern some = pattern("1[ab]2[bc]3[ab]4[^a]");
  constexpr size_t kReadings = 3;
  int unmatched = 0;
  const int rounds = dvnn_rounds(500);
  for (int round = 0; round < rounds; ++round) {
    TextVotes votes;
    Places places;
    for (size_t i = 0; i < kReadings; ++i) {
      std::string text;
      std::vector<float> confidences;
      for (size_t at = 0; at < Places::kPlaces; ++at) {
        const float p = 0.5f + 0.04f * static_cast<float>(random() % 11);
        const size_t letter = random() % Places::kLetters;
        text += {static_cast<char>('1' + at), static_cast<char>('a' + letter)};
        confidences.insert(confidences.end(), {0.9f, p});
        places.see(at, letter, static_cast<double>(p));
      }
      votes.add(text, 0, confidences);
    }
    const double right = std::pow(static_cast<double>(0.9f), 3),
                 wrong = std::pow(1 - static_cast<double>(0.9f), 3);
    const double digits = std::pow(right / (right + wrong), 4);
    double most = 0, refused = 0;
    std::string best;
    for (size_t number = 0; number < 81; ++number) {
      std::string text;
      double probability = digits;
      for (size_t at = 0, rest = number; at < Places::kPlaces; ++at, rest /= Places::kLetters) {
        const size_t letter = rest % Places::kLetters;
        text += {static_cast<char>('1' + at), static_cast<char>('a' + letter)};
        probability *= places.probability(at, letter);
      }
      if (!some.matches(text)) {
        refused += probability;
      } else if (probability > most) {
        most = probability;
        best = text;
      }
    }
    const TextVotes::Agreed found = votes.result(&some);
    ck_assert_int_eq(found.matches, !best.empty());
    if (best.empty()) {
      ++unmatched;
      continue;
    }
    // Texts that do not match are no rivals as far as they are more probable.
    ck_assert_msg(
        found.probability > most - 1e-9 && found.probability < most / (1 - refused) + 1e-9,
        "%s: %.9f, must be %s: %.9f..%.9f", found.text.c_str(), found.probability, best.c_str(),
        most, most / (1 - refused));
  }
  ck_assert_int_lt(unmatched, rounds);
}

// The first part tries some 65,000 ways to divide sixteen letters, before the second one matches.
DVNN_TEST(a_pattern_that_tries_too_much_does_not_match) {
  const Pattern slow = pattern("(a+)+b|.*");
  ck_assert(slow.matches("aaab") && slow.matches("aaa"));
  ck_assert(!slow.matches(std::string(16, 'a')));
}

DVNN_TEST(patterns_are_of_labels_or_of_all) {
  auto all = Patterns::parse("[0-9]+");
  ck_assert(all.ok() && all.value().find("plate")->matches("12"));
  ck_assert(!all.value().find("plate")->matches("12a"));
  auto some = Patterns::parse("{\"plate\": \"[A-Z]+|[0-9]+\", \"sign\": \"\\\\d\\\\d\"}");
  ck_assert(some.ok());
  ck_assert(some.value().find("plate")->matches("AB") &&
            !some.value().find("plate")->matches("A1"));
  ck_assert(some.value().find("sign")->matches("50"));
  ck_assert_ptr_null(some.value().find("car"));
  ck_assert_ptr_null(Patterns::parse("").value().find("car"));
}

DVNN_TEST(wrong_patterns_are_refused_with_a_sentence) {
  const auto refused = [](const std::string& text, const char* part) {
    const auto parsed = Patterns::parse(text);
    ck_assert_msg(!parsed.ok(), "'%s' is taken", text.c_str());
    ck_assert_msg(parsed.error().message.find(part) != std::string::npos, "%s",
                  parsed.error().message.c_str());
  };
  refused("[A-Z", "missing terminating ]");
  refused("a)|(b", "missing terminating )");
  refused("{\"plate\": 5}", "the pattern of 'plate' is 5");
  refused("{\"plate\": \"(\"}", "the pattern of 'plate'");
  refused("{\"plate\": \"a\", \"plate\": \"b\"}", "twice");
  refused(std::string(5000, 'a'), "4096");
  refused("\xff", "UTF-8");
}

}  // namespace dvnn::test::votes_tests
