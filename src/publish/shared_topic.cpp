// SPDX-License-Identifier: Apache-2.0
#include "publish/shared_topic.h"

#include <utility>

#ifdef DVNN_HAVE_MQTT
#include <mosquitto.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "base/format.h"
#include "base/json.h"
#include "publish/document.h"
#include "publish/transports/transports.h"
#endif

namespace dvnn::publish {

#ifdef DVNN_HAVE_MQTT
namespace {

constexpr int kUsualPort = 1883, kUsualTlsPort = 8883;
constexpr int kQos = 1;
constexpr std::chrono::seconds kPause{2};  // before it connects again
constexpr int kTurnMs = 200, kGoodbyeMs = 20, kGoodbyeTurns = 25;
constexpr int kMostEntryBytes = 1 << 24;
constexpr size_t kMostSeen = 200000;
// The last part of the topic of a message that is not retained. It comes back behind all retained
// ones, so who has sent it knows that these have come.
constexpr const char* kMark = "sync";

struct SharedSettings {
  int keepalive = 30;
  bool tls = false;
  std::string client_id, user, password, ca, certificate, key;
};

int64_t version_of(const std::string& line) {
  const auto json = parse_json(line, "an entry");
  if (!json.ok() || !json.value().is_object()) return -1;
  const auto version = json.value().find("version");
  return version != json.value().end() && version->is_number_integer() ? version->get<int64_t>()
                                                                       : 0;
}

class MqttSharedTopic final : public SharedTopic {
 public:
  MqttSharedTopic(const Address& address, SharedSettings settings, std::string topic,
                  SharedHooks hooks)
      : address_(address),
        settings_(std::move(settings)),
        topic_(std::move(topic)),
        hooks_(std::move(hooks)),
        session_(new_session()) {
    static const int once = mosquitto_lib_init();
    (void)once;
  }
  ~MqttSharedTopic() override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
      changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
    if (client_) mosquitto_destroy(client_);
  }
  MqttSharedTopic(const MqttSharedTopic&) = delete;
  MqttSharedTopic& operator=(const MqttSharedTopic&) = delete;

  Status start() {
    const std::string name =
        settings_.client_id.empty() ? "dvnn-gallery-" + session_ : settings_.client_id;
    client_ = mosquitto_new(name.c_str(), true, this);
    if (!client_) return Error(ErrorCode::kNoMemory, "there is no memory for a client");
    mosquitto_connect_callback_set(client_, on_connect);
    mosquitto_subscribe_callback_set(client_, on_subscribe);
    mosquitto_message_callback_set(client_, on_message);
    mosquitto_threaded_set(client_, true);
    int code = MOSQ_ERR_SUCCESS;
    if (!settings_.user.empty()) {
      code = mosquitto_username_pw_set(
          client_, settings_.user.c_str(),
          settings_.password.empty() ? nullptr : settings_.password.c_str());
    }
    if (code == MOSQ_ERR_SUCCESS && settings_.tls) code = use_tls();
    if (code != MOSQ_ERR_SUCCESS) {
      return Error(ErrorCode::kIo, printable(address_.url) + ": " + mosquitto_strerror(code));
    }
    thread_ = std::thread([this] { run(); });
    return {};
  }

  void send(const std::string& id, const std::string& line) override {
    if (!is_up_) return;
    const std::string topic = topic_ + "/" + id;
    mosquitto_publish(client_, nullptr, topic.c_str(), static_cast<int>(line.size()), line.data(),
                      kQos, true);
  }

 private:
  // The connection's thread. The library's own would connect in a call that nothing can end.
  void run() {
    while (!stopping_) {
      const int code = serve();
      const bool was_up = is_up_.exchange(false);
      if (stopping_) {
        if (was_up) say_goodbye();
        return;
      }
      tell(refusal_.empty() ? mosquitto_strerror(code) : std::exchange(refusal_, {}));
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait_for(lock, kPause, [this] { return stopping_.load(); });
    }
  }
  int serve() {
    const int usual = settings_.tls ? kUsualTlsPort : kUsualPort;
    int code =
        mosquitto_connect_async(client_, address_.host.c_str(),
                                address_.port > 0 ? address_.port : usual, settings_.keepalive);
    while (code == MOSQ_ERR_SUCCESS && !stopping_) code = mosquitto_loop(client_, kTurnMs, 1);
    return code;
  }
  // Lets what is on its way arrive.
  void say_goodbye() {
    int code = MOSQ_ERR_SUCCESS;
    for (int i = 0; i < kGoodbyeTurns && code == MOSQ_ERR_SUCCESS && mosquitto_want_write(client_);
         ++i) {
      code = mosquitto_loop(client_, kGoodbyeMs, 1);
    }
    mosquitto_disconnect(client_);
    for (int i = 0; i < kGoodbyeTurns && code == MOSQ_ERR_SUCCESS; ++i) {
      code = mosquitto_loop(client_, kGoodbyeMs, 1);
    }
  }
  int use_tls() {
    const auto text = [](const std::string& t) { return t.empty() ? nullptr : t.c_str(); };
    const char* folder = settings_.ca.empty() ? "/etc/ssl/certs" : nullptr;
    return mosquitto_tls_set(client_, text(settings_.ca), folder, text(settings_.certificate),
                             text(settings_.key), nullptr);
  }
  void tell(const std::string& why) {
    if (hooks_.state) hooks_.state(why.empty() ? why : printable(address_.url) + ": " + why);
  }

