// SPDX-License-Identifier: Apache-2.0
// Each kind of event, and what users may write down. That counts are exact is
// test_exactness.cpp's.
#include "zones/zones.h"

#include <cstdio>

#include "check_suite.h"

namespace dvnn::test::zones_tests {

DVNN_SUITE(zones_zones);

using namespace dvnn::zones;

namespace {

constexpr image::Size kSize{200, 100};

// Zones by their JSON, fed in milliseconds; what they tell, as a line of text.
struct Scene {
  Zones zones;
  explicit Scene(const std::string& json) { configure(json); }
  void configure(const std::string& json) {
    auto config = parse_config(json, "zones");
    ck_assert_msg(config.ok(), "%s", config.ok() ? "" : config.error().message.c_str());
    zones.configure(config.value(), kSize);
  }
  std::string see(Time ms, const std::vector<Sighting>& sightings) {
    zones.update(ms * kMillisecond, sightings);
    return told();
  }
  std::string end() {
    zones.end();
    return told();
  }
  std::string told() const {
    static const char* const names[] = {"enter", "leave", "dwell",     "idle",
                                        "cross", "crowd", "crowd-end", "speeding"};
    std::string line;
    for (const Event& e : zones.events()) {
      char text[120];
      std::snprintf(text, sizeof text, "%s%s %d@%d", line.empty() ? "" : ", ",
                    names[static_cast<int>(e.kind)], static_cast<int>(e.track),
                    static_cast<int>(e.time / kMillisecond));
      line += text;
      if (e.kind == EventKind::kCross) line += e.forward ? " forward" : " backward";
      if (e.kind == EventKind::kLeave)
        line += " after " + std::to_string(e.duration / kMillisecond);
    }
    return line;
  }
};

// An object whose foot is at a place.
Sighting foot(uint64_t track, double x, double y, const char* label = "person") {
  return {track, label, {x - 5, y - 20, x + 5, y}};
}

// A square of 40 pixels, from 40 to 80.
std::string square(const std::string& more = "") {
  return R"({"areas":[{"name":"square","points":[[0.2,0.4],[0.4,0.4],[0.4,0.8],[0.2,0.8]])" + more +
         "}]}";
}
const char* const kLine =
    R"({"lines":[{"name":"line","unit":"pixels","points":[[100,90],[100,10]])";

// How a track moves on the ground, if its speed is known to `deviation`.
objects::Movement moving(double speed, double deviation) {
  return {0, 0, 0.1, speed, deviation, 0};
}

}  // namespace

DVNN_TEST(only_what_is_surely_too_fast_is_told_and_once_a_stay) {
  const std::string ground =
      R"(,"ground":{"points":[[0,0],[1,0],[1,1],[0,1]],"rectangle":[20,10]}})";
  const std::string fast = square(R"(,"speed-limit":5)");
  Scene scene(fast.substr(0, fast.size() - 1) + ground);
  const auto see = [&](Time ms, double x, std::optional<objects::Movement> movement) {
    Sighting sighting = foot(1, x, 60);
    sighting.ground = movement;
    return scene.see(ms, {sighting});
  };
  dvnn_assert_text(see(0, 20, moving(9, 0.1)), "");  // not there
  dvnn_assert_text(see(100, 60, moving(4.9, 0.1)), "enter 1@50");
  dvnn_assert_text(see(200, 60, {}), "");
  dvnn_assert_text(see(300, 60, moving(5.5, 0.3)), "");  // perhaps
  dvnn_assert_text(see(400, 60, moving(9, 2.4)), "");    // not known
  dvnn_assert_text(see(500, 60, moving(5.5, 0.2)), "speeding 1@500");
  ck_assert(scene.zones.events()[0].speed == 5.5);
  dvnn_assert_text(see(600, 60, moving(7, 0.1)), "");
  dvnn_assert_text(see(700, 100, moving(7, 0.1)), "leave 1@650 after 600");
  ck_assert(scene.zones.events()[0].speed == 7);
  dvnn_assert_text(see(800, 60, moving(7, 0.1)), "enter 1@750, speeding 1@800");
  const auto without = parse_config(fast, "zones");
  ck_assert(!without.ok());
  dvnn_assert_text(without.error().message,
                   "zones: areas[0] has a 'speed-limit', which needs a 'ground'");
}

DVNN_TEST(stays_have_the_times_of_their_ways) {
  Scene scene(square());
  dvnn_assert_text(scene.see(0, {foot(1, 20, 60)}), "");
  dvnn_assert_text(scene.see(100, {foot(1, 60, 60)}), "enter 1@50");
  ck_assert_uint_eq(scene.zones.areas()[0].all.inside, 1);
  dvnn_assert_text(scene.see(200, {foot(1, 70, 60)}), "");
  dvnn_assert_text(scene.see(300, {foot(1, 90, 60)}), "leave 1@250 after 200");
  // Right through, between two frames.
  dvnn_assert_text(scene.see(1300, {foot(1, -10, 60)}), "enter 1@400, leave 1@800 after 400");
  const AreaCounts& all = scene.zones.areas()[0].all;
  ck_assert(all.inside == 0 && all.entered == 2 && all.left == 2);
}

DVNN_TEST(whoever_appears_inside_enters_and_whoever_disappears_leaves) {
  Scene scene(square());
  scene.zones.set_patience(500 * kMillisecond);
  dvnn_assert_text(scene.see(0, {foot(1, 60, 60)}), "enter 1@0");
  dvnn_assert_text(scene.see(400, {foot(1, 60, 60)}), "");
  dvnn_assert_text(scene.see(900, {}), "");  // missing, not gone
  dvnn_assert_text(scene.see(901, {}), "leave 1@400 after 400");
  dvnn_assert_text(scene.see(1000, {foot(1, 60, 60)}), "enter 1@1000");
  dvnn_assert_text(scene.end(), "leave 1@1000 after 0");
}

DVNN_TEST(dwelling_is_told_once_a_stay) {
  Scene scene(square(R"(,"dwell":300)"));
  scene.see(0, {foot(1, 60, 60)});
  dvnn_assert_text(scene.see(200, {foot(1, 61, 60)}), "");
  dvnn_assert_text(scene.see(400, {foot(1, 62, 60)}), "dwell 1@300");
  dvnn_assert_text(scene.see(900, {foot(1, 63, 60)}), "");
  dvnn_assert_text(scene.see(1000, {foot(1, 97, 60)}), "leave 1@950 after 950");
  // Also where no frame shows it: in at 1200, out at 1600, 300 of them in between.
  dvnn_assert_text(scene.see(2000, {foot(1, 27, 60)}),
                   "enter 1@1242, dwell 1@1542, leave 1@1814 after 571");
}

DVNN_TEST(who_does_not_move_is_idle_until_it_does) {
  Scene scene(square(R"(,"idle":300,"idle-distance":0.05)"));  // 5 pixels
  scene.see(0, {foot(1, 60, 60)});
  dvnn_assert_text(scene.see(200, {foot(1, 63, 60)}), "");
  dvnn_assert_text(scene.see(300, {foot(1, 60, 63)}), "idle 1@300");
  dvnn_assert_text(scene.see(700, {foot(1, 60, 60)}), "");
  dvnn_assert_text(scene.see(800, {foot(1, 70, 60)}), "");
  dvnn_assert_text(scene.see(1050, {foot(1, 70, 61)}), "");
  dvnn_assert_text(scene.see(1100, {foot(1, 70, 60)}), "idle 1@1100");
}

DVNN_TEST(crowds_begin_and_end) {
  Scene scene(square(R"(,"crowd":2,"crowd-time":200)"));
  dvnn_assert_text(scene.see(0, {foot(1, 60, 60), foot(2, 65, 60)}), "enter 1@0, enter 2@0");
  dvnn_assert_text(scene.see(100, {foot(1, 60, 60), foot(2, 65, 60)}), "");
  dvnn_assert_text(scene.see(200, {foot(1, 60, 60), foot(2, 65, 60)}), "crowd 0@200");
  dvnn_assert_text(scene.see(300, {foot(1, 60, 60), foot(2, 65, 60), foot(3, 70, 60)}),
                   "enter 3@300");
  dvnn_assert_text(scene.see(400, {foot(1, 60, 60), foot(2, 100, 60), foot(3, 100, 60)}),
                   "leave 3@333 after 33, leave 2@342 after 342, crowd-end 0@400");
}

DVNN_TEST(lines_have_directions) {
  Scene scene(std::string(kLine) + "}]}");  // upwards: forward is to the right
  scene.see(0, {foot(1, 80, 50)});
  dvnn_assert_text(scene.see(100, {foot(1, 120, 50)}), "cross 1@50 forward");
  dvnn_assert_text(scene.see(200, {foot(1, 80, 50)}), "cross 1@150 backward");
  dvnn_assert_text(scene.see(300, {foot(1, 120, 250)}), "");  // past its end
  // There and back again counts each time.
  dvnn_assert_text(scene.see(400, {foot(1, 120, 50)}), "");
  dvnn_assert_text(scene.see(500, {foot(1, 80, 50)}), "cross 1@450 backward");
  const LineCounts& all = scene.zones.lines()[0].all;
  ck_assert(all.forward == 1 && all.backward == 2);
}

DVNN_TEST(landing_on_a_line_is_no_crossing_until_it_is_left) {
  Scene scene(std::string(kLine) + "}]}");
  scene.see(0, {foot(1, 80, 50)});
  dvnn_assert_text(scene.see(100, {foot(1, 100, 50)}), "");
  dvnn_assert_text(scene.see(200, {foot(1, 100, 40)}), "");  // along it
  dvnn_assert_text(scene.see(300, {foot(1, 80, 50)}), "");   // back: a touch
  scene.see(400, {foot(1, 100, 50)});
  const std::string told = scene.see(500, {foot(1, 120, 50)});
  dvnn_assert_text(told, "cross 1@400 forward");
  scene.see(600, {foot(1, 100, 10)});  // its end
  dvnn_assert_text(scene.see(700, {foot(1, 120, 10)}), "");
  scene.see(800, {foot(1, 100, 90)});  // the other one
  dvnn_assert_text(scene.see(900, {foot(1, 120, 95)}), "");
}

DVNN_TEST(trembling_within_the_band_is_no_crossing) {
  Scene scene(std::string(kLine) + R"(,"band":6}]})");
  scene.see(0, {foot(1, 80, 50)});
  for (int i = 1; i < 20; ++i) {
    dvnn_assert_text(scene.see(10 * i, {foot(1, i % 2 ? 105 : 95, 50)}), "");
  }
  dvnn_assert_text(scene.see(200, {foot(1, 90, 50)}), "");
  scene.see(300, {foot(1, 104, 50)});
  const std::string told = scene.see(400, {foot(1, 110, 50)});
  dvnn_assert_text(told, "cross 1@271 forward");
}

DVNN_TEST(only_the_labels_that_are_listed_count) {
  Scene scene(square(R"(,"labels":["car","bus"])"));
  dvnn_assert_text(scene.see(0, {foot(1, 60, 60, "person"), foot(2, 60, 60, "bus")}), "enter 2@0");
  const AreaState& area = scene.zones.areas()[0];
  ck_assert_uint_eq(area.by_label.size(), 1);
  ck_assert_uint_eq(area.by_label.at("bus").inside, 1);
}

DVNN_TEST(anchors_choose_the_place) {
  // A box whose foot is in, whose middle and most of whose area are not.
  const Sighting sighting{1, "person", {50, 0, 60, 50}};
  dvnn_assert_text(Scene(square(R"(,"anchor":"foot")")).see(0, {sighting}), "enter 1@0");
  dvnn_assert_text(Scene(square(R"(,"anchor":"centre")")).see(0, {sighting}), "");
  dvnn_assert_text(Scene(square(R"(,"anchor":"overlap","share":0.2)")).see(0, {sighting}),
                   "enter 1@0");
  dvnn_assert_text(Scene(square(R"(,"anchor":"overlap","share":0.21)")).see(0, {sighting}), "");
}

DVNN_TEST(new_shapes_keep_the_counts_of_their_names) {
  Scene scene(square());
  scene.see(0, {foot(1, 60, 60)});
  scene.configure(square(R"(,"band":0.01)"));
  dvnn_assert_text(scene.told(), "leave 1@0 after 0");
  dvnn_assert_text(scene.see(100, {foot(1, 60, 60)}), "enter 1@100");
  ck_assert_uint_eq(scene.zones.areas()[0].all.entered, 2);
  ck_assert_uint_eq(scene.zones.areas()[0].all.inside, 1);
  scene.configure("");
  dvnn_assert_text(scene.told(), "leave 1@100 after 0");
  dvnn_assert_text(scene.see(200, {foot(1, 60, 60)}), "");
}

DVNN_TEST(mistakes_are_named) {
  const struct {
    const char *json, *message;
  } cases[] = {
      {"[]",
       "zones must be an object with 'areas', 'lines', 'masks', 'ground', 'heat' and 'distances'"},
      {R"({"zones":[]})", "zones: there is no field 'zones', but areas, lines"},
      {R"({"areas":[{"points":[[0,0],[1,0],[1,1]]}]})", "areas[0]"},
      {R"({"areas":[{"name":"a","points":[[0,0],[1,0]]}]})", "array of 3 to 256 pairs"},
      {R"({"lines":[{"name":"a","points":[[0,0],[1,"x"]]}]})", "no pair [x, y]"},
      {R"({"areas":[{"name":"a","points":[[0,0],[1,1],[1,0],[0,1]]}]})", "cross each other"},
      {R"({"areas":[{"name":"a","anchor":"head","points":[[0,0],[1,0],[1,1]]}]})",
       "is 'head', must be one of foot, centre, overlap"},
      {R"({"lines":[{"name":"a","points":[[0,0],[1,0]]},{"name":"a","points":[[0,0],[1,0]]}]})",
       "lines[1] is called 'a' like another one"},
      {R"({"areas":[{"name":"a","dwell":-1,"points":[[0,0],[1,0],[1,1]]}]})", "dwell"},
      {R"({"areas":[{"name":"a","share":0,"points":[[0,0],[1,0],[1,1]]}]})",
       "above 0 and at most 1"},
      // Of two lists, one would not count.
      {"{\"areas\":[],\n\"areas\":[{\"name\":\"a\",\"points\":[[0,0],[1,0],[1,1]]}]}",
       "zones, line 2, column 7: 'areas' stands twice"},
      {R"({"masks":[{"name":"tree","points":[[0,0],[1,0]]}]})",
       "field 'points' of zones: masks[0]"},
      {R"({"masks":[{"name":"tree","points":[[0,0],[1,1],[1,0],[0,1]]}]})",
       "its edges meet or cross"},
      {R"({"masks":[{"name":"tree","points":[[0,0],[1,0],[1,1]],"dwell":1}]})",
       "masks[0]: there is no field 'dwell', but name, points, unit"},
      // Messages are lines, whatever is quoted.
      {R"({"areas":[{"name":"a","anchor":"he\nad","points":[[0,0],[1,0],[1,1]]}]})", "is 'he"},
      {R"({"lines":[{"name":"a\n","points":[[0,0],[1,0]]},{"name":"a\n","points":[[0,0],[1,0]]}]})",
       "like another one"},
      {R"({"zo\nnes":[]})", "but areas, lines, masks"},
      {R"({"lines":[{"name":"a","points":[[0,0],[1,0]],"labells":["car"]}]})",
       "lines[0]: there is no field 'labells', but name, points, unit, labels, anchor, band"},
      {R"({"areas":[{"name":"a","points":[[0,0],[1,0],[1,1]],"dwel\nl":1}]})",
       "areas[0]: there is no field 'dwel?l', but name, points, unit, labels, anchor, band, share"},
      {R"({"lines":[{"name":"a","points":[[0,0],[1,0]],"dwell":1}]})", "no field 'dwell'"},
  };
  for (const auto& c : cases) {
    const auto config = parse_config(c.json, "zones");
    ck_assert_msg(!config.ok(), "%s", c.json);
    ck_assert_msg(config.error().message.find(c.message) != std::string::npos, "%s: %s", c.json,
                  config.error().message.c_str());
    ck_assert(config.error().message.find('\n') == std::string::npos);
  }
}

}  // namespace dvnn::test::zones_tests
