// SPDX-License-Identifier: Apache-2.0
#include "kernels/movement/transpose.h"

#include "kernels/inputs.h"

namespace dvnn::test::transpose_tests {

DVNN_SUITE(transpose);

// Matrices of every small size, with gaps after their rows that must stay as they are.
template <typename T>
static void compare_sizes() {
  constexpr size_t kMost = 19, kStride = kMost + 2, kCount = kStride * kStride;
  std::mt19937 random(5);
  std::vector<T> from(kCount);
  for (T& value : from) value = static_cast<T>(random());
  for (size_t rows = 1; rows <= kMost; ++rows) {
    for (size_t columns = 1; columns <= kMost; ++columns) {
      for (bool backwards : {false, true}) {
        const ptrdiff_t stride = backwards ? -ptrdiff_t{kStride} : ptrdiff_t{kStride};
        const T* const first = &from[backwards ? (columns - 1) * kStride : 0];
        std::vector<T> wanted(kCount, 7);
        kernels::plain::transpose(first, stride, wanted.data(), kStride, rows, columns);
        ck_assert_uint_eq(
            wanted[(rows - 1) * kStride + columns - 1],
            first[static_cast<ptrdiff_t>(columns - 1) * stride + static_cast<ptrdiff_t>(rows - 1)]);
        test::on_every_target([&](const char* target) {
          std::vector<T> found(kCount, 7);
          kernels::transpose(first, stride, found.data(), kStride, rows, columns);
          ck_assert_msg(found == wanted, "%s: %zu by %zu", target, rows, columns);
        });
      }
    }
  }
}

DVNN_TEST(turned_matrices_are_those_of_the_plain_form) {
  compare_sizes<uint16_t>();
  compare_sizes<uint32_t>();
}

}  // namespace dvnn::test::transpose_tests
