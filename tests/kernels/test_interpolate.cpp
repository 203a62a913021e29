// SPDX-License-Identifier: Apache-2.0
#include "kernels/windows/interpolate.h"

#include "kernels/inputs.h"

namespace dvnn::test::interpolate_tests {

DVNN_SUITE(interpolate);

// Numbers at the edge among others: what has no weight must not make them count.
static std::vector<float> line_of(size_t count, unsigned seed) {
  std::vector<float> line = test::seeded_floats(count, seed, -4, 4);
  const std::vector<float> odd = test::odd_floats();
  for (size_t i = 0; i < odd.size() && 3 * i < count; ++i) line[3 * i] = odd[i];
  return line;
}

DVNN_TEST(mixed_lines_are_those_of_the_plain_form) {
  const std::vector<float> lines[] = {line_of(60, 1), line_of(60, 2), line_of(60, 3)};
  const float* const at[] = {lines[0].data(), lines[1].data(), lines[2].data()};
  const float weights[] = {0.25f, -0.7f, 1.3f};
  for (size_t taps = 0; taps <= 3; ++taps) {
    for (size_t count = 0; count < 50; ++count) {
      std::vector<float> wanted(count + 1, 9);
      kernels::plain::mix_lines(at, weights, taps, wanted.data(), count);
      test::on_every_target([&](const char* target) {
        std::vector<float> found(count + 1, 9);
        kernels::mix_lines(at, weights, taps, found.data(), count);
        test::assert_same(target, found, wanted);
      });
    }
  }
}

DVNN_TEST(lines_mixed_along_are_those_of_the_plain_form) {
  constexpr size_t kResults = 45;
  constexpr int32_t kLine = 30, kBase = 3;
  std::mt19937 random(4);
  for (size_t most : {1, 2, 4}) {
    std::vector<uint32_t> first = {0};
    std::vector<int32_t> from;
    for (size_t k = 0; k < kResults; ++k) {
      for (size_t t = 1 + random() % most; t > 0; --t) {
        from.push_back(kBase + static_cast<int32_t>(random() % kLine));
      }
      first.push_back(static_cast<uint32_t>(from.size()));
    }
    std::vector<float> weights = test::seeded_floats(from.size(), 5, 0.1f, 1);
    std::vector<int32_t> pairs[2];
    std::vector<float> pair_weights[2];
    for (size_t k = 0; k < kResults; ++k) {
      const size_t last = first[k + 1] - 1;
      pairs[0].push_back(from[first[k]]);
      pairs[1].push_back(from[last]);
      pair_weights[0].push_back(weights[first[k]]);
      pair_weights[1].push_back(last > first[k] ? weights[last] : 0);
    }
    kernels::LineTaps taps = {first.data(), from.data(), weights.data(), {}, {}};
    for (size_t i = 0; i < 2 && most <= 2; ++i) {
      taps.pair_from[i] = pairs[i].data();
      taps.pair_weights[i] = pair_weights[i].data();
    }
    for (size_t inner : {1, 2, 7, 8, 19}) {
      const std::vector<float> line = line_of(kLine * inner, 6);
      for (size_t begin : {0, 5}) {
        const size_t count = (kResults - begin) * inner;
        std::vector<float> wanted(count + 1, 9);
        kernels::plain::mix_along(taps, begin, kResults, kBase, line.data(), inner, wanted.data());
        test::on_every_target([&](const char* target) {
          std::vector<float> found(count + 1, 9);
          kernels::mix_along(taps, begin, kResults, kBase, line.data(), inner, found.data());
          test::assert_same(target, found, wanted);
        });
      }
    }
  }
}

}  // namespace dvnn::test::interpolate_tests
