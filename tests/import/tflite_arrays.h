// SPDX-License-Identifier: Apache-2.0
// Arrays in TensorFlow Lite's order, and networks against what plain loops over them make.
// Tolerance: see test_numerics.cpp.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <random>
#include <utility>
#include <vector>

#include "run_model.h"
#include "tensor/half.h"
#include "tflite_fixture.h"

namespace dvnn::test::tflite_arrays {

// An array in row-major order, in double precision.
struct Array {
  std::vector<int> dims;
  std::vector<double> v;
  explicit Array(std::vector<int> sizes) : dims(std::move(sizes)) {
    size_t count = 1;
    for (int d : dims) count *= static_cast<size_t>(d);
    v.resize(count);
  }
  size_t at(std::initializer_list<int> index) const {
    size_t offset = 0, i = 0;
    for (int d : index) offset = offset * static_cast<size_t>(dims[i++]) + static_cast<size_t>(d);
    return offset;
  }
  double& operator()(std::initializer_list<int> index) { return v[at(index)]; }
  double operator()(std::initializer_list<int> index) const { return v[at(index)]; }
  std::vector<float> floats() const { return {v.begin(), v.end()}; }
};

class Dice {
 public:
  explicit Dice(unsigned seed) : random_(seed) {}
  int upto(int most) { return std::uniform_int_distribution<int>(0, most)(random_); }
  int between(int least, int most) { return least + upto(most - least); }
  // Numbers that binary16 has.
  Array numbers(std::vector<int> dims, float low = -1, float high = 1) {
    Array a(std::move(dims));
    std::uniform_real_distribution<float> value(low, high);
    for (double& v : a.v) v = double{half_to_float(float_to_half(value(random_)))};
    return a;
  }

 private:
  std::mt19937 random_;
};

// (1, h, w, c) as the network's input has it.
inline std::vector<float> channels_first(const Array& a) {
  std::vector<float> out;
  for (int c = 0; c < a.dims[3]; ++c) {
    for (int y = 0; y < a.dims[1]; ++y) {
      for (int x = 0; x < a.dims[2]; ++x) out.push_back(static_cast<float>(a({0, y, x, c})));
    }
  }
  return out;
}

inline std::vector<int32_t> dims32(const Array& a) {
  return {a.dims.begin(), a.dims.end()};
}

inline void expect(const char* what, TfliteModel& model, const Array& in, const Array& want,
                   double tolerance = 0.01) {
  auto made = convert_model(model);
  ck_assert_msg(made.ok(), "%s: %s", what, made.ok() ? "" : made.error().message.c_str());
  const Shape& shape = made.value().tensor(made.value().outputs[0].tensor).desc.shape;
  ck_assert_msg(std::vector<int>(shape.dims, shape.dims + shape.rank) == want.dims, "%s: is %s",
                what, shape.to_string().c_str());
  const auto input = in.dims.size() == 4 ? channels_first(in) : in.floats();
  const auto out = run_model(what, std::move(made.value()), input.data());
  expect_close(what, out, want.floats().data(), want.v.size(), tolerance);
}

struct Window {
  tfl::Padding padding = tfl::Padding::SAME;
  int stride_y = 1, stride_x = 1, dilation_y = 1, dilation_x = 1;
};

inline int outputs(int size, int reach, int stride, tfl::Padding padding) {
  return padding == tfl::Padding::SAME ? (size + stride - 1) / stride : (size - reach) / stride + 1;
}

inline int before(int size, int reach, int stride, tfl::Padding padding) {
  if (padding == tfl::Padding::VALID) return 0;
  return std::max((outputs(size, reach, stride, padding) - 1) * stride + reach - size, 0) / 2;
}

}  // namespace dvnn::test::tflite_arrays
