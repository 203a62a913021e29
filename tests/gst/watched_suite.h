// SPDX-License-Identifier: Apache-2.0
// A suite of tests of watched pipelines: gst_fixture.h and watched_pipeline.h together.
#pragma once

#include <chrono>
#include <thread>

#include "watched_pipeline.h"

// Check last: some of its macros have common names.
#include "gst_fixture.h"

namespace dvnn::test {

/// Runs the tests under the leaks tracer; what a failed test leaves playing is taken down. A test
/// that hangs where no pipeline is watched, in a harness say, ends the process.
inline int run_watched_suite(const char* name, const std::vector<const TTest*>& tests) {
  std::thread([] {
    const char* test = nullptr;
    constexpr int kSteps = 12;  // of a stall's time each
    for (int step = 0; step < kSteps; ++step) {
      std::this_thread::sleep_for(std::chrono::nanoseconds(stall_limit()));
      const char* now = dvnn_running_test();
      if (now != test) step = 0;
      test = now;
    }
    std::fprintf(stderr, "test '%s' hangs\n", test);
    std::abort();
  }).detach();
  const int status = run_gst_suite(name, tests, stop_strays);
  remove_grids();
  return status;
}

/// Ends the test with the pipeline's problem unless `ok`.
inline void demand(Pipeline* pipeline, bool ok, const std::string& what = "") {
  if (ok) return;
  const std::string problem = pipeline->problem();
  pipeline->stop();
  ck_abort_msg("%s: %s%s%s", pipeline->description().c_str(), what.c_str(),
               what.empty() || problem.empty() ? "" : ": ", problem.c_str());
}

/// Ends the test with `wrong` unless it is empty.
inline void demand_none(Pipeline* pipeline, const std::string& wrong) {
  demand(pipeline, wrong.empty(), wrong);
}

/// Plays the description to its end and returns what reached "out"; the test fails on a problem.
inline std::vector<Arrival> play(const std::string& description, Looks looks = Looks::kRed) {
  Pipeline pipeline(description, looks);
  demand(&pipeline, pipeline.play_to_end());
  std::vector<Arrival> arrivals = pipeline.arrivals();
  demand(&pipeline, pipeline.stop());
  return arrivals;
}

/// Fails the test unless there are `count` arrivals, each with the boxes that its pixels say.
inline void expect_boxes_of_pixels(const std::vector<Arrival>& arrivals, size_t count,
                                   const std::string& description, double pixels = 0.01) {
  ck_assert_msg(arrivals.size() == count, "%s: %zu frames came, not %zu", description.c_str(),
                arrivals.size(), count);
  const std::string wrong = wrong_boxes(arrivals, pixels);
  ck_assert_msg(wrong.empty(), "%s: %s", description.c_str(), wrong.c_str());
}

/// Plays the description; each of `count` frames must come with the boxes that its pixels say.
inline void play_and_expect_boxes(const std::string& description, size_t count,
                                  Looks looks = Looks::kRed, double pixels = 0.01) {
  expect_boxes_of_pixels(play(description, looks), count, description, pixels);
}

/// Fails the test unless both have the same frames with the same boxes.
inline void expect_same(const std::vector<Arrival>& have, const std::vector<Arrival>& want,
                        const std::string& description, double pixels = 0) {
  const std::string wrong = compare_runs(have, want, pixels);
  ck_assert_msg(wrong.empty(), "%s: %s", description.c_str(), wrong.c_str());
}

}  // namespace dvnn::test
