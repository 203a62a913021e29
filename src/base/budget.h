// SPDX-License-Identifier: Apache-2.0
// What one whole network may cost. A file of a kilobyte can describe work for a day, and limits on
// single tensors do not add up to a limit on the network: these do.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace dvnn {

enum class Budget {
  kIoBytes,        // a slot's I/O buffer
  kConstantBytes,  // what is computed once when a network is loaded
  kScratchBytes,   // what CPU layers keep beside their tensors, of all steps together
  kDeviceMacs,     // multiply-adds of all device commands, taps of their pooling windows included
  kCpuWork,        // elements that CPU layers read and write, window taps and products
  kCandidates,     // boxes that suppression looks at, of all classes together
  kGraphNodes,     // of the graph that a network file keeps for other sizes, or that comes of it
  kWeightBytes,    // packed weights that planning makes
};

/// The limit: the default, or what the environment variable says that docs/limits.md lists for it.
uint64_t limit_of(Budget budget);

/// An error that names `what`, its value, the limit, and the variable that changes it, where
/// `value` is over the budget.
Status check_budget(Budget budget, uint64_t value, const std::string& what);

}  // namespace dvnn
