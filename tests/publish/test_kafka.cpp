// SPDX-License-Identifier: Apache-2.0
// Kafka with librdkafka's own mock cluster, whose brokers go down and come back. It knows neither
// TLS nor SASL, so that these are a proxy's before it: kafka_proxy.py.
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include "base/log.h"
#include "check_suite.h"
#include "clocks.h"
#include "publish/publisher.h"
#include "random_server.h"
#include "server_process.h"
#include "temporary_folder.h"
#include "told.h"

namespace dvnn::test::kafka_tests {

DVNN_SUITE(publish_kafka);

using publish::Publisher;
using publish::PublisherSettings;
using std::chrono::milliseconds;

namespace {

class Cluster {
 public:
  explicit Cluster(int brokers) {
    char why[512];
    handle_ = rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), why, sizeof(why));
    cluster_ = rd_kafka_mock_cluster_new(handle_, brokers);
    ck_assert_int_eq(rd_kafka_mock_topic_create(cluster_, "t", 4, brokers), 0);
  }
  ~Cluster() {
    rd_kafka_mock_cluster_destroy(cluster_);
    rd_kafka_destroy(handle_);
  }
  std::string servers() const { return rd_kafka_mock_cluster_bootstraps(cluster_); }
  void set_down(int broker) { rd_kafka_mock_broker_set_down(cluster_, broker); }
  void set_up(int broker) { rd_kafka_mock_broker_set_up(cluster_, broker); }

  // All numbers of a key, from all partitions.
  void read(int64_t count, const char* key, Arrivals* arrivals) const {
    char why[512];
    rd_kafka_conf_t* settings = rd_kafka_conf_new();
    rd_kafka_conf_set(settings, "bootstrap.servers", servers().c_str(), why, sizeof(why));
    rd_kafka_conf_set(settings, "group.id", key, why, sizeof(why));
    rd_kafka_t* consumer = rd_kafka_new(RD_KAFKA_CONSUMER, settings, why, sizeof(why));
    rd_kafka_topic_partition_list_t* all = rd_kafka_topic_partition_list_new(4);
    for (int i = 0; i < 4; ++i) {
      rd_kafka_topic_partition_list_add(all, "t", i)->offset = RD_KAFKA_OFFSET_BEGINNING;
    }
    rd_kafka_assign(consumer, all);
    rd_kafka_topic_partition_list_destroy(all);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(15);
    while (arrivals->next() < count && std::chrono::steady_clock::now() < end) {
      rd_kafka_message_t* message = rd_kafka_consumer_poll(consumer, 100);
      if (!message) continue;
      const std::string_view of(static_cast<const char*>(message->key), message->key_len);
      if (!message->err && of == key) {
        const std::string body(static_cast<const char*>(message->payload), message->len);
        arrivals->add(std::atoll(body.c_str()));
      }
      rd_kafka_message_destroy(message);
    }
    rd_kafka_consumer_close(consumer);
    rd_kafka_destroy(consumer);
  }

 private:
  rd_kafka_t* handle_ = nullptr;
  rd_kafka_mock_cluster_t* cluster_ = nullptr;
};

const auto quiet = [](publish::Notice, const std::string&) {};

void start(Publisher* publisher, const Cluster& cluster, const publish::Options& options = {}) {
  const auto address = publish::parse_address("kafka://" + cluster.servers());
  ck_assert(address.ok());
  const Status status =
      publisher->start(address.value(), options, {"cam", "0123456789abcdef", "t"});
  if (!status.ok()) ck_abort_msg("%s", status.error().message.c_str());
}

}  // namespace

DVNN_TEST(what_has_one_key_stays_in_order) {
  const Cluster cluster(1);
  Publisher publisher({}, quiet);
  start(&publisher, cluster);
  for (int i = 0; i < 400; ++i) {
    for (const char* key : {"a", "b"}) publisher.publish({"t", key, std::to_string(i)});
  }
  ck_assert(publisher.flush(std::chrono::minutes(1)));
  for (const char* key : {"a", "b"}) {
    Arrivals arrivals;
    cluster.read(400, key, &arrivals);
    arrivals.expect(400);
    ck_assert_int_eq(arrivals.again(), 0);
  }
}

