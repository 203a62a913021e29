// SPDX-License-Identifier: Apache-2.0
// GridSample.
#include <cmath>

#include "../layer_run.h"

namespace dvnn::test::grid_sample_tests {

DVNN_SUITE(layers);

using namespace dvnn::layers;
using json = dvnn::Json;

DVNN_TEST(places_of_a_grid_are_sampled) {
  const Tensor in = {plain({1, 1, 2, 2}), {1, 2, 3, 4}};
  const Tensor grid = {plain({1, 1, 3, 2}), {-1, -1, 0, 0, 1, 1}};
  expect(run("GridSample", {{"align_corners", true}}, {in, grid}, {1, 1, 1, 3}), {1, 2.5f, 4});
  expect(run("GridSample", {{"mode", "nearest"}, {"padding", "border"}},
             {in, {plain({1, 1, 1, 2}), {9, -9}}}, {1, 1, 1, 1}),
         {2});
}

// More places than are done at a time, of several pictures and channels: each at its own place.
DVNN_TEST(a_grid_of_own_places_gives_the_picture) {
  const Shape shape = {2, 3, 9, 21};
  Tensor in = {plain(shape), {}}, grid = {plain({2, 9, 21, 2}), {}};
  for (int64_t i = 0; i < shape.elements(); ++i) {
    in.values.push_back(static_cast<float>(i * 7 % 61));
  }
  for (int i = 0; i < 2 * 9 * 21; ++i) {
    grid.values.push_back(static_cast<float>(i % 21) / 10 - 1);
    grid.values.push_back(static_cast<float>(i / 21 % 9) / 4 - 1);
  }
  const std::vector<float> found =
      run("GridSample", {{"mode", "nearest"}, {"align_corners", true}}, {in, grid}, shape);
  for (size_t i = 0; i < found.size(); ++i) ck_assert(found[i] == in.values[i]);
}

// By the formula: the weight of an element falls with its distance along each axis.
double sampled(const std::vector<float>& volume, const int (&sides)[3], const float* place) {
  double sum = 0;
  for (int z = 0; z < sides[0]; ++z) {
    for (int y = 0; y < sides[1]; ++y) {
      for (int x = 0; x < sides[2]; ++x) {
        double weight = 1;
        const int at[] = {x, y, z};
        for (int axis = 0; axis < 3; ++axis) {
          const double where = (double{place[axis]} + 1) * sides[2 - axis] / 2 - 0.5;
          weight *= std::fmax(0, 1 - std::fabs(where - at[axis]));
        }
        const int element = (z * sides[1] + y) * sides[2] + x;
        sum += weight * double{volume[static_cast<size_t>(element)]};
      }
    }
  }
  return sum;
}

DVNN_TEST(volumes_are_sampled_along_three_axes) {
  constexpr int kSides[] = {3, 4, 5};
  constexpr int kPlaces = 24;
  Tensor in = {plain({1, 2, 3, 4, 5}), {}}, grid = {plain({1, 2, 3, 4, 3}), {}};
  for (int i = 0; i < 120; ++i) in.values.push_back(static_cast<float>(i * 7 % 31));
  // Some of them are outside, where all is 0.
  for (int i = 0; i < kPlaces * 3; ++i) {
    grid.values.push_back(static_cast<float>(i * 11 % 47) / 20 - 1.15f);
  }
  const std::vector<float> found = run("GridSample", {}, {in, grid}, {1, 2, 2, 3, 4});
  for (size_t channel = 0; channel < 2; ++channel) {
    const std::vector<float> volume(in.values.begin() + static_cast<long>(channel) * 60,
                                    in.values.begin() + static_cast<long>(channel) * 60 + 60);
    for (size_t p = 0; p < kPlaces; ++p) {
      const double want = sampled(volume, kSides, grid.values.data() + p * 3);
      // Eight products of numbers below 31, in single precision.
      ck_assert_double_eq_tol(double{found[channel * kPlaces + p]}, want, 2e-5);
    }
  }
}

}  // namespace dvnn::test::grid_sample_tests
