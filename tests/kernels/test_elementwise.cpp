// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cfenv>

#include "kernels/arithmetic/elementwise.h"
#include "kernels/inputs.h"

namespace dvnn::test::elementwise_tests {

DVNN_SUITE(elementwise);

using kernels::Curve;
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

// A curve with the parameters that it is tested with, and the C library's value in double.
struct Case {
  Curve curve;
  float a, b;
  double (*value)(double x);
  double units;  // in the last place that it may be off
};

constexpr double kExact = 0.5, kOfAnExponential = 2;
constexpr double kOfASquare = 400;  // whose last bits the exponential multiplies
const Case kCases[] = {
    {Curve::kAbs, 0, 0, [](double x) { return std::fabs(x); }, kExact},
    {Curve::kClip, -1, 6, [](double x) { return std::fmin(std::fmax(x, -1), 6); }, kExact},
    {Curve::kElu, 1, 0, [](double x) { return x > 0 ? x : std::expm1(x); }, kOfAnExponential},
    {Curve::kErf, 0, 0, [](double x) { return std::erf(x); }, kOfAnExponential + 1},
    {Curve::kExp, 0, 0, [](double x) { return std::exp(x); }, kOfAnExponential},
    {Curve::kGelu, 0, 0, [](double x) { return x / 2 * std::erfc(-x / std::sqrt(2)); }, kOfASquare},
    {Curve::kGeluTanh, 0, 0,
     [](double x) {
       const double u = std::sqrt(8 / std::acos(-1)) * (x + 0.044715 * x * x * x);
       return x / (1 + std::exp(-u));
     },
     kOfASquare},
    {Curve::kLog, 0, 0, [](double x) { return std::log(x); }, 1},
    {Curve::kMish, 0, 0, [](double x) { return x * std::tanh(std::log1p(std::exp(x))); },
     kOfAnExponential + 4},
    {Curve::kReciprocal, 0, 0, [](double x) { return 1 / x; }, kExact},
    {Curve::kRelu, 0.25f, 0, [](double x) { return x > 0 ? x : x / 4; }, kExact},
    {Curve::kLine, 0.5f, -3, [](double x) { return x / 2 - 3; }, kExact},
    {Curve::kSigmoid, 0, 0, [](double x) { return 1 / (1 + std::exp(-x)); }, kOfAnExponential + 1},
    {Curve::kSoftplus, 0, 0,
     [](double x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); },
     kOfAnExponential + 1},
    {Curve::kSwish, 1, 0, [](double x) { return x / (1 + std::exp(-x)); }, kOfAnExponential + 2},
    {Curve::kTanh, 0, 0, [](double x) { return std::tanh(x); }, kOfAnExponential + 1},
};

void check_curve(Curve curve, float a, float b, const std::vector<float>& from) {
  std::vector<float> wanted(from.size());
  kernels::plain::apply(curve, a, b, from.data(), wanted.data(), from.size());
  test::on_every_target([&](const char* target) {
    std::vector<float> found(from.size());
    kernels::apply(curve, a, b, from.data(), found.data(), from.size());
    test::assert_same(target, found, wanted);
    found = from;
    kernels::apply(curve, a, b, found.data(), found.data(), found.size());
    test::assert_same(target, found, wanted);
  });
}

DVNN_TEST(curves_have_known_values) {
  const float from[4] = {0, std::log(3.0f), -200, 200};
  float to[4];
  kernels::sigmoid(from, to, 4);
  ck_assert(to[0] == 0.5f && to[2] == 0 && to[3] == 1);
  ck_assert_float_eq_tol(to[1], 0.75f, 1e-6f);
  kernels::apply(Curve::kExp, 0, 0, from, to, 4);
  ck_assert(to[0] == 1 && to[2] == 0 && std::isinf(to[3]));
  const float steps[4] = {-4, 0, 1.5f, 4};
  kernels::apply(Curve::kHardSwish, 0, 0, steps, to, 4);
  ck_assert(to[0] == 0 && to[1] == 0 && to[2] == 1.125f && to[3] == 4);
  kernels::apply(Curve::kHardSigmoid, 0.25f, 0.5f, steps, to, 4);
  ck_assert(to[0] == 0 && to[1] == 0.5f && to[2] == 0.875f && to[3] == 1);
  const float powers[4] = {0, 1, std::max(1e-42f, test::kSmallest), -1};
  kernels::apply(Curve::kLog, 0, 0, powers, to, 4);
  ck_assert(std::isinf(to[0]) && to[1] == 0 && std::isnan(to[3]));
  ck_assert_float_eq_tol(to[2], std::log(powers[2]), 1e-3f);
  const float squares[4] = {0, 1, 6.25f, 1e10f};
  kernels::apply(Curve::kSqrt, 0, 0, squares, to, 4);
  ck_assert(to[0] == 0 && to[1] == 1 && to[2] == 2.5f && to[3] == 1e5f);
}

