// SPDX-License-Identifier: Apache-2.0
// Border and Tile in every layout, against the elements that each axis names.
#include <algorithm>
#include <cmath>
#include <functional>

#include "../layer_run.h"

namespace dvnn::test::axis_places_tests {

DVNN_SUITE(layers);

using namespace dvnn::layers;
using json = dvnn::Json;

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

}  // namespace dvnn::test::axis_places_tests
