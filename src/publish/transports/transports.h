// SPDX-License-Identifier: Apache-2.0
// The transports that were built in, one function each, of which create_transport() chooses; and
// what reads their options.
#pragma once

#include <set>
#include <string>

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

class OptionReader {
 public:
  OptionReader(const Options& options, std::string what)
      : options_(options), what_(std::move(what)) {}

  std::string text(const std::string& name, const std::string& fallback = {});
  int64_t integer(const std::string& name, int64_t least, int64_t most, int64_t fallback);
  /// Returns the option, which must be one of `choices`.
  std::string choice(const std::string& name, const std::set<std::string>& choices,
                     const std::string& fallback);
  /// Returns the first problem; call it last.
  Status status() const;

 private:
  const Options& options_;
  const std::string what_;
  std::set<std::string> known_;
  std::string problem_;
};

}  // namespace dvnn::publish
