// SPDX-License-Identifier: Apache-2.0
// Preloaded, it hides AVX-512, AVX-VNNI, AMX and GFNI from whatever asks the processor, so that the
// software device and its peers run as on one that ends at AVX2: cpuid faults (Linux, where
// /proc/cpuinfo has cpuid_fault), and is answered here.
#include <asm/prctl.h>
#include <dlfcn.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <csignal>

namespace {

// ARCH_SET_CPUID's argument.
constexpr int kFaults = 0, kAnswers = 1;

struct Registers {
  unsigned a, b, c, d;
};

Registers ask(unsigned leaf, unsigned sub) {
  Registers r;
  __asm__ volatile("cpuid" : "=a"(r.a), "=b"(r.b), "=c"(r.c), "=d"(r.d) : "a"(leaf), "c"(sub));
  return r;
}

template <typename... Bit>
void clear(unsigned* bits, Bit... bit) {
  ((*bits &= ~(1U << bit)), ...);
}

// Bits by Intel's manual, volume 2, "CPUID".
void hide(unsigned leaf, unsigned sub, Registers* r) {
  if (leaf != 7) return;
  if (sub == 0) {
    clear(&r->b, 16, 17, 21, 26, 27, 28, 30, 31);
    clear(&r->c, 1, 6, 8, 11, 12, 14);
    clear(&r->d, 2, 3, 8, 22, 23, 24, 25);
  } else if (sub == 1) {
    clear(&r->a, 4, 5, 21, 23);
    clear(&r->d, 4, 5, 10, 19);
  }
}

void answer(int /*signal*/, siginfo_t* /*info*/, void* context) {
  greg_t* const g = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const auto* const code = reinterpret_cast<const unsigned char*>(g[REG_RIP]);
  if (code[0] != 0x0f || code[1] != 0xa2) _exit(128 + SIGSEGV);  // not cpuid
  const auto leaf = static_cast<unsigned>(g[REG_RAX]), sub = static_cast<unsigned>(g[REG_RCX]);
  syscall(SYS_arch_prctl, ARCH_SET_CPUID, kAnswers);
  Registers r = ask(leaf, sub);
  syscall(SYS_arch_prctl, ARCH_SET_CPUID, kFaults);
  hide(leaf, sub, &r);
  g[REG_RAX] = r.a;
  g[REG_RBX] = r.b;
  g[REG_RCX] = r.c;
  g[REG_RDX] = r.d;
  g[REG_RIP] += 2;
}

__attribute__((constructor)) void begin() {
  struct sigaction action = {};
  action.sa_sigaction = answer;
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
  sigaction(SIGSEGV, &action, nullptr);
  if (syscall(SYS_arch_prctl, ARCH_SET_CPUID, kFaults) == 0) return;
  static const char kNone[] = "only_avx2: this processor's cpuid does not fault\n";
  [[maybe_unused]] const auto wrote = write(STDERR_FILENO, kNone, sizeof kNone - 1);
  _exit(1);
}

}  // namespace

// Programs that handle SIGSEGV themselves, as tests do, would end at their next cpuid.
extern "C" int sigaction(int number, const struct sigaction* to, struct sigaction* from) {
  using Real = int (*)(int, const struct sigaction*, struct sigaction*);
  static const auto real = reinterpret_cast<Real>(dlsym(RTLD_NEXT, "sigaction"));
  if (number != SIGSEGV || !to || to->sa_sigaction == answer) return real(number, to, from);
  if (from) *from = {};
  return 0;
}
