// SPDX-License-Identifier: Apache-2.0
#include "kernels/arithmetic/softmax.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "kernels/inputs.h"

namespace dvnn::test::softmax_tests {

DVNN_SUITE(softmax);

void check(const std::vector<float>& data, size_t outer, size_t count, size_t inner) {
  std::vector<float> wanted = data;
  kernels::plain::softmax(wanted.data(), outer, count, inner);
  test::on_every_target([&](const char* target) {
    std::vector<float> found = data;
    kernels::softmax(found.data(), outer, count, inner);
    test::assert_same(target, found, wanted);
  });
}

DVNN_TEST(numbers_are_shares_of_one) {
  std::vector<float> two = {0, std::log(3.0f), 5, 5};
  kernels::softmax(two.data(), 2, 2, 1);
  ck_assert_float_eq_tol(two[0], 0.25f, 1e-6f);
  ck_assert_float_eq_tol(two[1], 0.75f, 1e-6f);
  ck_assert_float_eq_tol(two[2], 0.5f, 1e-6f);
  std::vector<float> columns = {0, 5, std::log(3.0f), 5};
  kernels::softmax(columns.data(), 1, 2, 2);
  ck_assert_float_eq_tol(columns[2], 0.75f, 1e-6f);
  ck_assert_float_eq_tol(columns[3], 0.5f, 1e-6f);
  std::vector<float> large = {1000, 1000};
  kernels::softmax(large.data(), 1, 2, 1);
  ck_assert(large[0] == 0.5f);
}

DVNN_TEST(rows_are_those_of_the_plain_form) {
  for (size_t count = 1; count <= 70; ++count) {
    for (size_t rows : {3, 150}) {
      check(test::seeded_floats(rows * count, static_cast<unsigned>(count), -20, 20), rows, count,
            1);
    }
  }
}

DVNN_TEST(columns_are_those_of_the_plain_form) {
  for (size_t inner : {2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 64, 255, 256, 257, 600}) {
    for (size_t count : {1, 2, 5, 21}) {
      const auto seed = static_cast<unsigned>(inner);
      check(test::seeded_floats(2 * count * inner, seed, -20, 20), 2, count, inner);
    }
  }
}

DVNN_TEST(a_single_column_is_no_row) {
  // Ninety numbers whose sum depends on the order.
  const std::vector<float> data = test::seeded_floats(90 * 5, 3, -20, 20);
  std::vector<float> columns = data;
  kernels::plain::softmax(columns.data(), 1, 90, 5);
  for (size_t i = 0; i < 5; ++i) {
    std::vector<float> column(90), wanted(90);
    for (size_t k = 0; k < 90; ++k) {
      column[k] = data[k * 5 + i];
      wanted[k] = columns[k * 5 + i];
    }
    test::on_every_target([&](const char* target) {
      std::vector<float> found = column;
      kernels::softmax_columns(found.data(), 90, 1);
      test::assert_same(target, found, wanted);
    });
    kernels::plain::softmax_columns(column.data(), 90, 1);
    test::assert_same("plain", column, wanted);
  }
}

DVNN_TEST(what_is_not_finite_is_as_in_the_plain_form) {
  for (float odd : test::odd_floats()) {
    for (size_t at = 0; at < 40; ++at) {
      std::vector<float> data = test::seeded_floats(40, 7, -20, 20);
      data[at] = odd;
      check(data, 1, 40, 1);
      check(data, 1, 2, 20);
      check(data, 2, 4, 5);
      data[(at + 9) % 40] = odd;
      check(data, 1, 40, 1);
      check(data, 1, 4, 10);
    }
  }
}

// Below about e^-87.3 a share would be less than a normal number.
DVNN_TEST(shares_that_are_almost_none_are_those_of_the_plain_form) {
  const std::vector<float> ends = {0,       -87.29f, -87.3f, std::nextafter(-87.3f, -88.0f),
                                   -87.31f, -88,     -103,   -1e30f};
  for (size_t repeated : {1, 40}) {
    std::vector<float> data;
    for (size_t i = 0; i < repeated; ++i) data.insert(data.end(), ends.begin(), ends.end());
    check(data, repeated, ends.size(), 1);
    check(data, 1, data.size(), 1);
    check(data, 1, 2 * repeated, ends.size() / 2);
  }
  for (unsigned seed = 0; seed < 20; ++seed) {
    check(test::seeded_floats(150 * 4, seed, -120, 120), 150, 4, 1);
    check(test::seeded_floats(150 * 4, seed, -120, 120), 1, 4, 150);
  }
}

DVNN_TEST(nothing_behind_the_data_is_touched) {
  for (size_t inner : {1, 3, 17}) {
    std::vector<float> data = test::seeded_floats(2 * 5 * inner + 64, 1, -1, 1);
    const std::vector<float> before = data;
    test::on_every_target([&](const char*) {
      kernels::softmax(data.data(), 2, 5, inner);
      for (size_t i = 2 * 5 * inner; i < data.size(); ++i) ck_assert(data[i] == before[i]);
    });
  }
}

struct PowersMade {
  std::vector<float> rows, inverses;
};

template <typename F>
PowersMade powers_of(const std::vector<float>& data, size_t count, size_t stride, float scale,
                     F make) {
  PowersMade made = {data, std::vector<float>(data.size() / stride)};
  make(kernels::PowerRows{made.rows.data(), made.inverses.size(), count, stride}, scale,
       made.inverses.data());
  return made;
}

// Powers and sums are those of double precision to some units of the last place, and AVX2 has the
// bits of AVX-512.
DVNN_TEST(powers_are_those_of_double_precision) {
  constexpr size_t kRows = 3;
  constexpr double kUnit = std::numeric_limits<float>::epsilon();
  for (const size_t count : {1, 5, 15, 16, 17, 31, 48, 49, 197, 578}) {
    const size_t stride = (count + 31) / 16 * 16;
    for (const float scale : {1.0f, 0.125f}) {
      auto data = test::seeded_floats(kRows * stride, static_cast<unsigned>(count), -20, 20);
      for (size_t r = 0; r < kRows; ++r) {  // numbers that are not to count
        std::fill(data.begin() + static_cast<ptrdiff_t>(r * stride + count),
                  data.begin() + static_cast<ptrdiff_t>((r + 1) * stride), 1e9f);
      }
      std::map<std::string, double> worst, worst_sum;
      std::optional<PowersMade> first;
      const auto see = [&](const std::string& name, const PowersMade& made) {
        for (size_t r = 0; r < kRows; ++r) {
          const float* const row = &data[r * stride];
          const double top = double{*std::max_element(row, row + count)};
          double sum = 0;
          for (size_t k = 0; k < count; ++k) {
            const double want = std::exp((double{row[k]} - top) * double{scale});
            const double have = double{made.rows[r * stride + k]};
            worst[name] = std::max(worst[name], std::fabs(have / want - 1) / kUnit);
            sum += want;
          }
          const double far = std::fabs(double{made.inverses[r]} * sum - 1);
          worst_sum[name] = std::max(worst_sum[name], far / kUnit);
        }
      };
      see("plain", powers_of(data, count, stride, scale, kernels::plain::softmax_powers));
      test::on_every_target([&](const char* target) {
        const std::string name = target;
        const PowersMade made = powers_of(data, count, stride, scale, kernels::softmax_powers);
        see(name, made);
        if (name != "AVX2" && name != "AVX3") return;
        if (!first) {
          first = made;
          return;
        }
        for (size_t r = 0; r < kRows; ++r) {
          for (size_t k = 0; k < count; ++k) {
            ck_assert(made.rows[r * stride + k] == first->rows[r * stride + k]);
          }
        }
        test::assert_same(target, made.inverses, first->inverses);
      });
      // (x - m) scale may be 40, and is off by up to half a unit of its last place: of 2^-19.
      for (const auto& [name, error] : worst) {
        ck_assert_msg(error <= 18 && worst_sum[name] <= 4, "%s: %g, %g", name.c_str(), error,
                      worst_sum[name]);
      }
    }
  }
}

DVNN_TEST(powers_beyond_the_row_are_left_alone) {
  const std::vector<float> data = test::seeded_floats(2 * 48, 5, -9, 9);
  test::on_every_target([&](const char*) {
    const PowersMade made = powers_of(data, 20, 48, 1, kernels::softmax_powers);
    for (size_t i = 0; i < data.size(); ++i) {
      if (i % 48 >= 32) ck_assert(made.rows[i] == data[i]);
    }
  });
}

DVNN_TEST(powers_of_what_is_not_finite_are_as_in_the_plain_form) {
  for (float odd : test::odd_floats()) {
    for (size_t at = 0; at < 40; ++at) {
      std::vector<float> data = test::seeded_floats(48, 7, -20, 20);
      data[at] = odd;
      const PowersMade want = powers_of(data, 40, 48, 1, kernels::plain::softmax_powers);
      test::on_every_target([&](const char* target) {
        const PowersMade made = powers_of(data, 40, 48, 1, kernels::softmax_powers);
        for (size_t k = 0; k < 40; ++k) {
          ck_assert_msg(std::isnan(made.rows[k]) == std::isnan(want.rows[k]), "%s", target);
          ck_assert((made.rows[k] == 0) == (want.rows[k] == 0));
        }
        ck_assert(std::isnan(made.inverses[0]) == std::isnan(want.inverses[0]));
      });
    }
  }
}

}  // namespace dvnn::test::softmax_tests
