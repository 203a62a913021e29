// SPDX-License-Identifier: Apache-2.0
#include "base/budget.h"

#include <cstdint>
#include <cstdlib>

#include "check_suite.h"

namespace dvnn::test::budget_tests {

DVNN_SUITE(budget);

DVNN_TEST(a_variable_changes_a_limit) {
  ck_assert_uint_eq(limit_of(Budget::kIoBytes), uint64_t{512} << 20);
  setenv("DVNN_MAX_IO_BYTES", "1000", 1);
  ck_assert_uint_eq(limit_of(Budget::kIoBytes), 1000);
  ck_assert(check_budget(Budget::kIoBytes, 1000, "the buffer").ok());
  const Status over = check_budget(Budget::kIoBytes, 1 << 20, "the buffer");
  ck_assert(!over.ok());
  dvnn_assert_text(over.error().message,
                   "the buffer: 1 MiB, the limit is 0.0009537 MiB (DVNN_MAX_IO_BYTES changes it)");
  unsetenv("DVNN_MAX_IO_BYTES");
}

// Where addresses have 32 bits, 5 GiB would be taken for 1 GiB.
DVNN_TEST(no_variable_lets_through_what_a_process_cannot_address) {
  constexpr uint64_t kFive = uint64_t{5} << 30;
  setenv("DVNN_MAX_IO_BYTES", "18446744073709551615", 1);
  setenv("DVNN_MAX_DEVICE_MACS", "18446744073709551615", 1);
  ck_assert_uint_lt(limit_of(Budget::kIoBytes), PTRDIFF_MAX);
  ck_assert(check_budget(Budget::kIoBytes, kFive, "the buffer").ok() == (sizeof(size_t) == 8));
  const Status over = check_budget(Budget::kIoBytes, uint64_t{1} << 63, "the buffer");
  ck_assert(!over.ok());
  ck_assert(over.error().message.find("(a process has no more)") != std::string::npos);
  ck_assert(check_budget(Budget::kDeviceMacs, uint64_t{1} << 63, "products").ok());
  unsetenv("DVNN_MAX_IO_BYTES");
  unsetenv("DVNN_MAX_DEVICE_MACS");
}

}  // namespace dvnn::test::budget_tests
