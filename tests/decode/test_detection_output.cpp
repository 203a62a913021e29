// SPDX-License-Identifier: Apache-2.0
// Rows of a finished DetectionOutput become objects.
#include <cmath>
#include <vector>

#include "base/json.h"
#include "outputs.h"

namespace dvnn::test::detection_output_tests {

DVNN_SUITE(decoders);

using namespace dvnn::decode;
using json = dvnn::Json;

DVNN_TEST(detection_rows_are_read_until_their_threshold) {
  const NamedOutput rows = output("d", {1, 1, 3, 7});
  auto decoder = create_decoder("detection-output", json::object(), {&rows, 1});
  ck_assert(decoder.ok());
  const std::vector<float> values = {0, 2, 0.6f, 0,  0, 0.5f, 0.5f, 0, 1, 0.9f, 0.1f,
                                     0, 1, 1,    -1, 0, 0,    0,    0, 0, 0};
  const ConstTensorView v = view(rows, values);
  objects::Objects found;
  ck_assert(decoder.value()->decode({&v, 1}, 0.5f, &found).ok());
  ck_assert_uint_eq(found.size(), 2);
  ck_assert_int_eq(found[0].class_id, 1);
  ck_assert(found[1].box.x1 == 0.5f);
  found.clear();
  ck_assert(decoder.value()->decode({&v, 1}, 0.7f, &found).ok());
  ck_assert_uint_eq(found.size(), 1);
}

DVNN_TEST(rows_of_impossible_classes_are_no_objects) {
  const NamedOutput rows = output("d", {1, 1, 4, 7});
  auto decoder = create_decoder("detection-output", json::object(), {&rows, 1});
  ck_assert(decoder.ok());
  const float nan = std::nanf("");
  const std::vector<float> values = {0, nan, 1, 0, 0, 1, 1, 0, 1e30f, 1, 0, 0, 1, 1,
                                     0, -1,  1, 0, 0, 1, 1, 0, 3,     1, 0, 0, 1, 1};
  const ConstTensorView v = view(rows, values);
  objects::Objects found;
  ck_assert(decoder.value()->decode({&v, 1}, 0.5f, &found).ok());
  ck_assert_uint_eq(found.size(), 1);
  ck_assert_int_eq(found[0].class_id, 3);
}

DVNN_TEST(what_is_no_number_and_no_class_is_no_detection) {
  const NamedOutput rows = output("d", {1, 1, 8, 7});
  auto decoder = create_decoder("detection-output", json::object(), {&rows, 1});
  ck_assert(decoder.ok());
  const float inf = INFINITY;
  const std::vector<float> values = {0,   1,   0.9f, 0, 0,   1, 1,  // the only good one
                                     0,   NAN, 0.9f, 0, 0,   1, 1, 0, 1e30f, 0.9f, 0, 0, 1,   1,  //
                                     0,   -5,  0.9f, 0, 0,   1, 1, 0, 1,     NAN,  0, 0, 1,   1,  //
                                     NAN, 1,   0.9f, 0, 0,   1, 1, 0, 1,     0.9f, 0, 0, inf, 1,  //
                                     0,   inf, 0.9f, 0, NAN, 1, 1};
  const ConstTensorView v = view(rows, values);
  objects::Objects found;
  ck_assert(decoder.value()->decode({&v, 1}, 0.1f, &found).ok());
  ck_assert_uint_eq(found.size(), 1);
  ck_assert_int_eq(found[0].class_id, 1);
}

}  // namespace dvnn::test::detection_output_tests
