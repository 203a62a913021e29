// SPDX-License-Identifier: Apache-2.0
#include "tensor/packing.h"

#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include "check_suite.h"

namespace dvnn::test::packing_tests {

DVNN_SUITE(packing);

DVNN_TEST(sizes_are_those_that_the_vendors_converter_reports) {
  // dv-sdk converter: examples of get_weight_size.
  ck_assert_uint_eq(packed_weights_size({64, 3, 7, 7, true, false, false}), 14464);
  ck_assert_uint_eq(packed_weights_size({64, 64, 1, 1, true, false, false}), 5248);
  ck_assert_uint_eq(packed_weights_size({64, 64, 3, 3, true, false, false}), 37504);
  ck_assert_uint_eq(packed_weights_size({16, 3, 3, 3, false, false, false}), 2336);
}

// The 12 x 6 block's cell of (row, column), in halves, behind one bias group.
static size_t cell(int row, int column) {
  return 8 + static_cast<size_t>(row) * 6 + column;
}

static std::vector<half_t> pack_one(const PackedGeometry& g, size_t index) {
  std::vector<half_t> weights(static_cast<size_t>(g.m * g.c * g.kx * g.ky), 0);
  weights[index] = 0x3c00;
  std::vector<half_t> out(packed_weights_size(g) / 2);
  pack_weights(g, {nullptr, weights.data(), nullptr, nullptr},
               reinterpret_cast<uint8_t*>(out.data()));
  return out;
}

static size_t only_nonzero(const std::vector<half_t>& stream) {
  size_t at = SIZE_MAX;
  for (size_t i = 0; i < stream.size(); ++i) {
    if (stream[i] == 0) continue;
    ck_assert_uint_eq(at, SIZE_MAX);
    at = i;
  }
  return at;
}

DVNN_TEST(weights_lie_in_the_documented_cells) {
  // 3x3: K[j][i] of channel c at row 9 - 3 (c/2) + j, column 3 (c%2) + i.
  ck_assert_uint_eq(only_nonzero(pack_one({1, 8, 3, 3, false, false, false}, 5 * 9 + 1 * 3 + 2)),
                    cell(9 - 3 * 2 + 1, 3 + 2));
  // 1x1: t = c%8, s = (c%64)/8 at row 11 - 3 (t/2) - s/3, column 3 (t%2) + s%3.
  ck_assert_uint_eq(only_nonzero(pack_one({1, 64, 1, 1, false, false, false}, 43)),
                    cell(11 - 3 * 1 - 5 / 3, 3 + 5 % 3));
  // 5x5: second channel six rows up.
  ck_assert_uint_eq(only_nonzero(pack_one({1, 2, 5, 5, false, false, false}, 25 + 2 * 5 + 4)),
                    cell(7 - 6 + 2, 4));
  // 7x7: column 6 of row 3 is cell 15.
  ck_assert_uint_eq(only_nonzero(pack_one({1, 1, 7, 7, false, false, false}, 3 * 7 + 6)), 8 + 15);
  // Even kernels: rows at the bottom, columns at the left of the 3x3 grid.
  ck_assert_uint_eq(only_nonzero(pack_one({1, 1, 2, 2, false, false, false}, 0)), cell(9 + 1, 0));
}

DVNN_TEST(unpacking_gives_back_what_was_packed) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    PackedGeometry g;
    g.m = 1 + static_cast<int>(random() % 20);
    g.c = 1 + static_cast<int>(random() % 70);
    g.kx = 1 + static_cast<int>(random() % 7);
    g.ky = 1 + static_cast<int>(random() % 7);
    g.dilated = random() % 4 == 0;
    g.quantised = random() % 2 == 0;
    g.prelu = !g.quantised && random() % 2 == 0;
    const size_t count = static_cast<size_t>(g.m * g.c * g.kx * g.ky);
    std::vector<half_t> table(256), halves(count), bias(static_cast<size_t>(g.m)), slopes(bias);
    std::vector<uint8_t> indices(count);
    auto any = [&] { return float_to_half(static_cast<float>(random() % 2001) / 100 - 10); };
    for (auto* list : {&table, &halves, &bias, &slopes}) {
      for (half_t& h : *list) h = any();
    }
    for (uint8_t& i : indices) i = static_cast<uint8_t>(random());
    std::vector<uint8_t> packed(packed_weights_size(g));
    const void* weights = g.quantised ? static_cast<const void*>(indices.data()) : halves.data();
    pack_weights(g, {table.data(), weights, bias.data(), g.prelu ? slopes.data() : nullptr},
                 packed.data());
    std::vector<float> back(count), back_bias(bias.size()), back_slopes(bias.size());
    unpack_weights(g, packed.data(), back.data(), back_bias.data(), back_slopes.data());
    for (size_t i = 0; i < count; ++i) {
      ck_assert(back[i] == half_to_float(g.quantised ? table[indices[i]] : halves[i]));
    }
    for (size_t i = 0; i < bias.size(); ++i) {
      ck_assert(back_bias[i] == half_to_float(bias[i]));
      if (g.prelu) ck_assert(back_slopes[i] == half_to_float(slopes[i]));
    }
  }
}

DVNN_TEST(fully_connected_weights_follow_the_buffers_order) {
  // 2x1x2 inputs (c, h, w) to 1 output: buffer order is x, then channel.
  const half_t weights[] = {1, 2, 3, 4};  // (c0 w0) (c0 w1) (c1 w0) (c1 w1)
  const half_t bias[] = {9};
  uint8_t out[32];
  pack_fc({2, 1, 2, 1, 1, 1, false}, {nullptr, weights, bias, nullptr}, out);
  const auto* halves = reinterpret_cast<const half_t*>(out);
  const half_t expected[] = {1, 3, 2, 4};
  for (int i = 0; i < 4; ++i) ck_assert_uint_eq(halves[i], expected[i]);
  ck_assert_uint_eq(halves[8], 9);
}

DVNN_TEST(the_vendors_own_file_unpacks_and_packs_to_the_same_bytes) {
  // LaneDetection begins with a 3x3 convolution of 3 to 16 channels in binary16; a later check of
  // many layers comes with its network. Source: the vendor's LaneDetection repository.
  std::ifstream file(DVNN_TEST_DATA "/models/LaneDetection_weights.bin", std::ios::binary);
  if (!file) {
    std::puts("skipped: no LaneDetection_weights.bin");
    return;
  }
  const std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(file)),
                                   std::istreambuf_iterator<char>());
  const PackedGeometry g = {16, 3, 3, 3, false, false, false};
  const size_t size = packed_weights_size(g);
  ck_assert_uint_ge(bytes.size(), size);
  std::vector<float> weights(16 * 27), bias(16);
  unpack_weights(g, bytes.data(), weights.data(), bias.data(), nullptr);
  std::vector<half_t> half_weights(weights.size()), half_bias(bias.size());
  float_to_half(weights.data(), half_weights.data(), weights.size());
  float_to_half(bias.data(), half_bias.data(), bias.size());
  std::vector<uint8_t> packed(size);
  pack_weights(g, {nullptr, half_weights.data(), half_bias.data(), nullptr}, packed.data());
  ck_assert_mem_eq(packed.data(), bytes.data(), size);
}

}  // namespace dvnn::test::packing_tests
