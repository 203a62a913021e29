// SPDX-License-Identifier: Apache-2.0
// Names of tracks and numbers of strangers, against people whose identities are known.
#include <map>
#include <memory>
#include <set>
#include <string>

#include "check_suite.h"
#include "crowd.h"
#include "match/namer.h"

namespace dvnn::test::match_names_tests {

DVNN_SUITE(match_names);

using match::Keeper;
using match::Look;
using match::Namer;
using match_crowd::Crowd;
using match_crowd::Vector;

constexpr int64_t kDay = int64_t{24} * 3600 * 1000;

// A keeper without files, whose wall clock the test sets.
struct Desk {
  std::string problem;
  int64_t now = kDay;
  std::unique_ptr<Keeper> keeper;

  explicit Desk(const match::StrangerBounds& bounds = {}) {
    keeper =
        std::make_unique<Keeper>([this](match::Notice, const std::string& text) { problem = text; },
                                 Keeper::Share(), Clock::steady(), [this] { return now; });
    keeper->set_bounds(bounds);
  }
  void enrol(const std::string& name, const Vector& unit) {
    const Status status = keeper->enrol(name, unit, 0);
    ck_assert_msg(status.ok(), "%s", status.ok() ? "" : status.error().message.c_str());
  }
};

static Look look_of(uint64_t track, const Vector& seen) {
  Look look;
  look.track = track;
  look.embedding = {seen.data(), seen.size()};
  return look;
}

static std::string name_of(size_t person) {
  return "person " + std::to_string(person);
}

// Half of the people are enrolled by one look each. Noise of the length of the signal: single looks
// of one person have a cosine of 0.5. What is told as agreed is right, and most is told.
DVNN_TEST(agreed_names_are_right) {
  size_t agreed = 0, wrong = 0, tracks = 0, single_wrong = 0;
  for (int round = 0; round < dvnn_rounds(8) + 1; ++round) {
    Desk desk;
    Crowd crowd(60, 128, 1, dvnn_seed(20 + static_cast<unsigned>(round)));
    for (size_t i = 0; i < 30; ++i) desk.enrol(name_of(i), crowd.look(i));
    Namer namer(desk.keeper.get());
    namer.set_rules({0.4, 0.05, 3});
    for (uint64_t track = 1; track <= 60; ++track) {
      const size_t person = track - 1;
      match::Told last;
      for (int i = 0; i < 12; ++i) {
        const Vector seen = crowd.look(person);
        last = namer.see(look_of(track, seen), 0);
        if (i == 0 && last.identity.is_known() && last.identity.name != name_of(person)) {
          ++single_wrong;
        }
        ck_assert(!last.is_news || last.identity.agreed);
      }
      ++tracks;
      if (!last.identity.agreed) continue;
      ++agreed;
      const bool is_stranger = !last.identity.name.empty() ? false : true;
      if (person < 30 ? last.identity.name != name_of(person) : !is_stranger) ++wrong;
    }
  }
  std::printf("%zu tracks, %zu agreed, %zu wrong; %zu wrong by one look\n", tracks, agreed, wrong,
              single_wrong);
  ck_assert_uint_ge(agreed * 100, tracks * 95);
  ck_assert_uint_le(wrong * 100, agreed);
}

// Two people who are alike are not told apart by a hair.
DVNN_TEST(between_two_people_nobody_is_named) {
  Desk desk;
  desk.enrol("Ada", {1, 0.1f, 0});
  desk.enrol("Bob", {1, -0.1f, 0});
  Namer namer(desk.keeper.get());
  namer.set_rules({0.5, 0.05, 1});
  ck_assert(!namer.see(look_of(1, {1, 0.01f, 0}), 0).identity.is_known());
  ck_assert(namer.see(look_of(2, {0.7f, 0.7f, 0}), 0).identity.name == "Ada");
  namer.set_rules({0.5, 0, 1});
  ck_assert(namer.see(look_of(3, {1, 0.01f, 0}), 0).identity.name == "Ada");
}

DVNN_TEST(the_gallery_s_own_threshold_counts_unless_one_is_set) {
  Desk desk;
  desk.enrol("Ada", {1, 0});
  Namer namer(desk.keeper.get());
  namer.set_rules({-1, -1, 1});
  ck_assert(namer.see(look_of(1, {1, 1}), 0).identity.name == "Ada");  // cosine 0.71
  namer.set_rules({0.8, -1, 1});
  const match::Told told = namer.see(look_of(2, {1, 1}), 0);
  ck_assert(told.identity.name.empty());
  ck_assert_uint_eq(told.identity.stranger, 1);
}

DVNN_TEST(the_same_embedding_again_is_no_look) {
  Desk desk;
  desk.enrol("Ada", {1, 0});
  Namer namer(desk.keeper.get());
  namer.set_rules({0.5, 0, 3});
  for (int i = 0; i < 10; ++i) {
    const match::Told told = namer.see(look_of(1, {1, 0.1f}), 0);
    ck_assert(told.identity.name == "Ada" && !told.identity.agreed && !told.is_news);
  }
  namer.see(look_of(1, {1, 0.11f}), 0);
  const match::Told told = namer.see(look_of(1, {1, 0.12f}), 0);
  ck_assert(told.identity.agreed && told.is_news);
  ck_assert(!namer.see(look_of(1, {1, 0.13f}), 0).is_news);
}

// Looks that an element before has compared are taken as they are.
DVNN_TEST(compared_looks_count_as_they_say) {
  Desk desk;
  desk.enrol("Ada", {1, 0});
  Namer namer(desk.keeper.get());
  Look look = look_of(1, {1, 0.1f});
  const Vector seen = {1, 0.1f};
  look.embedding = {seen.data(), seen.size()};
  look.looks = 4;
  ck_assert(!namer.see(look, 0).identity.agreed);
  look.agreed = true;
  ck_assert(namer.see(look, 0).is_news);
}

DVNN_TEST(without_a_track_nobody_is_a_stranger) {
  Desk desk;
  desk.enrol("Ada", {1, 0});
  Namer namer(desk.keeper.get());
  namer.set_rules({0.5, 0, 1});
  ck_assert(!namer.see(look_of(0, {0, 1}), 0).identity.is_known());
  ck_assert(namer.see(look_of(0, {1, 0.1f}), 0).identity.name == "Ada");
  ck_assert_uint_eq(desk.keeper->stranger_count(), 0);
}

// Over three weeks, strangers come again and again, on tracks of other numbers. Purity: of all
// visits under a number, the share of its most frequent person.
DVNN_TEST(strangers_keep_their_numbers) {
  size_t visits = 0, pure = 0, numbers = 0, people = 0;
  for (int round = 0; round < dvnn_rounds(8) + 1; ++round) {
    Desk desk;
    Crowd crowd(40, 128, 1, dvnn_seed(300 + static_cast<unsigned>(round)));
    Namer namer(desk.keeper.get());
    namer.set_rules({0.4, 0.05, 3});
    std::map<uint64_t, std::map<size_t, size_t>> by_number;
    uint64_t track = 0;
    std::set<size_t> seen_people;
    for (int day = 0; day < 21; ++day) {
      desk.now += kDay;
      namer.reset();  // another start of the camera
      for (int visit = 0; visit < 15; ++visit) {
        const size_t person = crowd.random()() % crowd.size();
        ++track;
        match::Told last;
        for (int i = 0; i < 10; ++i) {
          const Vector seen = crowd.look(person);
          last = namer.see(look_of(track, seen), 0);
          if (last.is_news) ck_assert_int_eq(last.before, seen_people.count(person) > 0);
        }
        if (last.identity.stranger == 0) continue;
        seen_people.insert(person);
        ++by_number[last.identity.stranger][person];
      }
    }
    for (const auto& [number, of] : by_number) {
      size_t most = 0;
      for (const auto& [person, count] : of) {
        most = std::max(most, count);
        visits += count;
      }
      pure += most;
    }
    numbers += by_number.size();
    people += seen_people.size();
  }
  std::printf("%zu visits of %zu strangers under %zu numbers, purity %.4f\n", visits, people,
              numbers, static_cast<double>(pure) / static_cast<double>(visits));
  ck_assert_uint_ge(pure * 1000, visits * 995);
  ck_assert_uint_le(numbers * 100, people * 105);
}

// Slowly one looks otherwise: the newest vectors are kept, and no more than the bound.
DVNN_TEST(what_is_kept_of_a_stranger_is_bounded) {
  match::Strangers strangers;
  strangers.set_bounds({3, 10 * kDay, false});
  int64_t now = kDay;
  for (int degree = 0; degree < 180; degree += 5) {
    const double angle = degree * 3.14159265 / 180;
    const auto sight = strangers.see(
        {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))}, now, 0.9);
    ck_assert_uint_eq(sight.number, 1);
    ck_assert_uint_le(strangers.find(1)->vectors.size(), 2 * match::kVectorsOfStranger);
    now += kDay;
  }
  // Others push out the one that was not seen for longest, and its number is never used again.
  for (int i = 0; i < 3; ++i) {
    Vector other(2 + 0, 0);
    other = {-1, 0};
    if (i == 1) other = {0, -1};
    if (i == 2) other = {1, 0};
    strangers.see(other, now + i, 0.9);
  }
  ck_assert_uint_eq(strangers.all().people.size(), 3);
  // And they go by age.
  strangers.trim(now + 20 * kDay);
  ck_assert_uint_eq(strangers.all().people.size(), 0);
  ck_assert_uint_ge(strangers.see({1, 0}, now + 20 * kDay, 0.9).number, 4);
}