DVNN_TEST(brokers_that_fail_lose_nothing) {
  Cluster cluster(3);
  TemporaryFolder folder;
  PublisherSettings settings;
  settings.spool = folder.file("spool");
  settings.queue_messages = 2000;  // more than come between two waits
  const RealClock clock;
  Publisher publisher(settings, quiet, clock);
  start(&publisher, cluster, {{"reconnect.backoff.max.ms", "100"}, {"retry.backoff.ms", "20"}});
  constexpr int kMessages = 6000;
  for (int i = 0; i < kMessages; ++i) {
    publisher.publish({"t", "a", std::to_string(i)});
    if (i % 1500 == 700) {
      // While messages are under way.
      clock.until([&] { return publisher.stats().waiting() < 100; });
      for (int broker = 1; broker <= 3; ++broker) cluster.set_down(broker);
    }
    if (i % 1500 == 1400) {
      for (int broker = 1; broker <= 3; ++broker) cluster.set_up(broker);
    }
  }
  for (int broker = 1; broker <= 3; ++broker) cluster.set_up(broker);
  ck_assert(publisher.flush(std::chrono::minutes(1)));
  ck_assert_uint_eq(publisher.stats().dropped, 0);
  Arrivals arrivals;
  cluster.read(kMessages, "a", &arrivals);
  arrivals.expect(kMessages);
}

DVNN_TEST(a_start_without_brokers_keeps_all_for_the_next) {
  Cluster cluster(1);
  TemporaryFolder folder;
  PublisherSettings settings;
  settings.spool = folder.file("spool");
  cluster.set_down(1);
  {
    const RealClock clock;
    Publisher publisher(settings, quiet, clock);
    start(&publisher, cluster);
    for (int i = 0; i < 300; ++i) publisher.publish({"t", "a", std::to_string(i)});
    clock.until([&] { return publisher.stats().connected; });  // librdkafka has them
    ck_assert(!publisher.flush(milliseconds(0)));
    publisher.stop();
    ck_assert_uint_eq(publisher.stats().spooled, 300);
  }
  cluster.set_up(1);
  Publisher publisher(settings, quiet);
  start(&publisher, cluster, {{"reconnect.backoff.max.ms", "100"}});
  ck_assert(publisher.flush(std::chrono::minutes(1)));
  Arrivals arrivals;
  cluster.read(300, "a", &arrivals);
  arrivals.expect(300);
}

DVNN_TEST(settings_are_refused_by_name) {
  const Cluster cluster(1);
  const auto refusal = [&](const char* name, const char* value) {
    const auto address = publish::parse_address("kafka://" + cluster.servers());
    Publisher publisher({}, quiet);
    const Status status = publisher.start(address.value(), {{name, value}}, {"c", "0", "t"});
    return status.ok() ? std::string() : status.error().message;
  };
  ck_assert_ptr_nonnull(std::strstr(refusal("colour", "red").c_str(), "\"colour\""));
  ck_assert_ptr_nonnull(std::strstr(refusal("acks", "many").c_str(), "acks"));
}

namespace {

bool there_is_a_proxy(const Certificates& certificates) {
  if (!certificates.made()) return false;
  if (access("/usr/bin/python3", X_OK) == 0) return true;
  std::printf("skipped: there is no Python\n");
  return false;
}

// What librdkafka logs, which tries for ever: refused certificates and passwords.
class Refusals {
 public:
  Refusals() {
    said = std::make_unique<Gate>();
    static const log::Sink sink = {[](log::Topic topic, log::Level level) {
                                     return topic == log::Topic::kPublisher &&
                                            level == log::Level::kInfo;
                                   },
                                   [](log::Topic, log::Level, const char*, int, const char* text) {
                                     if (std::strstr(text, "SSL") || std::strstr(text, "SASL"))
                                       said->open();
                                   }};
    log::connect(&sink);
  }
  ~Refusals() { log::connect(nullptr); }
  Refusals(const Refusals&) = delete;
  Refusals& operator=(const Refusals&) = delete;
  static void wait() { said->wait(); }

