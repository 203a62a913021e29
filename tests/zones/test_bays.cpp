// SPDX-License-Identifier: Apache-2.0
// Bays against arrivals that are known: who stands in which bay from when to when. What the events
// should be is found step by step in time, which is not how the code does it.
#include "zones/zones.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <random>
#include <tuple>
#include <utility>

#include "base/format.h"
#include "check_suite.h"

namespace dvnn::test::bays_tests {

DVNN_SUITE(zones_bays);

using namespace dvnn::zones;

namespace {

constexpr image::Size kFrame{1280, 720};
constexpr int kBays = 5;
constexpr double kBayLeft = 100, kBayWidth = 200, kBayTop = 200, kBayLower = 500;  // pixels
constexpr double kOccupied = 3, kFree = 2;                                         // seconds
constexpr double kPatiences[] = {0.6, 1.8, 2.7};                                   // seconds
constexpr double kDrive = 1.2;  // seconds from outside into a bay, half of them inside
constexpr double kStep = 0.01;

struct Random {
  std::mt19937_64 engine;
  double between(double least, double most) {
    return std::uniform_real_distribution<double>(least, most)(engine);
  }
};

// An object in a bay, from `in` to `out`, seconds.
struct Visit {
  int object = 0;
  double in = 0, out = 0;
};
struct Told {
  bool occupied = false;
  double time = 0, since = 0;
};

// Returns what a bay has to tell, by stepping through the time.
std::vector<Told> truth_of(const std::vector<Visit>& visits, double until, double occupied_after,
                           double free_after) {
  struct Stay {
    double start = 0, last = 0;
  };
  std::map<int, Stay> stays;
  std::vector<Told> told;
  bool occupied = false;
  double held = 0;
  for (double t = 0; t < until; t += kStep) {
    for (const Visit& visit : visits) {
      if (t < visit.in || t > visit.out) continue;
      const auto [at, is_new] = stays.try_emplace(visit.object, Stay{visit.in, t});
      if (!is_new && t - at->second.last >= free_after) at->second.start = visit.in;
      at->second.last = t;
    }
    double start = INFINITY;
    for (const auto& [object, stay] : stays) {
      if (stay.last - stay.start < occupied_after || t - stay.last >= free_after) continue;
      start = std::min(start, stay.start);
      held = std::max(held, stay.last);
    }
    if (!occupied && std::isfinite(start)) {
      occupied = true;
      told.push_back({true, start + occupied_after, start});
    } else if (occupied && t - held >= free_after) {
      occupied = false;
      told.push_back({false, held + free_after, held});
    }
  }
  return told;
}

// Objects come one after the other, now and then two at a time, and some only pass through or look
// out for a moment.
std::vector<Visit> arrivals(double until, int* objects, Random* random) {
  std::vector<Visit> visits;
  for (double t = random->between(0.5, 5); t < until;) {
    const int object = ++*objects;
    const double stay =
        random->between(0, 1) < 0.3 ? random->between(0.7, 2.4) : random->between(3.6, 15);
    double out = t + stay;
    visits.push_back({object, t, out});
    if (stay > 3 && random->between(0, 1) < 0.3) {
      const double back = out + random->between(1.3, 1.7);
      out = back + random->between(0.8, 5);
      visits.push_back({object, back, out});
    }
    t = out + (random->between(0, 1) < 0.4 ? random->between(-0.5, 1.5) : random->between(2.5, 9));
  }
  return visits;
}

// Whether the same comes out if times are a little different; what does not is no fair question.
bool is_clear(const std::vector<Visit>& visits, double until, std::vector<Told>* told) {
  constexpr double kSlack = 0.3;
  *told = truth_of(visits, until, kOccupied, kFree);
  for (const double occupied : {-kSlack, 0.0, kSlack}) {
    for (const double free : {-kSlack, 0.0, kSlack}) {
      if (truth_of(visits, until, kOccupied + occupied, kFree + free).size() != told->size()) {
        return false;
      }
    }
  }
  return true;
}

// Where a visitor's foot is: it drives in from below, stands, and drives out again, over the bay's
// lower edge at the times of the visit.
double foot_of(const Visit& visit, double t) {
  constexpr double kSpeed = 200;  // pixels per second
  const double after = std::min(t - visit.in, visit.out - t);
  return kBayLower - kSpeed * std::min(after, kDrive / 2);
}

// A track of a visitor is missing for a while in the middle of the stay, and may come back under
// another number.
struct Loss {
  double begin = 0, end = 0;
  bool renamed = false;
};

struct Scene {
  std::vector<Visit> visits;
  std::vector<Told> truth;
  std::map<std::pair<int, double>, Loss> losses;  // of a visit's object and begin
};

std::string zones_of(double dx) {
  std::string areas;
  for (int i = 0; i < kBays; ++i) {
    const double x = kBayLeft + i * kBayWidth + dx;
    areas +=
        format(R"(%s{"name":"%d","unit":"pixels","points":[[%g,%g],[%g,%g],[%g,%g],[%g,%g]],)"
               R"("occupied":%d,"free":%d})",
               i ? "," : "", i, x, kBayTop, x + kBayWidth, kBayTop, x + kBayWidth, kBayLower, x,
               kBayLower, static_cast<int>(kOccupied * 1000), static_cast<int>(kFree * 1000));
  }
  return "{\"areas\":[" + areas + "]}";
}

Config config_of(const std::string& text) {
  auto config = parse_config(text, "zones");
  ck_assert_msg(config.ok(), "%s", config.ok() ? "" : config.error().message.c_str());
  return std::move(config.value());
}

std::string shown(const std::vector<Told>& all) {
  std::string text;
  for (const Told& one : all) {
    text += format(" %s@%.2f since %.2f;", one.occupied ? "occupied" : "free", one.time, one.since);
  }
  return text;
}

Time time_of(double seconds) {
  return static_cast<Time>(seconds * 1e9);
}

}  // namespace

DVNN_TEST(arrivals_are_told_without_a_mistake) {
  Random random{std::mt19937_64(dvnn_seed(49))};
  constexpr double kUntil = 60, kEnd = kUntil + 30;
  size_t events = 0, renamed = 0;
  for (int round = 0; round < dvnn_rounds(48); ++round) {
    Scene scenes[kBays];
    int objects = 0;
    for (Scene& scene : scenes) {
      do {
        scene.visits = arrivals(kUntil, &objects, &random);
      } while (!is_clear(scene.visits, kEnd, &scene.truth));
      for (const Visit& visit : scene.visits) {
        if (visit.out - visit.in < 5 || random.between(0, 1) < 0.4) continue;
        const double begin = visit.in + random.between(1, visit.out - visit.in - 3);
        // One that looks out for a moment is known by its number alone.
        const bool returns =
            std::count_if(scene.visits.begin(), scene.visits.end(),
                          [&](const Visit& other) { return other.object == visit.object; }) > 1;
        const bool renamed_now = !returns && random.between(0, 1) < 0.5;
        // A track that keeps its number may be missing for longer than a bay takes to become free.
        const double most = !renamed_now && kPatiences[round % 3] > kFree ? 2.4 : 1.5;
        const Loss loss{begin, begin + random.between(0.3, most), renamed_now};
        scene.losses[{visit.object, visit.in}] = loss;
        renamed += loss.renamed;
      }
    }
    Zones zones;
    zones.configure(config_of(zones_of(0)), kFrame);
    // With the shorter one tracks are given up before they come back.
    zones.set_patience(time_of(kPatiences[round % 3]));
    std::vector<Told> told[kBays];
    const double rate = random.between(8, 25);
    for (double t = 0; t < kEnd; t += 1 / rate) {
      if (random.between(0, 1) < 0.15) continue;  // a frame that got lost
      std::vector<Sighting> seen;
      for (int i = 0; i < kBays; ++i) {
        for (const Visit& visit : scenes[i].visits) {
          if (t < visit.in - kDrive / 2 || t > visit.out + kDrive / 2) continue;
          const auto loss = scenes[i].losses.find({visit.object, visit.in});
          uint64_t track = static_cast<uint64_t>(visit.object);
          if (loss != scenes[i].losses.end()) {
            if (t > loss->second.begin && t < loss->second.end) continue;
            if (loss->second.renamed && t >= loss->second.end) track += 100000;
          }
          const double x = kBayLeft + (i + 0.5) * kBayWidth, y = foot_of(visit, t);
          seen.push_back({track, "car", {x - 40, y - 80, x + 40, y}});
        }
      }
      zones.update(time_of(t), Span<const Sighting>(seen));
      for (const Event& event : zones.events()) {
        const bool occupied = event.kind == EventKind::kOccupied;
        if (!occupied && event.kind != EventKind::kFree) continue;
        told[event.shape].push_back({occupied, static_cast<double>(event.time) * 1e-9,
                                     static_cast<double>(*event.since) * 1e-9});
        ck_assert(event.duration > 0 && (event.track != 0) == occupied);
      }
    }
    for (int i = 0; i < kBays; ++i) {
      const std::vector<Told>&wanted = scenes[i].truth, &have = told[i];
      const auto same = [](const Told& a, const Told& b) {
        constexpr double kExact = 0.25;  // some frames in a row got lost where one begins to stand
        return a.occupied == b.occupied && std::fabs(a.time - b.time) < kExact &&
               std::fabs(a.since - b.since) < kExact;
      };
      const bool right = wanted.size() == have.size() &&
                         std::equal(wanted.begin(), wanted.end(), have.begin(), same);
      ck_assert_msg(right, "round %d, bay %d, %.1f frames/s:%s instead of%s", round, i, rate,
                    shown(have).c_str(), shown(wanted).c_str());
      events += have.size();
      ck_assert(zones.areas()[static_cast<size_t>(i)].bay->occupied() == false);
    }
  }
  std::printf("%zu events of bays, %zu tracks came back under another number: 0 wrong\n", events,
              renamed);
  ck_assert(events > 100 || dvnn_rounds(48) < 10);
}

// A frame of one object that stands in the first bay, or of none.
namespace {
std::vector<Event> see(Zones* zones, double t, int track, double y = 400) {
  std::vector<Sighting> seen;
  if (track > 0) {
    const double x = kBayLeft + kBayWidth / 2;
    seen.push_back({static_cast<uint64_t>(track), "car", {x - 40, y - 80, x + 40, y}});
  }
  zones->update(time_of(t), Span<const Sighting>(seen));
  std::vector<Event> told;
  for (const Event& event : zones->events()) {
    if (event.kind == EventKind::kOccupied || event.kind == EventKind::kFree) told.push_back(event);
  }
  return told;
}
}  // namespace

DVNN_TEST(a_jump_frees_a_bay_only_if_nobody_is_there_after_it) {
  for (const bool returns : {false, true}) {
    Zones zones;
    zones.configure(config_of(zones_of(0)), kFrame);
    for (double t = 0; t < 5; t += 0.5) see(&zones, t, 1);
    ck_assert(zones.areas()[0].bay->occupied());
    zones.end();
    ck_assert(zones.events().size() == 1 && zones.events()[0].kind == EventKind::kLeave);
    size_t told = 0;
    for (double t = 100; t < 101.9; t += 0.5) told += see(&zones, t, 0).size();
    for (double t = 101.9; t < 110; t += 0.5) told += see(&zones, t, returns ? 2 : 0).size();
    ck_assert_msg(told == (returns ? 0u : 1u), "%zu", told);
    ck_assert(zones.areas()[0].bay->occupied() == returns);
  }
}

DVNN_TEST(a_bay_keeps_its_state_when_shapes_change) {
  Zones zones;
  zones.configure(config_of(zones_of(0)), kFrame);
  for (double t = 0; t < 5; t += 0.5) see(&zones, t, 1);
  zones.configure(config_of(zones_of(10)), kFrame);
  for (double t = 5; t < 20; t += 0.5) ck_assert(see(&zones, t, 1).empty());
  ck_assert(zones.areas()[0].bay->occupied());
}

// A car that drives out is not lost: one that appears then is another one.
DVNN_TEST(only_what_was_lost_is_taken_over) {
  Zones zones;
  zones.configure(config_of(zones_of(0)), kFrame);
  for (double t = 0; t < 5; t += 0.5) see(&zones, t, 1);
  see(&zones, 5, 1, 600);  // out at 4.75 s
  see(&zones, 5.5, 2);
  auto told = see(&zones, 7, 2);
  ck_assert(told.size() == 1 && told[0].kind == EventKind::kFree);
  ck_assert(told[0].since == time_of(4.75) && told[0].time == time_of(6.75));
  ck_assert(told[0].duration == time_of(4.75));
  ck_assert(see(&zones, 8, 2).empty());
  told = see(&zones, 9, 2);
  ck_assert(told.size() == 1 && told[0].since == time_of(5.5) && told[0].time == time_of(8.5));
}

DVNN_TEST(what_covers_an_area_is_told_by_its_share) {
  const std::string area =
      R"({"areas":[{"name":"a","unit":"pixels","points":[[100,200],[300,200],[300,500],[100,500]],)"
      R"("anchor":"cover","share":0.5}]})";
  Zones zones;
  zones.configure(config_of(area), kFrame);
  const auto inside = [&](Time time, const image::Corners& box) {
    const Sighting seen[] = {{1, "car", box}};
    zones.update(time * kMillisecond, Span<const Sighting>(seen, 1));
    return zones.areas()[0].all.inside == 1;
  };
  ck_assert(!inside(0, {100, 200, 199, 500}));
  ck_assert(inside(1, {100, 200, 201, 500}));
  ck_assert(inside(2, {0, 0, 1280, 720}));
  ck_assert(!inside(3, {150, 250, 250, 450}));
}

// A camera that looks down from 5 m by 40 degrees sees two bays of 3 x 4 m, one behind the other. A
// tall object in the front one hides the one behind, but does not stand there.
DVNN_TEST(on_the_ground_an_object_covers_where_it_stands) {
  constexpr double kHeight = 5, kTilt = 40, kView = 70;
  const auto project = [&](double x, double y, double z) {
    const double t = kTilt * M_PI / 180, down = kHeight - z;
    const double depth = y * std::cos(t) + down * std::sin(t);
    const double focal = kFrame.width / 2 / std::tan(kView * M_PI / 360);
    return std::make_pair(
        kFrame.width / 2 + focal * x / depth,
        kFrame.height / 2 + focal * (down * std::cos(t) - y * std::sin(t)) / depth);
  };
  std::string areas;
  for (const double near : {5.0, 9.0}) {
    std::string points;
    for (const auto& [x, y] :
         {std::pair(-1.5, near), {1.5, near}, {1.5, near + 4}, {-1.5, near + 4}}) {
      const auto [u, v] = project(x, y, 0);
      points += format("%s[%.9g,%.9g]", points.empty() ? "" : ",", u, v);
    }
    areas += format(R"(%s{"name":"%g","unit":"pixels","points":[%s],"anchor":"cover","share":0.4})",
                    areas.empty() ? "" : ",", near, points.c_str());
  }
  const std::string ground =
      format(R"("ground":{"height":%g,"tilt":%g,"field-of-view":%g})", kHeight, kTilt, kView);
  const auto inside = [&](const std::string& text) {
    // A van of 2.4 x 2.4 m and 2.6 m in height in the front bay.
    image::Corners box{INFINITY, INFINITY, -INFINITY, -INFINITY};
    for (int corner = 0; corner < 8; ++corner) {
      const auto [u, v] =
          project(corner & 1 ? 1.2 : -1.2, corner & 2 ? 8.2 : 5.8, corner & 4 ? 2.6 : 0);
      box = {std::min(box.x0, u), std::min(box.y0, v), std::max(box.x1, u), std::max(box.y1, v)};
    }
    Zones zones;
    zones.configure(config_of(text), kFrame);
    ck_assert(!zones.area_off_the_ground());
    const Sighting seen[] = {{1, "van", box}};
    zones.update(0, Span<const Sighting>(seen, 1));
    return std::make_pair(zones.areas()[0].all.inside, zones.areas()[1].all.inside);
  };
  const std::pair<uint64_t, uint64_t> first(1, 0), both(1, 1);
  ck_assert(inside("{\"areas\":[" + areas + "]," + ground + "}") == first);
  ck_assert(inside("{\"areas\":[" + areas + "]}") == both);
}

}  // namespace dvnn::test::bays_tests
