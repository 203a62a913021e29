// SPDX-License-Identifier: Apache-2.0
// Walks on a small lattice around short open lines, which touch their ends, run along them, go
// round them and through them. What they should do is worked out from contacts: a walk touches the
// line from some place of the walk to some other one, and has crossed it if it was on one side
// before and is on the other side after. Nothing of it is shared with what is tested.
#include <algorithm>
#include <cstdio>
#include <random>

#include "check_suite.h"
#include "zones/zones.h"

namespace dvnn::test::ends_tests {

DVNN_SUITE(zones_ends);

using namespace dvnn::zones;

namespace {

constexpr Time kFrame = 40 * kMillisecond;
constexpr image::Size kSize{64, 48};

struct Place2 {
  int64_t x, y;
};
bool operator==(const Place2& a, const Place2& b) {
  return a.x == b.x && a.y == b.y;
}
Place2 operator-(const Place2& a, const Place2& b) {
  return {a.x - b.x, a.y - b.y};
}
int64_t cross(const Place2& u, const Place2& v) {
  return u.x * v.y - u.y * v.x;
}
int64_t dot(const Place2& u, const Place2& v) {
  return u.x * v.x + u.y * v.y;
}
int sign(int64_t v) {
  return (v > 0) - (v < 0);
}

// A part of a step: n / d, with d above 0.
struct Part {
  int64_t n, d;
};
bool less(const Part& a, const Part& b) {
  return a.n * b.d < b.n * a.d;
}

// The place at a part of a step, times the part's denominator.
Place2 at(const Place2& from, const Place2& step, const Part& t) {
  return {from.x * t.d + step.x * t.n, from.y * t.d + step.y * t.n};
}

Place2 times(const Place2& p, int64_t by) {
  return {p.x * by, p.y * by};
}

// Returns whether a place, times d, lies on the line from `a` to `b`.
bool is_on(const Place2& p, int64_t d, const Place2& a, const Place2& b) {
  const Place2 u = times(b - a, d), v = p - times(a, d);
  return cross(u, v) == 0 && dot(u, v) >= 0 && dot(u, v) <= dot(u, u);
}

bool is_on_line(const Place2& p, int64_t d, const std::vector<Place2>& line) {
  for (size_t i = 1; i < line.size(); ++i) {
    if (is_on(p, d, line[i - 1], line[i])) return true;
  }
  return false;
}

// Returns the side of the line of a track that leaves it at `p`, times d, in that direction: 1
// right, -1 left, 0 straight on beyond its end.
int side_of(const Place2& p, int64_t d, const Place2& direction, const std::vector<Place2>& line) {
  for (size_t i = 1; i + 1 < line.size(); ++i) {
    if (!(times(line[i], d) == p)) continue;
    // Around a corner right is from the way on, clockwise, to the way back.
    const Place2 on = line[i + 1] - line[i], back = line[i - 1] - line[i];
    const bool after_on = cross(on, direction) > 0, before_back = cross(direction, back) > 0;
    const bool narrow = cross(on, back) > 0;  // the right side has less than half a turn
    if (narrow) return after_on && before_back ? 1 : -1;
    if (cross(on, back) == 0) return after_on ? 1 : -1;
    const bool left = cross(back, direction) > 0 && cross(direction, on) > 0;
    return left ? -1 : 1;
  }
  for (size_t i = 1; i < line.size(); ++i) {
    if (is_on(p, d, line[i - 1], line[i])) return sign(cross(line[i] - line[i - 1], direction));
  }
  return 0;
}

struct Count {
  int forward = 0, backward = 0;
};

Count count_of(const std::vector<Place2>& walk, const std::vector<Place2>& line) {
  Count count;
  bool on = is_on_line(walk[0], 1, line);
  int before = 0;  // a track that begins on the line does not cross it
  for (size_t i = 1; i < walk.size(); ++i) {
    const Place2 from = walk[i - 1], step = walk[i] - from;
    if (step.x == 0 && step.y == 0) continue;
    // The places where the step may begin or cease to be on the line.
    std::vector<Part> parts = {{0, 1}, {1, 1}};
    const auto add = [&](int64_t n, int64_t d) {
      if (d < 0) n = -n, d = -d;
      if (d != 0 && n > 0 && n < d) parts.push_back({n, d});
    };
    for (size_t k = 0; k < line.size(); ++k) {
      if (cross(step, line[k] - from) == 0) add(dot(step, line[k] - from), dot(step, step));
      if (k == 0) continue;
      const Place2 edge = line[k] - line[k - 1];
      add(cross(line[k - 1] - from, edge), cross(step, edge));
    }
    std::sort(parts.begin(), parts.end(), less);
    const auto leave = [&](const Part& t) {
      const int after = side_of(at(from, step, t), t.d, step, line);
      if (before * after == -1) ++(after > 0 ? count.forward : count.backward);
    };
    for (size_t k = 0; k + 1 < parts.size(); ++k) {
      const Part &a = parts[k], &b = parts[k + 1];
      if (!less(a, b)) continue;
      const Part middle = {a.n * b.d + b.n * a.d, 2 * a.d * b.d};
      const bool runs_on = is_on_line(at(from, step, middle), middle.d, line);
      if (on && !runs_on) leave(a);
      on = is_on_line(at(from, step, b), b.d, line);
      if (on && !runs_on) {
        before = side_of(at(from, step, b), b.d, {-step.x, -step.y}, line);
      }
    }
  }
  return count;
}

std::string text_of(const std::vector<Place2>& places) {
  std::string text = "[";
  for (const Place2& p : places) {
    text += (text.size() > 1 ? ",[" : "[") + std::to_string(p.x) + "," + std::to_string(p.y) + "]";
  }
  return text + "]";
}

Count counted(const std::vector<Place2>& walk, const std::vector<Place2>& line) {
  auto config = parse_config(
      R"({"lines":[{"name":"l","unit":"pixels","points":)" + text_of(line) + "}]}", "zones");
  ck_assert_msg(config.ok(), "%s", config.ok() ? "" : config.error().message.c_str());
  Zones zones;
  zones.configure(config.value(), kSize);
  Count count;
  for (size_t i = 0; i < walk.size(); ++i) {
    const auto x = static_cast<double>(walk[i].x), y = static_cast<double>(walk[i].y);
    const Sighting sighting{1, "person", {x - 1, y - 1, x + 1, y}};
    zones.update(static_cast<Time>(i) * kFrame, {&sighting, 1});
    for (const Event& e : zones.events()) ++(e.forward ? count.forward : count.backward);
  }
  return count;
}

// Returns whether the line has no point twice, and no corner that turns right back.
bool is_simple_line(const std::vector<Place2>& line) {
  for (size_t i = 1; i < line.size(); ++i) {
    if (line[i] == line[i - 1]) return false;
  }
  if (line.size() == 2) return true;
  const Place2 u = line[1] - line[0], v = line[2] - line[1];
  return cross(u, v) != 0 || dot(u, v) > 0;
}

void check(const std::vector<Place2>& line, const std::vector<Place2>& walk, int forward,
           int backward) {
  const Count want = count_of(walk, line), have = counted(walk, line);
  ck_assert_msg(want.forward == forward && want.backward == backward,
                "%s past %s: reckoned +%d -%d", text_of(walk).c_str(), text_of(line).c_str(),
                want.forward, want.backward);
  ck_assert_msg(have.forward == forward && have.backward == backward, "%s past %s: +%d -%d",
                text_of(walk).c_str(), text_of(line).c_str(), have.forward, have.backward);
}

}  // namespace

// The line goes upwards, so that forward is to the right.
DVNN_TEST(an_end_belongs_to_its_line) {
  const std::vector<Place2> line = {{4, 6}, {4, 2}};
  check(line, {{2, 2}, {6, 2}}, 1, 0);          // through the end
  check(line, {{2, 2}, {4, 2}, {6, 2}}, 1, 0);  // and seen there
  check(line, {{2, 2}, {4, 2}, {2, 2}}, 0, 0);  // a touch
  check(line, {{2, 2}, {4, 2}, {6, 4}}, 1, 0);
  check(line, {{2, 4}, {4, 2}, {6, 0}}, 1, 0);
  check(line, {{6, 6}, {2, 6}}, 0, 1);  // through the other end
}

DVNN_TEST(going_round_an_end_is_no_crossing) {
  const std::vector<Place2> line = {{4, 6}, {4, 2}};
  check(line, {{2, 1}, {6, 1}}, 0, 0);
  check(line, {{2, 2}, {4, 2}, {4, 0}, {6, 0}}, 0, 0);  // by the end, straight on, and round
  check(line, {{2, 4}, {4, 4}, {4, 0}, {6, 2}}, 0, 0);  // along the line
  check(line, {{4, 0}, {4, 4}, {6, 4}}, 0, 0);          // from beyond, along it, off
  check(line, {{4, 0}, {4, 2}, {2, 2}}, 0, 0);
  check(line, {{4, 0}, {4, 8}}, 0, 0);
  check(line, {{4, 2}, {4, 0}, {6, 2}, {2, 2}}, 0, 1);  // begins on it
}

DVNN_TEST(walks_around_lines_are_counted_right) {
  std::mt19937 random(dvnn_seed(1));
  const auto pick = [&](int64_t most) {
    return static_cast<int64_t>(random() % static_cast<uint32_t>(most));
  };
  const int rounds = dvnn_rounds(100000);
  int wrong = 0, crossed = 0;
  for (int round = 0; round < rounds; ++round) {
    std::vector<Place2> line, walk;
    do {
      line.clear();
      for (int64_t left = 2 + pick(2); left > 0; --left) line.push_back({2 + pick(4), 2 + pick(4)});
    } while (!is_simple_line(line));
    for (int64_t left = 2 + pick(6); left > 0; --left) walk.push_back({pick(8), pick(8)});
    const Count want = count_of(walk, line), have = counted(walk, line);
    crossed += want.forward + want.backward;
    if (want.forward == have.forward && want.backward == have.backward) continue;
    if (wrong++ < 10) {
      std::printf("%s past %s: +%d -%d, wanted +%d -%d\n", text_of(walk).c_str(),
                  text_of(line).c_str(), have.forward, have.backward, want.forward, want.backward);
    }
  }
  std::printf("%d walks, %d crossings: %d wrong\n", rounds, crossed, wrong);
  ck_assert_int_eq(wrong, 0);
  ck_assert_int_gt(crossed, rounds / 4);
}

}  // namespace dvnn::test::ends_tests
