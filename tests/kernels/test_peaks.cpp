// SPDX-License-Identifier: Apache-2.0
#include "kernels/arithmetic/peaks.h"

#include <algorithm>
#include <cmath>

#include "check_suite.h"
#include "kernels/inputs.h"

namespace dvnn::test::peaks_tests {

DVNN_SUITE(peaks);

using namespace dvnn::kernels;

DVNN_TEST(vector_code_finds_what_plain_code_finds) {
  for (size_t count = 0; count < 150; ++count) {
    std::vector<float> values = test::seeded_floats(count, static_cast<unsigned>(count), -1, 1);
    if (count > 20) values[count / 2] = NAN;
    ck_assert(largest(values.data(), count) == plain::largest(values.data(), count));
    ck_assert_uint_eq(first_largest(values.data(), count),
                      plain::first_largest(values.data(), count));
    for (const float bound : {-2.0f, 0.0f, 0.9f, 2.0f}) {
      std::vector<uint32_t> found(count + 1, 77), wanted(count + 1, 77);
      const size_t hits = at_least(values.data(), count, bound, found.data());
      ck_assert_uint_eq(hits, plain::at_least(values.data(), count, bound, wanted.data()));
      ck_assert(found == wanted);
    }
    std::vector<float> best(count, 0.25f), plainly = best;
    std::vector<int32_t> which(count, -1), which_plainly = which;
    raise(values.data(), 7, best.data(), which.data(), count);
    plain::raise(values.data(), 7, plainly.data(), which_plainly.data(), count);
    ck_assert(best == plainly && which == which_plainly);
  }
}

DVNN_TEST(what_is_no_number_is_neither_large_nor_first) {
  const std::vector<float> values = {NAN, -3, NAN, -5};
  ck_assert(largest(values.data(), values.size()) == -3);
  uint32_t at[4];
  ck_assert_uint_eq(at_least(values.data(), values.size(), -INFINITY, at), 2);
  ck_assert_uint_eq(at[0], 1);
  ck_assert(largest(values.data(), 0) == -INFINITY);
  ck_assert_uint_eq(first_largest(values.data(), values.size()), 1);
  ck_assert_uint_eq(first_largest(values.data(), 0), 0);
  const std::vector<float> none(40, NAN);
  ck_assert_uint_eq(first_largest(none.data(), none.size()), 0);
}

DVNN_TEST(of_equal_ones_the_first_is_the_largest) {
  for (size_t count = 1; count < 150; ++count) {
    for (size_t first = 0; first < count; ++first) {
      std::vector<float> values(count, -1);
      std::fill(values.begin() + static_cast<std::ptrdiff_t>(first), values.end(), 3.0f);
      ck_assert_uint_eq(first_largest(values.data(), count), first);
    }
  }
}

}  // namespace dvnn::test::peaks_tests
