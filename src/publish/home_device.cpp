// SPDX-License-Identifier: Apache-2.0
#include "publish/home_device.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <optional>
#include <tuple>
#include <utility>

#include "base/format.h"
#include "base/json.h"

namespace dvnn::publish {
namespace {

constexpr const char* kBetween = "__";  // the parts of an id; home_id() has no such pair
constexpr const char* kBestView = "best-view";

// What is told of a zone. `said`: behind the zone's name.
struct Measure {
  bool of_line;
  const char* name;
  const char* said;
  const char* platform;
  const char* count;  // the number in ZoneCount
  bool grows;         // until the next start
};
constexpr Measure kMeasures[] = {
    {true, "forward", "forward", "sensor", "forward", true},
    {true, "backward", "backward", "sensor", "backward", true},
    {false, "occupied", "occupied", "binary_sensor", "inside", false},
    {false, "inside", "inside", "sensor", "inside", false},
    {false, "entered", "entered", "sensor", "entered", true},
};

const Measure* find_measure(bool of_line, const std::string& name) {
  for (const Measure& measure : kMeasures) {
    if (measure.of_line == of_line && measure.name == name) return &measure;
  }
  return nullptr;
}

std::string id_of(bool of_line, const std::string& zone, const char* measure,
                  const std::string& label) {
  std::string id =
      std::string(of_line ? "line" : "area") + kBetween + home_id(zone) + kBetween + measure;
  if (!label.empty()) id += kBetween + home_id(label);
  return id;
}

// Returns the next part of an id as the name that it stands for, and moves `at` behind it and the
// separator. Returns nothing if home_id() does not write so.
std::optional<std::string> take_part(const std::string& id, size_t* at) {
  std::string name;
  while (*at < id.size()) {
    const char c = id[*at];
    if (c != '_') {
      name += c;
      ++*at;
      continue;
    }
    if (id.compare(*at, 2, kBetween) == 0) {
      *at += 2;
      break;
    }
    const std::string digits = id.substr(*at + 1, 2);
    const bool is_hex = digits.size() == 2 &&
                        std::isxdigit(static_cast<unsigned char>(digits[0])) &&
                        std::isxdigit(static_cast<unsigned char>(digits[1]));
    if (!is_hex) return std::nullopt;
    constexpr int kHex = 16;
    name += static_cast<char>(std::strtol(digits.c_str(), nullptr, kHex));
    *at += 3;
  }
  return name;
}

struct Parts {
  bool of_line = false;
  std::string zone, label;
  const Measure* measure = nullptr;
};

std::optional<Parts> parts_of(const std::string& id) {
  Parts parts;
  size_t at = 0;
  const auto kind = take_part(id, &at), zone = take_part(id, &at), measure = take_part(id, &at);
  const auto label = take_part(id, &at);
  if (!kind || !zone || !measure || !label || (*kind != "line" && *kind != "area")) return {};
  parts.of_line = *kind == "line";
  parts.zone = *zone;
  parts.label = *label;
  parts.measure = find_measure(parts.of_line, *measure);
  if (!parts.measure || id_of(parts.of_line, *zone, parts.measure->name, *label) != id) return {};
  return parts;
}

}  // namespace

std::string home_id(const std::string& name) {
  std::string id;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte < 0x80 && (std::isalnum(byte) || c == '-');
    id += plain ? std::string(1, c) : format("_%02x", static_cast<unsigned>(byte));
  }
  return id;
}

bool HomeDevice::Zone::operator<(const Zone& other) const {
  return std::tie(is_line, name) < std::tie(other.is_line, other.name);
}

HomeDevice::HomeDevice(Identity identity, std::string prefix, std::string version, bool has_image)
    : identity_(std::move(identity)),
      prefix_(std::move(prefix)),
      version_(std::move(version)),
      has_image_(has_image) {}

std::string HomeDevice::config_topic() const {
  return prefix_ + "/device/dvnn" + kBetween + home_id(identity_.stream) + "/config";
}

HomeDevice::Component* HomeDevice::component(const Zone& zone, const char* measure,
                                             const std::string& label) {
  const std::string id = id_of(zone.is_line, zone.name, measure, label);
  const auto found = components_.find(id);
  if (found != components_.end()) return &found->second;
  if (components_.size() >= kMostComponents) return nullptr;
  return &components_.emplace(id, Component{zone, measure, label}).first->second;
}

