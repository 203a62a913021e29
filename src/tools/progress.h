// SPDX-License-Identifier: Apache-2.0
// Shows what long work is doing: one line on a terminal, rewritten as the work goes on and gone at
// its end. Silent where stderr is no terminal.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace dvnn::tools {

class Progress {
 public:
  /// `doing` is what it says: "checking"; `total` how many steps there will be, 0 if that is not
  /// known.
  Progress(std::string doing, size_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// One more step is done.
  void advance();
  /// Removes the line, so that others may print. The process has at most one line.
  static void clear();

 private:
  void show();
  using Clock = std::chrono::steady_clock;
  std::string doing_;
  size_t total_, done_ = 0;
  const bool terminal_;
  Clock::time_point begin_, last_;
};

/// The line: "checking 12 of 500, 3.2/s, 2:32 left". Rate and time are told after the first step.
std::string progress_text(const std::string& doing, size_t done, size_t total, double seconds);

}  // namespace dvnn::tools
