// SPDX-License-Identifier: Apache-2.0
// Maps of classes become masks.
#include <cmath>
#include <vector>

#include "base/json.h"
#include "outputs.h"

namespace dvnn::test::segmentation_tests {

DVNN_SUITE(decoders);

using json = dvnn::Json;

static std::vector<int> cells_of(const objects::Objects& found) {
  ck_assert_uint_eq(found.size(), 1);
  ck_assert(found[0].kind == objects::Kind::kSegmentation);
  return {found[0].mask.cells.begin(), found[0].mask.cells.end()};
}

DVNN_TEST(maps_have_the_largest_class_of_each_cell_in_every_order) {
  // Nine classes in 3 x 2 cells: a chunk of the device's layouts and one more.
  std::vector<float> planes(54, 0.0f), pixels(54);
  const std::vector<int> wanted = {8, 0, 3, 7, 1, 8};
  for (size_t i = 0; i < 6; ++i) {
    planes[static_cast<size_t>(wanted[i]) * 6 + i] = 1;
    for (size_t c = 0; c < 9; ++c) pixels[i * 9 + c] = planes[c * 6 + i];
  }
  planes[4 * 6] = NAN;
  for (const Layout layout :
       {Layout::kNchw, Layout::kNhwc, Layout::kNwhc, Layout::kWhc8, Layout::kHwc8}) {
    const auto found = Outputs()
                           .add("o", {1, 9, 2, 3}, planes, ElementType::kFloat16, layout)
                           .found("segmentation", {{"channels", "first"}}, 0.99f);
    ck_assert(cells_of(found) == wanted);
    ck_assert_int_eq(found[0].mask.width, 3);
  }
  const auto last =
      Outputs().add("o", {1, 2, 3, 9}, pixels).found("segmentation", {{"channels", "last"}}, 0.5f);
  ck_assert(cells_of(last) == wanted);
}

DVNN_TEST(one_number_says_what_is_foreground) {
  const std::vector<float> values = {-1, 0, 0.4f, 0.5f, 2, NAN};
  auto cells = [&](const json& params) {
    return cells_of(Outputs().add("o", {1, 1, 2, 3}, values).found("segmentation", params, 0.5f));
  };
  ck_assert((cells(json::object()) == std::vector<int>{0, 0, 0, 1, 1, 0}));
  ck_assert((cells({{"score", "sigmoid"}}) == std::vector<int>{0, 1, 1, 1, 1, 0}));
  ck_assert((cells({{"indices", true}}) == std::vector<int>{0, 0, 0, 0, 2, 0}));
}

}  // namespace dvnn::test::segmentation_tests
