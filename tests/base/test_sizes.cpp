// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "base/budget.h"
#include "base/grid.h"
#include "base/nth.h"
#include "base/numbers.h"
#include "check_suite.h"

namespace dvnn::test::sizes_tests {

DVNN_SUITE(sizes);

DVNN_TEST(a_list_has_no_negative_elements_and_none_from_its_end_on) {
  const std::vector<int> list = {5, 6, 7};
  ck_assert(has_nth(list, 0));
  ck_assert(has_nth(list, 2));
  ck_assert(!has_nth(list, 3));
  ck_assert(!has_nth(list, -1));
  ck_assert(!has_nth(std::vector<int>(), 0));
  ck_assert_int_eq(nth(list, 1), 6);
}

DVNN_TEST(a_negative_limit_keeps_a_whole_list) {
  std::vector<int> list = {5, 6, 7};
  keep_first(-1, &list);
  keep_first(4, &list);
  keep_first(3, &list);
  ck_assert(list == std::vector<int>({5, 6, 7}));
  keep_first(2, &list);
  ck_assert(list == std::vector<int>({5, 6}));
  keep_first(0, &list);
  ck_assert(list.empty());
}

DVNN_TEST(cells_are_numbered_row_by_row) {
  size_t next = 0;
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 5; ++column, ++next) {
      ck_assert_uint_eq(grid_index(column, row, 5), next);
    }
  }
  ck_assert_uint_eq(grid_size(5, 3), next);
  ck_assert_uint_eq(grid_size(0, 3), 0);
}

DVNN_TEST(grids_may_have_more_cells_than_an_int_counts) {
  constexpr int kColumns = 1 << 16, kRows = 1 << 15;
  ck_assert_uint_eq(grid_size(kColumns, kRows), uint64_t{1} << 31);
  ck_assert_uint_eq(grid_index(7, kRows, kColumns), (uint64_t{1} << 31) + 7);
}

DVNN_TEST(sums_and_products_stop_where_they_would_wrap) {
  constexpr uint64_t kMost = uint64_t{1} << 63, kAll = UINT64_MAX;
  ck_assert_uint_eq(saturating_sum(2, 3), 5);
  ck_assert_uint_eq(saturating_sum(kSaturated - 1, 1), kSaturated);
  for (const uint64_t large : {kSaturated, kMost, kAll}) {
    ck_assert_uint_eq(saturating_sum(large, 0), kSaturated);
    ck_assert_uint_eq(saturating_sum(1, large), kSaturated);
    ck_assert_uint_eq(saturating_sum(large, large), kSaturated);
    ck_assert_uint_eq(saturating_product(large, 2), kSaturated);
    ck_assert_uint_eq(saturating_product(2, large), kSaturated);
    ck_assert_uint_eq(saturating_product(large, large), kSaturated);
    ck_assert_uint_eq(saturating_product(large, 0), 0);
    ck_assert_uint_eq(saturating_product(0, large), 0);
  }
  ck_assert_uint_eq(saturating_product(6, 7), 42);
  ck_assert_uint_eq(saturating_product(uint64_t{1} << 31, uint64_t{1} << 30), uint64_t{1} << 61);
  // 2^32 squared would be 0.
  ck_assert_uint_eq(saturating_product(uint64_t{1} << 32, uint64_t{1} << 32), kSaturated);
}

DVNN_TEST(products_of_sizes_have_no_sign) {
  ck_assert_uint_eq(saturating_product_of(2, int64_t{3}, 4u), 24);
  ck_assert_uint_eq(saturating_product_of(-2, -3), 0);
  ck_assert_uint_eq(saturating_product_of(1 << 30, 1 << 30, 1 << 30), kSaturated);
  ck_assert_uint_eq(saturating_product_of(1 << 30, 1 << 30, 1 << 30, -1), 0);
}

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

}  // namespace dvnn::test::sizes_tests
