// SPDX-License-Identifier: Apache-2.0
// A server that a test starts, kills and restarts, and ports for them.
#pragma once

#include <arpa/inet.h>
#include <check.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

/// Where Debian has the broker of the tests.
inline constexpr const char* kMosquitto = "/usr/sbin/mosquitto";

/// Returns whether it is installed; a test without it says so, and is skipped.
inline bool there_is_a_broker() {
  if (access(kMosquitto, X_OK) == 0) return true;
  std::printf("skipped: there is no %s\n", kMosquitto);
  return false;
}

/// A port that is nobody else's while this lives. The kernel gives a port with a socket neither to
/// connections nor to others that ask for any; a server that allows its address to be used again,
/// as all do, may listen at it beside a socket that allows it, too, and does not listen.
class OwnPort {
 public:
  OwnPort() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    ck_assert_int_eq(bind(socket_, any, size), 0);
    ck_assert_int_eq(getsockname(socket_, any, &size), 0);
    // Not before it is bound: two that allow it could have the same one.
    const int yes = 1;
    ck_assert_int_eq(setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)), 0);
    number_ = ntohs(address.sin_port);
  }
  ~OwnPort() { close(socket_); }
  OwnPort(const OwnPort&) = delete;
  OwnPort& operator=(const OwnPort&) = delete;
  int number() const { return number_; }

 private:
  const int socket_;
  int number_ = 0;
};

inline bool answers(int port) {
  const int connecting = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  const bool good =
      connect(connecting, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  close(connecting);
  return good;
}

class ServerProcess {
 public:
  ServerProcess(std::vector<std::string> command, int port)
      : command_(std::move(command)), port_(port) {}
  ~ServerProcess() { stop(SIGKILL); }
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  /// Starts the server, and returns once it answers.
  void start() {
    std::vector<char*> arguments;
    for (std::string& word : command_) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const bool from_main_thread = getpid() == gettid();
    process_ = fork();
    ck_assert_int_ge(process_, 0);
    if (process_ == 0) {
      // The server runs without the test's sanitizers and preloads.
      for (const char* name : {"LD_PRELOAD", "TSAN_OPTIONS", "ASAN_OPTIONS"}) unsetenv(name);
      // The server ends with the test, even if that ends early (for the kernel that is the thread
      // that forked), and does not hold the test's output open.
      if (from_main_thread) prctl(PR_SET_PDEATHSIG, SIGKILL);
      const int nowhere = open("/dev/null", O_RDWR);
      for (const int stream : {0, 1, 2}) dup2(nowhere, stream);
      execv(command_[0].c_str(), arguments.data());
      _exit(127);
    }
    constexpr int kTries = 1000;
    for (int i = 0; i < kTries && !answers(port_); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ck_assert_msg(answers(port_), "%s does not answer at port %d", command_[0].c_str(), port_);
  }
  void stop(int signal) {
    if (process_ <= 0) return;
    kill(process_, signal);
    waitpid(process_, nullptr, 0);
    process_ = 0;
  }

 private:
  std::vector<std::string> command_;
  const int port_;
  pid_t process_ = 0;
};
