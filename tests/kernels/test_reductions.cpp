// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "check_suite.h"
#include "kernels/arithmetic/reductions.h"
#include "kernels/inputs.h"

namespace dvnn::test::reductions_tests {

DVNN_SUITE(reductions);

using kernels::Fold;
using namespace dvnn::kernels;

DVNN_TEST(folded_lines_are_those_of_the_plain_form) {
  // More columns than four of the widest vectors have.
  constexpr size_t kStride = 76, kLines = 6;
  std::vector<float> values = test::seeded_floats(kStride * kLines, 1, -3, 3);
  const std::vector<float> odd = test::odd_floats();
  for (size_t i = 0; i < odd.size(); ++i) values[2 * i + kStride] = odd[i];
  for (Fold fold : {Fold::kSum, Fold::kSizes, Fold::kSquares, Fold::kProduct, Fold::kLargest,
                    Fold::kSmallest}) {
    for (size_t lines = 0; lines <= kLines; ++lines) {
      for (size_t count = 0; count <= 75; ++count) {
        auto made = [&](auto fold_lines) {
          std::vector<double> to(count + 1, 0.5);
          fold_lines(fold, values.data(), kStride, lines, to.data(), count);
          return to;
        };
        const std::vector<double> wanted = made(kernels::plain::fold_lines);
        test::on_every_target([&](const char* target) {
          const std::vector<double> found = made(kernels::fold_lines);
          for (size_t i = 0; i <= count; ++i) {
            const bool same = std::memcmp(&found[i], &wanted[i], sizeof(double)) == 0 ||
                              (std::isnan(found[i]) && std::isnan(wanted[i]));
            ck_assert_msg(same, "%s: number %zu of %zu is %a, not %a", target, i, count, found[i],
                          wanted[i]);
          }
        });
      }
    }
  }
}

DVNN_TEST(products_are_those_of_the_plain_form) {
  for (size_t m : {1, 3, 4, 6, 9, 14}) {
    for (size_t k : {0, 1, 17}) {
      for (size_t n = 1; n <= 300; n += n < 20 ? 1 : n < 70 ? 7 : 41) {
        std::vector<float> a = test::seeded_steps(m * k, 1, 2);
        std::vector<float> b = test::seeded_steps(k * n, 2, 2);
        std::vector<float> odd = test::odd_floats();
        // Too small to be rounded alike before a sum and with it.
        odd.erase(std::find(odd.begin(), odd.end(), test::kSmallest));
        for (size_t i = 0; i < odd.size() && i < a.size(); ++i) a[i] = odd[i];
        auto made = [&](auto multiply) {
          std::vector<float> to(m * n + 1, 9);  // a guard after the result
          multiply(a.data(), b.data(), to.data(), m, k, n);
          return to;
        };
        const std::vector<float> wanted = made(kernels::plain::multiply);
        test::on_every_target([&](const char* target) {
          test::assert_same(target, made(kernels::multiply), wanted);
        });
      }
    }
  }
}

// Panels of columns, and rows that are not side by side, give the same bits.
DVNN_TEST(parts_of_matrices_have_the_products_of_the_whole) {
  for (size_t m : {1, 5, 13}) {
    for (size_t n : {3, 16, 70, 131}) {
      constexpr size_t k = 19, apart = 23, panel = 64;
      const std::vector<float> b = test::seeded_floats(k * n, 2, -2, 2);
      const std::vector<float> a = test::seeded_floats(m * apart, 1, -2, 2);
      std::vector<float> close(m * k);
      for (size_t i = 0; i < m * k; ++i) close[i] = a[i / k * apart + i % k];
      test::on_every_target([&](const char* target) {
        std::vector<float> whole(m * n), rows(m * n), columns(m * n);
        kernels::multiply(close.data(), b.data(), whole.data(), m, k, n);
        kernels::multiply_rows(a.data(), apart, b.data(), rows.data(), m, k, n);
        test::assert_same(target, rows, whole);
        for (size_t first = 0; first < n; first += panel) {
          const size_t width = std::min(panel, n - first);
          std::vector<float> part(k * width);
          for (size_t i = 0; i < part.size(); ++i) part[i] = b[i / width * n + first + i % width];
          kernels::multiply_panel(close.data(), part.data(), columns.data() + first, m, k, width,
                                  n);
        }
        test::assert_same(target, columns, whole);
      });
    }
  }
}

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

DVNN_TEST(normalised_values_are_those_of_the_plain_form) {
  constexpr size_t kStride = 61, kLines = 5;
  std::vector<float> values = test::seeded_floats(kStride * kLines, 1, -30, 30);
  const std::vector<float> odd = test::odd_floats();
  std::copy(odd.begin(), odd.end(), values.begin() + kStride);
  for (float beta : {0.75f, 0.5f}) {
    const kernels::LocalResponse by = {1, 2e-2f, beta};
    for (size_t lines = 0; lines <= kLines; ++lines) {
      for (size_t count = 0; count <= kStride; count += 6) {
        auto made = [&](auto normalise) {
          std::vector<float> to(count + 1, 9);
          normalise(by, values.data(), kStride, lines, &values[kStride], to.data(), count);
          return to;
        };
        const std::vector<float> wanted = made(kernels::plain::normalise_local);
        test::on_every_target([&](const char* target) {
          test::assert_same(target, made(kernels::normalise_local), wanted);
        });
      }
    }
  }
}

DVNN_TEST(two_roots_are_the_power_of_three_quarters) {
  for (float x : {0.001f, 0.5f, 1.0f, 3.0f, 1000.0f, 1e9f}) {
    const kernels::LocalResponse by = {x, 0, 0.75f};
    const float own = 2;
    float found;
    kernels::normalise_local(by, &own, 1, 1, &own, &found, 1);
    const double wanted = 2 * std::pow(static_cast<double>(x), -0.75);
    ck_assert_double_le(std::fabs(static_cast<double>(found) / wanted - 1), 3e-7);
  }
}

DVNN_TEST(peaks_are_those_of_the_plain_form) {
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

DVNN_TEST(what_is_no_number_is_no_peak) {
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

DVNN_TEST(of_equal_peaks_the_first_is_the_largest) {
  for (size_t count = 1; count < 150; ++count) {
    for (size_t first = 0; first < count; ++first) {
      std::vector<float> values(count, -1);
      std::fill(values.begin() + static_cast<std::ptrdiff_t>(first), values.end(), 3.0f);
      ck_assert_uint_eq(first_largest(values.data(), count), first);
    }
  }
}

}  // namespace dvnn::test::reductions_tests
