// SPDX-License-Identifier: Apache-2.0
#include "kernels/windows/windows.h"

#include "kernels/inputs.h"

namespace dvnn::test::windows_tests {

DVNN_SUITE(windows);

DVNN_TEST(windows_are_those_of_the_plain_form) {
  constexpr size_t kRow = 150;
  std::vector<float> pixels = test::seeded_floats(9 * kRow, 1, -9, 9);
  const std::vector<float> odd = test::odd_floats();
  for (size_t i = 0; i < odd.size(); ++i) pixels[11 * i] = odd[i];
  auto check = [](const kernels::PixelWindows& windows) {
    auto both = [&](auto largest, auto average) {
      const size_t count = windows.count * windows.lanes;
      std::vector<float> to(2 * count + 1, 5);
      largest(windows, to.data());
      average(windows, 3.0f, &to[count]);
      return to;
    };
    const std::vector<float> wanted =
        both(kernels::plain::largest_of_windows, kernels::plain::average_of_windows);
    test::on_every_target([&](const char* target) {
      test::assert_same(target, both(kernels::largest_of_windows, kernels::average_of_windows),
                        wanted);
    });
  };
  for (size_t lanes : {1, 3, 7, 8, 11}) {
    for (size_t rows : {1, 2, 5}) {
      for (size_t columns : {1, 3}) {
        for (size_t count : {1, 4, 7}) {
          // Along rows of pixels, and across them.
          check({pixels.data() + lanes, count, lanes, kRow, lanes, rows, columns, lanes});
          check({pixels.data() + lanes, count, lanes, lanes, kRow, columns, rows, lanes});
        }
      }
    }
  }
}

}  // namespace dvnn::test::windows_tests
