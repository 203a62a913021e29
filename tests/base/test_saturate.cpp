// SPDX-License-Identifier: Apache-2.0
#include "base/saturate.h"

#include "check_suite.h"

namespace dvnn::test::saturate_tests {

DVNN_SUITE(saturate);

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

}  // namespace dvnn::test::saturate_tests
