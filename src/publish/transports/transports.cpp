// SPDX-License-Identifier: Apache-2.0
#include "publish/transports/transports.h"

#include "base/format.h"

namespace dvnn::publish {
namespace {

struct Row {
  const char* scheme;
  TransportResult (*create)(const TransportRequest& request);
  const char* library;  // that it needs
};

#ifdef DVNN_HAVE_MQTT
constexpr auto kMqtt = create_mqtt_transport;
#else
constexpr TransportResult (*kMqtt)(const TransportRequest&) = nullptr;
#endif
#ifdef DVNN_HAVE_KAFKA
constexpr auto kKafka = create_kafka_transport;
#else
constexpr TransportResult (*kKafka)(const TransportRequest&) = nullptr;
#endif
#ifdef DVNN_HAVE_HTTP
constexpr auto kHttp = create_http_transport;
#else
constexpr TransportResult (*kHttp)(const TransportRequest&) = nullptr;
#endif

constexpr Row kRows[] = {{"file", create_file_transport, ""}, {"mqtt", kMqtt, "libmosquitto"},
                         {"mqtts", kMqtt, "libmosquitto"},    {"kafka", kKafka, "librdkafka"},
                         {"http", kHttp, "libcurl"},          {"https", kHttp, "libcurl"}};

}  // namespace

Result<std::unique_ptr<Transport>> create_transport(const Address& address, const Options& options,
                                                    const Identity& identity, Listener* listener) {
  for (const Row& row : kRows) {
    if (address.scheme != row.scheme) continue;
    if (row.create) return row.create({address, options, identity, listener});
    return unsupported("'" + printable(address.url) +
                       "' cannot be published to: gst-dvnn was built without " + row.library);
  }
  return unsupported("'" + printable(address.url) + "' begins with '" + printable(address.scheme) +
                     "', and must with one of " + joined(kRows, ", ", &Row::scheme));
}

}  // namespace dvnn::publish
