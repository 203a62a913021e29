// SPDX-License-Identifier: Apache-2.0
// A command: it is checked when it is added, prepared at commit, and run by the queue's worker.
#pragma once

#include <cstdint>
#include <vector>

#include "base/aligned.h"
#include "device/estimate.h"
#include "device/soft_extension.h"
#include "dmp_dv.h"
#include "softdv/engine/team.h"

namespace dvnn::softdv {

/// A worker's threads and working memory.
struct Scratch {
  explicit Scratch(int threads) : team(threads) {}
  Team team;
  AlignedFloats result;
  std::vector<uint16_t> unified[2], snapshot, operand;
};

class Plan {
 public:
  virtual ~Plan() = default;
  /// Decides everything that does not depend on the tensors. False: set_error() was called.
  virtual bool prepare() = 0;
  /// Appends a chain to the command, before prepare(), with the rules and results of
  /// dvnn_soft_follow(). Adds the memories that the chain reads and writes to `memories`.
  virtual int follow(const dvnn_soft_chain& chain, std::vector<dmp_dv_mem>* memories);
  /// Adds the memories that the command writes, if its block runs several lists at once.
  virtual void add_written(std::vector<dmp_dv_mem>*) const {}
  /// Runs the command. Its memories were bounds-checked when it was added.
  virtual void execute(Scratch* scratch) = 0;
  /// Estimates the command's time on that hardware, in microseconds; 0 if there is no model of it.
  virtual double estimate_us(const device::Hardware&) const { return 0; }
};

}  // namespace dvnn::softdv
