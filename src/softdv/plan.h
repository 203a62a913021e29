// SPDX-License-Identifier: Apache-2.0
// A command, checked when it is added, prepared at commit, run by the queue's worker.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dmp_dv.h"

namespace dvnn::softdv {

/// Working memory of one worker; grows on first use, then stays.
struct Scratch {
  std::vector<float> input, conv, result;
  std::vector<float> carried;  // what a command leaves to the next one
  std::vector<uint16_t> unified[2], snapshot;
};

class Plan {
 public:
  virtual ~Plan() = default;
  /// Decides everything that does not depend on the tensors. False: set_error() was called.
  virtual bool prepare() = 0;
  /// Called at commit with the next command of the list, if there is one: commands may agree to
  /// spare work between them. Memory must look as if they had not.
  virtual void hand_over_to(Plan*) {}
  /// Runs the command. Its memories were bounds-checked when it was added.
  virtual void execute(Scratch* scratch) = 0;
};

}  // namespace dvnn::softdv
