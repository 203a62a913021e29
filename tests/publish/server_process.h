// SPDX-License-Identifier: Apache-2.0
// A server that a test starts, kills and restarts, and free ports.
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
#include <string>
#include <thread>
#include <vector>

/// Returns a port that nothing listens at. It lies below those that the kernel gives to connections
/// of other tests, which could take it before the server does, and processes begin to look at
/// different ones.
inline int free_port() {
  constexpr int kFirst = 10000, kPorts = 20000, kApart = 37;
  static int next = getpid() * kApart % kPorts;
  for (int tries = 0; tries < kPorts; ++tries) {
    const int port = kFirst + next;
    next = (next + 1) % kPorts;
    const int listening = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(port));
    const int bound = bind(listening, reinterpret_cast<sockaddr*>(&address), sizeof(address));
    close(listening);
    if (bound == 0) return port;
  }
  ck_abort_msg("no port is free");
}

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
