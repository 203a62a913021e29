// SPDX-License-Identifier: Apache-2.0
// MathWorks' buffers against the examples of the page that publishes them.
#include "tensor/dlhdl.h"

#include <vector>

#include "check_suite.h"

namespace dvnn::test::dlhdl_tests {

DVNN_SUITE(dlhdl);

namespace {

DlhdlLayout layout_for(int conv_threads) {
  const auto layout = DlhdlLayout::create(conv_threads);
  ck_assert(layout.ok());
  return layout.value();
}

// 1, 2, 3, ... in row-major order.
std::vector<float> counted(const Shape& shape) {
  std::vector<float> values(static_cast<size_t>(shape.elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i + 1);
  return values;
}

std::vector<int> packed(const DlhdlLayout& layout, const Shape& shape) {
  std::vector<uint8_t> bytes(static_cast<size_t>(layout.elements(shape)), 0xff);
  ck_assert(layout.pack(counted(shape).data(), shape, ElementType::kInt8, bytes.data()).ok());
  return {bytes.begin(), bytes.end()};
}

}  // namespace

DVNN_TEST(conv_threads_give_channels_and_transfer_size) {
  ck_assert_int_eq(layout_for(9).channels_at_once(), 3);
  ck_assert_int_eq(layout_for(9).values_per_transfer(), 4);
  ck_assert_int_eq(layout_for(16).values_per_transfer(), 4);
  ck_assert_int_eq(layout_for(25).values_per_transfer(), 8);
  for (int wrong : {0, -4, 8, 15, 33 * 33}) ck_assert(!DlhdlLayout::create(wrong).ok());
}

DVNN_TEST(sizes_are_the_published_ones) {
  const Shape four = {1, 4, 3, 3}, five = {1, 5, 3, 3};
  ck_assert_int_eq(layout_for(16).elements(four), 36);  // C = N = 4
  ck_assert_int_eq(layout_for(9).elements(four), 72);   // C = 3, N = 4
  ck_assert_int_eq(layout_for(16).elements(five), 72);  // stored as 3 x 3 x 8
}

DVNN_TEST(planes_are_padded_as_published) {
  // One pixel: planes 1 2 3 0 4 0 0 0 for C = 3, and 1 2 3 0 for three channels.
  ck_assert(packed(layout_for(9), {1, 4, 1, 1}) == (std::vector<int>{1, 2, 3, 0, 4, 0, 0, 0}));
  ck_assert(packed(layout_for(9), {1, 3, 1, 1}) == (std::vector<int>{1, 2, 3, 0}));
  ck_assert(packed(layout_for(16), {1, 3, 1, 1}) == (std::vector<int>{1, 2, 3, 0}));
}

DVNN_TEST(pixels_go_along_x_first) {
  // 2 x 3 pixels (X, Y) of 2 channels, N = 2: down the first column, then the next.
  const std::vector<int> want = {1, 7, 4, 10, 2, 8, 5, 11, 3, 9, 6, 12};
  ck_assert(packed(layout_for(4), {1, 2, 2, 3}) == want);
}

DVNN_TEST(packing_and_unpacking_give_the_tensor_back) {
  for (int threads : {1, 4, 9, 16, 25, 64}) {
    for (int z : {1, 2, 3, 4, 5, 8, 9}) {
      const Shape shape = {1, z, 3, 4};
      const DlhdlLayout layout = layout_for(threads);
      const std::vector<float> want = counted(shape);
      for (ElementType type : {ElementType::kFloat32, ElementType::kInt8}) {
        std::vector<uint8_t> bytes(static_cast<size_t>(layout.elements(shape)) *
                                   element_size(type));
        std::vector<float> have(want.size());
        ck_assert(layout.pack(want.data(), shape, type, bytes.data()).ok());
        ck_assert(layout.unpack(bytes.data(), shape, type, have.data()).ok());
        ck_assert(have == want);
      }
    }
  }
  uint8_t byte = 0;
  const float value = 1;
  ck_assert(!layout_for(4).pack(&value, {1, 1, 1, 1}, ElementType::kFloat16, &byte).ok());
  ck_assert(!layout_for(4).pack(&value, {1}, ElementType::kInt8, &byte).ok());
}

}  // namespace dvnn::test::dlhdl_tests
