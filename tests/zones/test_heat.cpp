// SPDX-License-Identifier: Apache-2.0
// Heat against brute force: every way is cut into thousands of pieces, and each piece counted for
// the cell in which it is.
#include "zones/heat.h"

#include <cmath>
#include <map>
#include <random>
#include <tuple>
#include <utility>

#include "base/format.h"
#include "check_suite.h"
#include "zones/zones.h"

namespace dvnn::test::heat_tests {

DVNN_SUITE(zones_heat);

using namespace dvnn::zones;

namespace {

constexpr image::Size kFrame{640, 480};
constexpr int kPieces = 4000;

using Cells = std::map<std::tuple<std::string, int, int>, double>;

struct Random {
  std::mt19937_64 engine;
  double between(double least, double most) {
    return std::uniform_real_distribution<double>(least, most)(engine);
  }
  int below(int count) { return std::uniform_int_distribution<int>(0, count - 1)(engine); }
};

Config config_of(const std::string& text) {
  auto config = parse_config(text, "zones");
  ck_assert_msg(config.ok(), "%s", config.ok() ? "" : config.error().message.c_str());
  return std::move(config.value());
}

void add(const HeatReport& report, Cells* cells, double* left_out) {
  for (const LabelHeat& label : report.labels) {
    double sum = 0;
    for (const HeatCell& cell : label.cells) {
      (*cells)[{label.label, cell.column, cell.row}] += cell.seconds;
      sum += cell.seconds;
    }
    ck_assert(sum <= label.seconds * (1 + 1e-9));
  }
  *left_out += report.left_out;
}

struct Walker {
  std::string label;
  double x = 0, y = 0;  // metres or pixels
  double seen = -1;     // when it was last seen
};

}  // namespace

DVNN_TEST(seconds_of_cells_are_those_of_brute_force) {
  Random random{std::mt19937_64(dvnn_seed(11))};
  for (int scene = 0; scene < dvnn_rounds(16); ++scene) {
    const bool metres = scene % 2 == 0;
    // One pixel is one centimetre, but the code is given metres as they are.
    const std::string ground =
        metres ? R"(,"ground":{"points":[[0,0],[1,0],[1,1],[0,1]],"rectangle":[6.4,4.8]})" : "";
    const double cell = metres ? 0.3 : 0.05 * kFrame.height;
    Zones zones;
    zones.configure(config_of(R"({"heat":{"period":2000,"labels":["cat","dog"],"cell":)" +
                              std::string(metres ? "0.3" : "0.05") + "}" + ground + "}"),
                    kFrame);
    constexpr double kPatience = 1;
    zones.set_patience(static_cast<Time>(kPatience * 1e9));
    std::vector<Walker> walkers(6);
    for (size_t i = 0; i < walkers.size(); ++i) {
      walkers[i].label = i % 3 == 0 ? "cat" : i % 3 == 1 ? "dog" : "cow";
    }
    Cells truth, told;
    double seconds = 0, left_out = 0, before = 0;
    Time reported = 0;
    for (double t = 0; t < 12; t += random.between(0.02, 0.2)) {
      // Whole nanoseconds, as streams have them.
      const Time now = static_cast<Time>(t * 1e9);
      t = static_cast<double>(now) * 1e-9;
      const bool jump = random.below(100) == 0;
      if (jump) {
        if (const auto rest = zones.take_heat(true)) add(*rest, &told, &left_out);
        zones.end();
      }
      std::vector<Sighting> seen;
      for (size_t i = 0; i < walkers.size(); ++i) {
        Walker& walker = walkers[i];
        // Some are missing, now and then for long; the frames go on.
        if (random.below(8) == 0 || std::fmod(t + static_cast<double>(i), 5) > 3.6) continue;
        const double scale = metres ? 0.01 : 1;
        const double x = scale * random.between(0, kFrame.width),
                     y = scale * random.between(0, kFrame.height);
        // A track that was missing in a frame later than its patience began anew.
        const bool goes_on = !jump && walker.seen >= 0 && before - walker.seen <= kPatience;
        if (goes_on && walker.label != "cow") {
          for (int k = 0; k < kPieces; ++k) {
            const double part = (k + 0.5) / kPieces;
            const auto index = [&](double from, double to) {
              return static_cast<int>(std::floor((from + part * (to - from)) / cell));
            };
            truth[{walker.label, index(walker.x, x), index(walker.y, y)}] +=
                (t - walker.seen) / kPieces;
          }
          seconds += t - walker.seen;
        }
        // The code works in 1/1024 of a pixel.
        walker.x = x, walker.y = y, walker.seen = t;
        Sighting sighting{i + 1, walker.label.c_str(), {x - 5, y - 20, x + 5, y}};
        if (metres) {
          sighting.box = {100 * x - 5, 100 * y - 20, 100 * x + 5, 100 * y};
          sighting.ground = objects::Movement{x, y, 0.1, 0, 1, 0};
        }
        seen.push_back(sighting);
      }
      if (jump) {
        for (Walker& walker : walkers) {
          if (walker.seen < t) walker.seen = -1;
        }
      }
      zones.update(now, Span<const Sighting>(seen));
      before = t;
      if (jump) reported = now;  // what is told begins anew
      if (const auto report = zones.take_heat(false)) {
        ck_assert(report->to == now && report->to - report->from >= 2000 * kMillisecond);
        ck_assert(report->from >= reported && report->metres == metres);
        reported = report->to;
        add(*report, &told, &left_out);
      }
    }
    if (const auto rest = zones.take_heat(true)) add(*rest, &told, &left_out);
    double sum = 0, off = 0;
    for (const auto& [key, value] : told) sum += value;
    ck_assert_msg(std::fabs(sum - seconds) < 1e-6 && left_out == 0,
                  "scene %d: %.9f of %.9f seconds, %g left out", scene, sum, seconds, left_out);
    for (const auto& [key, value] : truth) off += std::fabs(value - told[key]);
    for (const auto& [key, value] : told) off += truth.count(key) ? 0 : value;
    // A way crosses up to 40 cells, and at each crossing a piece may be on the wrong side.
    ck_assert_msg(off < seconds * 50 / kPieces, "scene %d: off by %g of %g seconds", scene, off,
                  seconds);
    ck_assert(seconds > 10);
  }
}

DVNN_TEST(documents_are_bounded_and_nothing_gets_lost) {
  Heat heat;
  HeatConfig config;
  config.cell = 1;
  config.period = 1000 * kMillisecond;
  heat.configure(config, true, 1);
  heat.see(0);
  const Time second = 1000 * kMillisecond;
  // More labels, cells and cells of a way than are kept.
  for (int i = 0; i < 40; ++i) {
    const HeatPlace place{0.5, static_cast<double>(i)};
    heat.move(format("label %d", i), place, 0, place, second);
  }
  for (int i = 0; i < 70000; ++i) {
    const HeatPlace place{static_cast<double>(i % 300) + 0.5, static_cast<double>(i / 300) + 100};
    heat.move("label 0", place, 0, place, second + i * 1000);
  }
  heat.move("label 0", {0, 0}, 0, {1e6, 0}, second);
  heat.move("label 0", {0, 0}, 0, {INFINITY, NAN}, second);
  heat.see(2 * second);
  ck_assert(heat.is_due());
  const auto report = heat.take();
  ck_assert(report.has_value());
  size_t cells = 0;
  double seconds = 0;
  for (const LabelHeat& label : report->labels) {
    cells += label.cells.size();
    for (const HeatCell& cell : label.cells) seconds += cell.seconds;
  }
  ck_assert_uint_eq(cells, Heat::kMostTold);
  ck_assert_uint_eq(report->labels.size(), Heat::kMostLabels);
  const double all = 40 + 70000 + 1e-6 * 69999.0 * 70000 / 2 + 2;
  ck_assert_msg(std::fabs(seconds + report->left_out - all) < 1e-3, "%f + %f, not %f", seconds,
                report->left_out, all);
  // The most seconds are told, and each second once.
  ck_assert(report->labels[0].cells[0].seconds >= report->labels[0].cells[1].seconds);
  heat.see(3 * second);
  const auto next = heat.take();
  ck_assert(next && next->labels.empty() && next->left_out == 0 && next->from == 2 * second);
}

DVNN_TEST(a_way_along_an_edge_and_through_a_corner_counts_once) {
  Heat heat;
  HeatConfig config;
  heat.configure(config, true, 0.5);
  heat.see(0);
  const Time second = 1000 * kMillisecond;
  heat.move("a", {-1, 0}, 0, {1, 0}, 4 * second);
  heat.move("a", {0, 0}, 0, {1, 1}, 2 * second);
  ck_assert(heat.total("a", -2, 0) == 1 && heat.total("a", -1, 0) == 1);
  ck_assert(heat.total("a", 0, 0) == 2 && heat.total("a", 1, 0) == 1);
  ck_assert(heat.total("a", 1, 1) == 1 && heat.total("a", 0, 1) == 0);
  ck_assert(heat.total("a", 0, -1) == 0 && heat.total("b", 0, 0) == 0);
}

}  // namespace dvnn::test::heat_tests
