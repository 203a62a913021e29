// SPDX-License-Identifier: Apache-2.0
#include "kernels/sigmoid.h"

#include "kernels/inputs.h"

using namespace dvnn;

void check(const std::vector<float>& from) {
  std::vector<float> wanted(from.size());
  kernels::plain::sigmoid(from.data(), wanted.data(), from.size());
  test::on_every_target([&](const char* target) {
    std::vector<float> found(from.size());
    kernels::sigmoid(from.data(), found.data(), from.size());
    test::assert_same(target, found, wanted);
    found = from;
    kernels::sigmoid(found.data(), found.data(), found.size());
    test::assert_same(target, found, wanted);
  });
}

START_TEST(known_values) {
  const float from[3] = {0, std::log(3.0f), -200};
  float to[3];
  kernels::sigmoid(from, to, 3);
  ck_assert(to[0] == 0.5f);
  ck_assert_float_eq_tol(to[1], 0.75f, 1e-6f);
  ck_assert(to[2] == 0);
}
END_TEST

START_TEST(every_length_is_that_of_the_plain_form) {
  for (size_t count = 0; count <= 70; ++count) {
    check(test::seeded_floats(count, static_cast<unsigned>(count), -100, 100));
  }
}
END_TEST

START_TEST(what_is_not_finite_is_as_in_the_plain_form) {
  for (float odd : test::odd_floats()) {
    for (size_t at = 0; at < 40; ++at) {
      std::vector<float> from = test::seeded_floats(40, 5, -9, 9);
      from[at] = odd;
      check(from);
    }
  }
}
END_TEST

DVNN_TEST_MAIN(sigmoid, known_values, every_length_is_that_of_the_plain_form,
               what_is_not_finite_is_as_in_the_plain_form)
