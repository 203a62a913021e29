// SPDX-License-Identifier: Apache-2.0
// MQTT 3.1.1 and 5 by libmosquitto. Each connection is a new client with a clean session, and a
// thread of its own that moves the bytes: what was not acknowledged is the publisher's to send
// again, in its order. So the library must neither connect again by itself nor repeat messages.
//
// MQTT 5 is tried first, unless the library is old: its brokers say which messages they refuse,
// where those of 3.1.1 may but acknowledge and drop them. A broker that knows no MQTT 5 is asked
// again in 3.1.1. MQTT 5's limit of what a broker may send is announced (announce_limit()), but the
// library keeps to it nowhere: received() does.
#include <fcntl.h>
#include <linux/tcp.h>  // netinet/tcp.h's tcp_info is older
#include <mosquitto.h>
#include <mqtt_protocol.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <unordered_map>

#include "base/format.h"
#include "publish/document.h"
#include "publish/transports/mqtt_settings.h"
#include "publish/transports/transports.h"

namespace dvnn::publish {
namespace {

constexpr int kPort = 1883, kTlsPort = 8883;
constexpr int kLoopMs = 200, kLastLoopMs = 20, kLastLoops = 10, kLastWaits = 50;
constexpr size_t kMqttWindow = 100;
// A library that is older may end the process by an assertion: 2.0.11, Debian 12's, does where a
// broker's answer in MQTT 5 has a property that it does not know.
constexpr int kBearsAnyAnswer = 2000021;
// What a broker may send: for the connection, its certificates and pings, and for a message.
constexpr uint64_t kMostUnasked = uint64_t{1} << 20, kMostAnswer = 1024;
// The largest retained message that is read.
constexpr int kMostRecalled = 1 << 20;
constexpr int kClosed = 7;  // TCP_CLOSE of netinet/tcp.h
// The largest packet of a broker that keeps to MQTT 5: a reason, and texts for a reader.
constexpr uint32_t kMostPacket = 65536;

// mosquitto_lib_init() is not to be called by two threads at once, nor its end early.
void use_library() {
  static const int once = mosquitto_lib_init();
  (void)once;
}

int first_version() {
  const bool is_old = mosquitto_lib_version(nullptr, nullptr, nullptr) < kBearsAnyAnswer;
  return is_old ? MQTT_PROTOCOL_V311 : MQTT_PROTOCOL_V5;
}

class MqttTransport final : public Transport {
 public:
  MqttTransport(const TransportRequest& request, MqttSettings settings)
      : address_(request.address),
        identity_(request.identity),
        settings_(std::move(settings)),
        listener_(request.listener),
        version_(settings_.version.value_or(first_version())) {
    use_library();
  }
  ~MqttTransport() override { close(); }

  void connect() override {
    end_connection();
    told_ = false;
    stopping_ = false;
    // The same client name for each connection: the broker then ends the old one before it begins
    // the new one, so nothing of the old one arrives late.
    const std::string name =
        settings_.client_id.empty() ? "dvnn-" + identity_.session : settings_.client_id;
    client_ = mosquitto_new(name.c_str(), true, this);
    if (!client_) return lose("there is no memory for a client");
    const std::string problem = prepare();
    if (!problem.empty()) return lose(problem);
    thread_ = std::thread([this] { move_bytes(); });
  }

  bool send(uint64_t token, const Message& message) override {
    if (!up_) return false;
    int id = 0;
    const int size = static_cast<int>(message.body.size());
    const int code =
        mosquitto_publish_v5(client_, &id, message.topic.c_str(), size, message.body.data(),
                             settings_.qos, settings_.retain, properties_);
    if (code == MOSQ_ERR_PAYLOAD_SIZE || code == MOSQ_ERR_OVERSIZE_PACKET ||
        code == MOSQ_ERR_INVAL || code == MOSQ_ERR_MALFORMED_UTF8) {
      listener_->rejected(token,
                          std::string("the message is not for MQTT: ") + mosquitto_strerror(code));
      return true;
    }
    if (code != MOSQ_ERR_SUCCESS) return false;
    ++sent_;
    // The broker's answer may have arrived before this.
    std::optional<int> reason;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto early = early_.find(id);
      if (early == early_.end()) {
        tokens_[id] = token;
      } else {
        reason = early->second;
        early_.erase(early);
      }
    }
    if (reason) finish(token, *reason);
    return true;
  }

