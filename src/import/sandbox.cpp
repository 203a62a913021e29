// SPDX-License-Identifier: Apache-2.0
#include "import/sandbox.h"

#include <fcntl.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace dvnn::import {
namespace {

// The system calls for computing, allocating and writing the result. None of them opens or names
// anything. The last three exist on processors of 32 bits; calls that a processor lacks are
// skipped.
constexpr int kAllowed[] = {
    SCMP_SYS(read),      SCMP_SYS(write),         SCMP_SYS(lseek),          SCMP_SYS(close),
    SCMP_SYS(brk),       SCMP_SYS(munmap),        SCMP_SYS(mremap),         SCMP_SYS(madvise),
    SCMP_SYS(futex),     SCMP_SYS(sched_yield),   SCMP_SYS(getpid),         SCMP_SYS(gettid),
    SCMP_SYS(getrandom), SCMP_SYS(clock_gettime), SCMP_SYS(gettimeofday),   SCMP_SYS(exit_group),
    SCMP_SYS(exit),      SCMP_SYS(rt_sigreturn),  SCMP_SYS(rt_sigprocmask), SCMP_SYS(sigaltstack),
    SCMP_SYS(_llseek),   SCMP_SYS(futex_time64),  SCMP_SYS(clock_gettime64)};
// These are allowed without PROT_EXEC, the third argument of each.
constexpr int kWithoutCode[] = {SCMP_SYS(mmap), SCMP_SYS(mmap2), SCMP_SYS(mprotect)};

struct ReleaseFilter {
  void operator()(void* filter) const { seccomp_release(filter); }
};

// Refuses all other system calls from now on; calls by the numbers of another architecture end the
// process. Returns false if the kernel does not accept the filter.
bool refuse_system_calls() {
  const std::unique_ptr<void, ReleaseFilter> filter(seccomp_init(SCMP_ACT_ERRNO(EPERM)));
  bool good =
      filter && seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) == 0;
  for (int call : kAllowed) {
    good = good && seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, call, 0) == 0;
  }
  const scmp_arg_cmp no_code = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
  for (int call : kWithoutCode) {
    good = good && seccomp_rule_add_array(filter.get(), SCMP_ACT_ALLOW, call, 1, &no_code) == 0;
  }
  return good && seccomp_load(filter.get()) == 0;
}

bool limit(__rlimit_resource what, uint64_t most) {
  const rlimit value = {static_cast<rlim_t>(most), static_cast<rlim_t>(most)};
  return setrlimit(what, &value) == 0;
}

// Returns the size of the process's address space, in bytes.
uint64_t address_space() {
  unsigned long pages = 0;
  FILE* file = std::fopen("/proc/self/statm", "re");
  if (!file) return 0;
  const int found = std::fscanf(file, "%lu", &pages);
  std::fclose(file);
  return found == 1 ? uint64_t{pages} * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) : 0;
}

// The descriptor of the result in a sandbox: the first one after the standard ones.
constexpr int kResult = STDERR_FILENO + 1;

// Moves the result's descriptor to its place and closes all others.
bool close_descriptors(int result) {
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0 || (result != kResult && dup2(result, kResult) < 0)) return false;
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (dup2(null, fd) < 0) return false;
  }
#ifdef SYS_close_range
  if (syscall(SYS_close_range, kResult + 1, ~0U, 0) == 0) return true;
#endif
  for (int fd = kResult + 1; fd < sysconf(_SC_OPEN_MAX); ++fd) close(fd);
  return true;
}

}  // namespace

bool enter_sandbox(int result, const SandboxLimits& limits) {
  const uint64_t own = address_space();
  if (own == 0 || !close_descriptors(result)) return false;
  bool good = limit(RLIMIT_CORE, 0) && limit(RLIMIT_CPU, limits.seconds) &&
              limit(RLIMIT_FSIZE, limits.result_bytes) && limit(RLIMIT_NOFILE, 0) &&
              limit(RLIMIT_NPROC, 0);
#ifndef __SANITIZE_ADDRESS__  // it reserves terabytes of address space
  good = good && limit(RLIMIT_AS, own + limits.memory_bytes);
#endif
  alarm(limits.seconds);
  good = good && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
  if (!good || refuse_system_calls()) return good;
  return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) < 0 && errno == EINVAL;  // the kernel has no seccomp
}

namespace {

constexpr int kNotReady = 2;  // exit status of a reader that could not enter the sandbox

// Runs a reader in the forked process, and ends it.
[[noreturn]] void run_reader(const File& file, const File& result, const SandboxLimits& limits,
                             const SandboxReader& reader) {
  const auto size = static_cast<size_t>(size_of(file));
  // The memory is private: the file stays as it is, whatever a library is made to write there.
  void* const bytes = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file.fd(), 0);
  if (bytes == MAP_FAILED || !enter_sandbox(result.fd(), limits)) _exit(kNotReady);
  bool good = false;
  try {
    std::string message;
    good = reader(static_cast<uint8_t*>(bytes), size, &message) &&
           write_all(kResult, message.data(), message.size()).ok();
  } catch (...) {  // the reader exceeded its limits
    good = false;
  }
  _exit(good ? EXIT_SUCCESS : EXIT_FAILURE);
}

}  // namespace

Result<std::string> read_in_sandbox(const File& file, const std::string& path, const char* damage,
                                    const SandboxLimits& limits, const SandboxReader& reader) {
  const File result(memfd_create("result", MFD_CLOEXEC));
  const pid_t process = result ? fork() : -1;
  if (process == 0) run_reader(file, result, limits, reader);
  if (process < 0) {
    return Error{ErrorCode::kNoMemory,
                 "'" + path + "': no process to read it with: " + std::strerror(errno)};
  }
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) continue;
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNotReady) {
    return Error{ErrorCode::kInternal, "'" + path + "': no sandbox to read it in can be made"};
  }
  std::string message(size_of(result), '\0');
  if (!WIFEXITED(status) || WEXITSTATUS(status) != EXIT_SUCCESS ||
      !read_at(result.fd(), 0, message.data(), message.size()).ok()) {
    return malformed("'" + path + "' " + damage);
  }
  return message;
}

}  // namespace dvnn::import
