// SPDX-License-Identifier: Apache-2.0
#include "base/grid.h"

#include <cstdint>

#include "check_suite.h"

namespace dvnn::test::grid_tests {

DVNN_SUITE(grid);

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

}  // namespace dvnn::test::grid_tests
