// SPDX-License-Identifier: Apache-2.0
// MQTT brokers and webhooks that answer anything: an input is options, and what each connection is
// told before it ends. A message is acknowledged or rejected once at most, and the loss of a
// connection is a line that says why. Kafka's library waits too long between two connections.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <mutex>
#include <set>
#include <string>

#include "fuzzed_data.h"
#include "publish/transports/transport.h"
#include "target.h"

namespace dvnn::fuzz::transports_target {

using fuzz::expect;
using fuzz::FuzzedData;
using publish::Transport;

namespace {

// What a broker or a webhook says when all is well, and some of what it says when nothing is.
std::string any_answer(FuzzedData* in) {
  static const std::string kKnown[] = {
      {},
      {0x20, 2, 0, 0},                                // MQTT 3.1.1: connected
      {0x20, 3, 0, 0, 0},                             // MQTT 5: connected
      {0x40, 2, 0, 1, 0x40, 2, 0, 2, 0x40, 2, 0, 3},  // messages of QoS 1
      {0x50, 2, 0, 1, 0x70, 2, 0, 1},                 // a message of QoS 2
      {0x40, 3, 0, 1, '\x97'},                        // not now
      "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
      "HTTP/1.1 301 Elsewhere\r\nLocation: file:///etc/passwd\r\n\r\n"};
  constexpr size_t kMost = 200;
  return in->byte() < 160 ? in->one_of(kKnown) : in->text(kMost);
}

// Talks with one caller after the other. Nothing in it waits for long.
class Server {
 public:
  Server() : listening_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const general = reinterpret_cast<sockaddr*>(&address);
    expect(bind(listening_, general, size) == 0 && listen(listening_, SOMAXCONN) == 0 &&
               getsockname(listening_, general, &size) == 0,
           "there is no socket to listen at");
    port_ = ntohs(address.sin_port);
  }
  int port() const { return port_; }

  // A caller, a word, or the end of a connection.
  void go_on(FuzzedData* in) {
    constexpr int kPatienceMs = 5;
    pollfd socket = {caller_ >= 0 ? caller_ : listening_, POLLIN, 0};
    const bool said = poll(&socket, 1, kPatienceMs) > 0;
    if (caller_ < 0) {
      if (!said) return;
      caller_ = accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
      answers_ = 1 + in->byte() % 4;
      return;
    }
    char asked[4096];
    if (said && recv(caller_, asked, sizeof(asked), MSG_DONTWAIT) <= 0) return hang_up();
    const std::string answer = any_answer(in);
    (void)send(caller_, answer.data(), answer.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (answer.empty() || --answers_ == 0) hang_up();
  }
  void hang_up() {
    if (caller_ >= 0) close(caller_);
    caller_ = -1;
  }

 private:
  const int listening_;
  int port_ = 0, caller_ = -1, answers_ = 0;
};

// Holds what is told against what was sent.
class Account final : public publish::Listener {
 public:
  void ready(const std::string&) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    up_ = true;
    ++fuzz::accepted;
  }
  void lost(const std::string& why) override {
    fuzz::expect_one_line({ErrorCode::kIo, why});
    const std::lock_guard<std::mutex> lock(mutex_);
    expect(!closed_, "a transport that is closed tells of a loss");
    lost_ = true;
  }
  void acknowledged(uint64_t token) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    expect(waiting_.erase(token) == 1, "an answer to what does not wait for one");
  }
  void rejected(uint64_t token, const std::string& why) override {
    fuzz::expect_one_line({ErrorCode::kIo, why});
    acknowledged(token);
  }

  void begin() {
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_.clear();
    up_ = lost_ = false;
  }
  void send(FuzzedData* in, Transport* transport) {
    if (in->flag()) {
      transport->recall("topic/config");
      transport->keep("topic/config", in->text(50));
    }
    for (int left = 1 + in->byte() % 4; left > 0; --left) {
      const uint64_t token = ++last_token_;
      set_waiting(token, true);
      const bool taken = transport->send(token, {in->text(8), "key", in->text(100)});
      if (!taken) set_waiting(token, false);
    }
  }
  bool is_up() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return up_;
  }
  bool is_lost() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return lost_;
  }
  bool all_answered() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return waiting_.empty();
  }
  void close() {
    const std::lock_guard<std::mutex> lock(mutex_);
    closed_ = true;
  }

 private:
  void set_waiting(uint64_t token, bool waits) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (waits) {
      waiting_.insert(token);
    } else {
      waiting_.erase(token);
    }
  }

  mutable std::mutex mutex_;
  std::set<uint64_t> waiting_;
  uint64_t last_token_ = 0;
  bool up_ = false, lost_ = false, closed_ = false;
};

publish::Options any_options(FuzzedData* in, bool is_mqtt) {
  static const char* const kBatches[] = {"1", "3"};
  static const char* const kQos[] = {"1", "0", "2"};
  static const char* const kStatus[] = {"no", "yes"};
  if (!is_mqtt) return {{"batch", in->one_of(kBatches)}};
  // In MQTT 5, some answers end a libmosquitto that is old
  // (src/publish/transports/mqtt_transport.cpp): what it is asked to try first is for it to say.
  const char* const version = in->flag() ? "auto" : "3.1.1";
  return {{"version", version}, {"qos", in->one_of(kQos)}, {"status", in->one_of(kStatus)}};
}

// Connects, sends, and listens until the connection is lost or all is answered.
void use_connection(FuzzedData* in, Server* server, Account* account, Transport* transport) {
  constexpr int kMostTurns = 4000;  // of up to 5 ms: a hang
  account->begin();
  transport->connect();
  bool sent = false;
  int turns = 0;
  for (; !account->is_lost() && !(sent && account->all_answered()); ++turns) {
    expect(turns < kMostTurns, "a connection has no end");
    if (!sent && account->is_up()) {
      account->send(in, transport);
      sent = true;
    }
    server->go_on(in);
  }
  server->hang_up();
}

}  // namespace

static void prepare() {}

static void try_input(const uint8_t* data, size_t size) {
  constexpr int kMostConnections = 3;
  static auto* const server = new Server();
  FuzzedData in(data, size);
  const bool is_mqtt = in.flag();
  const auto address = publish::parse_address((is_mqtt ? "mqtt" : "http") +
                                              ("://127.0.0.1:" + std::to_string(server->port())));
  expect(address.ok(), "the address is no address");
  Account account;
  auto transport = publish::create_transport(address.value(), any_options(&in, is_mqtt),
                                             {"cam", "0", "topic"}, &account);
  if (!fuzz::is_good(transport)) return;
  for (int left = kMostConnections; left > 0 && (left == kMostConnections || in.left() > 0);
       --left) {
    use_connection(&in, server, &account, transport.value().get());
  }
  transport.value()->close();
  account.close();
}

DVNN_FUZZ_TARGET(transports)

}  // namespace dvnn::fuzz::transports_target
