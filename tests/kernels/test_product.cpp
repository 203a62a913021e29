// SPDX-License-Identifier: Apache-2.0
#include "kernels/arithmetic/product.h"

#include <algorithm>

#include "kernels/inputs.h"

namespace dvnn::test::product_tests {

DVNN_SUITE(product);

DVNN_TEST(products_are_those_of_the_plain_form) {
  for (size_t m : {1, 3, 4, 9}) {
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

}  // namespace dvnn::test::product_tests
