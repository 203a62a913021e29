// SPDX-License-Identifier: Apache-2.0
#include "kernels/arithmetic/local_response.h"

#include "kernels/inputs.h"

namespace dvnn::test::local_response_tests {

DVNN_SUITE(local_response);

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

}  // namespace dvnn::test::local_response_tests
