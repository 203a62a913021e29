// SPDX-License-Identifier: Apache-2.0
// Tracks whose truth is known, and networks that misread them: how often single readings are wrong,
// and how often agreed ones are.
#include <cmath>
#include <cstdio>
#include <random>

#include "agree/track_reading.h"
#include "check_suite.h"

namespace dvnn::test::track_reading_tests {

DVNN_SUITE(agree_tracks);

using namespace dvnn::agree;
using objects::Kind;
using objects::Object;
using objects::Objects;

namespace {

// How many looks a track has, where none are saved.
constexpr int kLooks = 24;

class Misreader {
 public:
  /// `boast`: by what the network divides its doubt; 1 for one that knows how sure it is.
  explicit Misreader(double boast) : boast_(boast), random_(dvnn_seed(std::random_device{}())) {}

  double any(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }
  int one_of(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  float shown(double p) const { return static_cast<float>(1 - (1 - p) / boast_); }

  // A class of eight, by a confidence that is as often right as it says. Most mistakes are one
  // neighbour.
  Objects look_at_class(int truth) {
    const double p = any(0.4, 0.99);
    Object object;
    object.kind = Kind::kClassification;
    object.class_id = any(0, 1) < p     ? truth
                      : any(0, 1) < 0.7 ? (truth + 1) % 8
                                        : (truth + 2 + one_of(6)) % 8;
    object.label = std::to_string(object.class_id);
    object.confidence = shown(p);
    return {object};
  }

  std::string plate() {
    std::string text;
    for (int i = 0; i < 3; ++i) text += static_cast<char>('A' + one_of(26));
    for (int i = 0; i < 4; ++i) text += static_cast<char>('0' + one_of(10));
    return text;
  }

  // A text in which characters are taken for similar or any others, are lost and are doubled.
  Objects look_at_text(const std::string& truth) {
    static const std::string kFrom = "O0I1B8S5Z2G6", kTo = "0O1I8B5S2Z6G";
    static const std::string kAll = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    Object object;
    object.kind = Kind::kAttributes;
    double sum = 0;
    const auto add = [&](char c, double p) {
      object.text += c;
      object.text_confidences.push_back(shown(p));
      sum += static_cast<double>(shown(p));
    };
    for (const char c : truth) {
      if (any(0, 1) < 0.02) continue;
      const double p = any(0.6, 1);
      const size_t similar = kFrom.find(c);
      const bool right = any(0, 1) < p;
      add(right                                             ? c
          : similar != std::string::npos && any(0, 1) < 0.6 ? kTo[similar]
                                                            : kAll[static_cast<size_t>(one_of(36))],
          p);
      if (any(0, 1) < 0.02) add(c, any(0.4, 0.7));
    }
    object.confidence =
        object.text.empty() ? 0 : static_cast<float>(sum / static_cast<double>(object.text.size()));
    if (object.text.empty()) return {};
    return {object};
  }

  // A number with a few percent of noise, and one in seven that is any number.
  Objects look_at_number(double truth) {
    Object object;
    object.kind = Kind::kAttributes;
    object.confidence = 1;
    const double noise = std::normal_distribution<double>(0, 0.08)(random_);
    object.numbers = {{"age", any(0, 1) < 0.15 ? any(0, 100) : truth * (1 + noise)}};
    return {object};
  }

  std::vector<float> direction(size_t size) {
    std::vector<float> values;
    std::normal_distribution<float> normal;
    for (size_t i = 0; i < size; ++i) values.push_back(normal(random_));
    return unit(values);
  }
  static std::vector<float> unit(std::vector<float> values) {
    float squares = 0;
    for (const float value : values) squares += value * value;
    for (float& value : values) value /= std::sqrt(squares);
    return values;
  }
  Objects look_at_person(const std::vector<float>& truth) {
    Object object;
    object.kind = Kind::kAttributes;
    object.confidence = 1;
    std::normal_distribution<float> noise(0, 0.24f);
    for (const float value : truth) object.embedding.push_back(value + noise(random_));
    object.embedding = unit(object.embedding);
    return {object};
  }

 private:
  const double boast_;
  std::mt19937 random_;
};

// What single readings and agreed ones are worth.
struct Figures {
  int singles = 0, wrong_singles = 0, tracks = 0, agreed = 0, wrong = 0, looks = 0;

