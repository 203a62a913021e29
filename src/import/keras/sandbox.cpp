// SPDX-License-Identifier: Apache-2.0
#include "import/keras/sandbox.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <vector>

namespace dvnn::import {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "the sandbox does not know this processor's system calls"
#endif

// The system calls for computing, allocating and writing the result. None of them opens or names
// anything.
constexpr uint32_t kAllowed[] = {
    SYS_read,       SYS_write,        SYS_lseek,          SYS_close,         SYS_brk,
    SYS_munmap,     SYS_mremap,       SYS_madvise,        SYS_futex,         SYS_sched_yield,
    SYS_getpid,     SYS_gettid,       SYS_getrandom,      SYS_clock_gettime, SYS_gettimeofday,
    SYS_exit_group, SYS_rt_sigreturn, SYS_rt_sigprocmask, SYS_sigaltstack,   SYS_exit,
};
// These are allowed without PROT_EXEC, the third argument of both.
constexpr uint32_t kWithoutCode[] = {SYS_mmap, SYS_mprotect};

std::vector<sock_filter> filter() {
  constexpr auto kNumber = static_cast<uint32_t>(offsetof(seccomp_data, nr));
  constexpr auto kArch = static_cast<uint32_t>(offsetof(seccomp_data, arch));
  constexpr auto kThird = static_cast<uint32_t>(offsetof(seccomp_data, args[2]));  // its low half
  constexpr uint32_t kRefuse = SECCOMP_RET_ERRNO | EPERM;
  std::vector<sock_filter> program = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kArch),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kNumber),
  };
  for (uint32_t number : kAllowed) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  for (uint32_t number : kWithoutCode) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 4));
    program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kThird));
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 1, 0));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, kRefuse));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, kRefuse));
  return program;
}

bool limit(__rlimit_resource what, uint64_t most) {
  const rlimit value = {static_cast<rlim_t>(most), static_cast<rlim_t>(most)};
  return setrlimit(what, &value) == 0;
}

// Bytes of address space that the process has now.
uint64_t address_space() {
  unsigned long pages = 0;
  FILE* file = std::fopen("/proc/self/statm", "re");
  if (!file) return 0;
  const int found = std::fscanf(file, "%lu", &pages);
  std::fclose(file);
  return found == 1 ? uint64_t{pages} * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) : 0;
}

// Closes all descriptors but the result's, which moves to the first number after the standard ones.
bool close_descriptors(int* result) {
  constexpr int kResult = STDERR_FILENO + 1;
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0 || (*result != kResult && dup2(*result, kResult) < 0)) return false;
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (dup2(null, fd) < 0) return false;
  }
  *result = kResult;
#ifdef SYS_close_range
  if (syscall(SYS_close_range, kResult + 1, ~0U, 0) == 0) return true;
#endif
  for (int fd = kResult + 1; fd < sysconf(_SC_OPEN_MAX); ++fd) close(fd);
  return true;
}

}  // namespace

bool enter_sandbox(int result, const SandboxLimits& limits) {
  const uint64_t own = address_space();
  if (own == 0 || !close_descriptors(&result) || result != STDERR_FILENO + 1) return false;
  bool good = limit(RLIMIT_CORE, 0) && limit(RLIMIT_CPU, limits.seconds) &&
              limit(RLIMIT_FSIZE, limits.result_bytes) && limit(RLIMIT_NOFILE, 0) &&
              limit(RLIMIT_NPROC, 0);
#ifndef __SANITIZE_ADDRESS__  // which takes terabytes of address space
  good = good && limit(RLIMIT_AS, own + limits.memory_bytes);
#endif
  alarm(limits.seconds);
  good = good && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
  std::vector<sock_filter> program = filter();
  const sock_fprog whole = {static_cast<unsigned short>(program.size()), program.data()};
  if (!good || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &whole, 0, 0) == 0) return good;
  return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) < 0 && errno == EINVAL;  // not known at all
}

}  // namespace dvnn::import