// Against the C library in double, over all magnitudes.
DVNN_TEST(values_are_within_their_units_in_the_last_place) {
  for (const Case& c : kCases) {
    for (float reach : {1e-4f, 0.5f, 2.0f, 20.0f, 87.0f}) {
      const std::vector<float> from = test::seeded_floats(20000, 7, -reach, reach);
      std::vector<float> to(from.size());
      kernels::apply(c.curve, c.a, c.b, from.data(), to.data(), from.size());
      for (size_t i = 0; i < from.size(); ++i) {
        const double wanted = c.value(static_cast<double>(from[i]));
        // What is next to nothing may be lost, as it is where e^-x is infinite.
        constexpr double kLeast = 1e-36;
        if (c.units == kOfASquare && std::fabs(wanted) < kLeast) {
          ck_assert(std::fabs(to[i]) <= 2 * static_cast<float>(kLeast));
          continue;
        }
        if (std::isnan(wanted)) {
          ck_assert_msg(std::isnan(to[i]), "curve %d of %a", static_cast<int>(c.curve),
                        static_cast<double>(from[i]));
          continue;
        }
        const double unit = std::ldexp(1.0, std::max(std::ilogb(wanted), -126) - 23);
        const double off = std::fabs(static_cast<double>(to[i]) - wanted) / unit;
        ck_assert_msg(off <= c.units, "curve %d of %a is %a, %.2f units from %a",
                      static_cast<int>(c.curve), static_cast<double>(from[i]),
                      static_cast<double>(to[i]), off, wanted);
      }
    }
  }
}

DVNN_TEST(curves_of_every_length_are_those_of_the_plain_form) {
  for (size_t count = 0; count <= 70; ++count) {
    const auto seed = static_cast<unsigned>(count);
    for (int curve = 0; curve <= static_cast<int>(Curve::kTanh); ++curve) {
      check_curve(static_cast<Curve>(curve), 0.3f, 0.8f,
                  test::seeded_floats(count, seed, -100, 100));
      check_curve(static_cast<Curve>(curve), 0.3f, 0.8f, test::seeded_floats(count, seed, -1, 1));
    }
  }
}

DVNN_TEST(curves_of_what_is_not_finite_are_those_of_the_plain_form) {
  for (float odd : test::odd_floats()) {
    for (int curve = 0; curve <= static_cast<int>(Curve::kTanh); ++curve) {
      for (size_t at = 0; at < 40; ++at) {
        std::vector<float> from = test::seeded_floats(40, 5, -9, 9);
        from[at] = odd;
        check_curve(static_cast<Curve>(curve), 1, 6, from);
      }
    }
  }
}

// A processor takes a hundred times as long for each result below the normal numbers, and raw
// pixels make many networks' values hundreds.
DVNN_TEST(far_values_do_not_underflow) {
  for (float reach : {100.0f, 1000.0f, 60000.0f}) {
    const std::vector<float> from = test::seeded_floats(20000, 11, -reach, reach);
    std::vector<float> to(from.size());
    for (int curve = 0; curve <= static_cast<int>(Curve::kTanh); ++curve) {
      std::feclearexcept(FE_ALL_EXCEPT);
      kernels::apply(static_cast<Curve>(curve), 1, 1, from.data(), to.data(), from.size());
      ck_assert_msg(!std::fetestexcept(FE_UNDERFLOW), "curve %d up to %g", curve,
                    static_cast<double>(reach));
    }
  }
}

}  // namespace dvnn::test::elementwise_tests
