// SPDX-License-Identifier: Apache-2.0
// Constant.
#include "../layer_run.h"

namespace dvnn::test::constant_tests {

using namespace dvnn::layers;
using json = dvnn::Json;

START_TEST(a_constant_has_its_values) {
  expect(run("Constant", {{"values", {1, 2, 3, 4}}}, {}, {1, 2, 1, 2}), {1, 2, 3, 4});
}
END_TEST

DVNN_SUITE(layers, a_constant_has_its_values)

}  // namespace dvnn::test::constant_tests
