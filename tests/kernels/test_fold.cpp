// SPDX-License-Identifier: Apache-2.0
#include "kernels/arithmetic/fold.h"

#include "kernels/inputs.h"

namespace dvnn::test::fold_tests {

DVNN_SUITE(fold);

using kernels::Fold;

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

}  // namespace dvnn::test::fold_tests
