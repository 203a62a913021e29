// SPDX-License-Identifier: Apache-2.0
#include "tensor/half.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "check_suite.h"

namespace dvnn::test::half_tests {

DVNN_SUITE(half);

DVNN_TEST(every_half_survives_the_way_to_float_and_back) {
  for (uint32_t h = 0; h < 65536; ++h) {
    const float f = half_to_float(static_cast<half_t>(h));
    if (std::isnan(f)) continue;
    ck_assert_uint_eq(float_to_half(f), h);
  }
}

DVNN_TEST(rounds_ties_to_even) {
  ck_assert_uint_eq(float_to_half(1.0f + 1.0f / 2048), 0x3c00);     // tie, even below
  ck_assert_uint_eq(float_to_half(1.0f + 3.0f / 2048), 0x3c02);     // tie, even above
  ck_assert_uint_eq(float_to_half(1.0f + 1.001f / 2048), 0x3c01);   // over the tie
  ck_assert_uint_eq(float_to_half(std::ldexp(1.0f, -25)), 0x0000);  // half the least subnormal
  ck_assert_uint_eq(float_to_half(std::ldexp(1.5f, -25)), 0x0001);
  ck_assert_uint_eq(float_to_half(std::ldexp(3.0f, -25)), 0x0002);  // tie between 1 and 2
}

DVNN_TEST(overflow_gives_infinity_and_nan_stays_nan) {
  ck_assert_uint_eq(float_to_half(65504.0f), 0x7bff);
  ck_assert_uint_eq(float_to_half(65519.99f), 0x7bff);
  ck_assert_uint_eq(float_to_half(65520.0f), 0x7c00);
  ck_assert_uint_eq(float_to_half(-1e30f), 0xfc00);
  ck_assert(std::isnan(half_to_float(float_to_half(std::numeric_limits<float>::quiet_NaN()))));
}

DVNN_TEST(rounds_to_the_nearest_of_all_halves) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> exponent(-26, 16), sign(-1, 1);
  for (int i = 0; i < 200000; ++i) {
    const float f = std::copysign(std::exp2(exponent(random)), sign(random));
    const half_t h = float_to_half(f);
    if ((h & 0x7fff) >= 0x7bff) continue;
    const double error = std::fabs(double{f} - half_to_float(h));
    const double up = std::fabs(double{f} - half_to_float(static_cast<half_t>(h + 1)));
    ck_assert(error <= up);
    if (h & 0x7fff) {
      ck_assert(error <= std::fabs(double{f} - half_to_float(static_cast<half_t>(h - 1))));
    }
  }
}

DVNN_TEST(arrays_equal_single_values_and_stay_in_bounds) {
  constexpr half_t kGuard = 0xabcd;
  std::mt19937 random(3);
  for (size_t count = 0; count < 70; ++count) {
    std::vector<float> from(count);
    for (float& f : from) {
      const uint32_t bits = static_cast<uint32_t>(random());
      std::memcpy(&f, &bits, sizeof f);
    }
    std::vector<half_t> to(count + 1, kGuard);
    float_to_half(from.data(), to.data(), count);
    ck_assert_uint_eq(to[count], kGuard);
    std::vector<float> back(count + 1, 42.0f);
    half_to_float(to.data(), back.data(), count);
    ck_assert(back[count] == 42.0f);
    for (size_t i = 0; i < count; ++i) {
      if (std::isnan(from[i])) {
        ck_assert(std::isnan(half_to_float(to[i])));
        continue;
      }
      ck_assert_uint_eq(to[i], float_to_half(from[i]));
      ck_assert(back[i] == half_to_float(to[i]));
    }
  }
}

DVNN_TEST(chunks_are_converted_value_by_value_and_what_is_between_stays) {
  constexpr float kUntouched = 42;
  std::mt19937 random(4);
  for (size_t count : {0, 1, 3, 7, 8, 9, 16, 29, 64}) {
    const size_t wide = kHalfChunk + 3, high = count + 2;
    std::vector<half_t> chunks(count * kHalfChunk);
    for (half_t& h : chunks) h = static_cast<half_t>(random() % 0x7c00);  // finite
    std::vector<float> rows(count * wide + 1, kUntouched);
    std::vector<float> columns(kHalfChunk * high, kUntouched);
    chunks_to_float(chunks.data(), rows.data(), wide, count);
    chunks_to_columns(chunks.data(), columns.data(), high, count);
    for (size_t i = 0; i < count; ++i) {
      for (size_t k = 0; k < wide; ++k) {
        const float value = k < kHalfChunk ? half_to_float(chunks[i * kHalfChunk + k]) : kUntouched;
        ck_assert(rows[i * wide + k] == value);
        if (k < kHalfChunk) ck_assert(columns[k * high + i] == value);
      }
    }
    for (size_t k = 0; k < kHalfChunk; ++k) {
      for (size_t i = count; i < high; ++i) ck_assert(columns[k * high + i] == kUntouched);
    }
    std::vector<float> factors(count);
    for (float& f : factors) f = static_cast<float>(random() % 1000) / 700;
    constexpr half_t kGuard = 0xabcd;
    std::vector<half_t> back(count * kHalfChunk + 1, kGuard);
    float_to_chunks(rows.data(), wide, factors.data(), back.data(), count);
    for (size_t i = 0; i < count * kHalfChunk; ++i) {
      const float value = rows[i / kHalfChunk * wide + i % kHalfChunk] * factors[i / kHalfChunk];
      ck_assert_uint_eq(back[i], float_to_half(value));
    }
    ck_assert_uint_eq(back.back(), kGuard);
  }
}

}  // namespace dvnn::test::half_tests
