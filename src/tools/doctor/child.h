// SPDX-License-Identifier: Apache-2.0
// Programs that may crash or hang are run beside this one, for a limited time.
#pragma once

#include <string>
#include <vector>

namespace dvnn::tools {

struct ChildEnd {
  bool started = false;  // otherwise `output` says why not
  bool in_time = false;
  int exit_status = -1;
  int signal = 0;      // that ended it, or 0
  std::string output;  // of both its streams, a megabyte of them at the most

  bool succeeded() const { return started && in_time && exit_status == 0; }
  /// "ended with status 3", "crashed (signal 11)", "did not end within 20 s"
  std::string how() const;
};

/// Runs a program, which is looked for on the PATH, in the locale C. When the time is over, it and
/// what it has started are killed.
ChildEnd run_child(const std::vector<std::string>& arguments, int seconds);

}  // namespace dvnn::tools
