// SPDX-License-Identifier: Apache-2.0
// A stream as a device of Home Assistant. Fields are held against kDocumented, which is written
// from Home Assistant's documentation; tests/acceptance/test_home.py has a broker in between.
#include <map>
#include <random>
#include <set>

#include "base/json.h"
#include "check_suite.h"
#include "publish/home_device.h"

namespace dvnn::test::home_device_tests {

DVNN_SUITE(publish_home_device);

using publish::HomeDevice;
using publish::ZoneCount;
using publish::ZoneCounts;

namespace {

// https://www.home-assistant.io/integrations/sensor.mqtt/, binary_sensor.mqtt/ and image.mqtt/,
// read November 2026: options of a component that this device may have, all other ones are a
// mistake.
const std::map<std::string, std::set<std::string>> kDocumented = {
    {"sensor",
     {"platform", "unique_id", "name", "state_topic", "value_template", "state_class",
      "device_class", "unit_of_measurement", "icon", "entity_category"}},
    {"binary_sensor",
     {"platform", "unique_id", "name", "state_topic", "value_template", "device_class",
      "payload_on", "payload_off", "icon", "entity_category"}},
    {"image", {"platform", "unique_id", "name", "image_topic", "content_type"}},
};

ZoneCount area(const std::string& name, uint64_t inside, uint64_t entered) {
  return {name, {{"inside", inside}, {"entered", entered}, {"left", entered - inside}}, {}, {}, {}};
}
ZoneCount line(const std::string& name, uint64_t forward, uint64_t backward) {
  return {name, {{"forward", forward}, {"backward", backward}}, {}, {}, {}};
}

HomeDevice device(bool has_image = false) {
  return {{"Tür 1", "session", "haus/tür"}, "homeassistant", "1.2", has_image};
}

Json config_of(const HomeDevice& device) {
  auto parsed = parse_json(device.config(), "config");
  ck_assert(parsed.ok());
  return parsed.value();
}
Json state_of(const HomeDevice& device) {
  auto parsed = parse_json(device.state(), "state");
  ck_assert(parsed.ok());
  return parsed.value();
}

// What Home Assistant would show: names and values of the components, by the template that picks
// them.
std::map<std::string, std::string> shown(const HomeDevice& device) {
  std::map<std::string, std::string> values;
  const Json config = config_of(device), state = state_of(device);
  std::set<std::string> ids;
  for (const auto& [id, options] : config.at("components").items()) {
    const std::string platform = options.at("platform").get<std::string>();
    ck_assert_msg(kDocumented.count(platform) == 1, "%s", platform.c_str());
    for (const auto& [name, value] : options.items()) {
      ck_assert_msg(kDocumented.at(platform).count(name) == 1, "%s has %s", platform.c_str(),
                    name.c_str());
    }
    if (options.size() == 1) continue;  // removed
    ck_assert(ids.insert(options.at("unique_id").get<std::string>()).second);
    if (platform == "image") continue;
    ck_assert(options.at("state_topic") == "haus/tür/home");
    ck_assert(options.at("value_template") == "{{ value_json['" + id + "'] }}");
    const Json& value = state.at(id);
    const bool is_binary = platform == "binary_sensor";
    ck_assert(is_binary ? value == "ON" || value == "OFF" : value.is_number_unsigned());
    ck_assert(is_binary == options.contains("device_class"));
    values[options.at("name").get<std::string>()] =
        value.is_string() ? value.get<std::string>() : value.dump();
  }
  return values;
}

}  // namespace

DVNN_TEST(lines_and_areas_become_components_with_their_labels) {
  HomeDevice home = device(true);
  ZoneCounts counts;
  counts.areas = {area("shop", 2, 5)};
  counts.lines = {line("door", 4, 1)};
  counts.areas[0].labels = {area("person", 2, 3), area("car", 0, 2)};
  counts.lines[0].labels = {line("person", 3, 1)};
  home.see(counts);
  const std::map<std::string, std::string> wanted = {
      {"door forward", "4"},         {"door backward", "1"},         {"door forward person", "3"},
      {"door backward person", "1"}, {"shop occupied", "ON"},        {"shop inside", "2"},
      {"shop entered", "5"},         {"shop occupied person", "ON"}, {"shop inside person", "2"},
      {"shop entered person", "3"},  {"shop occupied car", "OFF"},   {"shop inside car", "0"},
      {"shop entered car", "2"}};
  ck_assert(shown(home) == wanted);
  const Json config = config_of(home);
  const Json& all = config.at("components");
  ck_assert(all.at("line__door__forward").at("state_class") == "total_increasing");
  ck_assert(all.at("area__shop__entered").at("state_class") == "total_increasing");
  ck_assert(all.at("area__shop__inside").at("state_class") == "measurement");
  ck_assert(all.at("area__shop__occupied").at("device_class") == "occupancy");
  ck_assert(all.at("best-view").at("image_topic") == "haus/tür/best-view");
  ck_assert(config.at("device").at("identifiers") == Json::array({"dvnn__T_c3_bcr_201"}));
  ck_assert(config.at("origin").at("name") == "gst-dvnn");
  ck_assert(config.at("availability").at(0).at("topic") == "haus/tür/status");
  dvnn_assert_text(home.config_topic(), "homeassistant/device/dvnn__T_c3_bcr_201/config");
}

// The state, and the ids that Home Assistant knows entities by, are of the names alone.
DVNN_TEST(a_restart_keeps_ids_and_labels_that_were_seen) {
  HomeDevice first = device();
  ZoneCounts counts;
  counts.lines = {line("a_b/c", 4, 1)};
  counts.lines[0].labels = {line("two words", 3, 1)};
  first.see(counts);
  counts.lines[0] = line("a_b/c", 0, 0);
  HomeDevice second = device();
  second.remember(first.config());
  second.see(counts);
  ck_assert(second.config() == first.config());
  ck_assert(shown(second).at("a_b/c forward two words") == "0");
  HomeDevice third = device();  // counts first
  third.see(counts);
  third.remember(first.config());
  ck_assert(third.config() == first.config());
}

DVNN_TEST(what_left_the_zones_is_removed_once) {
  HomeDevice home = device();
  ZoneCounts counts;
  counts.areas = {area("shop", 1, 1)};
  counts.lines = {line("door", 4, 1), line("gate", 0, 0)};
  home.see(counts);
  const std::string before = home.config();
  counts.lines = {line("gate", 0, 0)};
  home.see(counts);
  ck_assert(config_of(home).at("components").at("line__door__forward") ==
            Json::parse(R"({"platform":"sensor"})"));
  ck_assert(!state_of(home).contains("line__door__forward"));
  ck_assert_uint_eq(shown(home).count("gate forward"), 1);
  // So it is if the zones' file changed between two starts, and the start after that forgets it.
  HomeDevice second = device();
  second.remember(before);
  second.see(counts);
  ck_assert(second.config() == home.config());
  HomeDevice third = device();
  third.remember(second.config());
  third.see(counts);
  ck_assert(!config_of(third).at("components").contains("line__door__forward"));
  // And what comes back is there again.
  counts.lines = {line("gate", 0, 0), line("door", 2, 0)};
  home.see(counts);
  dvnn_assert_text(shown(home).at("door forward"), "2");
}

// Names are anybody's: they become neither another id, nor a template, nor another component.
DVNN_TEST(any_names_have_ids_of_their_own_and_values_of_their_own) {
  std::mt19937 random(std::random_device{}());
  const auto any_name = [&random] {
    static const std::string kBytes = "ab_-/'\"\\{}% .#+\xc3\xbc\n\x1b\xff";
    std::string name;
    for (int left = 1 + static_cast<int>(random() % 5); left > 0; --left) {
      name += kBytes[random() % kBytes.size()];
    }
    return name;
  };
  for (int round = 0; round < dvnn_rounds(200); ++round) {
    std::set<std::string> names;
    while (names.size() < 8) names.insert(any_name());
    ZoneCounts counts;
    uint64_t number = 0;
    std::map<std::string, uint64_t> wanted;
    for (const std::string& name : names) {
      counts.lines.push_back(line(name, ++number, 0));
      wanted["line__" + publish::home_id(name) + "__forward"] = number;
      for (const std::string& label : names) {
        counts.lines.back().labels.push_back(line(label, ++number, 0));
        wanted["line__" + publish::home_id(name) + "__forward__" + publish::home_id(label)] =
            number;
      }
    }
    ck_assert_uint_eq(wanted.size(), 72);
    HomeDevice home = device();
    home.see(counts);
    const Json state = state_of(home);
    for (const auto& [id, value] : wanted) {
      ck_assert(id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") ==
                std::string::npos);
      ck_assert(state.at(id) == value);
    }
    HomeDevice again = device();
    again.remember(home.config());
    again.see({{}, {line("other", 0, 0)}});
    ck_assert_uint_eq(state_of(again).size(), 2);
    ck_assert_uint_eq(config_of(again).at("components").size(), 2 + 2 * wanted.size());
  }
}

DVNN_TEST(a_retained_configuration_of_anybodys_changes_nothing_else) {
  HomeDevice plain = device();
  ZoneCounts counts;
  counts.areas = {area("shop", 1, 1)};
  plain.see(counts);
  const std::string good = plain.config();
  for (const char* other :
       {"", "x", "[]", "{}", R"({"components":[]})", R"({"components":{"a":1}})",
        R"({"components":{"line__x":{"name":"x"}}})",
        R"({"components":{"area__shop__forward":{"name":"x"}}})",
        R"({"components":{"area__sh_6fp__inside":{"name":"x"}}})",
        R"({"components":{"area__s_zz__inside":{"name":"x"}}})",
        R"({"components":{"line__x__forward":{}}})"}) {
    HomeDevice home = device();
    home.remember(other);
    home.see(counts);
    ck_assert(home.config() == good);
  }
  std::string many = R"({"components":{"best-view":{"name":"b"})";
  for (int i = 0; i < 3000; ++i)
    many += ",\"line__" + std::to_string(i) + "__forward\":{\"name\":\"\"}";
  HomeDevice home = device();
  home.remember(many + "}}");
  home.see(counts);
  ck_assert_uint_eq(config_of(home).at("components").size(), 3 + HomeDevice::kMostComponents / 2);
  ck_assert(shown(home).at("shop occupied") == "ON");
}

}  // namespace dvnn::test::home_device_tests
