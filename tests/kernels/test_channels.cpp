// SPDX-License-Identifier: Apache-2.0
#include "kernels/movement/channels.h"

#include "kernels/inputs.h"

namespace dvnn::test::channels_tests {

DVNN_SUITE(channels);

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

}  // namespace dvnn::test::channels_tests
