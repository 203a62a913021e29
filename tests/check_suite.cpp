// SPDX-License-Identifier: Apache-2.0
#include "check_suite.h"

#include <execinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <deque>

namespace {

std::deque<DvnnSuite>& suites() {  // files keep references to theirs
  static std::deque<DvnnSuite> all;
  return all;
}

DvnnSuite* find_suite(const char* name) {
  for (DvnnSuite& suite : suites()) {
    if (std::strcmp(suite.name, name) == 0) return &suite;
  }
  return nullptr;
}

int run_named(const char* program, const char* name) {
  if (const DvnnSuite* suite = find_suite(name)) return suite->run(suite->name, suite->tests);
  std::fprintf(stderr, "%s has no suite '%s'. It has:", program, name);
  for (const DvnnSuite& suite : suites()) std::fprintf(stderr, " %s", suite.name);
  std::fprintf(stderr, "\n");
  return EXIT_FAILURE;
}

// Each in a process of its own, as Meson runs them: GStreamer is taken down once in a process, and
// some suites change what the others would see.
int run_all(const char* program) {
  int status = EXIT_SUCCESS;
  for (const DvnnSuite& suite : suites()) {
    const pid_t child = fork();
    if (child == 0) {
      execl("/proc/self/exe", program, suite.name, nullptr);
      _exit(127);
    }
    int ended = 0;
    constexpr int kSkipped = 77;
    if (child < 0 || waitpid(child, &ended, 0) != child || !WIFEXITED(ended) ||
        (WEXITSTATUS(ended) != EXIT_SUCCESS && WEXITSTATUS(ended) != kSkipped)) {
      status = EXIT_FAILURE;
    }
  }
  return status;
}

}  // namespace

std::atomic<const char*>& dvnn_running_test() {
  static std::atomic<const char*> name{"none"};
  return name;
}

void dvnn_assertion_failed(const char* file, int line, const char* expression, const char* message,
                           ...) {
  char text[1024] = "";
  if (message) {
    va_list values;
    va_start(values, message);
    std::vsnprintf(text, sizeof text, message, values);
    va_end(values);
  }
  std::fprintf(stderr, "%s:%d: %s: %s\n", file, line, dvnn_running_test().load(),
               message ? text : expression);
  _ck_assert_failed(file, line, expression, message ? "%s" : nullptr, text);
}

int dvnn_run_suite(const char* name, const std::vector<const TTest*>& all, void (*after)()) {
  Suite* suite = suite_create(name);
  TCase* tcase = tcase_create(name);
  tcase_set_timeout(tcase, 300);
  const char* only = std::getenv("DVNN_TEST_ONLY");
  std::vector<const TTest*> tests;
  for (const TTest* test : all) {
    if (!only || std::strstr(test->name, only)) tests.push_back(test);
  }
  static std::vector<const TTest*> coming;  // the fixture is not told which test it is for
  coming.assign(tests.rbegin(), tests.rend());
  auto before = [] {
    dvnn_running_test() = coming.back()->name;
    coming.pop_back();
  };
  tcase_add_checked_fixture(tcase, before, after);
  for (const TTest* test : tests) tcase_add_test(tcase, test);
  suite_add_tcase(suite, tcase);
  SRunner* runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  const int failed = srunner_ntests_failed(runner);
  // A suite that ran nothing has not passed.
  const bool all_ran = srunner_ntests_run(runner) == static_cast<int>(tests.size());
  srunner_free(runner);
  return failed == 0 && all_ran ? EXIT_SUCCESS : EXIT_FAILURE;
}

int dvnn_run_plainly(const char* name, const std::vector<const TTest*>& tests) {
  return dvnn_run_suite(name, tests);
}

DvnnSuite& dvnn_suite_of(const char* name, DvnnRunner run) {
  DvnnSuite* suite = find_suite(name);
  if (!suite) suite = &suites().emplace_back(DvnnSuite{name, run, {}});
  if (suite->run != run) {
    std::fprintf(stderr, "suite '%s' is to be run in two ways\n", name);
    std::abort();
  }
  return *suite;
}

// Says in which test and where a process died: a crash that happens once in a thousand runs is
// never seen again under a debugger. Sanitizers say it by themselves.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static void tell_crash(int signal) {
  constexpr int kMostFrames = 64;
  void* frames[kMostFrames];
  const int depth = backtrace(frames, kMostFrames);
  const char* const test = dvnn_running_test().load();
  for (const char* text : {"died in ", test ? test : "no test", ", at\n"}) {
    if (write(STDERR_FILENO, text, std::strlen(text)) < 0) break;
  }
  backtrace_symbols_fd(frames, depth, STDERR_FILENO);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

static void watch_for_crashes() {
  void* frame = nullptr;
  backtrace(&frame, 1);  // loads what it needs
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE}) std::signal(signal, tell_crash);
}
#else
static void watch_for_crashes() {}
#endif

int dvnn_run(int argc, char** argv) {
  watch_for_crashes();
  const char* name = argc > 1 ? argv[1] : std::getenv("CK_RUN_SUITE");
  if (!name && suites().size() == 1) name = suites()[0].name;
  return name ? run_named(argv[0], name) : run_all(argv[0]);
}
