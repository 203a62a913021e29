// SPDX-License-Identifier: Apache-2.0
// PixelGather.
#include "../layer_run.h"

namespace dvnn::test::pixel_gather_tests {

DVNN_SUITE(layers);

using namespace dvnn::layers;
using json = dvnn::Json;

DVNN_TEST(pixels_come_from_anywhere_or_are_zeros) {
  const Json params = {{"pixels", 3}, {"places", {2, -1, 0, 2}}};
  expect(run("PixelGather", params, {{plain({1, 2, 1, 3}), {1, 2, 3, 4, 5, 6}}}, {1, 2, 1, 4}),
         {3, 0, 1, 3, 6, 0, 4, 6});
  // A whole chunk of 8 channels, and one of 2.
  const auto have =
      run("PixelGather", params, {{plain({1, 10, 1, 3}), counting(30)}}, {1, 10, 1, 4});
  for (size_t c = 0; c < 10; ++c) {
    const auto first = static_cast<float>(3 * c);
    const float want[] = {first + 2, 0, first, first + 2};
    for (size_t i = 0; i < 4; ++i) ck_assert_float_eq(have[4 * c + i], want[i]);
  }
}

DVNN_TEST(pixels_that_are_not_there_are_refused) {
  ck_assert(!parse_layer("PixelGather", {{"pixels", 3}, {"places", {3}}}).ok());
  ck_assert(!parse_layer("PixelGather", {{"pixels", 3}, {"places", {-2}}}).ok());
  ck_assert(!parse_layer("PixelGather", {{"pixels", 3}}).ok());
  const auto dims = [](const Shape& shape) {
    const json params = {{"pixels", 3}, {"places", {1}}};
    return dims_after(parse_layer("PixelGather", params).value(), {&shape, 1}).ok();
  };
  ck_assert(dims({1, 2, 1, 3}));
  ck_assert(!dims({1, 2, 1, 4}));
  ck_assert(!dims({1, 2, 3, 3}));
}

}  // namespace dvnn::test::pixel_gather_tests
