// SPDX-License-Identifier: Apache-2.0
// Runs programs that may crash or hang in their own process, for a limited time.
#pragma once

#include <string>
#include <vector>

namespace dvnn::tools {

struct ChildEnd {
  bool started = false;  // if false, `output` has the reason
  bool in_time = false;
  int exit_status = -1;
  int signal = 0;      // that ended it, or 0
  std::string output;  // stdout and stderr, at most a megabyte

  bool succeeded() const { return started && in_time && exit_status == 0; }
  /// Describes the end: "ended with status 3", "crashed (signal 11)", "did not end within 20 s".
  std::string how() const;
};

/// Runs a program from the PATH in the locale C. After `seconds`, it and its children are killed.
ChildEnd run_child(const std::vector<std::string>& arguments, int seconds);

}  // namespace dvnn::tools