void HomeDevice::set(const Zone& zone, const ZoneCount& count, const std::string& label) {
  for (const Measure& measure : kMeasures) {
    if (measure.of_line != zone.is_line) continue;
    Component* one = component(zone, measure.name, label);
    if (!one) return;
    one->removed = false;
    for (const auto& [name, number] : count.numbers) {
      if (name == std::string(measure.count)) one->value = number;
    }
  }
}

void HomeDevice::see(const ZoneCounts& counts) {
  seen_ = true;
  zones_.clear();
  for (auto& [id, component] : components_) component.value = 0;
  for (const bool is_line : {false, true}) {
    for (const ZoneCount& count : is_line ? counts.lines : counts.areas) {
      const Zone zone{is_line, count.name};
      zones_.push_back(zone);
      set(zone, count, {});
      for (const ZoneCount& label : count.labels) {
        if (!label.name.empty()) set(zone, label, label.name);
      }
    }
  }
  std::sort(zones_.begin(), zones_.end());
  mark_removed();
}

// A label that a zone has no more is 0, but a zone that is gone takes its components along.
void HomeDevice::mark_removed() {
  if (!seen_) return;
  for (auto& [id, component] : components_) {
    component.removed = !std::binary_search(zones_.begin(), zones_.end(), component.zone);
  }
}

void HomeDevice::remember(const std::string& config) {
  if (config.empty() || config.size() > kMostConfigBytes) return;
  auto parsed = parse_json(config, "configuration");
  if (!parsed.ok()) return;
  Json old = std::move(parsed.value());
  const JsonEnd end(&old);
  if (!old.is_object() || !old.contains("components") || !old["components"].is_object()) return;
  for (const auto& [id, options] : old["components"].items()) {
    const auto parts = parts_of(id);
    // Those without a name were removed before.
    if (!parts || !options.is_object() || !options.contains("name")) continue;
    // The rest of the room is for what is there.
    if (components_.size() >= kMostComponents / 2) break;
    component({parts->of_line, parts->zone}, parts->measure->name, parts->label);
  }
  mark_removed();
}

OrderedJson HomeDevice::options(const std::string& id, const Component& component) const {
  const Measure& measure = *find_measure(component.zone.is_line, component.measure);
  OrderedJson options;
  options["platform"] = measure.platform;
  if (component.removed) return options;
  options["unique_id"] = "dvnn__" + home_id(identity_.stream) + kBetween + id;
  std::string name = component.zone.name + " " + measure.said;
  if (!component.label.empty()) name += " " + component.label;
  options["name"] = name;
  options["state_topic"] = state_topic();
  options["value_template"] = "{{ value_json['" + id + "'] }}";
  if (std::string(measure.platform) == "binary_sensor") {
    options["device_class"] = "occupancy";
  } else {
    options["state_class"] = measure.grows ? "total_increasing" : "measurement";
  }
  return options;
}

std::string HomeDevice::config() const {
  OrderedJson config;
  config["device"]["identifiers"] = OrderedJson::array({"dvnn__" + home_id(identity_.stream)});
  config["device"]["name"] = identity_.stream;
  config["device"]["manufacturer"] = "gst-dvnn";
  config["device"]["model"] = "Video analytics";
  config["device"]["sw_version"] = version_;
  config["origin"]["name"] = "gst-dvnn";
  config["origin"]["sw_version"] = version_;
  OrderedJson online;
  online["topic"] = identity_.topic + "/status";
  online["value_template"] = "{{ value_json.state }}";
  config["availability"] = OrderedJson::array({online});
  config["components"] = OrderedJson::object();
  if (has_image_) {
    OrderedJson& image = config["components"][kBestView];
    image["platform"] = "image";
    image["unique_id"] = "dvnn__" + home_id(identity_.stream) + kBetween + kBestView;
    image["name"] = "best view";
    image["image_topic"] = image_topic();
    image["content_type"] = "image/jpeg";
  }
  for (const auto& [id, component] : components_) {
    config["components"][id] = options(id, component);
  }
  return json_text(config);
}

std::string HomeDevice::state() const {
  OrderedJson state = OrderedJson::object();
  for (const auto& [id, component] : components_) {
    if (component.removed) continue;
    if (std::string(component.measure) == "occupied") {
      state[id] = component.value > 0 ? "ON" : "OFF";
    } else {
      state[id] = component.value;
    }
  }
  return json_text(state);
}

}  // namespace dvnn::publish
