// SPDX-License-Identifier: Apache-2.0
// Kafka by librdkafka: an idempotent producer, which keeps messages with the same key in order. It
// tries for ever to deliver a message that it has accepted, so it gets no more than fit its window.
#include <librdkafka/rdkafka.h>

#include <atomic>
#include <thread>

#include "base/log.h"
#include "publish/transports/transports.h"

namespace dvnn::publish {
namespace {

constexpr size_t kKafkaWindow = 2000;
constexpr int kPollMs = 100;
constexpr size_t kReasonBytes = 512;

class KafkaTransport final : public Transport {
 public:
  KafkaTransport(const TransportRequest& request) : listener_(request.listener) {}
  ~KafkaTransport() override {
    close();
    if (settings_) rd_kafka_conf_destroy(settings_);
  }

  Status prepare(const TransportRequest& request) {
    settings_ = rd_kafka_conf_new();
    // The user's options come last and override these, but not those of order and memory.
    DVNN_TRY(set("linger.ms", "5"));
    DVNN_TRY(set("client.id", request.identity.stream));
    DVNN_TRY(set("socket.keepalive.enable", "true"));
    DVNN_TRY(set("reconnect.backoff.max.ms", "10000"));
    if (request.options.count("security.protocol") > 0) {
      DVNN_TRY(set("ssl.endpoint.identification.algorithm", "https"));
    }
    for (const auto& [name, value] : request.options) DVNN_TRY(set(name, value));
    DVNN_TRY(set("bootstrap.servers", request.address.host));
    DVNN_TRY(set("enable.idempotence", "true"));
    DVNN_TRY(set("message.timeout.ms", "0"));
    rd_kafka_conf_set_dr_msg_cb(settings_, on_report);
    rd_kafka_conf_set_error_cb(settings_, on_error);
    rd_kafka_conf_set_log_cb(settings_, nullptr);
    rd_kafka_conf_set_opaque(settings_, this);
    // Only creating a producer finds settings that contradict each other and missing files.
    char why[kReasonBytes] = "";
    rd_kafka_conf_t* trial = rd_kafka_conf_dup(settings_);
    if (rd_kafka_t* producer = rd_kafka_new(RD_KAFKA_PRODUCER, trial, why, sizeof(why))) {
      rd_kafka_destroy(producer);
      return {};
    }
    rd_kafka_conf_destroy(trial);
    return invalid_argument(std::string("kafka: ") + why);
  }

  void connect() override {
    close();
    char why[kReasonBytes] = "";
    rd_kafka_conf_t* settings = rd_kafka_conf_dup(settings_);
    producer_ = rd_kafka_new(RD_KAFKA_PRODUCER, settings, why, sizeof(why));
    if (!producer_) {
      rd_kafka_conf_destroy(settings);
      return listener_->lost(why);
    }
    stopping_ = told_ = false;
    thread_ = std::thread([this] {
      while (!stopping_) rd_kafka_poll(producer_, kPollMs);
    });
    // It accepts messages at once, and delivers them when a broker can be reached.
    listener_->ready({});
  }

  bool send(uint64_t token, const Message& message) override {
    if (!producer_ || told_) return false;
    const rd_kafka_resp_err_t code = rd_kafka_producev(
        producer_, RD_KAFKA_V_TOPIC(message.topic.c_str()),
        RD_KAFKA_V_KEY(message.key.data(), message.key.size()),
        RD_KAFKA_V_VALUE(const_cast<char*>(message.body.data()), message.body.size()),
        RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
        RD_KAFKA_V_OPAQUE(reinterpret_cast<void*>(static_cast<uintptr_t>(token))), RD_KAFKA_V_END);
    switch (code) {
      case RD_KAFKA_RESP_ERR_NO_ERROR:
        return true;
      case RD_KAFKA_RESP_ERR__QUEUE_FULL:
        return false;
      case RD_KAFKA_RESP_ERR__FATAL:
        lose();
        return false;
      default:  // too large, or an impossible topic
        listener_->rejected(token, rd_kafka_err2str(code));
        return true;
    }
  }

  size_t window() const override { return kKafkaWindow; }

  void close() override {
    if (!producer_) return;
    rd_kafka_purge(producer_, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    stopping_ = true;
    thread_.join();
    // Handles the reports of the purged messages.
    rd_kafka_flush(producer_, kPollMs);
    rd_kafka_destroy(producer_);
    producer_ = nullptr;
  }

 private:
  Status set(const std::string& name, const std::string& value) {
    char why[kReasonBytes] = "";
    const auto result = rd_kafka_conf_set(settings_, name.c_str(), value.c_str(), why, sizeof(why));
    if (result == RD_KAFKA_CONF_OK) return {};
    return invalid_argument(std::string("kafka: ") + why);
  }

  // Reports a loss: only an error that ends the producer itself is one.
  void lose() {
    char why[kReasonBytes] = "the producer has failed";
    rd_kafka_fatal_error(producer_, why, sizeof(why));
    if (!told_.exchange(true)) listener_->lost(why);
  }

  static void on_report(rd_kafka_t*, const rd_kafka_message_t* report, void* data) {
    auto* self = static_cast<KafkaTransport*>(data);
    const auto token = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(report->_private));
    switch (report->err) {
      case RD_KAFKA_RESP_ERR_NO_ERROR:
        return self->listener_->acknowledged(token);
      case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
      case RD_KAFKA_RESP_ERR_INVALID_MSG:
      case RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE:
      case RD_KAFKA_RESP_ERR_INVALID_RECORD:
        return self->listener_->rejected(token, rd_kafka_err2str(report->err));
      case RD_KAFKA_RESP_ERR__PURGE_QUEUE:
      case RD_KAFKA_RESP_ERR__PURGE_INFLIGHT:
        return;  // close() has purged it
      default:
        // Whatever the error is, this message must come before those that follow it.
        if (!self->told_.exchange(true)) self->listener_->lost(rd_kafka_err2str(report->err));
    }
  }

  // librdkafka tries again after all errors but fatal ones: a broker is away, a password is wrong.
  static void on_error(rd_kafka_t*, int code, const char* why, void* data) {
    DVNN_LOG(kPublisher, kInfo, "librdkafka: %s",
             why ? why : rd_kafka_err2str(static_cast<rd_kafka_resp_err_t>(code)));
    if (code == RD_KAFKA_RESP_ERR__FATAL) static_cast<KafkaTransport*>(data)->lose();
  }

  Listener* const listener_;
  rd_kafka_conf_t* settings_ = nullptr;
  rd_kafka_t* producer_ = nullptr;
  std::thread thread_;
  std::atomic<bool> stopping_{false}, told_{false};
};

}  // namespace

TransportResult create_kafka_transport(const TransportRequest& request) {
  if (request.identity.topic.empty()) {
    return invalid_argument("Kafka needs a topic, and none is set");
  }
  auto transport = std::make_unique<KafkaTransport>(request);
  DVNN_TRY(transport->prepare(request));
  return {std::move(transport)};
}

}  // namespace dvnn::publish
