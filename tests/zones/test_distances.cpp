// SPDX-License-Identifier: Apache-2.0
// Distances on the ground against all pairs, and who was too close from when to when.
#include "zones/nearness.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <tuple>
#include <utility>

#include "base/format.h"
#include "check_suite.h"
#include "zones/zones.h"

namespace dvnn::test::distances_tests {

DVNN_SUITE(zones_distances);

using namespace dvnn::zones;

namespace {

constexpr image::Size kFrame{1000, 1000};

struct Random {
  std::mt19937_64 engine;
  double between(double least, double most) {
    return std::uniform_real_distribution<double>(least, most)(engine);
  }
};

Config config_of(const std::string& text) {
  auto config = parse_config(text, "zones");
  ck_assert_msg(config.ok(), "%s", config.ok() ? "" : config.error().message.c_str());
  return std::move(config.value());
}

// The picture is the ground, a pixel is 2 cm.
const char* const kGround = R"("ground":{"points":[[0,0],[1,0],[1,1],[0,1]],"rectangle":[20,20]})";

Sighting standing(uint64_t track, double x, double y, double deviation = 0,
                  const char* label = "person") {
  Sighting sighting{track, label, {50 * x - 5, 50 * y - 20, 50 * x + 5, 50 * y}};
  sighting.ground = objects::Movement{x, y, deviation, 0, 1, 0};
  return sighting;
}

Neighbour neighbour(uint64_t track, double x, double y, double deviation = 0) {
  Neighbour one;
  one.track = track;
  one.now = {0, {x, y}, deviation};
  return one;
}

}  // namespace

DVNN_TEST(the_near_pairs_are_those_of_all_pairs) {
  Random random{std::mt19937_64(dvnn_seed(3))};
  for (int round = 0; round < dvnn_rounds(60); ++round) {
    std::vector<Neighbour> all;
    // Crowds, rows along either axis, and some who stand in the same place.
    const int count = round % 10 == 0 ? 1000 : 1 + round * 3;
    const double wide = round % 3 == 0 ? 1 : random.between(20, 200),
                 deep = round % 3 == 1 ? 1 : random.between(20, 200);
    for (int i = 0; i < count; ++i) {
      all.push_back(neighbour(static_cast<uint64_t>(1 + (i * 7919) % 10007),
                              random.between(-wide, wide), random.between(0, deep),
                              random.between(0, 0.5)));
      if (i % 10 == 9) all.back().now.at = all[all.size() - 2].now.at;
    }
    const double below = random.between(0.1, 3);
    std::map<std::pair<uint64_t, uint64_t>, double> wanted;
    for (size_t i = 0; i < all.size(); ++i) {
      for (size_t k = 0; k < i; ++k) {
        const double dx = all[i].now.at.x - all[k].now.at.x, dy = all[i].now.at.y - all[k].now.at.y;
        if (std::sqrt(dx * dx + dy * dy) >= below) continue;
        wanted[std::minmax(all[i].track, all[k].track)] = std::sqrt(dx * dx + dy * dy);
      }
    }
    std::vector<NearPair> pairs;
    ck_assert(find_near(Span<const Neighbour>(all), below, &pairs));
    if (wanted.size() > kMostNearPairs) {
      ck_assert_uint_eq(pairs.size(), kMostNearPairs);
    } else {
      ck_assert_uint_eq(pairs.size(), wanted.size());
    }
    double last = 0;
    for (const NearPair& pair : pairs) {
      const auto found = wanted.find({pair.first, pair.second});
      ck_assert(found != wanted.end() && std::fabs(found->second - pair.metres) < 1e-9);
      ck_assert(pair.metres >= last && pair.first < pair.second);
      const Neighbour &a = all[pair.first_index], &b = all[pair.second_index];
      ck_assert(a.track == pair.first && b.track == pair.second);
      ck_assert(std::fabs(pair.deviation * pair.deviation - a.now.deviation * a.now.deviation -
                          b.now.deviation * b.now.deviation) < 1e-9);
      last = pair.metres;
    }
    // The nearest are told, if there are too many.
    size_t nearer = 0;
    for (const auto& [tracks, metres] : wanted) nearer += metres < last - 1e-9;
    ck_assert(pairs.size() < kMostNearPairs || nearer < kMostNearPairs);
  }
}

DVNN_TEST(a_crowd_in_one_spot_takes_bounded_time) {
  std::vector<Neighbour> all;
  for (uint64_t i = 0; i < 10000; ++i) all.push_back(neighbour(i + 1, 1, 1));
  std::vector<NearPair> pairs;
  ck_assert(!find_near(Span<const Neighbour>(all), 1, &pairs));
  ck_assert_uint_eq(pairs.size(), kMostNearPairs);
  ck_assert(find_near(Span<const Neighbour>(all.data(), 1000), 1, &pairs));
}

// People walk straight from one random place to the next, at times of their own; frames come in
// between. When two came near is found by halving, on the ways between frames.
DVNN_TEST(who_is_too_close_is_told_from_when_to_when) {
  Random random{std::mt19937_64(dvnn_seed(3))};
  constexpr double kBelow = 1.5, kAfter = 0.7;
  size_t events = 0;
  for (int round = 0; round < dvnn_rounds(40); ++round) {
    constexpr int kPeople = 8;
    struct Place {
      double x = 0, y = 0;
    };
    std::vector<double> times;
    std::vector<std::vector<Place>> places;  // by frame
    std::vector<Place> from(kPeople), to(kPeople);
    std::vector<double> begin(kPeople), end(kPeople, -1);
    for (double t = 0; t < 20; t += random.between(0.03, 0.15)) {
      places.emplace_back();
      times.push_back(static_cast<double>(static_cast<Time>(t * 1e9)) * 1e-9);
      for (size_t i = 0; i < kPeople; ++i) {
        if (t >= end[i]) {
          from[i] = end[i] < 0 ? Place{random.between(1, 9), random.between(1, 9)} : to[i];
          to[i] = {random.between(1, 9), random.between(1, 9)};
          begin[i] = end[i] < 0 ? 0 : end[i];
          end[i] = t + std::hypot(to[i].x - from[i].x, to[i].y - from[i].y) / random.between(1, 3);
        }
        const double part = std::clamp((t - begin[i]) / (end[i] - begin[i]), 0.0, 1.0);
        places.back().push_back(
            {from[i].x + part * (to[i].x - from[i].x), from[i].y + part * (to[i].y - from[i].y)});
      }
    }
    struct Near {
      int a = 0, b = 0;
      bool begins = false;
      double time = 0, since = 0;
    };
    std::vector<Near> wanted;
    for (int a = 0; a < kPeople; ++a) {
      for (int b = a + 1; b < kPeople; ++b) {
        const auto apart = [&](size_t frame, double part) {
          const auto at = [&](int who, double Place::*axis) {
            const double now = places[frame][static_cast<size_t>(who)].*axis;
            if (frame == 0) return now;
            const double before = places[frame - 1][static_cast<size_t>(who)].*axis;
            return before + part * (now - before);
          };
          return std::hypot(at(a, &Place::x) - at(b, &Place::x),
                            at(a, &Place::y) - at(b, &Place::y));
        };
        double since = -1;
        bool told = false;
        for (size_t frame = 0; frame < times.size(); ++frame) {
          const bool near = apart(frame, 1) < kBelow;
          if (near && since < 0) {
            double low = 0, high = 1;
            for (int k = 0; frame > 0 && k < 60; ++k) {
              (apart(frame, (low + high) / 2) < kBelow ? high : low) = (low + high) / 2;
            }
            since =
                frame == 0 ? times[0] : times[frame - 1] + high * (times[frame] - times[frame - 1]);
          }
          if (near && !told && times[frame] - since >= kAfter) {
            told = true;
            wanted.push_back({a + 1, b + 1, true, since + kAfter, since});
          }
          if (!near && told) wanted.push_back({a + 1, b + 1, false, times[frame], since});
          if (!near) told = false, since = -1;
        }
      }
    }
    Zones zones;
    zones.configure(
        config_of(format(R"({"areas":[{"name":"all","points":[[0,0],[1,0],[1,1],[0,1]],)"
                         R"("distance-below":%g,"distance-time":%g}],)",
                         kBelow, kAfter * 1000) +
                  kGround + "}"),
        kFrame);
    std::vector<Near> have;
    for (size_t frame = 0; frame < times.size(); ++frame) {
      std::vector<Sighting> seen;
      for (size_t i = 0; i < kPeople; ++i) {
        seen.push_back(standing(i + 1, places[frame][i].x, places[frame][i].y));
      }
      zones.update(static_cast<Time>(std::llround(times[frame] * 1e9)), Span<const Sighting>(seen));
      for (const Event& event : zones.events()) {
        const bool begins = event.kind == EventKind::kTooClose;
        if (!begins && event.kind != EventKind::kTooCloseEnd) continue;
        have.push_back({static_cast<int>(event.track), static_cast<int>(event.other), begins,
                        static_cast<double>(event.time) * 1e-9,
                        static_cast<double>(*event.since) * 1e-9});
        ck_assert(*event.distance < kBelow && event.duration >= kAfter * 1e9 - 2);
      }
    }
    const auto order = [](const Near& p, const Near& q) {
      return std::make_tuple(p.a, p.b, p.time) < std::make_tuple(q.a, q.b, q.time);
    };
    std::sort(wanted.begin(), wanted.end(), order);
    std::sort(have.begin(), have.end(), order);
    ck_assert_msg(wanted.size() == have.size(), "round %d: %zu events, not %zu", round, have.size(),
                  wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      const Near &w = wanted[i], &h = have[i];
      ck_assert_msg(
          w.a == h.a && w.b == h.b && w.begins == h.begins && std::fabs(w.time - h.time) < 1e-6 &&
              std::fabs(w.since - h.since) < 1e-6,
          "round %d: %d and %d %s at %.6f since %.6f, not %d and %d %s at %.6f since %.6f", round,
          h.a, h.b, h.begins ? "near" : "apart", h.time, h.since, w.a, w.b,
          w.begins ? "near" : "apart", w.time, w.since);
    }
    events += have.size();
  }
  ck_assert(events > 100 || dvnn_rounds(40) < 10);
}

DVNN_TEST(pairs_end_when_one_leaves_or_is_surely_apart) {
  Zones zones;
  zones.configure(
      config_of(std::string(R"({"areas":[{"name":"a","points":[[0,0],[0.5,0],[0.5,1],[0,1]],)") +
                R"("distance-below":2}],"distances":{"below":3,"labels":["person"]},)" + kGround +
                "}"),
      kFrame);
  zones.set_patience(1000 * kMillisecond);
  const auto see = [&](Time ms, const std::vector<Sighting>& seen) {
    zones.update(ms * kMillisecond, Span<const Sighting>(seen));
    std::string told;
    for (const Event& e : zones.events()) {
      const bool begins = e.kind == EventKind::kTooClose;
      if (begins || e.kind == EventKind::kTooCloseEnd) {
        told +=
            format("%s%d+%d@%d %.1f", begins ? "near " : "apart ", static_cast<int>(e.track),
                   static_cast<int>(e.other), static_cast<int>(e.time / kMillisecond), *e.distance);
      }
    }
    return told;
  };
  dvnn_assert_text(see(0, {standing(1, 2, 5), standing(2, 5, 5)}), "");
  ck_assert(zones.near().empty());  // 3 m are not below 3 m
  dvnn_assert_text(see(100, {standing(1, 3, 5), standing(2, 4, 5)}), "near 1+2@50 1.0");
  ck_assert(zones.near().size() == 1 && zones.near()[0].metres == 1);
  // 2.5 m are apart, but not surely; then one is not seen, and no event comes.
  dvnn_assert_text(see(200, {standing(1, 3, 5), standing(2, 5.5, 5, 0.3)}), "");
  dvnn_assert_text(see(300, {standing(1, 3, 5)}), "");
  dvnn_assert_text(see(400, {standing(1, 3, 5), standing(2, 5.5, 5, 0.2)}), "apart 1+2@400 1.0");
  dvnn_assert_text(see(500, {standing(1, 3, 5), standing(2, 4, 5)}), "near 1+2@433 1.0");
  // It leaves the area, half-way between two frames.
  dvnn_assert_text(see(600, {standing(1, 9.5, 5), standing(2, 10.5, 5)}), "apart 1+2@592 1.0");
  ck_assert(zones.near().size() == 1);
  dvnn_assert_text(see(700, {standing(1, 9.5, 5), standing(2, 9, 5)}), "near 1+2@633 0.5");
  dvnn_assert_text(see(1000, {standing(1, 9.5, 5), standing(3, 9, 9, 0, "dog")}), "");
  dvnn_assert_text(see(1800, {standing(1, 9.5, 5), standing(3, 9, 6, 0, "dog")}),
                   "apart 1+2@700 0.5near 1+3@1550 1.1");
  ck_assert(zones.near().empty());  // dogs are not asked for
  zones.end();
  ck_assert(zones.events().size() == 3 && zones.events()[2].time == 1800 * kMillisecond);
}

}  // namespace dvnn::test::distances_tests
