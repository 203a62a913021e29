// SPDX-License-Identifier: Apache-2.0
#include "base/budget.h"

#include <cerrno>
#include <cstdlib>

#include "base/format.h"
#include "base/nth.h"

namespace dvnn {
namespace {

struct Entry {
  const char* variable;
  uint64_t limit;
};

// One entry per Budget, in the order of the enumeration. Each default is more than ten times what
// our largest reference network needs, yet small enough that a network just within all of them
// takes neither a gigabyte nor many seconds. docs/limits.md has the measurements.
constexpr Entry kBudgets[] = {
    {"DVNN_MAX_IO_BYTES", uint64_t{256} << 20},
    {"DVNN_MAX_CONSTANT_BYTES", uint64_t{128} << 20},
    {"DVNN_MAX_SCRATCH_BYTES", uint64_t{256} << 20},
    {"DVNN_MAX_DEVICE_MACS", uint64_t{32} * 1000 * 1000 * 1000},
    {"DVNN_MAX_CPU_WORK", uint64_t{4} * 1000 * 1000 * 1000},
    {"DVNN_MAX_CANDIDATES", uint64_t{1} << 18},
    {"DVNN_MAX_GRAPH_NODES", 65536},
    {"DVNN_MAX_WEIGHT_BYTES", uint64_t{512} << 20},
};

}  // namespace

uint64_t limit_of(Budget budget) {
  const Entry& entry = nth(kBudgets, budget);
  // secure_getenv() ignores the environment where the program has more rights than its caller, who
  // must not lift its limits.
  const char* text = secure_getenv(entry.variable);
  if (!text || *text < '0' || *text > '9') return entry.limit;
  char* end = nullptr;
  errno = 0;
  const unsigned long long value = std::strtoull(text, &end, 10);
  return errno == 0 && *end == '\0' ? value : entry.limit;
}

Status check_budget(Budget budget, uint64_t value, const std::string& what) {
  const uint64_t limit = limit_of(budget);
  if (value <= limit) return {};
  return Error{ErrorCode::kLimit,
               format("%s: %llu, the limit is %llu (%s changes it)", what.c_str(),
                      static_cast<unsigned long long>(value),
                      static_cast<unsigned long long>(limit), nth(kBudgets, budget).variable)};
}

}  // namespace dvnn