  bool keep(const std::string& topic, const std::string& body) override {
    if (!up_) return false;
    int id = 0;
    const int code =
        mosquitto_publish_v5(client_, &id, topic.c_str(), static_cast<int>(body.size()),
                             body.data(), status_qos(), true, nullptr);
    // What cannot be said is not said later either.
    if (code == MOSQ_ERR_PAYLOAD_SIZE || code == MOSQ_ERR_OVERSIZE_PACKET ||
        code == MOSQ_ERR_INVAL || code == MOSQ_ERR_MALFORMED_UTF8) {
      return true;
    }
    if (code != MOSQ_ERR_SUCCESS) return false;
    ++sent_;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (early_.erase(id) == 0) kept_ids_.insert(id);
    return true;
  }

  void recall(const std::string& topic) override {
    if (!up_) return;
    ++recalls_;
    mosquitto_subscribe(client_, nullptr, topic.c_str(), 1);
  }

  size_t window() const override { return kMqttWindow; }
  // Brokers acknowledge before they write, if they write at all.
  std::chrono::milliseconds settling() const override { return settings_.settle; }

  void close() override {
    // A connection that ends with answers unread may take along what the broker has not read yet.
    for (int i = 0; i < kLastWaits && up_ && waits_for_kept(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(kLastLoopMs));
    }
    if (client_ && up_ && settings_.status) say(status_document(identity_, false));
    if (client_ && up_) mosquitto_disconnect(client_);
    told_ = true;
    end_connection();
  }

 private:
  bool waits_for_kept() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return !kept_ids_.empty();
  }
  // QoS 2 needs a round trip that closing would cut off, so at most 1.
  int status_qos() const { return std::min(settings_.qos, 1); }
  std::string status_topic() const { return identity_.topic + "/status"; }

  void say(const std::string& body) {
    int id = 0;
    mosquitto_publish_v5(client_, &id, status_topic().c_str(), static_cast<int>(body.size()),
                         body.data(), status_qos(), true, nullptr);
    status_id_ = id;
  }

  // The library has a parameter for it in the call alone that waits for the connection. But it
  // keeps what that call was given for all connections to come, before it refuses to connect to no
  // host.
  void announce_limit() {
    mosquitto_property* limit = nullptr;
    if (version_ == MQTT_PROTOCOL_V5) {
      mosquitto_property_add_int32(&limit, MQTT_PROP_MAXIMUM_PACKET_SIZE, kMostPacket);
    }
    mosquitto_connect_bind_v5(client_, nullptr, 0, settings_.keepalive, nullptr, limit);
    mosquitto_property_free_all(&limit);
  }

  // For a client that is not connected.
  void use_version(int version) {
    version_ = version;
    mosquitto_int_option(client_, MOSQ_OPT_PROTOCOL_VERSION, version);
    announce_limit();
    mosquitto_property_free_all(&properties_);
    if (version != MQTT_PROTOCOL_V5) return;
    mosquitto_property_add_string(&properties_, MQTT_PROP_CONTENT_TYPE,
                                  identity_.content_type.c_str());
    mosquitto_property_add_byte(&properties_, MQTT_PROP_PAYLOAD_FORMAT_INDICATOR, 1);
  }

