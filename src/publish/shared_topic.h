// SPDX-License-Identifier: Apache-2.0
// Entries that several programs share by retained messages of MQTT: each entry has a topic of its
// own below a common one, so who connects gets all of them, and a change is one message. Which of
// two versions is newer, the lines say themselves: they are JSON with a member `version`.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "publish/transports/transport.h"

namespace dvnn::publish {

/// An entry: the last part of its topic, and its line.
struct SharedEntry {
  std::string id, line;
  int64_t version = 0;
};

/// What a SharedTopic calls, from the connection's thread.
struct SharedHooks {
  /// An entry has come, or has come back from the broker. Who knows a newer one sends that again:
  /// two sides that connect at once may each replace what the other has sent.
  std::function<void(std::string id, std::string line)> came;
  /// Asked for all entries of this side once those of the broker have come. What is newer, or not
  /// there, is sent.
  std::function<std::vector<SharedEntry>()> all;
  /// The connection was made (an empty text), or is lost or refused, and why.
  std::function<void(const std::string& why)> state;
};

class SharedTopic {
 public:
  virtual ~SharedTopic() = default;
  /// Sends an entry, which the broker retains, or removes it there if the line is empty. While
  /// there is no connection it does nothing: then SharedHooks::all will be asked. Never waits.
  virtual void send(const std::string& id, const std::string& line) = 0;
};

/// Connects, and again whenever the connection is lost. Options are those of dvpublish's MQTT:
/// user, password, ca, certificate, key, client-id, keepalive. kUnsupported where MQTT was not
/// built.
Result<std::unique_ptr<SharedTopic>> open_shared_topic(const Address& address,
                                                       const Options& options,
                                                       const std::string& topic, SharedHooks hooks);

}  // namespace dvnn::publish
