// SPDX-License-Identifier: Apache-2.0
#include "kernels/windows/convolve.h"

#include "kernels/inputs.h"

namespace dvnn::test::convolve_tests {

DVNN_SUITE(convolve);

DVNN_TEST(rows_are_those_of_the_plain_form) {
  constexpr size_t kSource = 500, kTaps = 401;  // more than are summed up at a time
  const std::vector<float> source = test::seeded_steps(kSource, 1, 2);
  const std::vector<float> weights =
      test::seeded_steps(kTaps * kernels::kConvolveChannels, 2, 0.5f);
  const std::vector<float> bias = test::seeded_steps(kernels::kConvolveChannels, 3, 1);
  std::vector<int64_t> offsets;
  for (size_t k = 0; k < kTaps; ++k) offsets.push_back(static_cast<int64_t>(k * 37 % 97));
  for (size_t channels = 1; channels <= kernels::kConvolveChannels; ++channels) {
    for (size_t count : {1, 7, 8, 15, 16, 17, 40, 100}) {
      auto rows = [&](auto convolve) {
        std::vector<float> made(channels * (count + 1), 9);  // a guard after each row
        float* to[kernels::kConvolveChannels];
        for (size_t m = 0; m < channels; ++m) to[m] = &made[m * (count + 1)];
        convolve(source.data(), offsets.data(), kTaps, weights.data(), bias.data(), channels, count,
                 to);
        return made;
      };
      const std::vector<float> wanted = rows(kernels::plain::convolve_row);
      test::on_every_target([&](const char* target) {
        test::assert_same(target, rows(kernels::convolve_row), wanted);
      });
    }
  }
}

}  // namespace dvnn::test::convolve_tests