  double of_singles() const { return static_cast<double>(wrong_singles) / singles; }
  double of_agreed() const { return static_cast<double>(wrong) / std::max(1, agreed); }
  double mean_looks() const { return static_cast<double>(looks) / tracks; }

  // Follows one track: looks until no more are needed. `right` judges a reading.
  template <typename Look, typename Right>
  void follow(const Rules& rules, Look look, Right right) {
    TrackReading reading;
    ++tracks;
    for (int i = 0; i < kLooks; ++i) {
      const Objects single = look();
      ++singles;
      if (!right(single)) ++wrong_singles;
      if (reading.settled()) continue;
      reading.add_look(rules, single, 100, 50);
      ++looks;
    }
    const Objects& results = reading.results();
    if (results.empty() || !results[0].agreement.reached) return;
    ++agreed;
    if (!right(results)) ++wrong;
  }

  void check(const char* what, double least_agreed) const {
    std::printf(
        "%s: single readings %.1f %% wrong; %.1f %% of tracks agreed, of these %.2f %% wrong; "
        "%.1f looks of %d\n",
        what, 100 * of_singles(), 100.0 * agreed / tracks, 100 * of_agreed(), mean_looks(), kLooks);
    ck_assert_msg(of_agreed() <= of_singles() / 10, "%s: more than a tenth is wrong", what);
    ck_assert_msg(agreed >= least_agreed * tracks, "%s: too few agree", what);
    ck_assert_msg(looks < singles, "%s: no look is saved", what);
  }
};

bool is_class(const Objects& found, int truth) {
  return !found.empty() && found[0].class_id == truth;
}

bool is_text(const Objects& found, const std::string& truth) {
  return !found.empty() && found[0].text == truth;
}

// So few that a tenth of the wrong ones are still some.
int tracks() {
  return std::max(dvnn_rounds(2000), 400);
}

Object attributes(const std::string& text, float confidence) {
  Object object;
  object.kind = Kind::kAttributes;
  object.text = text;
  object.confidence = confidence;
  return object;
}

}  // namespace

DVNN_TEST(agreed_classes_are_wrong_a_tenth_as_often) {
  for (const double boast : {1.0, 2.0}) {
    Misreader network(boast);
    Figures figures;
    for (int i = 0; i < tracks(); ++i) {
      const int truth = network.one_of(8);
      figures.follow(
          {}, [&] { return network.look_at_class(truth); },
          [&](const Objects& found) { return is_class(found, truth); });
    }
    figures.check(boast > 1 ? "classes, too sure" : "classes", 0.9);
  }
}

DVNN_TEST(agreed_texts_are_wrong_a_tenth_as_often) {
  const auto pattern = Pattern::parse("[A-Z]{3}[0-9]{4}");
  for (const bool constrained : {false, true}) {
    for (const double boast : {1.0, 2.0}) {
      Misreader network(boast);
      Figures figures;
      Rules rules;
      if (constrained) rules.pattern = &pattern.value();
      for (int i = 0; i < tracks() / 4; ++i) {
        const std::string truth = network.plate();
        figures.follow(
            rules, [&] { return network.look_at_text(truth); },
            [&](const Objects& found) { return is_text(found, truth); });
      }
      figures.check(
          (std::string(constrained ? "plates" : "texts") + (boast > 1 ? ", too sure" : "")).c_str(),
          0.8);
    }
  }
}

DVNN_TEST(agreed_numbers_are_wrong_a_tenth_as_often) {
  Misreader network(1);
  Figures figures;
  for (int i = 0; i < tracks(); ++i) {
    const double truth = network.any(10, 80);
    const auto right = [&](const Objects& found) {
      return !found.empty() && std::abs(found[0].numbers.at(0).value - truth) <= 0.1 * truth;
    };
    figures.follow(
        {}, [&] { return network.look_at_number(truth); }, right);
  }
  figures.check("numbers", 0.9);
}

DVNN_TEST(agreed_embeddings_are_wrong_a_tenth_as_often) {
  Misreader network(1);
  Figures figures;
  constexpr size_t kSize = 16, kPeople = 60;
  std::vector<std::vector<float>> people;
  for (size_t i = 0; i < kPeople; ++i) people.push_back(network.direction(kSize));
  const auto nearest = [&](const std::vector<float>& one) {
    size_t best = 0;
    float most = -2;
    for (size_t person = 0; person < kPeople; ++person) {
      float cosine = 0;
      for (size_t i = 0; i < kSize; ++i) cosine += one[i] * people[person][i];
      if (cosine > most) most = cosine, best = person;
    }
    return best;
  };
  for (int i = 0; i < tracks() / 2; ++i) {
    const auto truth = static_cast<size_t>(network.one_of(kPeople));
    figures.follow(
        {}, [&] { return network.look_at_person(people[truth]); },
        [&](const Objects& found) {
          return !found.empty() && nearest(found[0].embedding) == truth;
        });
  }
  figures.check("embeddings", 0.9);
}

DVNN_TEST(a_reading_tells_how_many_looks_it_has_and_how_sure_it_is) {
  TrackReading reading;
  Rules rules;
  rules.looks = 3;
  reading.add_look(rules, {attributes("A", 0.95f)}, 10, 10);
  ck_assert_uint_eq(reading.results().size(), 1);
  const objects::Agreement& told = reading.results()[0].agreement;
  ck_assert_uint_eq(told.looks, 1);
  ck_assert(std::abs(told.probability - 0.95f) < 1e-6f && !told.reached);
  reading.add_look(rules, {attributes("A", 0.95f)}, 10, 10);
  // Sure enough, but with too few looks.
  ck_assert(reading.results()[0].agreement.probability > 0.99f);
  ck_assert(!reading.results()[0].agreement.reached && !reading.settled());
  reading.add_look(rules, {attributes("A", 0.95f)}, 10, 10);
  ck_assert(reading.results()[0].agreement.reached && reading.settled());
  ck_assert_uint_eq(reading.results()[0].agreement.looks, 3);
}

DVNN_TEST(a_look_that_reads_nothing_leaves_the_reading) {
  TrackReading reading;
  reading.add_look({}, {attributes("A", 0.9f)}, 10, 10);
  reading.add_look({}, {}, 10, 10);
  ck_assert_uint_eq(reading.results().size(), 1);
  dvnn_assert_text(reading.results()[0].text, "A");
  ck_assert_uint_eq(reading.results()[0].agreement.looks, 1);
}

DVNN_TEST(what_cannot_be_read_is_given_up_until_the_object_has_grown) {
  TrackReading reading;
  int looks = 0;
  for (; !reading.settled() && looks < 100; ++looks) reading.add_look({}, {}, 10, 10);
  ck_assert_int_eq(looks, 16);
  reading.add_look({}, {attributes("A", 0.9f)}, 14, 14);
  ck_assert(reading.settled());
  reading.add_look({}, {attributes("B", 0.9f)}, 10, 15);
  ck_assert(!reading.settled());
}

DVNN_TEST(an_agreed_text_must_be_confirmed_when_the_object_has_grown) {
  TrackReading reading;
  for (int i = 0; i < 3; ++i) reading.add_look({}, {attributes("A", 0.95f)}, 10, 10);
  ck_assert(reading.settled());
  reading.add_look({}, {attributes("B", 0.95f)}, 20, 20);
  ck_assert(!reading.settled());
  ck_assert(!reading.results()[0].agreement.reached);
  for (int i = 0; i < 5; ++i) reading.add_look({}, {attributes("B", 0.95f)}, 20, 20);
  dvnn_assert_text(reading.results()[0].text, "B");
  ck_assert(reading.settled());
}

DVNN_TEST(what_was_agreed_stays_so_unless_a_larger_box_contradicts) {
  Object car;
  car.kind = Kind::kClassification;
  car.confidence = 0.9f;
  Object described = attributes("A", 0.9f);
  described.numbers = {{"speed", 50}};
  described.embedding = {0.6f, 0.8f};
  for (const std::string contradicts : {"", "class", "text", "number", "embedding"}) {
    TrackReading reading;
    for (int i = 0; i < 12; ++i) reading.add_look({}, {car, described}, 10, 10);
    ck_assert(reading.settled());
    Object other = car, seen = described;
    other.confidence = seen.confidence = 0.6f;
    if (contradicts == "class") other.class_id = 1, other.confidence = 0.95f;
    if (contradicts == "text") seen.text = "B", seen.confidence = 0.95f;
    if (contradicts == "number") seen.numbers[0].value = 80;
    if (contradicts == "embedding") seen.embedding = {0.8f, -0.6f};
    reading.add_look({}, {other, seen}, 20, 20);
    ck_assert(!reading.settled());
    ck_assert_uint_eq(reading.results().size(), 2);
    const bool a_class = contradicts == "class", attribute = !a_class && !contradicts.empty();
    ck_assert_msg(reading.results()[0].agreement.reached != a_class, "%s", contradicts.c_str());
    ck_assert_msg(reading.results()[1].agreement.reached != attribute, "%s", contradicts.c_str());
  }
}

DVNN_TEST(boxes_and_points_are_those_of_the_last_look) {
  TrackReading reading;
  Object box;
  box.class_id = 4;
  Object points = attributes("", 1);
  points.points.resize(5);
  for (int i = 0; i < 40; ++i) reading.add_look({}, {box, points}, 10, 10);
  ck_assert(!reading.settled());
  ck_assert_uint_eq(reading.results().size(), 2);
  ck_assert_uint_eq(reading.results()[1].points.size(), 5);
  ck_assert_uint_eq(reading.results()[0].agreement.looks, 0);
  ck_assert_uint_eq(reading.results()[1].agreement.looks, 0);
  reading.add_look({}, {points}, 10, 10);
  ck_assert_uint_eq(reading.results().size(), 1);
}

DVNN_TEST(all_readings_of_a_look_must_agree) {
  TrackReading reading;
  for (int i = 0; i < 6; ++i) {
    Object object = attributes("A", 0.95f);
    object.numbers = {{"speed", i % 2 ? 80.0 : 20.0}};
    reading.add_look({}, {object}, 10, 10);
  }
  ck_assert(!reading.settled() && !reading.results()[0].agreement.reached);
}

DVNN_TEST(what_is_not_agreed_can_be_left_out) {
  Object object = attributes("A", 0.9f);
  ck_assert(objects::keep_agreed(&object) && object.text == "A");
  object.agreement.looks = 1;
  Object agreed = object;
  agreed.agreement.reached = true;
  ck_assert(objects::keep_agreed(&agreed) && agreed.text == "A");
  Object whole = object;
  whole.kind = Kind::kDetection;
  ck_assert(objects::keep_agreed(&whole) && whole.text.empty());
  ck_assert(!objects::keep_agreed(&object));
  object.points.resize(1);
  ck_assert(objects::keep_agreed(&object));
  Object named = object;
  named.kind = Kind::kClassification;
  ck_assert(!objects::keep_agreed(&named));
  Object who;
  who.identity = {"Ada", 0, 0.8f, true};
  ck_assert(objects::keep_agreed(&who) && who.identity.name == "Ada");
  who.identity.agreed = false;
  ck_assert(objects::keep_agreed(&who) && !who.identity.is_known());
}

}  // namespace dvnn::test::track_reading_tests
