// SPDX-License-Identifier: Apache-2.0
// Shows the progress of long work: a line on a terminal, which is rewritten and finally removed.
// Does nothing if stderr is not a terminal.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace dvnn::tools {

class Progress {
 public:
  /// `doing` describes the work: "checking"; `total` is the number of steps, or 0 if it is unknown.
  Progress(std::string doing, size_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// Counts a finished step.
  void advance();
  /// Removes the line before other output. A process has at most one line.
  static void clear();

 private:
  void show();
  using Clock = std::chrono::steady_clock;
  std::string doing_;
  size_t total_, done_ = 0;
  const bool terminal_;
  Clock::time_point begin_, last_;
};

/// Returns the line: "checking 12 of 500, 3.2/s, 2:32 left", with rate and time after the first
/// step.
std::string progress_text(const std::string& doing, size_t done, size_t total, double seconds);

}  // namespace dvnn::tools
