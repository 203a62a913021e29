// SPDX-License-Identifier: Apache-2.0
#include "kernels/arithmetic/standardise.h"

#include "kernels/inputs.h"

namespace dvnn::test::standardise_tests {

DVNN_SUITE(standardise);

namespace {

constexpr size_t kStride = 75, kLines = 5;

struct Made {
  std::vector<double> sums = std::vector<double>(kStride + 1, 0.5);
  std::vector<float> lines, row;
};

// What the functions of one form make of `count` columns.
template <typename Add, typename Lines, typename Row>
Made make(const std::vector<float>& values, size_t count, Add add, Lines lines, Row row) {
  Made made;
  std::vector<double> means(kStride), factors(kStride);
  for (size_t i = 0; i < kStride; ++i) {
    means[i] = 0.3 + static_cast<double>(i) / 7;
    factors[i] = 1 / (1.7 + static_cast<double>(i));
  }
  add(values.data(), kStride, kLines, means.data(), made.sums.data(), count);
  made.lines = made.row = values;
  lines(made.lines.data(), kStride, kLines, means.data(), factors.data(), made.lines.data(), count);
  row(values.data(), 0.7, 0.3, made.row.data(), count);
  return made;
}

}  // namespace

DVNN_TEST(standardised_numbers_are_those_of_the_plain_form) {
  std::vector<float> values = test::seeded_floats(kStride * kLines, 1, -3, 3);
  const std::vector<float> odd = test::odd_floats();
  for (size_t i = 0; i < odd.size(); ++i) values[2 * i + kStride] = odd[i];
  for (size_t count = 0; count <= kStride; ++count) {
    const Made wanted = make(values, count, kernels::plain::add_deviations,
                             kernels::plain::standardise_lines, kernels::plain::standardise_row);
    test::on_every_target([&](const char* target) {
      const Made found = make(values, count, kernels::add_deviations, kernels::standardise_lines,
                              kernels::standardise_row);
      test::assert_same(target, found.lines, wanted.lines);
      test::assert_same(target, found.row, wanted.row);
      for (size_t i = 0; i < found.sums.size(); ++i) {
        const bool same = std::memcmp(&found.sums[i], &wanted.sums[i], sizeof(double)) == 0 ||
                          (std::isnan(found.sums[i]) && std::isnan(wanted.sums[i]));
        ck_assert_msg(same, "%s: sum %zu of %zu is %a, not %a", target, i, count, found.sums[i],
                      wanted.sums[i]);
      }
    });
  }
}

}  // namespace dvnn::test::standardise_tests
