// SPDX-License-Identifier: Apache-2.0
#include "kernels/inputs.h"
#include "kernels/windows/windows.h"

namespace dvnn::test::windows_tests {

DVNN_SUITE(windows);

DVNN_TEST(convolved_rows_are_those_of_the_plain_form) {
  constexpr size_t kSource = 500, kTaps = 401;  // more than are summed up at a time
  const std::vector<float> source = test::seeded_steps(kSource, 1, 2);
  const std::vector<float> weights =
      test::seeded_steps(kTaps * kernels::kConvolveChannels, 2, 0.5f);
  const std::vector<float> bias = test::seeded_steps(kernels::kConvolveChannels, 3, 1);
  std::vector<int64_t> offsets;
  for (size_t k = 0; k < kTaps; ++k) offsets.push_back(static_cast<int64_t>(k * 37 % 97));
  for (size_t channels = 1; channels <= kernels::kConvolveChannels; ++channels) {
    for (size_t count : {1, 7, 8, 15, 16, 17, 40, 100}) {
      auto rows = [&](auto convolve) {
        std::vector<float> made(channels * (count + 1), 9);  // a guard after each row
        float* to[kernels::kConvolveChannels];
        for (size_t m = 0; m < channels; ++m) to[m] = &made[m * (count + 1)];
        convolve(source.data(), offsets.data(), kTaps, weights.data(), bias.data(), channels, count,
                 to);
        return made;
      };
      const std::vector<float> wanted = rows(kernels::plain::convolve_row);
      test::on_every_target([&](const char* target) {
        test::assert_same(target, rows(kernels::convolve_row), wanted);
      });
    }
  }
}

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

DVNN_TEST(patches_are_those_of_the_plain_form) {
  constexpr size_t kStride = 37;
  const std::vector<float> pixels = test::seeded_floats(12 * kStride, 1, 0, 255);
  const std::vector<float> others = test::seeded_floats(12 * kStride, 2, 0, 255);
  const auto all = [&](const kernels::PatchPlace& from, const kernels::PatchPlace& to, auto sample,
                       auto match) {
    kernels::Patch patch;
    sample(from, &patch);
    std::vector<float> found(2);
    match(to, patch, &found[0], &found[1]);
    for (const float* part : {patch.values, patch.along_x, patch.along_y})
      found.insert(found.end(), part, part + kernels::kPatchFloats);
    return found;
  };
  for (const float right : {0.0f, 0.3f, 0.99f}) {
    for (const float below : {0.0f, 0.7f}) {
      const kernels::PatchPlace from{&pixels[kStride + 9], kStride, right, below};
      const kernels::PatchPlace to{&others[kStride + 11], kStride, below, right};
      const std::vector<float> wanted =
          all(from, to, kernels::plain::sample_patch, kernels::plain::match_patch);
      test::on_every_target([&](const char* target) {
        test::assert_same(target, all(from, to, kernels::sample_patch, kernels::match_patch),
                          wanted);
      });
    }
  }
}

// Of a plane the gradient is what it rises by, and where it is shifted, the sums tell by how much.
DVNN_TEST(a_plane_has_its_slope) {
  constexpr size_t kStride = 20;
  std::vector<float> plane(12 * kStride);
  for (size_t i = 0; i < plane.size(); ++i)
    plane[i] = 3 * static_cast<float>(i % kStride) + 5 * static_cast<float>(i / kStride);
  kernels::Patch patch;
  kernels::sample_patch({&plane[kStride + 2], kStride, 0.5f, 0.25f}, &patch);
  ck_assert_float_eq_tol(patch.values[0], 3 * 2.5f + 5 * 1.25f, 1e-4f);
  for (size_t k = 0; k < kernels::kPatchFloats; ++k) {
    ck_assert_float_eq_tol(patch.along_x[k], 3, 1e-4f);
    ck_assert_float_eq_tol(patch.along_y[k], 5, 1e-4f);
  }
  // What differs by the same everywhere is light.
  float x = 1, y = 1;
  kernels::match_patch({&plane[kStride + 3], kStride, 0.5f, 0.25f}, patch, &x, &y);
  ck_assert_float_eq_tol(x, 0, 1e-3f);
  ck_assert_float_eq_tol(y, 0, 1e-3f);
}

DVNN_TEST(differences_of_patches_add_up_alike) {
  const std::vector<float> a = test::seeded_floats(70, 3, 0, 255);
  const std::vector<float> b = test::seeded_floats(70, 4, 0, 255);
  for (const size_t count : {0, 1, 7, 8, 9, 31, 64, 69}) {
    const std::vector<float> wanted{kernels::plain::sum_of_differences(a.data(), &b[1], count)};
    test::on_every_target([&](const char* target) {
      test::assert_same(
          target, std::vector<float>{kernels::sum_of_differences(a.data(), &b[1], count)}, wanted);
    });
  }
}

DVNN_TEST(rows_shrink_as_in_the_plain_form) {
  constexpr size_t kMost = 61 * 200;
  std::vector<uint8_t> first(kMost, 255), second(kMost, 255);
  std::vector<uint16_t> sums(kMost);
  for (const bool bright : {true, false}) {  // the largest sums, and any
    for (size_t i = 0; !bright && i < kMost; ++i) {
      first[i] = static_cast<uint8_t>(i * 7919 >> 3);
      second[i] = static_cast<uint8_t>(i * 104729 >> 5);
    }
    for (const size_t step : {1, 2, 3, 4, 5, 6, 7, 8, 12, 30, 128, 129, 192, 200}) {
      for (const size_t count : {1, 8, 61}) {
        for (const uint8_t* low : {second.data(), static_cast<uint8_t*>(nullptr)}) {
          const auto run = [&](auto shrink) {
            std::vector<float> to(count + 1, 5);
            shrink(first.data(), low, count, step, 0.37f, sums.data(), to.data());
            return to;
          };
          const std::vector<float> wanted = run(kernels::plain::shrink_rows);
          test::on_every_target([&](const char* target) {
            test::assert_same(target, run(kernels::shrink_rows), wanted);
          });
        }
      }
    }
  }
}

DVNN_TEST(rows_are_halved_as_in_the_plain_form) {
  const std::vector<float> pixels = test::seeded_floats(200, 1, 0, 255);
  for (const size_t count : {1, 7, 8, 33}) {
    const auto run = [&](auto halve) {
      std::vector<float> to(count + 1, 5);
      halve(pixels.data(), &pixels[101], count, to.data());
      return to;
    };
    const std::vector<float> wanted = run(kernels::plain::halve_rows);
    test::on_every_target(
        [&](const char* target) { test::assert_same(target, run(kernels::halve_rows), wanted); });
  }
}

DVNN_TEST(windows_are_those_of_the_plain_form) {
  constexpr size_t kRow = 150;
  std::vector<float> pixels = test::seeded_floats(9 * kRow, 1, -9, 9);
  const std::vector<float> odd = test::odd_floats();
  for (size_t i = 0; i < odd.size(); ++i) pixels[11 * i] = odd[i];
  auto check = [](const kernels::PixelWindows& windows) {
    auto both = [&](auto largest, auto average) {
      const size_t count = windows.count * windows.lanes;
      std::vector<float> to(2 * count + 1, 5);
      largest(windows, to.data());
      average(windows, 3.0f, &to[count]);
      return to;
    };
    const std::vector<float> wanted =
        both(kernels::plain::largest_of_windows, kernels::plain::average_of_windows);
    test::on_every_target([&](const char* target) {
      test::assert_same(target, both(kernels::largest_of_windows, kernels::average_of_windows),
                        wanted);
    });
  };
  for (size_t lanes : {1, 3, 7, 8, 11}) {
    for (size_t rows : {1, 2, 5}) {
      for (size_t columns : {1, 3}) {
        for (size_t count : {1, 4, 7}) {
          // Along rows of pixels, and across them.
          check({pixels.data() + lanes, count, lanes, kRow, lanes, rows, columns, lanes});
          check({pixels.data() + lanes, count, lanes, lanes, kRow, columns, rows, lanes});
        }
      }
    }
  }
}

}  // namespace dvnn::test::windows_tests
