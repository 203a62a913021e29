// SPDX-License-Identifier: Apache-2.0
// Servers that answer arbitrary bytes, because a broker or a webhook may be anybody's. The bytes
// are seeded. Each answer begins like a valid one, so that the code behind the first check is
// reached. Rounds are counted in connections, not by a clock; the test's time limit is the
// watchdog.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <random>
#include <string>
#include <thread>

#include "check_suite.h"
#include "publish/publisher.h"
#include "server_process.h"

namespace dvnn::test {

using publish::Publisher;
using publish::PublisherSettings;
using Random = std::mt19937;

inline std::string any_bytes(Random* random, size_t most) {
  std::string bytes((*random)() % (most + 1), '\0');
  for (char& byte : bytes) byte = static_cast<char>((*random)());
  return bytes;
}

// Returns a socket that listens at any free port.
inline int listen_anywhere(int* port) {
  const int listening = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ck_assert_int_eq(bind(listening, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ck_assert_int_eq(listen(listening, 8), 0);
  socklen_t size = sizeof(address);
  getsockname(listening, reinterpret_cast<sockaddr*>(&address), &size);
  *port = ntohs(address.sin_port);
  return listening;
}

// Answers each connection after its first request, and closes it.
class RandomServer {
 public:
  using Answer = std::string (*)(Random* random);

  RandomServer(Answer answer, unsigned seed) : answer_(answer), random_(seed) {
    listening_ = listen_anywhere(&port_);
    thread_ = std::thread([this] { serve(); });
  }
  ~RandomServer() {
    shutdown(listening_, SHUT_RDWR);
    thread_.join();
    close(listening_);
  }
  int port() const { return port_; }
  void wait_for(int connections) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return served_ >= connections; });
  }

 private:
  void serve() {
    for (int caller = 0; (caller = accept(listening_, nullptr, nullptr)) >= 0; close(caller)) {
      char asked[4096];
      if (recv(caller, asked, sizeof(asked), 0) > 0) {
        const std::string bytes = answer_(&random_);
        (void)send(caller, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        // Reads the rest half of the time: unread bytes turn the close into an error.
        if (random_() % 2) (void)recv(caller, asked, sizeof(asked), MSG_DONTWAIT);
      }
      const std::lock_guard<std::mutex> lock(mutex_);
      ++served_;
      changed_.notify_all();
    }
  }

  const Answer answer_;
  Random random_;
  int listening_ = -1, port_ = 0, served_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread thread_;
};

inline void start_at(Publisher* publisher, const std::string& url,
                     const publish::Options& options) {
  const auto address = publish::parse_address(url);
  ck_assert(address.ok());
  const Status status = publisher->start(address.value(), options, {"cam", "0", "topic"});
  if (!status.ok()) ck_abort_msg("%s", status.error().message.c_str());
}

inline PublisherSettings tireless() {
  PublisherSettings settings;
  settings.least_pause = std::chrono::milliseconds(1);
  settings.longest_pause = std::chrono::milliseconds(2);
  return settings;
}

// Checks that every message is delivered, dropped or waiting, once, whatever the answers are.
inline void try_rounds(const char* scheme, RandomServer::Answer answer,
                       const publish::Options& options, unsigned seed, int connections) {
  constexpr int kMessages = 500;
  RandomServer server(answer, seed);
  Publisher publisher(tireless(), [](publish::Notice, const std::string& why) {
    // Applications may print the server's words, which the text contains.
    ck_assert_int_lt(static_cast<int>(why.size()), 1000);
  });
  start_at(&publisher,
           std::string(scheme) + "://127.0.0.1:" + std::to_string(server.port()) +
               (std::string(scheme) == "http" ? "/x" : ""),
           options);
  for (int i = 0; i < kMessages; ++i) publisher.publish({"topic", "key", std::to_string(i)});
  server.wait_for(connections);
  publisher.stop();
  const publish::PublisherStats stats = publisher.stats();
  ck_assert_uint_eq(stats.published, kMessages);
  ck_assert_uint_eq(stats.delivered + stats.dropped + stats.waiting(), kMessages);
}

}  // namespace dvnn::test
