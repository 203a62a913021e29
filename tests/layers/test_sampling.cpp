// SPDX-License-Identifier: Apache-2.0
// Values of layers that read between pixels.
#include <cmath>

#include "layer_run.h"

namespace dvnn::test::sampling_tests {

DVNN_SUITE(layers);

using namespace dvnn::layers;
using json = dvnn::Json;

DVNN_TEST(arrays_are_resampled_along_their_axes) {
  const Tensor in = {plain({1, 1, 1, 2}), {1, 5}};
  auto twice = [&](json params) {
    params["scales"] = {1, 1, 1, 2};
    return run("Resize", params, {in}, {1, 1, 1, 4});
  };
  expect(twice({{"mode", "linear"}, {"coordinates", "half_pixel"}}), {1, 2, 4, 5});
  expect(twice({{"mode", "linear"}, {"coordinates", "align_corners"}}),
         {1, 1 + 4 / 3.0f, 1 + 8 / 3.0f, 5});
  expect(twice({{"mode", "nearest"}, {"coordinates", "asymmetric"}, {"rounding", "floor"}}),
         {1, 1, 5, 5});
}

DVNN_TEST(crops_are_resampled_by_their_corners) {
  const Tensor in = {plain({1, 1, 1, 5}), {0, 10, 20, 30, 40}};
  auto crop = [&](double from, double to, int count) {
    const json params = {{"mode", "linear"},
                         {"coordinates", "crop_and_resize"},
                         {"extrapolation", 7},
                         {"roi", {0, 0, 0, from, 1, 1, 1, to}},
                         {"sizes", {1, 1, 1, count}}};
    return run("Resize", params, {in}, {1, 1, 1, count});
  };
  // From 1 to 3 of the places 0 to 4, both ends included; one place alone is their middle.
  expect(crop(0.25, 0.75, 3), {10, 20, 30});
  expect(crop(0.25, 0.75, 5), {10, 15, 20, 25, 30});
  expect(crop(0.25, 1, 1), {25});
  expect(crop(-0.25, 0.75, 3), {7, 10, 30});
}

// The sums of arrays of any rank, of a picture with an axis more.
static std::vector<float> as_array(json params, const std::vector<float>& values, const Shape& from,
                                   const Shape& to) {
  auto& sizes = params["sizes"].get_ref<Json::array_t&>();
  sizes.insert(sizes.begin(), 1);
  const TensorDesc in = plain({1, from.n(), from.c(), from.h(), from.w()});
  const TensorDesc out = plain({1, to.n(), to.c(), to.h(), to.w()});
  auto layer = create_layer("Resize", params, {&in, 1}, {&out, 1});
  ck_assert(layer.ok());
  std::vector<float> made(static_cast<size_t>(out.shape.elements()));
  const ConstTensorView view = {in, reinterpret_cast<const uint8_t*>(values.data())};
  const TensorView result = {out, reinterpret_cast<uint8_t*>(made.data())};
  ck_assert(layer.value()->run({&view, 1}, {&result, 1}).ok());
  return made;
}

// Returns whether a layer turns these values into the wanted bytes, in the tensors' layouts.
static bool gives(const json& params, const TensorDesc& in, const std::vector<float>& values,
                  const TensorDesc& out, const std::vector<float>& wanted) {
  std::vector<uint8_t> source(static_cast<size_t>(in.bytes()));
  std::vector<uint8_t> found(static_cast<size_t>(out.bytes())), expected = found;
  write_nchw(values.data(), {in, source.data()});
  write_nchw(wanted.data(), {out, expected.data()});
  auto layer = create_layer("Resize", params, {&in, 1}, {&out, 1});
  ck_assert(layer.ok());
  const ConstTensorView view = {in, source.data()};
  const TensorView result = {out, found.data()};
  ck_assert(layer.value()->run({&view, 1}, {&result, 1}).ok());
  return found == expected;
}

DVNN_TEST(pictures_in_any_layout_are_resampled_like_arrays) {
  const Shape from = {2, 19, 13, 300};
  const int sizes[][2] = {{26, 600}, {13, 77}, {40, 300}, {5, 299}};
  std::vector<float> values(static_cast<size_t>(from.elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7919 % 2001) / 8;
  size_t number = 0;
  for (const char* mode : {"linear", "nearest", "cubic"}) {
    for (const auto& size : sizes) {
      const Shape to = {2, 19, size[0], size[1]};
      const json params = {{"mode", mode}, {"sizes", {2, 19, size[0], size[1]}}};
      const std::vector<float> wanted = as_array(params, values, from, to);
      for (unsigned form = 0; form < 36; ++form) {
        if (!dvnn_plays(number++)) continue;
        const Layout layouts[] = {Layout::kNchw, Layout::kWhc8, Layout::kHwc8};
        const ElementType types[] = {ElementType::kFloat16, ElementType::kFloat32};
        const TensorDesc in = {types[form % 2], layouts[form / 2 % 3], from};
        const TensorDesc out = {types[form / 6 % 2], layouts[form / 12], to};
        ck_assert_msg(gives(params, in, values, out, wanted), "%s to %dx%d, form %u", mode, size[1],
                      size[0], form);
      }
    }
  }
}

// Lines of pictures are computed in parts that fit the cache: here not one pixel does.
DVNN_TEST(pictures_of_very_many_channels_are_resampled_like_arrays) {
  const Shape from = {1, 2049, 3, 2}, to = {1, 2049, 5, 3};
  std::vector<float> values(static_cast<size_t>(from.elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7919 % 2001) / 8;
  const json params = {{"mode", "linear"}, {"sizes", {1, 2049, 5, 3}}};
  const std::vector<float> wanted = as_array(params, values, from, to);
  const TensorDesc in = {ElementType::kFloat32, Layout::kNhwc, from};
  const TensorDesc out = {ElementType::kFloat32, Layout::kNhwc, to};
  ck_assert(gives(params, in, values, out, wanted));
}

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

}  // namespace dvnn::test::sampling_tests
