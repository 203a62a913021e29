// SPDX-License-Identifier: Apache-2.0
// A stream as a device of Home Assistant, by its discovery over MQTT
// (https://www.home-assistant.io/integrations/mqtt/#device-discovery-payload): a retained
// configuration lists the device's components, and retained states have their values.
//
// Components are made of what dvzones counts: of a line, how many crossed it in either direction;
// of an area, whether something is in it, how many, and how many came; each also by label. Their
// ids consist of the names alone, so they are the same at each start. A label is known once it was
// counted, and stays: remember() reads it from the configuration that the broker retains. What an
// earlier configuration has of a zone that is no more, the next one names without its options,
// which tells Home Assistant to remove it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "publish/document.h"

namespace dvnn::publish {

class HomeDevice {
 public:
  /// `prefix` is Home Assistant's discovery prefix. `has_image`: whether there is a picture of the
  /// last track's best view.
  HomeDevice(Identity identity, std::string prefix, std::string version, bool has_image);

  std::string config_topic() const;
  std::string state_topic() const { return identity_.topic + "/home"; }
  std::string image_topic() const { return identity_.topic + "/best-view"; }

  /// Takes the counts of a frame. Names beyond kMostComponents components are left out.
  void see(const ZoneCounts& counts);
  /// Takes over what the retained configuration of an earlier start has, a text of anybody's.
  void remember(const std::string& config);

  /// Returns the configuration, which changes with see() and remember(), as JSON.
  std::string config() const;
  /// Returns the values of all components, as JSON.
  std::string state() const;

  static constexpr size_t kMostComponents = 1000;
  /// The longest configuration that is read again.
  static constexpr size_t kMostConfigBytes = size_t{1} << 20;

 private:
  struct Zone {
    bool is_line = false;
    std::string name;
    bool operator<(const Zone& other) const;
  };
  struct Component {
    Zone zone;
    const char* measure = nullptr;  // "forward", "occupied", ...
    std::string label;              // empty: all
    uint64_t value = 0;
    bool removed = false;
  };

  void set(const Zone& zone, const ZoneCount& count, const std::string& label);
  Component* component(const Zone& zone, const char* measure, const std::string& label);
  OrderedJson options(const std::string& id, const Component& component) const;
  void mark_removed();

  const Identity identity_;
  const std::string prefix_, version_;
  const bool has_image_;
  std::map<std::string, Component> components_;  // by id
  std::vector<Zone> zones_;                      // sorted; those of the last counts
  bool seen_ = false;
};

/// Returns a name as a part of an id: letters, digits and - as they are, other bytes as _hh. No two
/// names have the same.
std::string home_id(const std::string& name);

}  // namespace dvnn::publish
