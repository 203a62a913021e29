// SPDX-License-Identifier: Apache-2.0
// Check's tests, said once: DVNN_SUITE(half) in a file's namespace names the suite, and each
// DVNN_TEST(rounds_ties_to_even) { … } after it is one of its tests. The suites of a folder are one
// program, whose main() is in check_main.cpp; Meson has a test of each by the same name.
#pragma once

#include <check.h>

// Undefines an old macro of Check's whose name standard headers use, so that this header may come
// before them.
#undef fail

// Check's own way to write a test, which no suite would run.
#undef START_TEST

// Check's own macro writes a line to a file at each assertion that holds, to tell where a forked
// test crashed. Our tests do not fork, and sweeps check millions of numbers.
#undef ck_assert_msg
#define ck_assert_msg(expr, ...) \
  ((expr)                        \
       ? static_cast<void>(0)    \
       : dvnn_assertion_failed(__FILE__, __LINE__, "Assertion '" #expr "' failed", ##__VA_ARGS__))
#undef ck_abort_msg
#define ck_abort_msg(...) dvnn_assertion_failed(__FILE__, __LINE__, "Failed", ##__VA_ARGS__)

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

/// Prints what failed, and ends the test as Check does. It prints at once, because a test whose
/// threads still run may crash before Check prints.
[[noreturn]] void dvnn_assertion_failed(const char* file, int line, const char* expression,
                                        const char* message, ...)
    __attribute__((format(printf, 4, 5)));

/// Compares a string with the expected one. ck_assert_str_eq() would read a temporary string after
/// it is gone.
#define dvnn_assert_text(text, wanted)            \
  do {                                            \
    const std::string dvnn_text_ = (text);        \
    ck_assert_str_eq(dvnn_text_.c_str(), wanted); \
  } while (0)

/// Returns the name of the running test, or of the last one that ran.
std::atomic<const char*>& dvnn_running_test();

/// Returns of how many parts of a sweep this build plays one: DVNN_TEST_BRIEFLY in slow builds,
/// DVNN_TEST_ROUNDS if another run of CI does all.
inline int dvnn_parts() {
  for (const char* name : {"DVNN_TEST_ROUNDS", "DVNN_TEST_BRIEFLY"}) {
    if (const char* parts = std::getenv(name)) return std::max(1, std::atoi(parts));
  }
  return 1;
}

/// Returns the number of rounds of a random test.
inline int dvnn_rounds(int all) {
  return all / dvnn_parts();
}

/// Returns the seed of such a sweep. DVNN_TEST_SEED gives each run of CI seeds of its own, so that
/// a share has other cases than the whole.
inline unsigned dvnn_seed(unsigned own) {
  const char* run = std::getenv("DVNN_TEST_SEED");
  return own + (run ? 1000u * static_cast<unsigned>(std::atoi(run)) : 0u);
}

/// Returns whether this build plays the case of that number of a list of cases. Each run of CI that
/// plays a part has one of its own, as share.py's share_of().
inline bool dvnn_plays(size_t number) {
  const auto parts = static_cast<size_t>(dvnn_parts());
  return number % parts == dvnn_seed(0) / 1000 % parts;
}

/// Runs the tests, and `after` behind each of them, even if it failed. DVNN_TEST_ONLY in the
/// environment chooses the tests whose names contain it.
int dvnn_run_suite(const char* name, const std::vector<const TTest*>& all,
                   void (*after)() = nullptr);

/// Runs a suite with its set-up and clean-up, and returns the program's status.
using DvnnRunner = int (*)(const char* name, const std::vector<const TTest*>& tests);
int dvnn_run_plainly(const char* name, const std::vector<const TTest*>& tests);

struct DvnnSuite {
  const char* name;
  DvnnRunner run;
  std::vector<const TTest*> tests;
};

/// Returns the program's suite of that name, which files may share. It is run as the first of them
/// says.
DvnnSuite& dvnn_suite_of(const char* name, DvnnRunner run);

/// A test that enters its suite when the program starts.
struct DvnnTest {
  DvnnTest(DvnnSuite* suite, const TTest& test) : test(test) {
    suite->tests.push_back(&this->test);
  }
  const TTest test;
};

/// Runs the suite that the argument or CK_RUN_SUITE names; without a name all suites, each in a
/// process of its own. Returns the program's status.
int dvnn_run(int argc, char** argv);

/// Names the suite of the tests that follow in this namespace. Files of one suite are run in their
/// order.
#define DVNN_SUITE(name) DVNN_SUITE_RUN_BY(dvnn_run_plainly, name)

/// Names a suite that a function of its own runs.
#define DVNN_SUITE_RUN_BY(run, name) \
  [[maybe_unused]] static DvnnSuite& dvnn_suite = dvnn_suite_of(#name, run)

/// Defines a test of the namespace's suite, as a function's head does: DVNN_TEST(name) { … }.
#define DVNN_TEST(name)                                                                      \
  static void name##_test(int);                                                              \
  static const DvnnTest name##_entry{&dvnn_suite, {#name, name##_test, __FILE__, __LINE__}}; \
  static void name##_test(int)
