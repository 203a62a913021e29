// SPDX-License-Identifier: Apache-2.0
#include "kernels/arithmetic/product.h"

#include <algorithm>

#include "kernels/inputs.h"

namespace dvnn::test::product_tests {

DVNN_SUITE(product);

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

}  // namespace dvnn::test::product_tests
