// SPDX-License-Identifier: Apache-2.0
// The budgets of one whole network. A file of a kilobyte can describe a day's work, and limits on
// single tensors do not bound the whole; these budgets do.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace dvnn {

enum class Budget {
  kIoBytes,        // a slot's I/O buffer
  kConstantBytes,  // constants, computed once when the network is loaded
  kScratchBytes,   // memory of CPU layers beside their tensors, in all steps together
  kDeviceMacs,     // multiply-adds of all device commands, including those of pooling windows
  kCpuWork,        // elements that CPU layers read and write, window taps and products
  kCandidates,     // boxes that suppression compares, of all classes together
  kGraphNodes,   // of the graph that a network file keeps for other sizes, and of the graph planned
                 // from it
  kWeightBytes,  // packed weights from planning
  kImportNumbers,  // constants, or weights of the graph, that importing a model keeps
  kMessageBytes,   // memory of the messages of a model's file, without their texts
};

/// Returns the limit of `budget`: its environment variable's value or else its default
/// (docs/limits.md). Bytes are fewer than PTRDIFF_MAX.
uint64_t limit_of(Budget budget);

/// Returns an error if `value` is over the budget. It names `what`, its value, the limit, and the
/// variable that changes the limit. Bytes are given in MiB.
Status check_budget(Budget budget, uint64_t value, const std::string& what);

/// Checks several budgets and reports all excesses in one error, so that users need not raise one
/// limit to meet the next.
class BudgetSheet {
 public:
  void add(Budget budget, uint64_t value, const std::string& what);
  /// Returns kLimit with everything that was over its budget, followed by `help`; or success.
  Status result(const std::string& help) const;

 private:
  std::string problems_;
};

}  // namespace dvnn
