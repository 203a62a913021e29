// SPDX-License-Identifier: Apache-2.0
#include "base/nth.h"

#include <vector>

#include "check_suite.h"

namespace dvnn::test::nth_tests {

DVNN_SUITE(nth);

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

}  // namespace dvnn::test::nth_tests