DVNN_TEST(who_is_forgotten_is_not_told_any_more) {
  Desk desk;
  desk.enrol("Ada", {1, 0, 0});
  Namer namer(desk.keeper.get());
  namer.set_rules({0.5, 0, 1});
  ck_assert(namer.see(look_of(1, {1, 0.1f, 0}), 0).identity.name == "Ada");
  ck_assert_uint_eq(namer.see(look_of(2, {0, 1, 0}), 0).identity.stranger, 1);
  ck_assert(desk.keeper->forget("Ada").value());
  ck_assert(!desk.keeper->forget("Ada").value());
  // The same frame again: nothing new is seen, and yet the name is gone.
  const match::Told told = namer.see(look_of(1, {1, 0.1f, 0}), 0);
  ck_assert(told.identity.name.empty() && told.identity.stranger == 2);
  ck_assert(desk.keeper->forget_stranger(1).value());
  ck_assert_uint_eq(namer.see(look_of(2, {0, 1, 0}), 0).identity.stranger, 3);
}

// A stranger gets a name from its track, at once, and is no stranger any more.
DVNN_TEST(a_track_gives_its_name) {
  Desk desk;
  Namer namer(desk.keeper.get());
  namer.set_rules({0.5, 0, 1});
  ck_assert_uint_eq(namer.see(look_of(7, {1, 0.1f}), 0).identity.stranger, 1);
  const Vector mean = namer.mean_of(7);
  ck_assert_uint_eq(namer.stranger_of(7), 1);
  ck_assert(namer.mean_of(8).empty());
  ck_assert(desk.keeper->enrol("Bob", mean, 1).ok());
  const match::Told told = namer.see(look_of(7, {1, 0.1f}), 0);
  ck_assert(told.identity.name == "Bob" && told.is_news);
  ck_assert_uint_eq(desk.keeper->stranger_count(), 0);
}

