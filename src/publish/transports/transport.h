// SPDX-License-Identifier: Apache-2.0
// A way to deliver messages. Its calls come from one thread, the publisher's, and never wait for
// the other side; what the other side does, the transport tells its listener, from any thread.
//
// connect() is followed by ready() or lost(). After lost(), what was sent and not acknowledged will
// not be acknowledged, and nothing is taken before the next connect(): so nothing can overtake what
// must be sent again.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "publish/message.h"

namespace dvnn::publish {

class Listener {
 public:
  /// How, where there is something to say: "MQTT 5".
  virtual void ready(const std::string& how) = 0;
  /// Why, in a sentence.
  virtual void lost(const std::string& why) = 0;
  virtual void acknowledged(uint64_t token) = 0;
  /// The other side will never take this message.
  virtual void rejected(uint64_t token, const std::string& why) = 0;
  /// What the other side retains of a topic, after Transport::recall(): anybody's bytes.
  virtual void recalled(const std::string& topic, const std::string& body) {
    (void)topic;
    (void)body;
  }

 protected:
  ~Listener() = default;
};

class Transport {
 public:
  virtual ~Transport() = default;
  virtual void connect() = 0;
  /// False: not now, try again soon.
  virtual bool send(uint64_t token, const Message& message) = 0;
  /// Has the other side retain `body` as the newest of `topic`; empty: nothing. False: not now, try
  /// again soon. What a broker cannot retain is lost without an answer.
  virtual bool keep(const std::string& topic, const std::string& body) {
    (void)topic;
    (void)body;
    return true;
  }
  /// Asks for what the other side retains of a topic, once, before keep() changes it. If it retains
  /// nothing, or tells nobody, there is no answer.
  virtual void recall(const std::string& topic) { (void)topic; }
  /// Returns how many messages may be on their way.
  virtual size_t window() const = 0;
  /// Returns the time before a server's death in which it may have forgotten what it acknowledged:
  /// those messages are sent again.
  virtual std::chrono::milliseconds settling() const { return {}; }
  /// Ends it; the listener is told nothing after this.
  virtual void close() = 0;
};

/// A destination: a URL in its parts.
struct Address {
  std::string scheme, user, password, host, path;  // the path begins with its slash
  int port = 0;                                    // 0: the usual one
  std::string url;                                 // without the password
};

/// `file:/path`, `mqtt://user:password@host:port`, `kafka://host:port,host:port`, `http://...`.
Result<Address> parse_address(const std::string& url);

/// `name=value` pairs, separated by commas or lines; of lines, those that begin with # are notes.
using Options = std::map<std::string, std::string>;
Result<Options> parse_options(const std::string& text);

/// Identifies the publisher.
struct Identity {
  std::string stream, session;
  std::string topic;                              // of statuses: topic/status
  std::string content_type = "application/json";  // of messages
};

/// The transport for an address. Options that it does not know, or values out of their range, are
/// errors.
Result<std::unique_ptr<Transport>> create_transport(const Address& address, const Options& options,
                                                    const Identity& identity, Listener* listener);

}  // namespace dvnn::publish