  // Returns an error, or an empty text.
  std::string prepare() {
    const MqttSettings& s = settings_;
    use_version(version_);
    mosquitto_int_option(client_, MOSQ_OPT_SEND_MAXIMUM, kMqttWindow);
    mosquitto_threaded_set(client_, true);
    mosquitto_connect_v5_callback_set(client_, on_connect);
    mosquitto_publish_v5_callback_set(client_, on_publish);
    mosquitto_message_callback_set(client_, on_message);
    int code = MOSQ_ERR_SUCCESS;
    if (!s.user.empty()) {
      code = mosquitto_username_pw_set(client_, s.user.c_str(),
                                       s.password.empty() ? nullptr : s.password.c_str());
    }
    if (code == MOSQ_ERR_SUCCESS && s.status) {
      const std::string will = status_document(identity_, false);
      code = mosquitto_will_set(client_, status_topic().c_str(), static_cast<int>(will.size()),
                                will.data(), status_qos(), true);
    }
    if (code != MOSQ_ERR_SUCCESS) return mosquitto_strerror(code);
    if (!s.tls) return {};
    const auto text = [](const std::string& t) { return t.empty() ? nullptr : t.c_str(); };
    if (s.ca.empty()) {
      code = mosquitto_int_option(client_, MOSQ_OPT_TLS_USE_OS_CERTS, 1);
      if (code == MOSQ_ERR_SUCCESS) {
        code = mosquitto_tls_set(client_, nullptr, "/etc/ssl/certs", text(s.certificate),
                                 text(s.key), nullptr);
      }
    } else {
      code = mosquitto_tls_set(client_, s.ca.c_str(), nullptr, text(s.certificate), text(s.key),
                               nullptr);
    }
    if (code == MOSQ_ERR_SUCCESS) code = mosquitto_tls_insecure_set(client_, false);
    if (code == MOSQ_ERR_SUCCESS) return {};
    return std::string("the certificates cannot be used: ") + mosquitto_strerror(code);
  }

  // Whether a connection in MQTT 5 that ended with `code` did so because the broker does not know
  // that: it said so, or its answer was none of MQTT 5.
  bool does_not_know_5(int code) const {
    const bool is_no_answer = !answered_ && refusal_.empty() &&
                              (code == MOSQ_ERR_PROTOCOL || code == MOSQ_ERR_MALFORMED_PACKET);
    return version_ == MQTT_PROTOCOL_V5 && (unsupported_ || is_no_answer);
  }

  // The connection's thread, from its beginning to its end.
  void move_bytes() {
    int code = serve();
    // The library stays with a name's first address, which may be of IPv6 where the broker listens
    // at IPv4 alone. An address of IPv4 to connect from leaves it only such ones.
    const bool refused = code == MOSQ_ERR_ERRNO && errno == ECONNREFUSED;
    if (refused && !answered_ && is_name() && !stopping_ && !told_) {
      other_family_ = !other_family_;
      code = serve();
    }
    if (does_not_know_5(code)) {
      refusal_ = "the broker refuses the connection: it does not know MQTT 5";
      if (!settings_.version && !stopping_ && !told_) {
        refusal_.clear();
        use_version(MQTT_PROTOCOL_V311);
        code = serve();
        // Else it was another fault, and MQTT 5 is tried again.
        if (!accepted_) version_ = MQTT_PROTOCOL_V5;
      }
    }
    if (!answered_ && is_name()) other_family_ = !other_family_;
    if (stopping_) return;
    note_early_refusal();
    lose(printable(address_.url) + ": " + refusal_or(code));
  }

  // Whether the host may have addresses of both families: it is no address of IPv6.
  bool is_name() const { return address_.host.find(':') == std::string::npos; }

