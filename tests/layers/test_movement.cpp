// SPDX-License-Identifier: Apache-2.0
// Values of layers that move elements as they are, and of those that read between pixels; of Border
// and Tile in every layout, against the elements that each axis names.
#include <algorithm>
#include <cmath>
#include <functional>

#include "layer_run.h"

namespace dvnn::test::movement_tests {

DVNN_SUITE(layers);

using namespace dvnn::layers;
using json = dvnn::Json;

DVNN_TEST(borders_are_made_of_what_is_inside) {
  const Tensor in = {plain({1, 3}), {1, 2, 3}};
  auto grow = [&](const char* mode) {
    return run("Border", {{"before", {0, 2}}, {"after", {0, 1}}, {"mode", mode}, {"value", 9}},
               {in}, {1, 6});
  };
  expect(grow("constant"), {9, 9, 1, 2, 3, 9});
  expect(grow("edge"), {1, 1, 1, 2, 3, 3});
  expect(grow("reflect"), {3, 2, 1, 2, 3, 2});
  expect(grow("wrap"), {2, 3, 1, 2, 3, 1});
  expect(run("Border", {{"before", {0, -1}}, {"after", {0, 0}}}, {in}, {1, 2}), {2, 3});
}

DVNN_TEST(every_axis_has_a_border) {
  // The first axis, too, and an axis between others, from whose far end it takes.
  const Tensor in = {plain({2, 2, 2}), {1, 2, 3, 4, 5, 6, 7, 8}};
  auto grow = [&](const char* mode) {
    return run("Border",
               {{"before", {1, 0, 0}}, {"after", {0, 1, 0}}, {"mode", mode}, {"value", 9}}, {in},
               {3, 3, 2});
  };
  expect(grow("constant"), {9, 9, 9, 9, 9, 9, 1, 2, 3, 4, 9, 9, 5, 6, 7, 8, 9, 9});
  expect(grow("reflect"), {5, 6, 7, 8, 5, 6, 1, 2, 3, 4, 1, 2, 5, 6, 7, 8, 5, 6});
  expect(grow("wrap"), {5, 6, 7, 8, 5, 6, 1, 2, 3, 4, 1, 2, 5, 6, 7, 8, 5, 6});
}

DVNN_TEST(channels_come_from_any_input) {
  const Tensor a = {plain({1, 2, 1, 2}), {1, 2, 3, 4}}, b = {plain({1, 1, 1, 2}), {5, 6}};
  expect(
      run("ChannelGather", {{"inputs", {1, 0, 0}}, {"channels", {0, 1, 0}}}, {a, b}, {1, 3, 1, 2}),
      {5, 6, 3, 4, 1, 2});
}

DVNN_TEST(concat_joins_along_any_axis) {
  const Tensor a = {plain({1, 2, 1, 2}), {1, 2, 3, 4}}, b = {plain({1, 1, 1, 2}), {5, 6}};
  expect(run("Concat", {{"axis", 1}}, {a, b}, {1, 3, 1, 2}), {1, 2, 3, 4, 5, 6});
  const Tensor c = {plain({1, 2, 2}), {1, 2, 3, 4}}, d = {plain({1, 2, 1}), {5, 6}};
  expect(run("Concat", {{"axis", 2}}, {c, d}, {1, 2, 3}), {1, 2, 5, 3, 4, 6});
}

DVNN_TEST(places_count_from_either_end) {
  const Tensor in = {plain({2, 3}), {1, 2, 3, 4, 5, 6}}, places = {plain({2}), {2, -3}};
  expect(run("Gather", {{"axis", 1}}, {in, places}, {2, 2}), {3, 1, 6, 4});
}

DVNN_TEST(tiles_repeat_along_axes) {
  const Tensor in = {plain({1, 2}), {1, 2}};
  expect(run("Tile", {{"repeats", {2, 2}}}, {in}, {2, 4}), {1, 2, 1, 2, 1, 2, 1, 2});
}

DVNN_TEST(permute_reorders_axes) {
  const Tensor t = {plain({1, 2, 1, 3}), {1, 2, 3, 4, 5, 6}};
  expect(run("Permute", {{"order", {0, 2, 3, 1}}}, {t}, {1, 1, 3, 2}), {1, 4, 2, 5, 3, 6});
}

// Moving element by element in place would read elements that are already overwritten.
DVNN_TEST(a_result_may_lie_where_its_input_lay) {
  std::vector<float> numbers = counting(12);
  const TensorDesc in = plain({1, 1, 3, 4}), out = plain({1, 1, 4, 3});
  auto layer = create_layer("Permute", {{"order", {0, 1, 3, 2}}}, {&in, 1}, {&out, 1});
  ck_assert(layer.ok());
  auto* const bytes = reinterpret_cast<uint8_t*>(numbers.data());
  const ConstTensorView from = {in, bytes};
  const TensorView to = {out, bytes};
  ck_assert(layer.value()->run({&from, 1}, {&to, 1}).ok());
  expect(numbers, {0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11});
}

DVNN_TEST(pixels_come_from_anywhere_or_are_zeros) {
  const Json params = {{"pixels", 3}, {"places", {2, -1, 0, 2}}};
  expect(run("PixelGather", params, {{plain({1, 2, 1, 3}), {1, 2, 3, 4, 5, 6}}}, {1, 2, 1, 4}),
         {3, 0, 1, 3, 6, 0, 4, 6});
  // A whole chunk of 8 channels, and one of 2.
  const auto have =
      run("PixelGather", params, {{plain({1, 10, 1, 3}), counting(30)}}, {1, 10, 1, 4});
  for (size_t c = 0; c < 10; ++c) {
    const auto first = static_cast<float>(3 * c);
    const float want[] = {first + 2, 0, first, first + 2};
    for (size_t i = 0; i < 4; ++i) ck_assert_float_eq(have[4 * c + i], want[i]);
  }
}

DVNN_TEST(pixels_that_are_not_there_are_refused) {
  ck_assert(!parse_layer("PixelGather", {{"pixels", 3}, {"places", {3}}}).ok());
  ck_assert(!parse_layer("PixelGather", {{"pixels", 3}, {"places", {-2}}}).ok());
  ck_assert(!parse_layer("PixelGather", {{"pixels", 3}}).ok());
  const auto dims = [](const Shape& shape) {
    const json params = {{"pixels", 3}, {"places", {1}}};
    return dims_after(parse_layer("PixelGather", params).value(), {&shape, 1}).ok();
  };
  ck_assert(dims({1, 2, 1, 3}));
  ck_assert(!dims({1, 2, 1, 4}));
  ck_assert(!dims({1, 2, 3, 3}));
}

DVNN_TEST(elements_keep_their_order_in_another_shape) {
  const Tensor in = {plain({1, 2, 1, 3}), counting(6)};
  expect(run("Reshape", {{"dims", {0, -1}}}, {in}, {1, 6}), {0, 1, 2, 3, 4, 5});
  expect(run("Flatten", {{"dims", {3, 2}}}, {in}, {3, 2}), {0, 1, 2, 3, 4, 5});
}

// run() also does it between two of the device's layouts, neither of which has the elements in
// order.
DVNN_TEST(elements_keep_their_order_between_layouts) {
  const Tensor in = {plain({1, 12, 3, 2}), counting(72)};
  for (const Shape shape : {Shape{1, 3, 4, 6}, Shape{1, 9, 8, 1}, Shape{1, 72, 1, 1}}) {
    const std::vector<int64_t> dims(shape.dims, shape.dims + shape.rank);
    const std::vector<float> found = run("Reshape", {{"dims", dims}}, {in}, shape);
    for (size_t i = 0; i < found.size(); ++i) ck_assert(found[i] == in.values[i]);
  }
}

DVNN_TEST(updates_take_the_places_that_are_named) {
  const Tensor in = {plain({3, 2}), {1, 2, 3, 4, 5, 6}}, places = {plain({2}), {2, 0}};
  const Tensor updates = {plain({2, 2}), {10, 20, 30, 40}};
  expect(run("Scatter", json::object(), {in, places, updates}, {3, 2}), {30, 40, 3, 4, 10, 20});
  expect(
      run("Scatter", {{"operation", "max"}}, {in, places, {plain({2, 2}), {0, 9, 0, 0}}}, {3, 2}),
      {1, 2, 3, 4, 5, 9});
}

DVNN_TEST(slices_step_forwards_and_backwards) {
  const Tensor in = {plain({1, 5}), counting(5)};
  expect(run("Slice", {{"begin", {0, 1}}, {"step", {1, 2}}, {"count", {-1, -1}}}, {in}, {1, 2}),
         {1, 3});
  expect(run("Slice", {{"begin", {0, 4}}, {"step", {1, -2}}, {"count", {-1, -1}}}, {in}, {1, 3}),
         {4, 2, 0});
}

DVNN_TEST(pads_are_zeros_around_a_picture) {
  const Tensor in = {plain({1, 1, 1, 2}), {1, 2}};
  expect(run("Pad", {{"left", 1}, {"right", 0}, {"top", 0}, {"bottom", 1}}, {in}, {1, 1, 2, 3}),
         {0, 1, 2, 0, 0, 0});
}

namespace {

// Returns which element of an axis of `size` belongs at `at`, or -1.
using Place = std::function<int(int axis, int at, int size)>;

std::vector<float> taken(const std::vector<float>& values, const Shape& shape, const Shape& out,
                         const Place& place, float value) {
  std::vector<float> made;
  for (int64_t i = 0; i < out.elements(); ++i) {
    int64_t rest = i, at = 0, stride = 1;
    bool outside = false;
    for (int axis = out.rank - 1; axis >= 0; --axis) {
      const int from = place(axis, static_cast<int>(rest % out[axis]), shape[axis]);
      outside |= from < 0;
      at += from * stride;
      stride *= shape[axis];
      rest /= out[axis];
    }
    made.push_back(outside ? value : values[static_cast<size_t>(at)]);
  }
  return made;
}

std::vector<TensorDesc> forms(const Shape& shape) {
  std::vector<TensorDesc> all;
  for (ElementType type : {ElementType::kFloat16, ElementType::kFloat32, ElementType::kInt8}) {
    for (Layout layout : {Layout::kNchw, Layout::kNwhc, Layout::kWhc8, Layout::kHwc8}) {
      if (shape.rank == 4 || layout == Layout::kNchw) all.push_back({type, layout, shape});
    }
  }
  return all;
}

std::vector<uint8_t> made_by(const char* type, const json& params, const TensorDesc& from,
                             const TensorDesc& to, const std::vector<float>& values, bool shared) {
  const auto in = static_cast<size_t>(from.bytes()), out = static_cast<size_t>(to.bytes());
  std::vector<uint8_t> memory(std::max(in, out)), own(out);
  write_nchw(values.data(), {from, memory.data()});
  auto layer = create_layer(type, params, {&from, 1}, {&to, 1});
  ck_assert_msg(layer.ok(), "%s", layer.ok() ? "" : layer.error().message.c_str());
  const ConstTensorView input = {from, memory.data()};
  const TensorView output = {to, shared ? memory.data() : own.data()};
  ck_assert(layer.value()->run({&input, 1}, {&output, 1}).ok());
  return {output.data, output.data + out};
}

// Whole numbers that every type holds; the bytes of the results are the same.
void check(const char* type, const json& params, const Shape& shape, const Shape& out,
           const Place& place) {
  std::vector<float> values = counting(static_cast<size_t>(shape.elements()));
  for (float& x : values) x = std::fmod(x * 37, 101.0f) - 50;
  const std::vector<float> wanted = taken(values, shape, out, place, 3);
  for (const TensorDesc& from : forms(shape)) {
    for (const TensorDesc& to : forms(out)) {
      std::vector<uint8_t> bytes(static_cast<size_t>(to.bytes()));
      write_nchw(wanted.data(), {to, bytes.data()});
      ck_assert(made_by(type, params, from, to, values, false) == bytes);
      ck_assert(made_by(type, params, from, to, values, true) == bytes);
    }
  }
}

int mirrored(int at, int size) {
  if (size == 1) return 0;
  at = std::abs(at) % (2 * (size - 1));
  return std::min(at, 2 * (size - 1) - at);
}

void check_borders(const Shape& shape, const std::vector<int>& before,
                   const std::vector<int>& after) {
  Shape out = shape;
  for (int i = 0; i < shape.rank; ++i) {
    const auto axis = static_cast<size_t>(i);
    out[i] += before[axis] + after[axis];
  }
  const auto at_axis = [&](auto inside) {
    return [=](int axis, int at, int size) {
      return inside(at - before[static_cast<size_t>(axis)], size);
    };
  };
  json params = {{"before", before}, {"after", after}, {"value", 3}};
  const auto check_mode = [&](const char* mode, auto inside) {
    params["mode"] = mode;
    check("Border", params, shape, out, at_axis(inside));
  };
  check_mode("constant", [](int at, int size) { return at < 0 || at >= size ? -1 : at; });
  check_mode("edge", [](int at, int size) { return std::clamp(at, 0, size - 1); });
  check_mode("reflect", mirrored);
  check_mode("wrap", [](int at, int size) { return (at % size + size) % size; });
}

}  // namespace

DVNN_TEST(borders_of_any_layout_are_made_of_what_is_inside) {
  const struct {
    Shape shape;
    std::vector<int> before, after;
  } cases[] = {{{1, 19, 7, 9}, {0, 0, 2, 3}, {0, 0, 1, 2}},
               {{2, 11, 5, 3}, {1, 3, 4, -1}, {0, 6, 0, 7}},
               {{1, 8, 1, 5}, {0, 8, 2, 11}, {0, 1, 1, 0}},
               {{3, 4, 5}, {2, 0, 1}, {1, 3, -2}},
               // Too many parts: each element is moved by itself.
               {{2, 3, 2, 2}, {20, 9, 20, 20}, {1, 0, 0, 2}},
               // Nothing of the input is left.
               {{1, 3, 4}, {0, 0, 5}, {0, 0, -4}}};
  size_t number = 0;
  for (const auto& c : cases) {
    if (dvnn_plays(number++)) check_borders(c.shape, c.before, c.after);
  }
}

DVNN_TEST(arrays_of_any_layout_are_repeated) {
  const auto check_tiles = [](const Shape& shape, const std::vector<int>& repeats) {
    Shape out = shape;
    for (int i = 0; i < shape.rank; ++i) out[i] *= repeats[static_cast<size_t>(i)];
    check("Tile", {{"repeats", repeats}}, shape, out,
          [](int, int at, int size) { return at % size; });
  };
  check_tiles({1, 9, 5, 3}, {1, 2, 3, 2});
  check_tiles({1, 20, 1, 1}, {2, 1, 5, 7});
  check_tiles({2, 3}, {4, 3});
  check_tiles({2, 2, 2, 2}, {6, 6, 6, 6});
}

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

}  // namespace dvnn::test::movement_tests