 private:
  static inline std::unique_ptr<Gate> said;
};

// A cluster of one broker behind the proxy.
class ProtectedCluster {
 public:
  ProtectedCluster(const Certificates& certificates, const std::string& host,
                   const std::vector<std::string>& user_and_password = {}) {
    const std::string servers = cluster_.servers();
    std::vector<std::string> command = {"/usr/bin/python3",
                                        DVNN_KAFKA_PROXY,
                                        std::to_string(port_.number()),
                                        servers.substr(servers.rfind(':') + 1),
                                        certificates.certificate(host),
                                        certificates.key(host)};
    command.insert(command.end(), user_and_password.begin(), user_and_password.end());
    proxy_ = std::make_unique<ServerProcess>(command, port_.number());
    proxy_->start();
  }
  // 20 messages arrive, or none.
  void expect_to_take(const publish::Options& options, bool good, const std::string& text) const {
    const Refusals refusals;
    Publisher publisher({}, quiet);
    const auto address =
        publish::parse_address("kafka://localhost:" + std::to_string(port_.number()));
    const Status status =
        publisher.start(address.value(), options, {"cam", "0123456789abcdef", "t"});
    if (!status.ok()) ck_abort_msg("%s", status.error().message.c_str());
    for (int i = 0; i < 20; ++i) publisher.publish({"t", "a", std::to_string(i)});
    if (!good) {
      refusals.wait();
      ck_assert_msg(publisher.stats().delivered == 0, "%s", text.c_str());
      return;
    }
    ck_assert_msg(publisher.flush(kWatchdog), "%s", text.c_str());
    Arrivals arrivals;
    cluster_.read(20, "a", &arrivals);
    arrivals.expect(20);
  }

 private:
  const Cluster cluster_{1};
  const OwnPort port_;
  std::unique_ptr<ServerProcess> proxy_;
};

}  // namespace

DVNN_TEST(wrong_certificates_are_refused) {
  const Certificates certificates;
  if (!there_is_a_proxy(certificates)) return;
  for (const auto& one : Certificates::kCases) {
    const ProtectedCluster cluster(certificates, one.host);
    publish::Options options = {{"security.protocol", "ssl"}};
    if (one.authority) options["ssl.ca.location"] = certificates.certificate(one.authority);
    cluster.expect_to_take(options, one.good, one.text());
  }
}

DVNN_TEST(names_and_passwords_are_sent_and_wrong_ones_refused) {
  const Certificates certificates;
  if (!there_is_a_proxy(certificates)) return;
  for (const bool good : {true, false}) {
    const ProtectedCluster cluster(certificates, "localhost", {"door", "secret"});
    cluster.expect_to_take({{"security.protocol", "sasl_ssl"},
                            {"ssl.ca.location", certificates.certificate("good")},
                            {"sasl.mechanism", "PLAIN"},
                            {"sasl.username", "door"},
                            {"sasl.password", good ? "secret" : "wrong"}},
                           good, good ? "the right password" : "a wrong password");
  }
}

namespace {

std::string any_kafka(Random* random) {
  std::string bytes;
  for (unsigned left = 1 + (*random)() % 4; left > 0; --left) {
    std::string body = any_bytes(random, 100);
    // The number of the request that it answers, more often than not.
    if (body.size() >= 4 && (*random)() % 4 != 0) {
      const char id[] = {0, 0, 0, static_cast<char>(1 + (*random)() % 3)};
      body.replace(0, 4, id, sizeof(id));
    }
    const bool lies = (*random)() % 8 == 0;
    const uint32_t size =
        lies ? static_cast<uint32_t>((*random)()) : static_cast<uint32_t>(body.size());
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(size >> shift);
    bytes += body;
  }
  return bytes;
}

}  // namespace

DVNN_TEST(a_kafka_broker_may_answer_anything) {
  try_rounds("kafka", any_kafka, {}, 4, 4);
}

}  // namespace dvnn::test::kafka_tests
