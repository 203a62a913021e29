// SPDX-License-Identifier: Apache-2.0
// MQTT with brokers of our own, which speak MQTT as far as they like: old ones, greedy ones, and
// ones that answer anything.
#include <dlfcn.h>
#include <netdb.h>

#include "check_suite.h"
#include "mqtt_library.h"
#include "random_server.h"
#include "told.h"

namespace dvnn::test::mqtt_answers_tests {

DVNN_SUITE(publish_mqtt_answers);

namespace {

// This machine by IPv6 first, where it has that, then by IPv4, whatever its files say of
// `localhost`.
constexpr const char* kBothFamilies = "both-families.test";

}  // namespace

// In place of the C library's.
extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints,
                           addrinfo** found) {
  static const auto usual =
      reinterpret_cast<decltype(&getaddrinfo)>(dlsym(RTLD_NEXT, "getaddrinfo"));
  if (!node || std::strcmp(node, kBothFamilies) != 0) return usual(node, service, hints, found);
  return usual(nullptr, service ? service : "0", hints, found);
}

namespace {

// Packets of MQTT, most of them well formed: connected, acknowledgements of messages that were sent
// or not, pings, messages that nobody has asked for; and anything.
std::string any_packets(bool is_5, Random* random) {
  const auto number = [&](unsigned below) { return static_cast<char>((*random)() % below); };
  std::string bytes;
  if (number(8) != 0) {
    const char code = number(20) == 0 ? number(is_5 ? 160 : 6) : '\0';
    bytes = is_5 ? std::string{0x20, 3, 0, code, 0} : std::string{0x20, 2, 0, code};
  }
  for (int left = number(12); left > 0; --left) {
    switch (number(7)) {
      case 0:
      case 1:
      case 2:
        bytes += {0x40, 2, 0, number(30)};
        break;
      case 3:
        bytes += {static_cast<char>(0x50 + 16 * number(3)), 2, 0, number(30)};
        break;
      case 4:
        bytes += {'\xd0', 0};
        break;
      case 5:
        bytes += {0x30, 5, 0, 1, 'a', number(256), number(256)};
        break;
      default:
        bytes += any_bytes(random, 40);
    }
  }
  return bytes;
}

std::string any_3_1_1(Random* random) {
  return any_packets(false, random);
}
std::string any_5(Random* random) {
  return any_packets(true, random);
}

// A broker that knows MQTT 3.1.1 alone, for one publisher after the other. It takes every message
// of QoS 1, and refuses other versions as `answer` says.
class OldBroker {
 public:
  explicit OldBroker(std::string answer) : answer_(std::move(answer)) {
    listening_ = listen_anywhere(&port_);
    thread_ = std::thread([this] { serve(); });
  }
  ~OldBroker() {
    shutdown(listening_, SHUT_RDWR);
    thread_.join();
    close(listening_);
  }
  int port() const { return port_; }
  /// The versions that were asked for, as their bytes.
  std::string asked() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return asked_;
  }