DVNN_TEST(old_strangers_are_forgotten_on_request) {
  Desk desk;
  ck_assert(desk.keeper->see_stranger({1, 0, 0}, 0.5).has_value());
  desk.now += 5 * kDay;
  ck_assert(desk.keeper->see_stranger({0, 1, 0}, 0.5).has_value());
  ck_assert_uint_eq(desk.keeper->forget_strangers(4 * kDay).value(), 1);
  ck_assert(!desk.keeper->has_stranger(1) && desk.keeper->has_stranger(2));
  ck_assert_uint_eq(desk.keeper->forget_strangers(0).value(), 1);
}

DVNN_TEST(embeddings_of_another_network_are_reported) {
  Desk desk;
  desk.enrol("Ada", {1, 0, 0});
  Namer namer(desk.keeper.get());
  namer.set_rules({0.5, 0, 1});
  ck_assert(!namer.see(look_of(1, {1, 0}), 0).identity.is_known());
  const auto mismatch = namer.take_mismatch();
  ck_assert(mismatch.embedding == 2 && mismatch.gallery == 3);
  ck_assert_uint_eq(namer.take_mismatch().gallery, 0);
  ck_assert(!namer.see(look_of(2, {0, 0, 0}), 0).identity.is_known());
  ck_assert(!namer.see(look_of(3, {}), 0).identity.is_known());
  ck_assert_uint_eq(desk.keeper->stranger_count(), 0);
}

DVNN_TEST(tracks_are_forgotten) {
  Desk desk;
  Namer namer(desk.keeper.get());
  namer.see(look_of(1, {1, 0}), 10);
  namer.see(look_of(2, {1, 0}), 20);
  namer.forget_before(20);
  ck_assert(namer.mean_of(1).empty() && !namer.mean_of(2).empty());
}

}  // namespace dvnn::test::match_names_tests
