// SPDX-License-Identifier: Apache-2.0
// A server that a test starts, kills and restarts, with ports and certificates for it.
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
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "check_suite.h"
#include "temporary_folder.h"

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

// Certificates for test servers, made by openssl: of two authorities, `good` and `bad`; the good
// one has signed those of the hosts `localhost` and `elsewhere`.
class Certificates {
 public:
  Certificates() {
    const std::string script =
        "cd " + folder_.path() +
        " && new='-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes' && for ca in good bad; "
        "do "
        "openssl req -x509 $new -days 2 -subj /CN=$ca -keyout $ca.key -out $ca.pem 2>/dev/null || "
        "exit "
        "1; done && for host in localhost elsewhere; do openssl req $new -subj /CN=$host -keyout "
        "$host.key -out $host.csr 2>/dev/null && printf 'subjectAltName=DNS:%s' $host > ext && "
        "openssl "
        "x509 -req -in $host.csr -CA good.pem -CAkey good.key -CAcreateserial -days 2 -extfile ext "
        "-out $host.pem 2>/dev/null || exit 1; done";
    made_ = std::system(script.c_str()) == 0;
    if (!made_) std::printf("skipped: openssl makes no certificates\n");
  }
  bool made() const { return made_; }
  std::string certificate(const std::string& name) const { return folder_.file(name + ".pem"); }
  std::string key(const std::string& name) const { return folder_.file(name + ".key"); }

  /// A server with this host's certificate, and a client that trusts this authority (null: those of
  /// the system).
  struct Case {
    const char *host, *authority;
    bool good;
    std::string text() const {
      return std::string(host) + " with " + (authority ? authority : "the system's");
    }
  };
  static constexpr Case kCases[] = {{"localhost", "good", true},
                                    {"localhost", "bad", false},
                                    {"localhost", nullptr, false},
                                    {"elsewhere", "good", false}};

 private:
  TemporaryFolder folder_;
  bool made_ = false;
};
