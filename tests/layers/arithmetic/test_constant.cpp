// SPDX-License-Identifier: Apache-2.0
// Constant.
#include "../layer_run.h"

namespace dvnn::test::constant_tests {

DVNN_SUITE(layers);

using namespace dvnn::layers;
using json = dvnn::Json;

DVNN_TEST(a_constant_has_its_values) {
  expect(run("Constant", {{"values", {1, 2, 3, 4}}}, {}, {1, 2, 1, 2}), {1, 2, 3, 4});
}

}  // namespace dvnn::test::constant_tests
