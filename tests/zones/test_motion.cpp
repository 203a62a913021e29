// SPDX-License-Identifier: Apache-2.0
// Conditions of areas and lines: who counts by speed and heading.
#include "zones/config.h"

#include "base/format.h"
#include "check_suite.h"
#include "zones/zones.h"

namespace dvnn::test::motion_condition_tests {

DVNN_SUITE(zones_motion);

using namespace dvnn::zones;

namespace {

constexpr image::Size kFrame{200, 100};

std::optional<objects::Movement> moving(double speed, double deviation, double heading = 0) {
  return objects::Movement{0, 0, 0.1, speed, deviation, heading};
}

// Zones of one area and one line with the same condition, and what they tell.
struct Scene {
  Zones zones;
  explicit Scene(const std::string& condition) {
    auto config = parse_config(
        R"({"areas":[{"name":"a","points":[[0.2,0.4],[0.4,0.4],[0.4,0.8],[0.2,0.8]],)" + condition +
            R"(}],"lines":[{"name":"l","unit":"pixels","points":[[100,90],[100,10]],)" + condition +
            R"(}],"ground":{"points":[[0,0],[1,0],[1,1],[0,1]],"rectangle":[20,10]}})",
        "zones");
    ck_assert_msg(config.ok(), "%s", config.ok() ? "" : config.error().message.c_str());
    zones.configure(config.value(), kFrame);
  }
  std::string see(Time ms, double x, const std::optional<objects::Movement>& movement) {
    const Sighting seen[] = {{1, "person", {x - 5, 40, x + 5, 60}, movement}};
    zones.update(ms * kMillisecond, Span<const Sighting>(seen, 1));
    std::string told;
    for (const Event& e : zones.events()) {
      const char* name = e.kind == EventKind::kEnter   ? "enter"
                         : e.kind == EventKind::kLeave ? "leave"
                                                       : "cross";
      told += format("%s%s@%d", told.empty() ? "" : ", ", name,
                     static_cast<int>(e.time / kMillisecond));
    }
    return told;
  }
};

}  // namespace

DVNN_TEST(conditions_begin_and_end_when_they_surely_do) {
  MotionCondition slow;
  slow.max_speed = 1;
  ck_assert(!meets(slow, {}, false) && meets(slow, {}, true));
  ck_assert(meets(slow, moving(0.7, 0.1), false));
  ck_assert(!meets(slow, moving(0.9, 0.1), false) && meets(slow, moving(0.9, 0.1), true));
  ck_assert(meets(slow, moving(1.1, 0.1), true) && !meets(slow, moving(1.3, 0.1), true));
  ck_assert(!meets(slow, moving(0, 0.4), false));  // not known
  MotionCondition fast;
  fast.min_speed = 5;
  ck_assert(meets(fast, moving(6, 0.4), false) && !meets(fast, moving(5.5, 0.4), false));
  ck_assert(meets(fast, moving(4.5, 0.4), true) && !meets(fast, moving(4, 0.4), true));
  MotionCondition between = slow;
  between.min_speed = 0.5;
  ck_assert(meets(between, moving(0.75, 0.1), false) && !meets(between, moving(0.2, 0.1), true));
}

DVNN_TEST(headings_are_ranges_around_the_clock) {
  MotionCondition north;
  north.heading = HeadingRange{315, 45};
  for (double heading = 0; heading < 360; heading += 5) {
    const bool inside = heading < 45 || heading > 315, edge = heading == 45 || heading == 315;
    const bool was_inside = meets(north, moving(2, 0.01, heading), true);
    const bool was_outside = meets(north, moving(2, 0.01, heading), false);
    ck_assert_msg(was_inside == (inside || edge) && was_outside == inside, "%g", heading);
  }
  // A speed that is little known makes a heading that is little known: 2 atan(0.25) are 28 degrees.
  ck_assert(meets(north, moving(1, 0.25, 10), false) && !meets(north, moving(1, 0.25, 20), false));
  ck_assert(meets(north, moving(1, 0.25, 70), true) && !meets(north, moving(1, 0.25, 75), true));
  // What stands has none.
  ck_assert(!meets(north, moving(0.1, 0.2, 0), true));
  ck_assert(meets(north, moving(0.3, 0.2, 0), true) && !meets(north, moving(0.3, 0.2, 0), false));
}

DVNN_TEST(tracks_count_while_they_meet_the_condition) {
  Scene scene(R"("min-speed":2)");
  dvnn_assert_text(scene.see(0, 20, {}), "");
  dvnn_assert_text(scene.see(100, 60, {}), "");  // in the area, but of unknown speed
  dvnn_assert_text(scene.see(200, 60, moving(3, 0.1)), "enter@200");
  dvnn_assert_text(scene.see(300, 60, moving(1.9, 0.1)), "");
  dvnn_assert_text(scene.see(400, 60, moving(1, 0.1)), "leave@400");
  dvnn_assert_text(scene.see(500, 70, moving(1, 0.1)), "");
  ck_assert(scene.zones.areas()[0].all.inside == 0 && scene.zones.areas()[0].all.entered == 1);
  dvnn_assert_text(scene.see(600, 70, moving(3, 0.1)), "enter@600");
  dvnn_assert_text(scene.see(700, 90, moving(3, 0.1)), "leave@650");
  dvnn_assert_text(scene.see(800, 110, moving(1, 0.1)), "");  // too slow for the line
  dvnn_assert_text(scene.see(900, 90, moving(3, 0.1)), "cross@850");
  dvnn_assert_text(scene.see(1000, 70, moving(3, 0.1)), "enter@950");  // on the edge's time
}

DVNN_TEST(a_heading_tells_who_goes_the_wrong_way) {
  Scene scene(R"("heading":[180,360])");
  dvnn_assert_text(scene.see(0, 20, moving(2, 0.1, 90)), "");
  dvnn_assert_text(scene.see(100, 60, moving(2, 0.1, 90)), "");
  dvnn_assert_text(scene.see(200, 70, moving(2, 0.1, 270)), "enter@200");
  dvnn_assert_text(scene.see(300, 75, moving(0.1, 0.1, 270)), "leave@300");
}

DVNN_TEST(mistakes_of_metres_are_named) {
  const std::string area = R"("areas":[{"name":"a","points":[[0,0],[1,0],[1,1]])";
  const std::string ground =
      R"(],"ground":{"points":[[0,0],[1,0],[1,1],[0,1]],"rectangle":[20,10]}})";
  const auto refuses = [&](const std::string& text, const char* why) {
    const auto config = parse_config(text, "zones");
    ck_assert_msg(!config.ok(), "%s is taken", text.c_str());
    ck_assert_msg(config.error().message.find(why) != std::string::npos, "'%s' does not say '%s'",
                  config.error().message.c_str(), why);
  };
  const auto of_area = [&](const char* more) { return "{" + area + more + "}" + ground; };
  refuses("{" + area + R"(,"min-speed":1}]})",
          "areas[0] has a 'min-speed', which needs a 'ground'");
  refuses("{" + area + R"(,"distance-below":1}]})", "'distance-below', which needs a 'ground'");
  refuses(R"({"lines":[{"name":"a","points":[[0,0],[1,0]],"heading":[0,90]}]})",
          "lines[0] has a 'heading', which needs a 'ground'");
  refuses(R"({"distances":{"below":1}})", "'distances' needs a 'ground'");
  refuses(of_area(R"(,"heading":[0])"), "field 'heading'");
  refuses(of_area(R"(,"heading":[0,361])"), "two different angles");
  refuses(of_area(R"(,"heading":[10,10])"), "two different angles");
  refuses(of_area(R"(,"min-speed":-1)"), "must not be below 0");
  refuses(of_area(R"(,"min-speed":2,"max-speed":1)"), "must be above 'min-speed'");
  refuses(of_area(R"(,"free":1000)"), "needs 'occupied'");
  refuses(of_area(R"(,"occupied":-1)"), "occupied");
  refuses(of_area(R"(,"anchor":"covers")"), "foot, centre, overlap, cover");
  refuses(R"({"heat":[]})", "heat must be an object");
  refuses(R"({"heat":{"cell":5}})", "is 5, must be 0.002 to 1 of the frame's height");
  refuses(R"({"heat":{"period":10}})", "at least 1000 milliseconds");
  refuses(R"({"heat":{"cells":1}})", "there is no field 'cells', but cell, period, labels");
  refuses(R"({"heat":{"labels":[1]}})", "which is no text");
  refuses("{" + area + "}" + ground.substr(0, ground.size() - 1) + R"(,"heat":{"cell":0.01}})",
          "must be 0.05 to 1000 metres");
  refuses("{" + area + "}" + ground.substr(0, ground.size() - 1) + R"(,"distances":{"below":0}})",
          "above 0 and at most 1000 metres");
  refuses("{" + area + "}" + ground.substr(0, ground.size() - 1) + R"(,"distances":{}})", "below");
}

DVNN_TEST(mistakes_in_files_have_a_line_and_a_column) {
  const auto message = [](const std::string& text) {
    const auto config = parse_config(text, "zones");
    ck_assert_msg(!config.ok(), "%s is taken", text.c_str());
    return config.error().message;
  };
  const std::string good = R"({"name":"a","points":[[0,0],[1,0],[1,1]]})";
  const std::string far = message("{\n \"areas\": [\n  " + good + ",\n    " +
                                  R"({"name":"b","points":[[0,0],[1,0],[1,1]],"dwel":1}]})");
  ck_assert_msg(far.find("areas[1]: there is no field 'dwel'") != std::string::npos &&
                    far.find("(line 4, column 5)") != std::string::npos,
                "%s", far.c_str());
  // Names that occur elsewhere, and values of all kinds in between.
  const std::string line = message(
      "{\n\"areas\": [" + good + R"(], "masks": [{"name":"lines","points":[[0,0],[1,0],[1,1]]}],)" +
      "\n\"lines\":\n[{\"name\": \"x\", \"points\": [[0,0],[1,0]], \"min-speed\": 1}]}");
  ck_assert_msg(line.find("(line 4, column 51)") != std::string::npos, "%s", line.c_str());
  const std::string heat = message("{\"areas\":[],\n\"heat\":{\"cell\":7}}");
  ck_assert_msg(heat.find("(line 2, column 6)") != std::string::npos, "%s", heat.c_str());
  ck_assert(message("{\"heat\":{\"cell\":7}}").find("(line") == std::string::npos);
  ck_assert(message("{\n\"heet\":1}").find("(line") == std::string::npos);
}

}  // namespace dvnn::test::motion_condition_tests
