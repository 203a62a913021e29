// SPDX-License-Identifier: Apache-2.0
// The budgets of one whole network. A file of a kilobyte can describe a day's work, and limits on
// single tensors do not add up to a limit on the network; these budgets are that limit.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace dvnn {

enum class Budget {
  kIoBytes,        // a slot's I/O buffer
  kConstantBytes,  // constants, computed once when a network is loaded
  kScratchBytes,   // what CPU layers keep beside their tensors, in all steps together
  kDeviceMacs,     // multiply-adds of all device commands, taps of their pooling windows included
  kCpuWork,        // elements that CPU layers read and write, window taps and products
  kCandidates,     // boxes that suppression looks at, of all classes together
  kGraphNodes,   // of the graph that a network file keeps for other sizes, and of the graph planned
                 // from it
  kWeightBytes,  // packed weights that planning makes
  kImportNumbers,  // that importing a model keeps: its constants, or the weights of its graph
  kMessageBytes,   // that the messages of a model's file take in memory, without their texts
};

/// The limit of `budget`: its default, or the value of its environment variable (docs/limits.md).
uint64_t limit_of(Budget budget);

/// Returns an error if `value` is over the budget. The error names `what`, its value, the limit,
/// and the variable that changes the limit; bytes are told in MiB.
Status check_budget(Budget budget, uint64_t value, const std::string& what);

/// Several budgets of one thing: what exceeds them is told in one error, so that nobody raises one
/// limit to meet the next.
class BudgetSheet {
 public:
  void add(Budget budget, uint64_t value, const std::string& what);
  /// kLimit with all that was over its budget, and `help` behind it; else no error.
  Status result(const std::string& help) const;

 private:
  std::string problems_;
};

}  // namespace dvnn
