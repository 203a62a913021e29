// SPDX-License-Identifier: Apache-2.0
// Constant.
#include "layer_run.h"

using namespace dvnn;
using namespace dvnn::layers;
using namespace dvnn::test;
using json = dvnn::Json;

START_TEST(a_constant_has_its_values) {
  expect(run("Constant", {{"values", {1, 2, 3, 4}}}, {}, {1, 2, 1, 2}), {1, 2, 3, 4});
}
END_TEST

DVNN_TESTS(constant, a_constant_has_its_values)
