// SPDX-License-Identifier: Apache-2.0
#include "publish/transports/mqtt_settings.h"

#include <mosquitto.h>
#include <mqtt_protocol.h>

#include "base/format.h"
#include "publish/transports/transports.h"

namespace dvnn::publish {

Result<MqttSettings> read_mqtt_settings(const TransportRequest& request) {
  OptionReader in(request.options, request.address.scheme);
  MqttSettings s;
  constexpr int kLongestKeepalive = 65535, kLeastKeepalive = 5;
  s.tls = request.address.scheme == "mqtts";
  s.qos = static_cast<int>(in.integer("qos", 0, 2, s.qos));
  const std::string version = in.choice("version", {"auto", "3.1.1", "5"}, "auto");
  if (version != "auto") s.version = version == "5" ? MQTT_PROTOCOL_V5 : MQTT_PROTOCOL_V311;
  s.keepalive =
      static_cast<int>(in.integer("keepalive", kLeastKeepalive, kLongestKeepalive, s.keepalive));
  constexpr int kLongestSettle = 60000;
  s.settle = std::chrono::milliseconds(in.integer("settle", 0, kLongestSettle, s.settle.count()));
  if (s.qos == 0) s.settle = {};
  s.retain = in.choice("retain", {"yes", "no"}, "no") == "yes";
  s.status = in.choice("status", {"yes", "no"}, "yes") == "yes";
  s.client_id = in.text("client-id");
  s.user = in.text("user", request.address.user);
  s.password = in.text("password", request.address.password);
  if (s.tls) {
    s.ca = in.text("ca");
    s.certificate = in.text("certificate");
    s.key = in.text("key");
  }
  DVNN_TRY(in.status());
  const std::string& topic = request.identity.topic;
  if (topic.empty() || mosquitto_pub_topic_check(topic.c_str()) != MOSQ_ERR_SUCCESS) {
    return invalid_argument(
        "topic '" + printable(topic) +
        "' is no MQTT topic to publish to: it must not be empty or have + or #");
  }
  return s;
}

}  // namespace dvnn::publish
