// SPDX-License-Identifier: Apache-2.0
#include "kernels/arithmetic/elementwise.h"

#include "kernels/inputs.h"

namespace dvnn::test::elementwise_tests {

DVNN_SUITE(elementwise);

using kernels::Operation;

constexpr Operation kLastOperation = Operation::kXor;

void check_operations(const std::vector<float>& x, const std::vector<float>& y) {
  for (int i = 0; i <= static_cast<int>(kLastOperation); ++i) {
    const auto operation = static_cast<Operation>(i);
    std::vector<float> wanted(x.size());
    kernels::plain::operate(operation, x.data(), y.data(), wanted.data(), x.size());
    test::on_every_target([&](const char* target) {
      std::vector<float> found = x;
      kernels::operate(operation, found.data(), y.data(), found.data(), x.size());
      test::assert_same(target, found, wanted);
      found = y;
      kernels::operate(operation, x.data(), found.data(), found.data(), x.size());
      test::assert_same(target, found, wanted);
    });
  }
}

void check(const std::vector<float>& from, float factor, const std::vector<float>& before) {
  check_operations(from, before);
  const size_t count = from.size();
  std::vector<float> wanted(count);
  kernels::plain::scale(from.data(), factor, wanted.data(), count);
  test::on_every_target([&](const char* target) {
    std::vector<float> found(count);
    kernels::scale(from.data(), factor, found.data(), count);
    test::assert_same(target, found, wanted);
  });
}

DVNN_TEST(known_values) {
  const float from[2] = {2, -3};
  float result[2] = {1, 1};
  kernels::scale(from, 0.5f, result, 2);
  ck_assert(result[0] == 1 && result[1] == -1.5f);
  const float x[2] = {6, -3}, y[2] = {2, 4};
  const float wanted[][2] = {{8, 1}, {3, -0.75f}, {6, 4},   {2, -3}, {12, -12}, {6, -12}, {4, -7},
                             {1, 1}, {0, 0},      {0, -3},  {1, 0},  {1, 0},    {0, 1},   {0, 1},
                             {0, 1}, {1, 1},      {36, 81}, {3, 0},  {0, 0}};
  for (int i = 0; i <= static_cast<int>(kLastOperation); ++i) {
    kernels::operate(static_cast<Operation>(i), x, y, result, 2);
    ck_assert(result[0] == wanted[i][0] && result[1] == wanted[i][1]);
  }
}

DVNN_TEST(every_length_is_that_of_the_plain_form) {
  for (size_t count = 0; count <= 70; ++count) {
    const auto seed = static_cast<unsigned>(count);
    for (float factor : {1.0f, 0.3f, -2.7f}) {
      check(test::seeded_floats(count, seed, -9, 9), factor,
            test::seeded_floats(count, seed + 100, -9, 9));
    }
  }
}

DVNN_TEST(what_is_not_finite_is_as_in_the_plain_form) {
  for (float odd : test::odd_floats()) {
    for (float other : test::odd_floats()) {
      std::vector<float> from = test::seeded_floats(37, 5, -9, 9), before = from;
      for (size_t at : {0, 3, 20, 36}) {
        from[at] = odd;
        before[at] = other;
        before[(at + 1) % 37] = other;
      }
      check(from, 1, before);
      check(from, -0.7f, before);
    }
  }
}

}  // namespace dvnn::test::elementwise_tests
