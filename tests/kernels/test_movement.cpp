// SPDX-License-Identifier: Apache-2.0
#include "kernels/inputs.h"
#include "kernels/movement/movement.h"

namespace dvnn::test::movement_tests {

DVNN_SUITE(movement);

using kernels::ChunkSources;

DVNN_TEST(every_choice_of_channels_is_that_of_the_plain_form) {
  constexpr size_t kPixels = 37;
  std::mt19937 random(3);
  std::vector<uint16_t> memory(kernels::kMostChunks * kPixels * 8);
  for (uint16_t& value : memory) value = static_cast<uint16_t>(random());
  for (int round = 0; round < 200; ++round) {
    ChunkSources from = {};
    from.count = 1 + random() % kernels::kMostChunks;
    for (size_t c = 0; c < from.count; ++c) from.chunks[c] = &memory[c * kPixels * 8];
    for (size_t i = 0; i < 8; ++i) {
      from.chunk[i] = static_cast<uint8_t>(random() % from.count);
      from.lane[i] = static_cast<uint8_t>(random() % 8);
    }
    const size_t pixels = random() % (kPixels + 1);
    std::vector<uint16_t> wanted(kPixels * 8, 7);
    kernels::plain::gather_chunk(from, pixels, wanted.data());
    for (size_t i = 0; i < 8 && pixels > 0; ++i) {
      ck_assert_uint_eq(wanted[i], memory[from.chunk[i] * kPixels * 8 + from.lane[i]]);
    }
    test::on_every_target([&](const char* target) {
      std::vector<uint16_t> found(kPixels * 8, 7);
      kernels::gather_chunk(from, pixels, found.data());
      ck_assert_msg(found == wanted, "%s: round %d", target, round);
    });
  }
}

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

}  // namespace dvnn::test::movement_tests
