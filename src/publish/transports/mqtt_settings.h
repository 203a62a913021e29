// SPDX-License-Identifier: Apache-2.0
// What an address of MQTT says besides the broker's place. Private to src/publish.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "publish/transports/transports.h"

namespace dvnn::publish {

struct MqttSettings {
  int qos = 1, keepalive = 30;
  std::optional<int> version;  // the library's number; none: the best that both sides know
  std::chrono::milliseconds settle{2000};
  bool retain = false, status = true, tls = false;
  std::string client_id, user, password, ca, certificate, key;
};

/// Reads the options of an address, and looks whether messages can have its topic. An error names
/// the option, and what would be right.
Result<MqttSettings> read_mqtt_settings(const TransportRequest& request);

}  // namespace dvnn::publish
