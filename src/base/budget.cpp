// SPDX-License-Identifier: Apache-2.0
#include "base/budget.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/environment.h"
#include "base/format.h"
#include "base/nth.h"
#include "base/numbers.h"

namespace dvnn {
namespace {

struct Entry {
  const char* variable;
  uint64_t limit;
  enum Unit { kBytes, kCount } unit;
};

// One entry per Budget, in the enumeration's order. Each default is more than ten times the need of
// our largest reference network, and enough for the largest YOLO of 640 x 640 pixels. A network
// just within all of them still takes less than two gigabytes and a minute. docs/limits.md has the
// measurements.
constexpr Entry kBudgets[] = {
    {"DVNN_MAX_IO_BYTES", uint64_t{512} << 20, Entry::kBytes},
    {"DVNN_MAX_CONSTANT_BYTES", uint64_t{128} << 20, Entry::kBytes},
    {"DVNN_MAX_SCRATCH_BYTES", uint64_t{256} << 20, Entry::kBytes},
    {"DVNN_MAX_DEVICE_MACS", uint64_t{256} * 1000 * 1000 * 1000, Entry::kCount},
    {"DVNN_MAX_CPU_WORK", uint64_t{32} * 1000 * 1000 * 1000, Entry::kCount},
    {"DVNN_MAX_CANDIDATES", uint64_t{1} << 18, Entry::kCount},
    {"DVNN_MAX_GRAPH_NODES", 65536, Entry::kCount},
    {"DVNN_MAX_WEIGHT_BYTES", uint64_t{512} << 20, Entry::kBytes},
    {"DVNN_MAX_IMPORT_NUMBERS", uint64_t{1} << 28, Entry::kCount},
    {"DVNN_MAX_MESSAGE_BYTES", uint64_t{5} << 28, Entry::kBytes},
};

// What one object of a process can have: 2 GiB where addresses have 32 bits. Sizes within a byte
// budget can be turned into size_t. Sums that stopped where they would wrap are beyond it.
constexpr uint64_t kMostBytes = std::min(uint64_t{PTRDIFF_MAX}, kSaturated) - 1;

std::string told(uint64_t value, Entry::Unit unit) {
  if (unit == Entry::kBytes) return format("%.4g MiB", std::ldexp(static_cast<double>(value), -20));
  constexpr uint64_t kMany = 1000000;
  if (value >= kMany) return format("%.4g million", static_cast<double>(value) / kMany);
  return std::to_string(value);
}

// Returns a sentence that tells what is over the budget; empty if nothing is.
std::string excess(Budget budget, uint64_t value, const std::string& what) {
  const uint64_t limit = limit_of(budget);
  if (value <= limit) return "";
  const Entry& entry = nth(kBudgets, budget);
  const bool all = entry.unit == Entry::kBytes && limit == kMostBytes;
  return format("%s: %s, the limit is %s (%s)", what.c_str(), told(value, entry.unit).c_str(),
                told(limit, entry.unit).c_str(),
                all ? "a process has no more" : format("%s changes it", entry.variable).c_str());
}

}  // namespace

uint64_t limit_of(Budget budget) {
  const Entry& entry = nth(kBudgets, budget);
  const uint64_t limit = environment_number(entry.variable).value_or(entry.limit);
  return entry.unit == Entry::kBytes ? std::min(limit, kMostBytes) : limit;
}

Status check_budget(Budget budget, uint64_t value, const std::string& what) {
  BudgetSheet sheet;
  sheet.add(budget, value, what);
  return sheet.result("");
}

void BudgetSheet::add(Budget budget, uint64_t value, const std::string& what) {
  const std::string problem = excess(budget, value, what);
  if (!problem.empty()) problems_ += (problems_.empty() ? "" : "; ") + problem;
}

Status BudgetSheet::result(const std::string& help) const {
  if (problems_.empty()) return {};
  return too_large(problems_ + help);
}

}  // namespace dvnn