  // A broker may refuse a message and end the connection, before send() looks at the refusal.
  void note_early_refusal() {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [id, reason] : early_) {
      if (reason >= kFirstFailure && refusal_.empty()) refusal_ = no_message_taken(reason);
    }
  }

  static std::string no_message_taken(int reason) {
    return std::string("the broker takes no message: ") + mosquitto_reason_string(reason);
  }

  // Serves one connection. Returns the library's code for its end.
  int serve() {
    const int usual = settings_.tls ? kTlsPort : kPort;
    answered_ = accepted_ = unsupported_ = false;
    sent_ = recalls_ = 0;
    int code = mosquitto_connect_bind_async(
        client_, address_.host.c_str(), address_.port > 0 ? address_.port : usual,
        settings_.keepalive, other_family_ ? "0.0.0.0" : nullptr);
    // Says of the connection what the library has forgotten when it closes its own.
    const int socket = fcntl(mosquitto_socket(client_), F_DUPFD_CLOEXEC, 0);
    while (code == MOSQ_ERR_SUCCESS && !stopping_ && !told_) {
      code = check_connection(socket, mosquitto_loop(client_, kLoopMs, 1));
    }
    if (socket >= 0) ::close(socket);
    // The last words, which close() has left.
    for (int i = 0; i < kLastLoops && code == MOSQ_ERR_SUCCESS && up_; ++i) {
      code = mosquitto_loop(client_, kLastLoopMs, 1);
    }
    up_ = false;
    return code;
  }

  // Returns the library's code after a loop that ended with `code`, for what it does not look at
  // itself. It takes memory for whatever packet a broker announces, and keeps to no limit but
  // MQTT's, 256 MiB; we subscribe to what recall() names alone. A connection that ends while TLS
  // begins, 2.0.11 tries to use without a pause until the time of `keepalive` is over, and 2.0.21
  // calls its refusal an error of protocol.
  int check_connection(int socket, int code) {
    tcp_info facts{};
    socklen_t size = sizeof(facts);
    if (socket < 0 || getsockopt(socket, IPPROTO_TCP, TCP_INFO, &facts, &size) != 0) return code;
    const bool is_over = facts.tcpi_state == kClosed;
    if (is_over && facts.tcpi_bytes_received == 0) {
      errno = ECONNREFUSED;
      return MOSQ_ERR_ERRNO;
    }
    if (code != MOSQ_ERR_SUCCESS) return code;
    const uint64_t asked = uint64_t{kMostRecalled} * 2 * recalls_;  // and what we say, once more
    if (facts.tcpi_bytes_received > kMostUnasked + kMostAnswer * sent_ + asked) {
      refusal_ = "the broker sends more than answers";
      return MOSQ_ERR_PROTOCOL;
    }
    int unread = 0;
    if (!is_over || ioctl(socket, FIONREAD, &unread) != 0 || unread > 0) return code;
    errno = ECONNRESET;
    return MOSQ_ERR_ERRNO;
  }

  std::string refusal_or(int code) {
    if (!refusal_.empty()) return std::exchange(refusal_, {});
    if (code == MOSQ_ERR_ERRNO) return std::strerror(errno);
    return mosquitto_strerror(code);
  }

  void lose(const std::string& why) {
    up_ = false;
    if (!told_.exchange(true)) listener_->lost(why);
  }

  void end_connection() {
    // Let the disconnect that mosquitto_disconnect() began finish.
    if (thread_.joinable()) {
      stopping_ = true;
      thread_.join();
    }
    up_ = false;
    if (client_) mosquitto_destroy(client_);
    client_ = nullptr;
    mosquitto_property_free_all(&properties_);
    const std::lock_guard<std::mutex> lock(mutex_);
    tokens_.clear();
    kept_ids_.clear();
    early_.clear();
  }

  // Returns which of our settings a broker of MQTT 5 says it does not offer; empty if none. The
  // library would leave `retain` out without a word.
  std::string missing(const mosquitto_property* offer) const {
    uint8_t most_qos = 2, retains = 1;
    mosquitto_property_read_byte(offer, MQTT_PROP_MAXIMUM_QOS, &most_qos, false);
    mosquitto_property_read_byte(offer, MQTT_PROP_RETAIN_AVAILABLE, &retains, false);
    if (settings_.qos > most_qos) return format("qos=%d", settings_.qos);
    return settings_.retain && retains == 0 ? "retain=yes" : "";
  }

  static void on_connect(mosquitto* client, void* data, int code, int,
                         const mosquitto_property* offer) {
    auto* self = static_cast<MqttTransport*>(data);
    const bool is_5 = self->version_ == MQTT_PROTOCOL_V5;
    self->answered_ = true;
    self->unsupported_ = is_5 && code == MQTT_RC_UNSUPPORTED_PROTOCOL_VERSION;
    if (code != 0) {
      self->refusal_ = std::string("the broker refuses the connection: ") +
                       (is_5 ? mosquitto_reason_string(code) : mosquitto_connack_string(code));
      mosquitto_disconnect(client);
      return;
    }
    if (const std::string what = self->missing(offer); !what.empty()) {
      self->refusal_ = "the broker takes no messages with " + what;
      mosquitto_disconnect(client);
      return;
    }
    self->accepted_ = true;
    if (self->settings_.status) self->say(status_document(self->identity_, true));
    self->up_ = true;
    const bool fell_back = self->version_ != self->settings_.version.value_or(first_version());
    self->listener_->ready(is_5        ? "MQTT 5"
                           : fell_back ? "MQTT 3.1.1, because the broker does not know MQTT 5"
                                       : "MQTT 3.1.1");
  }

  static void on_publish(mosquitto*, void* data, int id, int reason, const mosquitto_property*) {
    auto* self = static_cast<MqttTransport*>(data);
    uint64_t token = 0;
    {
      const std::lock_guard<std::mutex> lock(self->mutex_);
      const auto found = self->tokens_.find(id);
      if (found == self->tokens_.end()) {
        // The status, or a message that send() is still busy with.
        if (id == self->status_id_ || self->kept_ids_.erase(id) > 0) return;
        if (self->early_.size() >= kMostEarly) self->early_.clear();
        self->early_[id] = reason;
        return;
      }
      token = found->second;
      self->tokens_.erase(found);
    }
    self->finish(token, reason);
  }

  // What a topic of recall() retains; where it retains nothing, the first that keep() says.
  static void on_message(mosquitto* client, void* data, const mosquitto_message* message) {
    auto* self = static_cast<MqttTransport*>(data);
    mosquitto_unsubscribe(client, nullptr, message->topic);
    const bool is_asked_for = message->retain && message->payload && message->payloadlen > 0 &&
                              message->payloadlen <= kMostRecalled;
    if (!is_asked_for) return;
    self->listener_->recalled(message->topic, {static_cast<const char*>(message->payload),
                                               static_cast<size_t>(message->payloadlen)});
  }

  // The broker has answered a message.
  void finish(uint64_t token, int reason) {
    if (reason < kFirstFailure) return listener_->acknowledged(token);
    // Refusals that may pass later are tried again.
    if (reason == MQTT_RC_QUOTA_EXCEEDED || reason == MQTT_RC_NOT_AUTHORIZED) {
      return lose(printable(address_.url) + ": " + no_message_taken(reason));
    }
    listener_->rejected(
        token, std::string("the broker refuses a message: ") + mosquitto_reason_string(reason));
  }

  static constexpr int kFirstFailure = 0x80;  // of MQTT 5's reasons
  // The last words leave their id here, and ids are used again after 65,535 messages.
  static constexpr size_t kMostEarly = 64;

  const Address address_;
  const Identity identity_;
  const MqttSettings settings_;
  Listener* const listener_;
  mosquitto* client_ = nullptr;
  mosquitto_property* properties_ = nullptr;
  std::thread thread_;
  std::atomic<uint64_t> sent_{0}, recalls_{0};  // messages and calls, by this connection
  std::atomic<int> status_id_{0};
  std::atomic<bool> up_{false}, stopping_{false}, told_{false};
  int version_;  // the library's number; changes only without a connection
  // The thread's.
  bool answered_ = false, accepted_ = false, unsupported_ = false, other_family_ = false;
  std::string refusal_;  // the connection's thread only
  std::mutex mutex_;
  std::unordered_map<int, uint64_t> tokens_;  // of message ids
  std::map<int, int> early_;                  // reasons, of message ids
  std::set<int> kept_ids_;                    // of keep()
};

}  // namespace

TransportResult create_mqtt_transport(const TransportRequest& request) {
  DVNN_ASSIGN(MqttSettings settings, read_mqtt_settings(request));
  return {std::make_unique<MqttTransport>(request, std::move(settings))};
}

}  // namespace dvnn::publish
