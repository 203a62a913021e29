// SPDX-License-Identifier: Apache-2.0
#include "kernels/windows.h"

#include "kernels/inputs.h"

using namespace dvnn;

START_TEST(windows_are_those_of_the_plain_form) {
  constexpr size_t kRow = 90;
  std::vector<float> pixels = test::seeded_floats(6 * kRow, 1, -9, 9);
  const std::vector<float> odd = test::odd_floats();
  for (size_t i = 0; i < odd.size(); ++i) pixels[11 * i] = odd[i];
  for (size_t lanes : {1, 3, 7, 8, 11}) {
    for (size_t rows : {1, 2, 5}) {
      for (size_t columns : {1, 3, 7}) {
        const kernels::PixelWindow window = {pixels.data() + lanes, kRow, rows, columns, lanes};
        auto both = [&](auto largest, auto average) {
          std::vector<float> to(2 * lanes + 1, 5);
          largest(window, to.data());
          average(window, 3.0f, &to[lanes]);
          return to;
        };
        const std::vector<float> wanted =
            both(kernels::plain::largest_of_window, kernels::plain::average_of_window);
        test::on_every_target([&](const char* target) {
          test::assert_same(target, both(kernels::largest_of_window, kernels::average_of_window),
                            wanted);
        });
      }
    }
  }
}
END_TEST

DVNN_TEST_MAIN(windows, windows_are_those_of_the_plain_form)
