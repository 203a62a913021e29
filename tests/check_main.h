// SPDX-License-Identifier: Apache-2.0
// A Check suite in one line: DVNN_SUITE(half, rounds_ties_to_even, keeps_infinities). The suites of
// a folder are one program, whose main() is in check_main.cpp; Meson has a test of each by the same
// name.
#pragma once

#include <check.h>

// An old name of Check's that standard headers use, too: with it gone, this header may stand before
// any.
#undef fail

// Check writes a line to a file at each assertion that holds, to tell where a forked test crashed.
// Ours do not fork, and sweeps assert something of millions of numbers.
#undef ck_assert_msg
#define ck_assert_msg(expr, ...) \
  ((expr) ? static_cast<void>(0) \
          : _ck_assert_failed(__FILE__, __LINE__, "Assertion '" #expr "' failed", ##__VA_ARGS__))

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

/// Holds a string against what it should be. ck_assert_str_eq() would read one that an expression
/// has made after it is gone.
#define dvnn_assert_text(text, wanted)            \
  do {                                            \
    const std::string dvnn_text_ = (text);        \
    ck_assert_str_eq(dvnn_text_.c_str(), wanted); \
  } while (0)

/// The test that runs now, or the last one that did.
inline std::atomic<const char*>& dvnn_running_test() {
  static std::atomic<const char*> name{"none"};
  return name;
}

/// Shortens random tests of numbers: one in DVNN_TEST_BRIEFLY is done in builds that are slow, and
/// one in DVNN_TEST_ROUNDS where another run of CI does all of it.
inline int dvnn_rounds(int all) {
  for (const char* name : {"DVNN_TEST_ROUNDS", "DVNN_TEST_BRIEFLY"}) {
    if (const char* share = std::getenv(name)) return all / std::max(1, std::atoi(share));
  }
  return all;
}

/// The seed of such a sweep: another one in each run of CI, which DVNN_TEST_SEED numbers, so that a
/// share is not a part of what the others did.
inline unsigned dvnn_seed(unsigned own) {
  const char* run = std::getenv("DVNN_TEST_SEED");
  return own + (run ? 1000u * static_cast<unsigned>(std::atoi(run)) : 0u);
}

/// Runs the tests, `after` behind each of them, also behind one that failed. DVNN_TEST_ONLY in the
/// environment chooses those whose names contain it.
inline int dvnn_run_suite(const char* name, const std::vector<const TTest*>& all,
                          void (*after)() = nullptr) {
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

/// Defines main(): runs the named START_TESTs and fails if any of them fails.
#define DVNN_TEST_MAIN(suite, ...)                \
  int main() {                                    \
    return dvnn_run_suite(#suite, {__VA_ARGS__}); \
  }

/// The tests of the files of an executable that has several, in the order of the files.
inline std::vector<const TTest*>& dvnn_tests() {
  static std::vector<const TTest*> tests;
  return tests;
}

/// Names the START_TESTs of one of several files; check_all.cpp has their main().
#define DVNN_TESTS(file, ...)                                             \
  static const bool dvnn_tests_of_##file = [] {                           \
    for (const TTest* test : {__VA_ARGS__}) dvnn_tests().push_back(test); \
    return true;                                                          \
  }();

/// Runs a suite with what it needs around its tests, and returns the program's status.
using DvnnRunner = int (*)(const char* name, const std::vector<const TTest*>& tests);
int dvnn_run_plainly(const char* name, const std::vector<const TTest*>& tests);

struct DvnnSuite {
  const char* name;
  DvnnRunner run;
  std::vector<const TTest*> tests;
};

/// Adds tests to a suite, which other files may have begun. Returns true.
bool dvnn_add_suite(const char* name, DvnnRunner run, std::initializer_list<const TTest*> tests);

/// Adds the named START_TESTs to a suite of the program. Files of one suite are run in their order.
#define DVNN_SUITE(name, ...) DVNN_SUITE_RUN_BY(dvnn_run_plainly, name, __VA_ARGS__)

/// The same for a suite that is run by a function of its own.
#define DVNN_SUITE_RUN_BY(run, name, ...) DVNN_ADD_SUITE_AT(__LINE__, run, name, __VA_ARGS__)
#define DVNN_ADD_SUITE_AT(line, run, name, ...) DVNN_ADD_SUITE_AS(line, run, name, __VA_ARGS__)
#define DVNN_ADD_SUITE_AS(line, run, name, ...) \
  [[maybe_unused]] static const bool dvnn_added_##line = dvnn_add_suite(#name, run, {__VA_ARGS__});
