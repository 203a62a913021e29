// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/format.h"

namespace dvnn::tools {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxOutput = 1 << 20;

// Runs in the child and never returns. `trouble` transmits the reason of a failed start; exec
// closes it.
[[noreturn]] void become(char* const* arguments, int output, int trouble) {
  setpgid(0, 0);
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  setenv("LC_ALL", "C", 1);
  execvp(arguments[0], arguments);
  const int error = errno;
  const ssize_t written = write(trouble, &error, sizeof error);
  _exit(written == sizeof error ? 127 : 126);
}

// Reads what is available now. Returns false at the end.
bool read_some(int from, std::string* to) {
  char bytes[4096];
  const ssize_t got = read(from, bytes, sizeof bytes);
  if (got < 0 && errno == EINTR) return true;
  if (got <= 0) return false;
  if (to->size() < kMaxOutput) to->append(bytes, static_cast<size_t>(got));
  return true;
}

// Reads until the child has ended or the time is over, because processes that it has started may
// keep the pipe open longer.
void follow(pid_t child, int output, Clock::time_point deadline, ChildEnd* end) {
  bool open = true, ended = false;
  int status = 0;
  while (!ended && Clock::now() < deadline) {
    constexpr int kLookMs = 20;
    pollfd ready{output, POLLIN, 0};
    if (!open) {
      poll(nullptr, 0, kLookMs);
    } else if (poll(&ready, 1, kLookMs) > 0) {
      open = read_some(output, &end->output);
    }
    ended = waitpid(child, &status, WNOHANG) == child;
  }
  kill(-child, SIGKILL);
  if (!ended) {
    waitpid(child, &status, 0);
    return;
  }
  end->in_time = true;
  for (pollfd ready{output, POLLIN, 0}; open && poll(&ready, 1, 0) > 0;) {
    open = read_some(output, &end->output);
  }
  if (WIFEXITED(status)) end->exit_status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end->signal = WTERMSIG(status);
}

}  // namespace

std::string ChildEnd::how() const {
  if (!started) return "cannot be started: " + output;
  if (!in_time) return "did not end in time";
  if (signal != 0) return format("crashed (signal %d)", signal);
  return format("ended with status %d", exit_status);
}

ChildEnd run_child(const std::vector<std::string>& arguments, int seconds) {
  ChildEnd end;
  std::vector<char*> list;
  for (const std::string& argument : arguments) list.push_back(const_cast<char*>(argument.c_str()));
  list.push_back(nullptr);
  int output[2], trouble[2];
  if (pipe2(output, O_CLOEXEC) != 0) {
    end.output = std::strerror(errno);
    return end;
  }
  if (pipe2(trouble, O_CLOEXEC) != 0) {
    end.output = std::strerror(errno);
    close(output[0]);
    close(output[1]);
    return end;
  }
  const auto deadline = Clock::now() + std::chrono::seconds(seconds);
  const pid_t child = fork();
  if (child == 0) become(list.data(), output[1], trouble[1]);
  int error = child < 0 ? errno : 0;
  close(output[1]);
  close(trouble[1]);
  if (child > 0) {
    setpgid(child, child);  // the child does so, too, as either may run first
    int told = 0;
    if (read(trouble[0], &told, sizeof told) == sizeof told) error = told;
    follow(child, output[0], deadline, &end);
  }
  close(trouble[0]);
  close(output[0]);
  end.started = error == 0;
  if (!end.started) end.output = std::strerror(error);
  return end;
}

}  // namespace dvnn::tools
