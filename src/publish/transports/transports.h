// SPDX-License-Identifier: Apache-2.0
// The transports that were built in, one function each. create_transport() chooses.
#pragma once

#include "publish/transports/transport.h"

namespace dvnn::publish {

struct TransportRequest {
  const Address& address;
  const Options& options;
  const Identity& identity;
  Listener* listener;
};

using TransportResult = Result<std::unique_ptr<Transport>>;
TransportResult create_file_transport(const TransportRequest& request);
TransportResult create_mqtt_transport(const TransportRequest& request);
TransportResult create_kafka_transport(const TransportRequest& request);
TransportResult create_http_transport(const TransportRequest& request);

}  // namespace dvnn::publish
