// SPDX-License-Identifier: Apache-2.0
#include "kernels/windows/shrink.h"

#include "kernels/inputs.h"

namespace dvnn::test::shrink_tests {

DVNN_SUITE(shrink);

DVNN_TEST(rows_shrink_as_in_the_plain_form) {
  constexpr size_t kMost = 61 * 200;
  std::vector<uint8_t> first(kMost, 255), second(kMost, 255);
  std::vector<uint16_t> sums(kMost);
  for (const bool bright : {true, false}) {  // the largest sums, and any
    for (size_t i = 0; !bright && i < kMost; ++i) {
      first[i] = static_cast<uint8_t>(i * 7919 >> 3);
      second[i] = static_cast<uint8_t>(i * 104729 >> 5);
    }
    for (const size_t step : {1, 2, 3, 4, 5, 6, 7, 8, 12, 30, 128, 129, 192, 200}) {
      for (const size_t count : {1, 8, 61}) {
        for (const uint8_t* low : {second.data(), static_cast<uint8_t*>(nullptr)}) {
          const auto run = [&](auto shrink) {
            std::vector<float> to(count + 1, 5);
            shrink(first.data(), low, count, step, 0.37f, sums.data(), to.data());
            return to;
          };
          const std::vector<float> wanted = run(kernels::plain::shrink_rows);
          test::on_every_target([&](const char* target) {
            test::assert_same(target, run(kernels::shrink_rows), wanted);
          });
        }
      }
    }
  }
}

DVNN_TEST(rows_are_halved_as_in_the_plain_form) {
  const std::vector<float> pixels = test::seeded_floats(200, 1, 0, 255);
  for (const size_t count : {1, 7, 8, 33}) {
    const auto run = [&](auto halve) {
      std::vector<float> to(count + 1, 5);
      halve(pixels.data(), &pixels[101], count, to.data());
      return to;
    };
    const std::vector<float> wanted = run(kernels::plain::halve_rows);
    test::on_every_target(
        [&](const char* target) { test::assert_same(target, run(kernels::halve_rows), wanted); });
  }
}

}  // namespace dvnn::test::shrink_tests
