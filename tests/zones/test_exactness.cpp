// SPDX-License-Identifier: Apache-2.0
// A hundred thousand tracks on a lattice, whose ways hit edges and corners exactly, run along them
// and jump over them where frames are missing. What they should do is worked out in fractions, by
// clipping each way at half planes: nothing of it is shared with what is tested.
#include <cstdio>
#include <numeric>
#include <random>

#include "check_suite.h"
#include "zones/zones.h"

namespace dvnn::test::exactness_tests {

DVNN_SUITE(zones_exactness);

using namespace dvnn::zones;

namespace {

constexpr Time kFrame = 40 * kMillisecond;
constexpr image::Size kSize{640, 480};

struct Corner {
  int64_t x, y;
};

// A fraction with a denominator above 0.
struct Part {
  int64_t n, d;
};
bool less(const Part& a, const Part& b) {
  return a.n * b.d < b.n * a.d;
}

// A straight way: `steps` frames of the same step.
struct Way {
  Corner from, step;
  int64_t steps;
  Corner at(int64_t i) const { return {from.x + i * step.x, from.y + i * step.y}; }
};

int64_t cross(const Corner& a, const Corner& b, const Corner& c) {
  return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

// When, in frames, the way is in the inside of a convex polygon, whose inside is on the right of
// its edges; false if it never is.
bool inside_of(const std::vector<Corner>& polygon, const Way& way, Part* enter, Part* leave) {
  *enter = {0, 1};
  *leave = {way.steps, 1};
  for (size_t i = 0; i < polygon.size(); ++i) {
    const Corner &a = polygon[i], &b = polygon[(i + 1) % polygon.size()];
    // In the half plane where depth + t * slope > 0.
    const int64_t depth = cross(a, b, way.from);
    const int64_t slope = (b.x - a.x) * way.step.y - (b.y - a.y) * way.step.x;
    if (slope == 0) {
      if (depth <= 0) return false;
      continue;
    }
    const Part at = slope > 0 ? Part{-depth, slope} : Part{depth, -slope};
    if (slope > 0 && less(*enter, at)) *enter = at;
    if (slope < 0 && less(at, *leave)) *leave = at;
  }
  return less(*enter, *leave);
}

// Returns how often the way crosses a polyline that is a function x(y), in which it stays: sign
// changes of the distance, which is straight between the frames at which the way passes the
// polyline's corners.
int crossings_of(const std::vector<Corner>& line, const Way& way, int* net) {
  std::vector<Part> times = {{0, 1}, {way.steps, 1}};
  for (const Corner& corner : line) {
    if (way.step.y == 0) continue;
    Part at = {corner.y - way.from.y, way.step.y};
    if (at.d < 0) at = {-at.n, -at.d};
    if (at.n > 0 && less(at, {way.steps, 1})) times.push_back(at);
  }
  std::sort(times.begin(), times.end(), less);
  int before = 0, count = 0;
  *net = 0;
  for (const Part& t : times) {
    // The place at t, times t.d.
    const int64_t x = way.from.x * t.d + way.step.x * t.n, y = way.from.y * t.d + way.step.y * t.n;
    for (size_t i = 1; i < line.size(); ++i) {
      const Corner &a = line[i - 1], &b = line[i];
      if (y < a.y * t.d || y > b.y * t.d) continue;
      const int64_t off = (x - a.x * t.d) * (b.y - a.y) - (y - a.y * t.d) * (b.x - a.x);
      const int side = (off > 0) - (off < 0);
      if (side != 0 && before != 0 && side != before) {
        ++count;
        // Downwards along the line, with y downwards, right is where x falls.
        *net += side < 0 ? 1 : -1;
      }
      if (side != 0) before = side;
      break;
    }
  }
  return count;
}

Time time_of(const Part& part) {
  return static_cast<Time>(static_cast<double>(part.n) / static_cast<double>(part.d) *
                           static_cast<double>(kFrame));
}

std::string points_of(const std::vector<Corner>& corners) {
  std::string text = "[";
  for (const Corner& c : corners) {
    text += (text.size() > 1 ? ",[" : "[") + std::to_string(c.x) + "," + std::to_string(c.y) + "]";
  }
  return text + "]";
}

// Convex, all with their inside on the right.
const std::vector<Corner> kSquare = {{8, 8}, {24, 8}, {24, 24}, {8, 24}};
const std::vector<Corner> kDiamond = {{16, 4}, {28, 16}, {16, 28}, {4, 16}};
const std::vector<Corner> kTriangle = {{6, 10}, {30, 16}, {10, 26}};
const std::vector<Corner> kZigzag = {{16, -1000}, {12, 10}, {20, 16}, {12, 22}, {16, 1000}};
constexpr Time kDwell = 100 * kMillisecond;

struct Seen {
  int entered = 0, left = 0, dwelt = 0, forward = 0, backward = 0;
  Time enter = 0, leave = 0, duration = 0;
};

}  // namespace

DVNN_TEST(a_hundred_thousand_tracks_are_counted_right) {
  const std::vector<Corner>* areas[] = {&kSquare, &kDiamond, &kTriangle};
  std::string json = "{\"areas\":[";
  for (size_t i = 0; i < 3; ++i) {
    json += (i ? ",{" : "{") + std::string("\"name\":\"") + std::to_string(i) +
            "\",\"unit\":\"pixels\",\"dwell\":100,\"points\":" + points_of(*areas[i]) + "}";
  }
  json += "],\"lines\":[{\"name\":\"line\",\"unit\":\"pixels\",\"points\":" + points_of(kZigzag) +
          "}]}";
  auto config = parse_config(json, "zones");
  ck_assert_msg(config.ok(), "%s", config.ok() ? "" : config.error().message.c_str());
  std::mt19937 random(dvnn_seed(1));
  const auto pick = [&](int64_t most) {
    return static_cast<int64_t>(random() % static_cast<uint32_t>(most));
  };
  const int tracks = dvnn_rounds(100000);
  int wrong = 0, stays = 0, crossed = 0, exact = 0;
  Zones zones;
  zones.configure(config.value(), kSize);
  for (int number = 1; number <= tracks; ++number) {
    Way way;
    do {
      way.from = {pick(33), pick(33)};
      way.step = {pick(9) - 4, pick(9) - 4};
      way.steps = 1 + pick(16);
    } while (way.step.x == 0 && way.step.y == 0);
    const double missing = 0.1 * static_cast<double>(pick(10));
    Seen seen[4];
    const auto take = [&] {
      for (const Event& e : zones.events()) {
        Seen& s = seen[e.kind == EventKind::kCross ? 3 : e.shape];
        s.entered += e.kind == EventKind::kEnter;
        s.left += e.kind == EventKind::kLeave;
        s.dwelt += e.kind == EventKind::kDwell;
        if (e.kind == EventKind::kEnter) s.enter = e.time;
        if (e.kind == EventKind::kLeave) s.leave = e.time, s.duration = e.duration;
        if (e.kind == EventKind::kCross) ++(e.forward ? s.forward : s.backward);
      }
    };
    for (int64_t i = 0; i <= way.steps; ++i) {
      const bool last = i == way.steps;
      if (i > 0 && !last && static_cast<double>(pick(1000)) < 1000 * missing) continue;
      const Corner at = way.at(i);
      const auto x = static_cast<double>(at.x), y = static_cast<double>(at.y);
      const Sighting sighting{static_cast<uint64_t>(number), "person", {x - 2, y - 6, x + 2, y}};
      zones.update(i * kFrame, {&sighting, 1});
      take();
    }
    zones.end();
    take();
    bool right = true;
    for (size_t k = 0; k < 3; ++k) {
      Part enter, leave;
      const bool inside = inside_of(*areas[k], way, &enter, &leave);
      stays += inside;
      const Seen& s = seen[k];
      right &= s.entered == inside && s.left == inside;
      if (!inside) {
        right &= s.dwelt == 0;
        continue;
      }
      const Time stay = time_of(leave) - time_of(enter);
      right &= std::abs(s.enter - time_of(enter)) <= 1 && std::abs(s.leave - time_of(leave)) <= 1 &&
               std::abs(s.duration - stay) <= 2;
      if (std::abs(stay - kDwell) > 2) right &= s.dwelt == (stay >= kDwell);
    }
    // A track that begins or ends on the line has not crossed it there: only signs count.
    int net = 0;
    const int count = crossings_of(kZigzag, way, &net);
    crossed += count;
    right &=
        seen[3].forward + seen[3].backward == count && seen[3].forward - seen[3].backward == net;
    for (int64_t i = 0; i <= way.steps; ++i) {
      const Corner at = way.at(i);
      exact += cross(kSquare[0], kSquare[1], at) == 0 || cross(kDiamond[0], kDiamond[1], at) == 0;
    }
    if (!right && wrong++ < 10) {
      std::printf("track %d from (%d, %d) by (%d, %d) in %d: crossed %d+%d, wanted %d\n", number,
                  int(way.from.x), int(way.from.y), int(way.step.x), int(way.step.y),
                  int(way.steps), seen[3].forward, seen[3].backward, count);
      for (size_t k = 0; k < 3; ++k) {
        Part enter, leave;
        const bool inside = inside_of(*areas[k], way, &enter, &leave);
        std::printf(
            "  area %zu: entered %d left %d dwelt %d, %.9f to %.9f; wanted %d, %.9f to %.9f\n", k,
            seen[k].entered, seen[k].left, seen[k].dwelt, 1e-9 * double(seen[k].enter),
            1e-9 * double(seen[k].leave), inside, 1e-9 * double(time_of(enter)),
            1e-9 * double(time_of(leave)));
      }
    }
  }
  std::printf(
      "%d tracks, %d stays, %d crossings, %d sightings exactly on an edge's line: %d wrong\n",
      tracks, stays, crossed, exact, wrong);
  ck_assert_int_eq(wrong, 0);
  ck_assert_int_gt(stays, tracks / 2);
  ck_assert_int_gt(crossed, tracks / 4);
  ck_assert_int_gt(exact, tracks / 4);
  uint64_t entered = 0;
  for (const AreaState& state : zones.areas()) {
    entered += state.all.entered;
    ck_assert_uint_eq(state.all.inside, 0);
    ck_assert_uint_eq(state.all.left, state.all.entered);
    ck_assert_uint_eq(state.by_label.at("person").entered, state.all.entered);
  }
  ck_assert_uint_eq(entered, static_cast<uint64_t>(stays));
  const LineCounts& counts = zones.lines()[0].all;
  ck_assert_uint_eq(counts.forward + counts.backward, static_cast<uint64_t>(crossed));
}

}  // namespace dvnn::test::exactness_tests
