// SPDX-License-Identifier: Apache-2.0
// Reshape, which is also called Flatten.
#include "../layer_run.h"

namespace dvnn::test::reshape_tests {

DVNN_SUITE(layers);

using namespace dvnn::layers;
using json = dvnn::Json;

DVNN_TEST(elements_keep_their_order_in_another_shape) {
  const Tensor in = {plain({1, 2, 1, 3}), counting(6)};
  expect(run("Reshape", {{"dims", {0, -1}}}, {in}, {1, 6}), {0, 1, 2, 3, 4, 5});
  expect(run("Flatten", {{"dims", {3, 2}}}, {in}, {3, 2}), {0, 1, 2, 3, 4, 5});
}

// run() also does it between two of the device's layouts, neither of which has the elements in
// order.
DVNN_TEST(elements_keep_their_order_between_layouts) {
  const Tensor in = {plain({1, 12, 3, 2}), counting(72)};
  for (const Shape shape : {Shape{1, 3, 4, 6}, Shape{1, 9, 8, 1}, Shape{1, 72, 1, 1}}) {
    const std::vector<int64_t> dims(shape.dims, shape.dims + shape.rank);
    const std::vector<float> found = run("Reshape", {{"dims", dims}}, {in}, shape);
    for (size_t i = 0; i < found.size(); ++i) ck_assert(found[i] == in.values[i]);
  }
}

}  // namespace dvnn::test::reshape_tests