 private:
  static bool read_all(int caller, std::string* bytes, size_t count) {
    bytes->resize(count);
    return count == 0 ||
           recv(caller, bytes->data(), count, MSG_WAITALL) == static_cast<ssize_t>(count);
  }
  // A packet's first byte, and what follows its length.
  static bool read_packet(int caller, char* first, std::string* rest) {
    std::string byte;
    if (!read_all(caller, &byte, 1)) return false;
    *first = byte[0];
    size_t length = 0;
    for (int shift = 0; shift < 28; shift += 7) {
      if (!read_all(caller, &byte, 1)) return false;
      length |= static_cast<size_t>(byte[0] & 0x7f) << shift;
      if (!(byte[0] & 0x80)) break;
    }
    return read_all(caller, rest, length);
  }
  static void say(int caller, const std::string& bytes) {
    (void)send(caller, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  void answer(int caller) {
    char first = 0;
    for (std::string rest; read_packet(caller, &first, &rest);) {
      const int kind = first >> 4 & 15;
      if (kind == 1) {  // CONNECT: the protocol's name, and its version
        const char version = rest.at(6);
        {
          const std::lock_guard<std::mutex> lock(mutex_);
          asked_ += version;
        }
        if (version != 4) return say(caller, answer_);
        say(caller, {0x20, 2, 0, 0});
      } else if (kind == 3 && (first & 6) == 2) {  // PUBLISH: the id is behind the topic
        const size_t at =
            2 + static_cast<size_t>(rest.at(0)) * 256 + static_cast<size_t>(rest.at(1));
        say(caller, std::string{0x40, 2} + rest.substr(at, 2));
      }
    }
  }
  void serve() {
    for (int caller = 0; (caller = accept(listening_, nullptr, nullptr)) >= 0; close(caller)) {
      answer(caller);
    }
  }

  const std::string answer_;
  int listening_ = -1, port_ = 0;
  mutable std::mutex mutex_;
  std::string asked_;
  std::thread thread_;
};

}  // namespace

DVNN_TEST(a_broker_may_answer_anything) {
  try_rounds("mqtt", any_3_1_1, {{"settle", "0"}, {"version", "3.1.1"}}, 1, 60);
  if (!the_library_bears_any_answer()) {
    std::printf("skipped: answers of MQTT 5, which may end a library that is as old as this one\n");
    return;
  }
  try_rounds("mqtt", any_5, {{"settle", "0"}, {"version", "5"}, {"qos", "2"}}, 2, 60);
  try_rounds("mqtt", any_3_1_1, {{"settle", "0"}}, 3, 60);
  try_rounds("mqtt", any_5, {{"settle", "0"}}, 4, 60);
}

// At once, and without a word of a loss.
DVNN_TEST(a_broker_that_does_not_know_mqtt_5_is_asked_in_3_1_1) {
  const std::string refusals[] = {{0x20, 2, 0, 1},          // in 3.1.1's words
                                  {0x20, 3, 0, '\x84', 0},  // in MQTT 5's
                                  {0x20, 2, 0, 0}};         // takes it for 3.1.1
  for (const std::string& refusal : refusals) {
    OldBroker broker(refusal);
    Told told;
    Publisher publisher(tireless(), told.tell());
    start_at(&publisher, "mqtt://127.0.0.1:" + std::to_string(broker.port()), {});
    for (int i = 0; i < 10; ++i) publisher.publish({"topic", "key", std::to_string(i)});
    ck_assert(publisher.flush(std::chrono::minutes(1)));
    ck_assert_uint_eq(publisher.stats().delivered, 10);
    ck_assert_uint_eq(publisher.stats().losses, 0);
    publisher.stop();
    const bool tries_5 = the_library_bears_any_answer();
    dvnn_assert_text(told.connected(), tries_5
                                           ? "MQTT 3.1.1, because the broker does not know MQTT 5"
                                           : "MQTT 3.1.1");
    ck_assert(broker.asked() == std::string(tries_5 ? "\5\4" : "\4"));
  }
  // Who asks for MQTT 5 is told.
  OldBroker broker(refusals[0]);
  Told told;
  Publisher publisher(tireless(), told.tell());
  start_at(&publisher, "mqtt://127.0.0.1:" + std::to_string(broker.port()), {{"version", "5"}});
  ck_assert_ptr_nonnull(std::strstr(told.lost().c_str(), "it does not know MQTT 5"));
  publisher.stop();
}

// It has announced MQTT's largest packet, 256 MiB, and begun to send it. Then it waits: until the
// connection ends nothing more comes, so that it does not matter which side is faster.
DVNN_TEST(a_broker_that_sends_more_than_answers_is_left) {
  for (const bool is_5 : {false, true}) {
    Told told;
    Publisher publisher(tireless(), told.tell());
    int port = 0;
    const int listening = listen_anywhere(&port);
    start_at(&publisher, "mqtt://127.0.0.1:" + std::to_string(port),
             {{"version", is_5 ? "5" : "3.1.1"}});
    const int caller = accept(listening, nullptr, nullptr);
    std::string block(size_t{2} << 20, 'A');
    ck_assert_int_gt(recv(caller, block.data(), block.size(), 0), 0);
    const std::string answer = is_5 ? std::string{0x20, 3, 0, 0, 0} : std::string{0x20, 2, 0, 0};
    const std::string begin =
        answer + std::string{0x30, '\xff', '\xff', '\xff', 0x7f, 0, 1, 'a'} + block;
    (void)send(caller, begin.data(), begin.size(), MSG_NOSIGNAL);
    while (recv(caller, block.data(), block.size(), 0) > 0) continue;
    const std::string lost = told.lost();
    ck_assert_msg(std::strstr(lost.c_str(), "the broker sends more than answers"), "%s",
                  lost.c_str());
    publisher.stop();
    close(caller);
    close(listening);
  }
}

// MQTT 5's limit of what a broker may send. It comes again with each connection, and 3.1.1 has
// none.
DVNN_TEST(the_largest_packet_is_announced_in_mqtt_5) {
  const std::string limit = {0x27, 0, 1, 0, 0};  // Maximum Packet Size: 65,536
  for (const bool is_5 : {false, true}) {
    Told told;
    Publisher publisher(tireless(), told.tell());
    int port = 0;
    const int listening = listen_anywhere(&port);
    start_at(&publisher, "mqtt://127.0.0.1:" + std::to_string(port),
             {{"version", is_5 ? "5" : "3.1.1"}, {"status", "no"}});
    for (int connection = 0; connection < 2; ++connection) {
      const int caller = accept(listening, nullptr, nullptr);
      std::string asked(1024, '\0');
      const ssize_t size = recv(caller, asked.data(), asked.size(), 0);
      ck_assert_int_gt(size, 0);
      asked.resize(static_cast<size_t>(size));
      ck_assert_int_eq(asked.find(limit) != std::string::npos, is_5);
      close(caller);
    }
    publisher.stop();
    close(listening);
  }
}

// The old broker listens at IPv4 alone. This is no loss, now or when the next connection begins.
DVNN_TEST(a_name_that_is_refused_by_one_family_is_asked_by_the_other) {
  OldBroker broker("");
  for (int start = 0; start < 2; ++start) {
    Told told;
    Publisher publisher(tireless(), told.tell());
    start_at(&publisher,
             std::string("mqtt://") + kBothFamilies + ":" + std::to_string(broker.port()),
             {{"version", "3.1.1"}});
    publisher.publish({"topic", "key", "0"});
    ck_assert(publisher.flush(kWatchdog));
    ck_assert_uint_eq(publisher.stats().losses, 0);
    publisher.stop();
  }
}

// Before the time of `keepalive`, for which some versions of the library would try to write to what
// is not connected.
DVNN_TEST(a_broker_that_is_not_there_refuses_at_once) {
  const OwnPort nobodys;
  for (const char* host : {"mqtt://127.0.0.1:", "mqtts://127.0.0.1:", "mqtts://localhost:"}) {
    Told told;
    Publisher publisher(tireless(), told.tell());
    start_at(&publisher, host + std::to_string(nobodys.number()), {{"keepalive", "65535"}});
    const std::string why = told.lost();
    ck_assert_msg(std::strstr(why.c_str(), "Connection refused"), "%s: %s", host, why.c_str());
    publisher.stop();
  }
}

}  // namespace dvnn::test::mqtt_answers_tests