  static void on_connect(mosquitto* client, void* data, int code) {
    auto* self = static_cast<MqttSharedTopic*>(data);
    if (code != 0) {
      self->refusal_ =
          std::string("the broker refuses the connection: ") + mosquitto_connack_string(code);
      mosquitto_disconnect(client);
      return;
    }
    self->seen_.clear();
    mosquitto_subscribe(client, nullptr, (self->topic_ + "/+").c_str(), kQos);
  }
  static void on_subscribe(mosquitto* client, void* data, int, int count, const int* granted) {
    auto* self = static_cast<MqttSharedTopic*>(data);
    constexpr int kRefused = 0x80;
    if (count < 1 || granted[0] >= kRefused) {
      self->refusal_ = "the broker refuses to tell of " + printable(self->topic_);
      mosquitto_disconnect(client);
      return;
    }
    // Changes from here on may be sent: they are newer than what is retained, or lose against it.
    self->is_up_ = true;
    mosquitto_publish(client, nullptr, (self->topic_ + "/" + kMark).c_str(),
                      static_cast<int>(self->session_.size()), self->session_.data(), kQos, false);
    self->tell("");
  }
  static void on_message(mosquitto*, void* data, const mosquitto_message* message) {
    auto* self = static_cast<MqttSharedTopic*>(data);
    const std::string topic = message->topic ? message->topic : "";
    if (topic.size() <= self->topic_.size() + 1 || message->payloadlen < 0 ||
        message->payloadlen > kMostEntryBytes) {
      return;
    }
    std::string id = topic.substr(self->topic_.size() + 1);
    std::string line(static_cast<const char*>(message->payload),
                     static_cast<size_t>(message->payloadlen));
    if (id == kMark) {
      if (line == self->session_) self->send_newer();
      return;
    }
    if (line.empty()) return;  // removed; who knows of it decides by its own rules
    if (message->retain && self->seen_.size() < kMostSeen) self->seen_[id] = version_of(line);
    self->hooks_.came(std::move(id), std::move(line));
  }
  // Everything that the broker retains has come.
  void send_newer() {
    for (const SharedEntry& entry : hooks_.all()) {
      const auto there = seen_.find(entry.id);
      if (there == seen_.end() || there->second < entry.version) send(entry.id, entry.line);
    }
    seen_.clear();
  }

  const Address address_;
  const SharedSettings settings_;
  const std::string topic_;
  const SharedHooks hooks_;
  const std::string session_;
  mosquitto* client_ = nullptr;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> is_up_{false}, stopping_{false};
  std::string refusal_;                            // the connection's thread only
  std::unordered_map<std::string, int64_t> seen_;  // versions at the broker; its thread only
};

}  // namespace

Result<std::unique_ptr<SharedTopic>> open_shared_topic(const Address& address,
                                                       const Options& options,
                                                       const std::string& topic,
                                                       SharedHooks hooks) {
  if (address.scheme != "mqtt" && address.scheme != "mqtts") {
    return invalid_argument("a gallery is shared by mqtt:// or mqtts://, not " +
                            printable(address.scheme) + ":");
  }
  OptionReader in(options, address.scheme);
  SharedSettings settings;
  constexpr int kLongestKeepalive = 65535, kLeastKeepalive = 5;
  settings.tls = address.scheme == "mqtts";
  settings.keepalive = static_cast<int>(
      in.integer("keepalive", kLeastKeepalive, kLongestKeepalive, settings.keepalive));
  settings.client_id = in.text("client-id");
  settings.user = in.text("user", address.user);
  settings.password = in.text("password", address.password);
  if (settings.tls) {
    settings.ca = in.text("ca");
    settings.certificate = in.text("certificate");
    settings.key = in.text("key");
  }
  DVNN_TRY(in.status());
  if (topic.empty() || mosquitto_pub_topic_check(topic.c_str()) != MOSQ_ERR_SUCCESS) {
    return invalid_argument(
        "topic '" + printable(topic) +
        "' is no MQTT topic to publish to: it must not be empty or have + or #");
  }
  auto shared =
      std::make_unique<MqttSharedTopic>(address, std::move(settings), topic, std::move(hooks));
  DVNN_TRY(shared->start());
  return {std::move(shared)};
}
#else
Result<std::unique_ptr<SharedTopic>> open_shared_topic(const Address&, const Options&,
                                                       const std::string&, SharedHooks) {
  return unsupported("a gallery is shared by MQTT, which this build does not have");
}
#endif

}  // namespace dvnn::publish
