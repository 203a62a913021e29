// SPDX-License-Identifier: Apache-2.0
// Small TensorFlow Lite models on the software device against plain loops over (h, w, c), and what
// is refused. Tolerance: see test_numerics.cpp.
#include <flatbuffers/flexbuffers.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "metadata_generated.h"
#include "run_model.h"
#include "tensor/half.h"
#include "tflite_fixture.h"

namespace dvnn::test::tflite_tests {

using tfl::Activation;
using tfl::Options;
using tfl::Padding;
using tfl::TensorType;

namespace {

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
std::vector<float> channels_first(const Array& a) {
  std::vector<float> out;
  for (int c = 0; c < a.dims[3]; ++c) {
    for (int y = 0; y < a.dims[1]; ++y) {
      for (int x = 0; x < a.dims[2]; ++x) out.push_back(static_cast<float>(a({0, y, x, c})));
    }
  }
  return out;
}

std::vector<int32_t> dims32(const Array& a) {
  return {a.dims.begin(), a.dims.end()};
}

void expect(const char* what, TfliteModel& model, const Array& in, const Array& want,
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

double activated(double v, Activation activation) {
  if (activation == Activation::RELU) return std::max(v, 0.0);
  if (activation == Activation::RELU6) return std::min(std::max(v, 0.0), 6.0);
  if (activation == Activation::RELU_N1_TO_1) return std::min(std::max(v, -1.0), 1.0);
  return v;
}

struct Window {
  Padding padding = Padding::SAME;
  int stride_y = 1, stride_x = 1, dilation_y = 1, dilation_x = 1;
};

int outputs(int size, int reach, int stride, Padding padding) {
  return padding == Padding::SAME ? (size + stride - 1) / stride : (size - reach) / stride + 1;
}

int before(int size, int reach, int stride, Padding padding) {
  if (padding == Padding::VALID) return 0;
  return std::max((outputs(size, reach, stride, padding) - 1) * stride + reach - size, 0) / 2;
}

// weights (outputs, y, x, inputs of a group); depthwise ones are (1, y, x, channels * multiplier).
Array convolved(const Array& in, const Array& weights, const Array& bias, const Window& w,
                Activation activation, bool depthwise) {
  const int ky = weights.dims[1], kx = weights.dims[2];
  const int ry = (ky - 1) * w.dilation_y + 1, rx = (kx - 1) * w.dilation_x + 1;
  const int h = in.dims[1], wide = in.dims[2],
            count = depthwise ? weights.dims[3] : weights.dims[0];
  const int top = before(h, ry, w.stride_y, w.padding),
            left = before(wide, rx, w.stride_x, w.padding);
  const int own = depthwise ? 1 : weights.dims[3];
  const int of_group = depthwise ? count / in.dims[3] : count / (in.dims[3] / own);
  Array out(
      {1, outputs(h, ry, w.stride_y, w.padding), outputs(wide, rx, w.stride_x, w.padding), count});
  for (int y = 0; y < out.dims[1]; ++y) {
    for (int x = 0; x < out.dims[2]; ++x) {
      for (int o = 0; o < count; ++o) {
        double sum = bias.v[static_cast<size_t>(o)];
        for (int j = 0; j < ky; ++j) {
          for (int i = 0; i < kx; ++i) {
            const int sy = y * w.stride_y - top + j * w.dilation_y;
            const int sx = x * w.stride_x - left + i * w.dilation_x;
            if (sy < 0 || sx < 0 || sy >= h || sx >= wide) continue;
            for (int c = 0; c < own; ++c) {
              const double k = depthwise ? weights({0, j, i, o}) : weights({o, j, i, c});
              sum += k * in({0, sy, sx, o / of_group * own + c});
            }
          }
        }
        out({0, y, x, o}) = activated(sum, activation);
      }
    }
  }
  return out;
}

// Any function of single elements.
Array mapped(const Array& in, const std::function<double(double)>& function) {
  Array out = in;
  for (double& v : out.v) v = function(v);
  return out;
}

int conv(TfliteModel* m, int in, int weights, int bias, const Window& w, Activation activation,
         bool depthwise, const std::string& name = "y") {
  const int y = m->tensor(name, {1, 1, 1, 1});
  if (depthwise) {
    m->op("DEPTHWISE_CONV_2D", {in, weights, bias}, {y}, Options::DepthwiseConv2DOptions,
          tfl::CreateDepthwiseConv2DOptions(m->b, w.padding, w.stride_x, w.stride_y, 1, activation,
                                            w.dilation_x, w.dilation_y));
  } else {
    m->op("CONV_2D", {in, weights, bias}, {y}, Options::Conv2DOptions,
          tfl::CreateConv2DOptions(m->b, w.padding, w.stride_x, w.stride_y, activation,
                                   w.dilation_x, w.dilation_y));
  }
  return y;
}

}  // namespace

START_TEST(convolutions_are_those_of_loops) {
  for (int round = 0; round < dvnn_rounds(40); ++round) {
    Dice dice(dvnn_seed(static_cast<unsigned>(round)));
    const bool depthwise = dice.upto(1) != 0;
    const Window w = {dice.upto(1) ? Padding::SAME : Padding::VALID, dice.between(1, 3),
                      dice.between(1, 3), dice.between(1, 2), dice.between(1, 2)};
    const int groups = depthwise ? 1 : dice.between(1, 2), c = 3 * groups;
    const Array in = dice.numbers({1, dice.between(9, 14), dice.between(9, 14), c});
    const int ky = dice.between(1, 4), kx = dice.between(1, 4), count = c * dice.between(1, 3);
    const Array weights =
        depthwise ? dice.numbers({1, ky, kx, count}) : dice.numbers({count, ky, kx, c / groups});
    const Array bias = dice.numbers({count});
    const Activation activation = static_cast<Activation>(dice.upto(3));
    TfliteModel m(dims32(in));
    const int k = m.floats("k", dims32(weights), weights.floats());
    const int b = m.floats("b", {count}, bias.floats());
    m.output(conv(&m, 0, k, b, w, activation, depthwise));
    expect("convolution", m, in, convolved(in, weights, bias, w, activation, depthwise));
  }
}
END_TEST

START_TEST(weights_of_half_precision_are_read_through_dequantize) {
  Dice dice(5);
  const Array in = dice.numbers({1, 8, 9, 3}), weights = dice.numbers({4, 3, 3, 3});
  const Array bias = dice.numbers({4});
  TfliteModel m(dims32(in));
  std::vector<half_t> halves;
  for (double v : weights.v) halves.push_back(float_to_half(static_cast<float>(v)));
  const int stored = m.tensor("h", dims32(weights), TensorType::FLOAT16, m.numbers(halves));
  const int k = m.tensor("k", dims32(weights));
  m.op("DEQUANTIZE", {stored}, {k});
  const int b = m.floats("b", {4}, bias.floats());
  m.output(conv(&m, 0, k, b, {}, Activation::RELU, false));
  expect("float16", m, in, convolved(in, weights, bias, {}, Activation::RELU, false));
}
END_TEST

START_TEST(quantised_numbers_are_those_that_they_stand_for) {
  // Weights of 8 bits, with a scale for each output, biases of 32 bits, and activations whose
  // rounding is left out: against the same convolution of real numbers.
  for (bool per_channel : {false, true}) {
    Dice dice(7);
    const Array in = dice.numbers({1, 8, 9, 3});
    Array weights({4, 3, 3, 3}), bias({4});
    std::vector<int8_t> stored;
    std::vector<int32_t> whole;
    const std::vector<float> scales =
        per_channel ? std::vector<float>{0.01f, 0.02f, 0.005f, 0.03f} : std::vector<float>{0.01f};
    const std::vector<int64_t> zeros(scales.size(), per_channel ? 0 : 3);
    for (size_t i = 0; i < weights.v.size(); ++i) {
      const size_t o = per_channel ? i / 27 : 0;
      stored.push_back(static_cast<int8_t>(dice.between(-127, 127)));
      weights.v[i] = double{scales[o]} * static_cast<double>(stored.back() - zeros[o]);
    }
    for (size_t o = 0; o < 4; ++o) {
      whole.push_back(dice.between(-3000, 3000));
      bias.v[o] = 0.004 * double{scales[per_channel ? o : 0]} * whole.back();
    }
    TfliteModel m({1, 1, 1, 1});  // its input is not read
    const int x = m.quantised("q", dims32(in), TensorType::INT8, {0.004f}, {-1});
    const int k =
        m.quantised("k", dims32(weights), TensorType::INT8, scales, zeros, 0, m.numbers(stored));
    const int b = m.tensor("b", {4}, TensorType::INT32, m.numbers(whole));  // says no scale
    const int y = m.quantised("y", {1, 8, 9, 4}, TensorType::INT8, {0.1f}, {5});
    m.op("CONV_2D", {x, k, b}, {y}, Options::Conv2DOptions,
         tfl::CreateConv2DOptions(m.b, Padding::SAME, 1, 1, Activation::NONE, 1, 1));
    m.input(x).output(y);
    expect(per_channel ? "per channel" : "per tensor", m, in,
           convolved(in, weights, bias, {}, Activation::NONE, false));
  }
}
END_TEST

START_TEST(a_range_that_begins_at_zero_cuts_what_is_below) {
  for (bool from_zero : {false, true}) {
    Dice dice(8);
    const Array in = dice.numbers({1, 4, 5, 3}), other = dice.numbers({1, 4, 5, 3});
    TfliteModel m(dims32(in));
    const int c = m.floats("c", dims32(other), other.floats());
    const int y = m.quantised("y", dims32(in), TensorType::INT8, {0.01f}, {from_zero ? -128 : -20});
    m.op("ADD", {0, c}, {y}).output(y);
    Array want = in;
    for (size_t i = 0; i < want.v.size(); ++i) {
      want.v[i] += other.v[i];
      if (from_zero) want.v[i] = std::max(want.v[i], 0.0);
    }
    expect("range", m, in, want);
  }
}
END_TEST

START_TEST(sparse_weights_are_spread) {
  // Rows of 2 x 2 blocks: of the four rows of blocks, each has the blocks that `indices` names.
  Dice dice(9);
  const Array in = dice.numbers({1, 8});
  Array weights({4, 8});
  const std::vector<uint8_t> segments = {0, 2, 3}, indices = {1, 3, 0};
  std::vector<float> present;
  for (int row = 0; row < 2; ++row) {
    for (int i = segments[static_cast<size_t>(row)]; i < segments[static_cast<size_t>(row) + 1];
         ++i) {
      for (int j = 0; j < 4; ++j) {
        present.push_back(static_cast<float>(dice.between(-8, 8)) / 8);
        weights({row * 2 + j / 2, indices[static_cast<size_t>(i)] * 2 + j % 2}) =
            double{present.back()};
      }
    }
  }
  TfliteModel m(dims32(in));
  auto dense = [&](int size) {
    return tfl::CreateDimensionMetadata(m.b, tfl::DimensionType::DENSE, size);
  };
  const auto rows = tfl::CreateUint8VectorDirect(m.b, &segments);
  const auto columns = tfl::CreateUint8VectorDirect(m.b, &indices);
  const std::vector<flatbuffers::Offset<tfl::DimensionMetadata>> dims = {
      dense(2),
      tfl::CreateDimensionMetadata(m.b, tfl::DimensionType::SPARSE_CSR, 0,
                                   tfl::IndexVector::Uint8Vector, rows.Union(),
                                   tfl::IndexVector::Uint8Vector, columns.Union()),
      dense(2), dense(2)};
  const std::vector<int32_t> order = {0, 1, 2, 3}, blocks = {0, 1};
  const auto sparsity = tfl::CreateSparsityDirect(m.b, &order, &blocks, &dims);
  const int stored = m.sparse("s", {4, 8}, sparsity, m.numbers(present));
  const int k = m.tensor("k", {4, 8}), y = m.tensor("y", {1, 4});
  m.op("DENSIFY", {stored}, {k});
  m.op("FULLY_CONNECTED", {0, k, -1}, {y}, Options::FullyConnectedOptions,
       tfl::CreateFullyConnectedOptions(m.b));
  m.output(y);
  Array want({1, 4});
  for (int o = 0; o < 4; ++o) {
    for (int i = 0; i < 8; ++i) want({0, o}) += weights({o, i}) * in({0, i});
  }
  expect("sparse", m, in, want);
}
END_TEST

START_TEST(convolutions_over_parts_are_dilated) {
  // SPACE_TO_BATCH_ND, a convolution without pads, BATCH_TO_SPACE_ND.
  Dice dice(10);
  const Array in = dice.numbers({1, 9, 11, 3}), weights = dice.numbers({1, 3, 3, 3});
  const Array bias = dice.numbers({3});
  TfliteModel m(dims32(in));
  const int block = m.list("block", {2, 2});
  const int pads = m.ints("pads", {2, 2}, {2, 3, 2, 3}),
            crops = m.ints("crops", {2, 2}, {0, 1, 0, 1});
  const int parts = m.tensor("parts", {4, 7, 8, 3}), y = m.tensor("y", {1, 9, 11, 3});
  m.op("SPACE_TO_BATCH_ND", {0, block, pads}, {parts});
  const int k = m.floats("k", dims32(weights), weights.floats());
  const int b = m.floats("b", {3}, bias.floats());
  const int made = conv(&m, parts, k, b, {Padding::VALID}, Activation::RELU, true, "made");
  m.op("BATCH_TO_SPACE_ND", {made, block, crops}, {y}).output(y);
  const Window dilated = {Padding::SAME, 1, 1, 2, 2};
  expect("parts", m, in, convolved(in, weights, bias, dilated, Activation::RELU, true));
}
END_TEST

START_TEST(transposed_convolutions_spread_their_input) {
  for (int round = 0; round < dvnn_rounds(20); ++round) {
    Dice dice(dvnn_seed(static_cast<unsigned>(round)));
    const Array in = dice.numbers({1, dice.between(4, 6), dice.between(4, 6), 4});
    const int k = dice.between(1, 4), stride = dice.between(1, 3), count = 3;
    const bool same = dice.upto(1) != 0, biased = dice.upto(1) != 0;
    const auto size = [&](int length) {
      return same ? length * stride - dice.upto(stride - 1) : (length - 1) * stride + k;
    };
    Array want({1, size(in.dims[1]), size(in.dims[2]), count});
    const Array weights = dice.numbers({count, k, k, 4}), bias = dice.numbers({count});
    const auto cut = [&](int length, int out) {
      return same ? std::max((length - 1) * stride + k - out, 0) / 2 : 0;
    };
    const int top = cut(in.dims[1], want.dims[1]), left = cut(in.dims[2], want.dims[2]);
    for (int o = 0; o < count; ++o) {
      for (int y = 0; y < want.dims[1]; ++y) {
        for (int x = 0; x < want.dims[2]; ++x) {
          want({0, y, x, o}) = biased ? bias.v[static_cast<size_t>(o)] : 0;
        }
      }
      for (int y = 0; y < in.dims[1]; ++y) {
        for (int x = 0; x < in.dims[2]; ++x) {
          for (int j = 0; j < k * k; ++j) {
            const int oy = y * stride + j / k - top, ox = x * stride + j % k - left;
            if (oy < 0 || ox < 0 || oy >= want.dims[1] || ox >= want.dims[2]) continue;
            for (int c = 0; c < 4; ++c) {
              want({0, oy, ox, o}) += weights({o, j / k, j % k, c}) * in({0, y, x, c});
            }
          }
        }
      }
    }
    TfliteModel m(dims32(in));
    const int shape = m.list("shape", {1, want.dims[1], want.dims[2], count});
    const int w = m.floats("w", dims32(weights), weights.floats());
    std::vector<int32_t> reads = {shape, w, 0};
    if (biased) reads.push_back(m.floats("b", {count}, bias.floats()));
    const int y = m.tensor("y", dims32(want));
    m.op("TRANSPOSE_CONV", reads, {y}, Options::TransposeConvOptions,
         tfl::CreateTransposeConvOptions(m.b, same ? Padding::SAME : Padding::VALID, stride,
                                         stride));
    m.output(y);
    expect("transposed", m, in, want);
    if (!same || !biased || want.dims[1] != in.dims[1] * stride ||
        want.dims[2] != in.dims[2] * stride || k < stride) {
      continue;
    }
    // MediaPipe's own operator is the same with its options as a structure.
    TfliteModel own(dims32(in));
    const int ow = own.floats("w", dims32(weights), weights.floats());
    const int ob = own.floats("b", {count}, bias.floats()), oy = own.tensor("y", dims32(want));
    own.custom("Convolution2DTransposeBias", {0, ow, ob}, {oy},
               std::vector<int32_t>{1, stride, stride});
    own.output(oy);
    expect("Convolution2DTransposeBias", own, in, want);
  }
}
END_TEST

START_TEST(averages_leave_out_pads) {
  Dice dice(11);
  const Array in = dice.numbers({1, 7, 8, 5});
  for (bool average : {false, true}) {
    for (const Padding padding : {Padding::SAME, Padding::VALID}) {
      const int k = 3, stride = 2;
      Array want({1, outputs(7, k, stride, padding), outputs(8, k, stride, padding), 5});
      const int top = before(7, k, stride, padding), left = before(8, k, stride, padding);
      for (int y = 0; y < want.dims[1]; ++y) {
        for (int x = 0; x < want.dims[2]; ++x) {
          for (int c = 0; c < 5; ++c) {
            double sum = 0, most = -1e9;
            int count = 0;
            for (int j = 0; j < k * k; ++j) {
              const int sy = y * stride - top + j / k, sx = x * stride - left + j % k;
              if (sy < 0 || sx < 0 || sy >= 7 || sx >= 8) continue;
              sum += in({0, sy, sx, c}), ++count;
              most = std::max(most, in({0, sy, sx, c}));
            }
            want({0, y, x, c}) = average ? sum / count : most;
          }
        }
      }
      TfliteModel m(dims32(in));
      const int y = m.tensor("y", dims32(want));
      m.op(average ? "AVERAGE_POOL_2D" : "MAX_POOL_2D", {0}, {y}, Options::Pool2DOptions,
           tfl::CreatePool2DOptions(m.b, padding, stride, stride, k, k));
      m.output(y);
      expect(average ? "average" : "maximum", m, in, want);
    }
  }
}
END_TEST

START_TEST(functions_of_single_elements) {
  const struct {
    const char* type;
    double (*function)(double);
    float low, high;
  } kFunctions[] = {
      {"ABS", std::fabs, -2, 2},
      {"CEIL", std::ceil, -2, 2},
      {"COS", std::cos, -2, 2},
      {"ELU", [](double v) { return v > 0 ? v : std::expm1(v); }, -2, 2},
      {"EXP", std::exp, -2, 2},
      {"FLOOR", std::floor, -2, 2},
      {"GELU", [](double v) { return v / 2 * (1 + std::erf(v / std::sqrt(2.0))); }, -3, 3},
      {"HARD_SWISH", [](double v) { return v * std::min(std::max(v + 3, 0.0), 6.0) / 6; }, -4, 4},
      {"LOG", std::log, 0.25f, 2},
      {"LOGISTIC", [](double v) { return 1 / (1 + std::exp(-v)); }, -4, 4},
      {"NEG", [](double v) { return -v; }, -2, 2},
      {"RELU", [](double v) { return std::max(v, 0.0); }, -2, 2},
      {"RELU6", [](double v) { return std::min(std::max(v, 0.0), 6.0); }, -9, 9},
      {"RELU_0_TO_1", [](double v) { return std::min(std::max(v, 0.0), 1.0); }, -2, 2},
      {"RELU_N1_TO_1", [](double v) { return std::min(std::max(v, -1.0), 1.0); }, -2, 2},
      {"ROUND", std::nearbyint, -3, 3},
      {"RSQRT", [](double v) { return 1 / std::sqrt(v); }, 0.25f, 2},
      {"SIGN", [](double v) { return v > 0   ? 1.0
                                     : v < 0 ? -1.0
                                             : 0.0; }, -2, 2},
      {"SIN", std::sin, -2, 2},
      {"SQRT", std::sqrt, 0.25f, 2},
      {"SQUARE", [](double v) { return v * v; }, -2, 2},
      {"TANH", std::tanh, -2, 2},
  };
  for (const auto& each : kFunctions) {
    Dice dice(12);
    for (const std::vector<int>& dims : {std::vector<int>{1, 4, 5, 3}, std::vector<int>{3, 7}}) {
      const Array in = dice.numbers(dims, each.low, each.high);
      TfliteModel m(dims32(in));
      const int y = m.tensor("y", dims32(in));
      m.op(each.type, {0}, {y}).output(y);
      expect(each.type, m, in, mapped(in, each.function));
    }
  }
}
END_TEST

START_TEST(operands_of_any_shape_repeat) {
  // Six channels: a sum with a picture's three goes into its mean.
  const struct {
    const char* type;
    double (*function)(double, double);
  } kFunctions[] = {
      {"ADD", [](double a, double b) { return a + b; }},
      {"SUB", [](double a, double b) { return a - b; }},
      {"MUL", [](double a, double b) { return a * b; }},
      {"DIV", [](double a, double b) { return a / b; }},
      {"MAXIMUM", [](double a, double b) { return std::max(a, b); }},
      {"MINIMUM", [](double a, double b) { return std::min(a, b); }},
      {"SQUARED_DIFFERENCE", [](double a, double b) { return (a - b) * (a - b); }},
      {"PRELU", [](double a, double b) { return a >= 0 ? a : a * b; }},
      {"FLOOR_DIV", [](double a, double b) { return std::floor(a / b); }},
  };
  for (const auto& each : kFunctions) {
    for (const std::vector<int>& dims :
         {std::vector<int>{6}, {1}, {1, 1, 6}, {1, 4, 5, 6}, {5, 1}, {1, 4, 1, 1}}) {
      Dice dice(13);
      const Array in = dice.numbers({1, 4, 5, 6}), other = dice.numbers(dims, 0.25f, 1);
      Array want = in;
      for (int y = 0; y < 4; ++y) {
        for (int x = 0; x < 5; ++x) {
          for (int c = 0; c < 6; ++c) {
            const int place[] = {0, y, x, c};
            size_t offset = 0;
            for (size_t i = 0; i < dims.size(); ++i) {
              const int at = place[4 - dims.size() + i];
              offset = offset * static_cast<size_t>(dims[i]) +
                       static_cast<size_t>(dims[i] == 1 ? 0 : at);
            }
            want({0, y, x, c}) = each.function(in({0, y, x, c}), other.v[offset]);
          }
        }
      }
      TfliteModel m(dims32(in));
      const int k = m.floats("k", dims32(other), other.floats()), y = m.tensor("y", dims32(in));
      m.op(each.type, {0, k}, {y}).output(y);
      expect(each.type, m, in, want, 0.02);
    }
  }
}
END_TEST

START_TEST(parts_of_tensors_are_as_their_masks_say) {
  Dice dice(14);
  const Array in = dice.numbers({1, 6, 7, 3});
  TfliteModel m(dims32(in));
  // x[:, -2:0:-2, ..., 1]
  const int begin = m.list("begin", {0, -2, 0, 1}), end = m.list("end", {0, 0, 0, 2});
  const int step = m.list("step", {1, -2, 1, 1}), y = m.tensor("y", {1, 2, 7});
  m.op("STRIDED_SLICE", {0, begin, end, step}, {y}, Options::StridedSliceOptions,
       tfl::CreateStridedSliceOptions(m.b, 1, 1, 4, 0, 8));
  m.output(y);
  Array want({1, 2, 7});
  for (int i = 0; i < 2; ++i) {
    for (int x = 0; x < 7; ++x) want({0, i, x}) = in({0, 4 - 2 * i, x, 1});
  }
  expect("strided slice", m, in, want);

  TfliteModel s(dims32(in));
  const int at = s.list("at", {0, 1, 2, 1}), size = s.list("size", {1, 4, -1, 2});
  const int part = s.tensor("part", {1, 4, 5, 2});
  s.op("SLICE", {0, at, size}, {part}).output(part);
  Array cut({1, 4, 5, 2});
  for (size_t i = 0; i < cut.v.size(); ++i) {
    const int n = static_cast<int>(i);
    cut.v[i] = in({0, 1 + n / 10, 2 + n / 2 % 5, 1 + n % 2});
  }
  expect("slice", s, in, cut);
}
END_TEST

START_TEST(splits_give_each_part) {
  Dice dice(15);
  const Array in = dice.numbers({1, 4, 5, 6});
  for (int part = 0; part < 3; ++part) {
    for (bool sized : {false, true}) {
      TfliteModel m(dims32(in));
      const int axis = m.ints("axis", {}, {sized ? -1 : 3});
      std::vector<int32_t> made;
      for (int i = 0; i < 3; ++i) made.push_back(m.tensor("y" + std::to_string(i), {1, 4, 5, 2}));
      const std::vector<int> sizes = sized ? std::vector<int>{3, 1, 2} : std::vector<int>{2, 2, 2};
      if (sized) {
        m.op("SPLIT_V", {0, m.list("sizes", {3, -1, 2}), axis}, made);
      } else {
        m.op("SPLIT", {axis, 0}, made);
      }
      m.output(made[static_cast<size_t>(part)]);
      int first = 0;
      for (int i = 0; i < part; ++i) first += sizes[static_cast<size_t>(i)];
      const int count = sizes[static_cast<size_t>(part)];
      Array want({1, 4, 5, count});
      for (size_t i = 0; i < want.v.size(); ++i) {
        const int n = static_cast<int>(i);
        want.v[i] = in({0, n / count / 5, n / count % 5, first + n % count});
      }
      expect("split", m, in, want);
    }
  }
}
END_TEST

START_TEST(pictures_are_resized_by_the_three_rules) {
  Dice dice(16);
  const Array in = dice.numbers({1, 4, 6, 3});
  for (bool linear : {true, false}) {
    for (const auto& [h, w] : {std::pair(8, 12), std::pair(7, 9), std::pair(3, 4)}) {
      for (int rule = 0; rule < 3; ++rule) {  // 0: neither; 1: align_corners; 2: half pixels
        const bool corners = rule == 1, centres = rule == 2;
        const auto source = [&](int at, int to, int from) {
          const double scale = corners && to > 1 ? double(from - 1) / (to - 1) : double(from) / to;
          if (!centres) return at * scale;
          return linear ? (at + 0.5) * scale - 0.5 : std::floor((at + 0.5) * scale);
        };
        Array want({1, h, w, 3});
        for (int y = 0; y < h; ++y) {
          for (int x = 0; x < w; ++x) {
            const double sy = source(y, h, 4), sx = source(x, w, 6);
            const auto pick = [&](double v, int size) {
              return std::clamp(static_cast<int>(v), 0, size - 1);
            };
            for (int c = 0; c < 3; ++c) {
              if (!linear) {
                const auto nearest = [&](double v) {
                  return corners ? std::round(v) : std::floor(v);
                };
                want({0, y, x, c}) = in({0, pick(nearest(sy), 4), pick(nearest(sx), 6), c});
                continue;
              }
              const double fy = std::floor(sy), fx = std::floor(sx);
              const auto value = [&](double py, double px) {
                return in({0, pick(py, 4), pick(px, 6), c});
              };
              const double ay = sy - fy, ax = sx - fx;
              want({0, y, x, c}) = (1 - ay) * ((1 - ax) * value(fy, fx) + ax * value(fy, fx + 1)) +
                                   ay * ((1 - ax) * value(fy + 1, fx) + ax * value(fy + 1, fx + 1));
            }
          }
        }
        TfliteModel m(dims32(in));
        const int size = m.list("size", {h, w}), made = m.tensor("y", dims32(want));
        if (linear) {
          m.op("RESIZE_BILINEAR", {0, size}, {made}, Options::ResizeBilinearOptions,
               tfl::CreateResizeBilinearOptions(m.b, 0, 0, corners, centres));
        } else {
          m.op("RESIZE_NEAREST_NEIGHBOR", {0, size}, {made}, Options::ResizeNearestOptions,
               tfl::CreateResizeNearestOptions(m.b, corners, centres));
        }
        m.output(made);
        expect(linear ? "bilinear" : "nearest", m, in, want);
      }
    }
  }
}
END_TEST

START_TEST(shapes_that_are_computed_are_known) {
  // What Keras's Flatten becomes: SHAPE, a part of it, and both sizes put together.
  Dice dice(17);
  const Array in = dice.numbers({1, 4, 5, 3});
  TfliteModel m(dims32(in));
  const int shape = m.tensor("shape", {4}, TensorType::INT32),
            n = m.tensor("n", {}, TensorType::INT32);
  m.op("SHAPE", {0}, {shape});
  m.op("STRIDED_SLICE", {shape, m.list("a", {0}), m.list("e", {1}), m.list("s", {1})}, {n},
       Options::StridedSliceOptions, tfl::CreateStridedSliceOptions(m.b, 0, 0, 0, 0, 1));
  const int both = m.tensor("both", {2}, TensorType::INT32), y = m.tensor("y", {1, 60});
  m.op("PACK", {n, m.ints("rest", {}, {-1})}, {both}, Options::PackOptions,
       tfl::CreatePackOptions(m.b, 2, 0));
  m.op("RESHAPE", {0, both}, {y}).output(y);
  Array want({1, 60});
  want.v = in.v;
  expect("flatten", m, in, want);
}
END_TEST

START_TEST(groups_are_reduced_in_either_order) {
  Dice dice(18);
  const Array in = dice.numbers({1, 4, 5, 3});
  for (const std::vector<int32_t>& axes :
       {std::vector<int32_t>{1, 2}, {3}, {-3}, {2, 3}, {1, 2, 3}}) {
    for (bool keeps : {false, true}) {
      std::vector<int> dims, kept = in.dims;
      const auto reduced = [&](int axis) {
        return std::any_of(axes.begin(), axes.end(),
                           [&](int32_t a) { return (a < 0 ? a + 4 : a) == axis; });
      };
      double count = 1;
      for (int i = 0; i < 4; ++i) {
        if (reduced(i)) count *= in.dims[static_cast<size_t>(i)], kept[static_cast<size_t>(i)] = 1;
        if (!reduced(i) || keeps) dims.push_back(kept[static_cast<size_t>(i)]);
      }
      Array sums(kept);
      for (size_t i = 0; i < in.v.size(); ++i) {
        const int k = static_cast<int>(i), place[] = {0, k / 15, k / 3 % 5, k % 3};
        const auto at = [&](int axis) { return reduced(axis) ? 0 : place[axis]; };
        sums({0, at(1), at(2), at(3)}) += in.v[i] / count;
      }
      Array want(dims);
      want.v = sums.v;
      TfliteModel m(dims32(in));
      const int y = m.tensor("y", dims32(want));
      m.op("MEAN", {0, m.list("axes", axes)}, {y}, Options::ReducerOptions,
           tfl::CreateReducerOptions(m.b, keeps));
      m.output(y);
      expect("mean", m, in, want);
    }
  }
}
END_TEST

START_TEST(what_is_not_supported_is_named) {
  Dice dice(19);
  const Array in = dice.numbers({1, 4, 5, 3});
  const auto refused = [&](const std::function<void(TfliteModel*)>& build,
                           std::initializer_list<const char*> words) {
    TfliteModel m(dims32(in));
    build(&m);
    expect_refused(convert_model(m), words);
  };
  const auto after = [](TfliteModel* m) {
    const int made = m->tensor("made", {1, 4, 5, 3});
    m->op("ABS", {0}, {made});
    return made;
  };
  refused(
      [&](TfliteModel* m) {
        const int made = after(m), y = m->tensor("y", {1});
        m->op("RFFT2D", {made}, {y}).output(y);
      },
      {"RFFT2D 'y'", "not supported", "--outputs made"});
  refused([&](TfliteModel* m) { m->custom("SomebodysOwn", {0}, {m->tensor("y", {1})}).output(1); },
          {"SomebodysOwn 'y'", "--layer-types"});
  refused(
      [&](TfliteModel* m) {
        const int k = m->floats("k", {3, 1, 1, 3}, std::vector<float>(9, 1)),
                  y = m->tensor("y", {1});
        m->op("CONV_2D", {0, k}, {y}, Options::Conv2DOptions,
              tfl::CreateConv2DOptions(m->b, Padding::SAME, 1, 1, Activation::TANH, 1, 1));
        m->output(y);
      },
      {"CONV_2D 'y'", "TANH"});
  refused(
      [&](TfliteModel* m) {
        const int k = m->floats("k", {3, 1, 1, 3}, std::vector<float>(9, 1)),
                  y = m->tensor("y", {1});
        m->op("CONV_2D", {0, k}, {y}, Options::Conv2DOptions,
              tfl::CreateConv2DOptions(m->b, Padding::SAME, 0, 1, Activation::NONE, 1, 1));
        m->output(y);
      },
      {"CONV_2D 'y'", "stride", "0"});
  refused(
      [&](TfliteModel* m) {
        const int k = m->floats("k", {3, 1, 1, 3}, std::vector<float>(5, 1)),
                  y = m->tensor("y", {1});
        m->op("CONV_2D", {0, k}, {y}, Options::Conv2DOptions,
              tfl::CreateConv2DOptions(m->b, Padding::SAME, 1, 1, Activation::NONE, 1, 1));
        m->output(y);
      },
      {"'k'", "20 bytes", "36"});
  refused(
      [&](TfliteModel* m) {
        const int y = m->tensor("y", {1});
        m->op("RESIZE_BILINEAR", {0, m->list("size", {8, 10})}, {y}, Options::ResizeBilinearOptions,
              tfl::CreateResizeBilinearOptions(m->b, 0, 0, true, true));
        m->output(y);
      },
      {"RESIZE_BILINEAR 'y'", "align_corners", "half_pixel_centers"});
  refused(
      [&](TfliteModel* m) {
        const int parts = m->tensor("parts", {1}), y = m->tensor("y", {1});
        const int block = m->list("block", {2, 2}), pads = m->ints("pads", {2, 2}, {0, 0, 0, 1});
        m->op("SPACE_TO_BATCH_ND", {0, block, pads}, {parts});
        m->op("SOFTMAX", {parts}, {y}).output(y);
      },
      {"SOFTMAX 'y'", "'parts'", "SPACE_TO_BATCH_ND"});
  refused(
      [&](TfliteModel* m) {
        const int y = m->tensor("y", {1}),
                  k = m->quantised("k", {2, 3}, TensorType::INT8, {1, 1, 1}, {0, 0, 0}, 0,
                                   m->numbers(std::vector<int8_t>(6)));
        m->op("ADD", {0, k}, {y}).output(y);
      },
      {"'k'", "3 scales"});
  refused(
      [&](TfliteModel* m) {
        const int y = m->tensor("y", {1}), lost = m->tensor("lost", {1, 4, 5, 3});
        m->op("ADD", {0, lost}, {y}).output(y);
      },
      {"ADD 'y'", "'lost'", "no operator before"});
  refused(
      [&](TfliteModel* m) {
        const int y = m->tensor("y", {1});
        m->op("TRANSPOSE_CONV",
              {m->list("shape", {1, 3, 3, 1}), m->floats("k", {1, 1, 1, 3}, {1, 1, 1}), 0}, {y},
              Options::TransposeConvOptions,
              tfl::CreateTransposeConvOptions(m->b, Padding::SAME, 2, 2));
        m->output(y);
      },
      {"TRANSPOSE_CONV 'y'", "makes 3", "of 4"});
}
END_TEST

START_TEST(damaged_files_are_refused) {
  expect_refused(convert_tflite_bytes("TFL3"), {"no TensorFlow Lite model"});
  expect_refused(convert_tflite_bytes(std::string(64, 'x')), {"TFL3"});
  TfliteModel m({1, 4, 5, 3});
  const int y = m.tensor("y", {1, 4, 5, 3});
  m.op("ABS", {0}, {y}).output(y);
  const std::string bytes = m.bytes();
  ck_assert(convert_tflite_bytes(bytes).ok());
  expect_refused(convert_tflite_bytes(bytes.substr(0, bytes.size() / 2)), {"truncated or damaged"});
  // Whatever a byte is, there is an answer.
  convert::ConvertOptions quick;
  quick.rescale = quick.measure_bits = false;
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string other = bytes;
    other[i] = static_cast<char>(other[i] ^ 0x5a);
    (void)convert_tflite_bytes(other, quick);
  }
  TfliteModel wrong({1, 4, 5, 3});
  wrong.op("ABS", {7}, {0}).output(0);
  expect_refused(convert_model(wrong), {"ABS reads tensor 7 of 1"});
}
END_TEST

START_TEST(models_end_where_they_are_told_to) {
  TfliteModel m({1, 4, 5, 3});
  const int a = m.tensor("a", {1, 4, 5, 3}), y = m.tensor("y", {1, 4, 5, 3});
  m.op("ABS", {0}, {a}).op("RFFT2D", {a}, {y}).output(y);
  const std::string bytes = m.bytes();
  convert::ConvertOptions options;
  options.import.outputs = {"a"};
  const auto made = convert_tflite_bytes(bytes, options);
  ck_assert_msg(made.ok(), "%s", made.ok() ? "" : made.error().message.c_str());
  ck_assert_str_eq(made.value().outputs[0].name.c_str(), "a");
  options.import.outputs = {"b"};
  expect_refused(convert_tflite_bytes(bytes, options), {"--outputs b", "'a'"});
}
END_TEST

START_TEST(suppression_is_left_to_the_decoder) {
  TfliteModel m({1, 4, 4, 6});
  const int boxes = m.tensor("boxes", {1, 24, 4}), scores = m.tensor("scores", {1, 24, 4});
  m.op("RESHAPE", {0, m.list("b", {1, 24, 4})}, {boxes});
  m.op("LOGISTIC", {boxes}, {scores});
  const int anchors = m.floats("anchors", {24, 4}, std::vector<float>(96, 0.5f));
  std::vector<int32_t> found;
  for (const char* name : {"f0", "f1", "f2", "f3"}) found.push_back(m.tensor(name, {1, 10}));
  flexbuffers::Builder options;
  options.Map([&] {
    options.Int("num_classes", 3);
    options.Float("nms_iou_threshold", 0.5f);
  });
  options.Finish();
  m.custom("TFLite_Detection_PostProcess", {boxes, scores, anchors}, found, options.GetBuffer());
  for (int32_t each : found) m.output(each);
  convert::Report report;
  const auto made = convert_model(m, {}, &report);
  ck_assert_msg(made.ok(), "%s", made.ok() ? "" : made.error().message.c_str());
  ck_assert_uint_eq(made.value().outputs.size(), 2);
  ck_assert_str_eq(made.value().outputs[1].name.c_str(), "scores");
  ck_assert_uint_eq(report.warnings.size(), 1);
  ck_assert(report.warnings[0].find(
                "cut at 'boxes' and 'scores' (nms_iou_threshold 0.5, num_classes 3)") !=
            std::string::npos);
}
END_TEST

namespace {

void put(std::string* to, uint32_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to->push_back(static_cast<char>(value >> (8 * i)));
}

// An archive of one file, which is stored, behind `before`.
std::string with_archive(const std::string& before, const std::string& name,
                         const std::string& text) {
  const auto sum = static_cast<uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size())));
  const auto length = static_cast<uint32_t>(text.size()),
             named = static_cast<uint32_t>(name.size());
  const auto facts = [&](std::string* to) {
    put(to, 20, 2), put(to, 0, 2), put(to, 0, 2), put(to, 0, 4), put(to, sum, 4);
    put(to, length, 4), put(to, length, 4), put(to, named, 2), put(to, 0, 2);
  };
  std::string file = before;
  put(&file, 0x04034b50, 4), facts(&file);
  file += name + text;
  const auto directory = static_cast<uint32_t>(file.size());
  put(&file, 0x02014b50, 4), put(&file, 20, 2), facts(&file);
  put(&file, 0, 2), put(&file, 0, 2), put(&file, 0, 2), put(&file, 0, 4);
  put(&file, static_cast<uint32_t>(before.size()), 4);
  file += name;
  const auto end = static_cast<uint32_t>(file.size());
  put(&file, 0x06054b50, 4), put(&file, 0, 4), put(&file, 1, 2), put(&file, 1, 2);
  put(&file, end - directory, 4), put(&file, directory, 4), put(&file, 0, 2);
  return file;
}

// The description of a classifier with labels, of (pixel - 100) / 50.
std::vector<uint8_t> description(const char* labels) {
  flatbuffers::FlatBufferBuilder b;
  const std::vector<float> mean = {100}, deviation = {50};
  const auto norm = tfl::CreateNormalizationOptionsDirect(b, &mean, &deviation);
  const std::vector<flatbuffers::Offset<tfl::ProcessUnit>> units = {
      tfl::CreateProcessUnit(b, tfl::ProcessOptions::NormalizationOptions, norm.Union())};
  const std::vector<flatbuffers::Offset<tfl::AssociatedFile>> files = {
      tfl::CreateAssociatedFileDirect(b, labels, nullptr, tfl::FileType::AXIS_LABELS)};
  const std::vector<flatbuffers::Offset<tfl::TensorMetadata>> inputs = {
      tfl::CreateTensorMetadataDirect(b, "image", nullptr, nullptr, 0, &units)};
  const std::vector<flatbuffers::Offset<tfl::TensorMetadata>> outputs = {
      tfl::CreateTensorMetadataDirect(b, "scores", nullptr, nullptr, 0, nullptr, 0, &files)};
  const std::vector<flatbuffers::Offset<tfl::SubGraphMetadata>> graphs = {
      tfl::CreateSubGraphMetadataDirect(b, "g", nullptr, &inputs, &outputs)};
  b.Finish(tfl::CreateModelMetadataDirect(b, "a classifier", nullptr, nullptr, &graphs), "M001");
  return {b.GetBufferPointer(), b.GetBufferPointer() + b.GetSize()};
}

std::string classifier(bool quantised) {
  TfliteModel m(quantised ? TfliteModel::Dims{1, 1, 1, 1} : TfliteModel::Dims{1, 16, 16, 3});
  const int x = quantised ? m.quantised("q", {1, 16, 16, 3}, TensorType::INT8, {0.02f}, {-28}) : 0;
  const int mean = m.tensor("mean", {1, 3}), y = m.tensor("y", {1, 3});
  m.op("MEAN", {x, m.list("axes", {1, 2})}, {mean});
  m.op("SOFTMAX", {mean}, {y}, Options::SoftmaxOptions, tfl::CreateSoftmaxOptions(m.b, 1));
  m.describe(description("labels.txt")).output(y);
  if (quantised) m.only_input(x);
  return m.bytes();
}

}  // namespace

START_TEST(the_file_says_its_picture_and_its_labels) {
  for (bool quantised : {false, true}) {
    const std::string bytes =
        with_archive(classifier(quantised), "labels.txt", "cat\r\ndog\nowl\n");
    const auto made = convert_tflite_bytes(bytes);
    ck_assert_msg(made.ok(), "%s", made.ok() ? "" : made.error().message.c_str());
    const InputSpec& picture = made.value().input.picture;
    ck_assert(picture.order == ChannelOrder::kRgb);
    ck_assert_double_eq_tol(picture.mean[1], 100, 1e-4);
    ck_assert_double_eq_tol(picture.scale[2], 0.02, 1e-6);
    ck_assert(made.value().labels == (std::vector<std::string>{"cat", "dog", "owl"}));
    // What the user says comes first.
    convert::ConvertOptions options;
    options.picture.order = ChannelOrder::kBgr;
    options.given.order = options.given.mean = true;
    options.labels = {"a", "b", "c"};
    const auto own = convert_tflite_bytes(bytes, options);
    ck_assert(own.ok());
    ck_assert(own.value().input.picture.order == ChannelOrder::kBgr);
    ck_assert_double_eq_tol(own.value().input.picture.mean[0], 0, 1e-6);
    ck_assert(own.value().labels == options.labels);
  }
}
END_TEST

START_TEST(labels_that_are_not_to_be_read_are_told) {
  const std::string good = with_archive(classifier(false), "labels.txt", "cat\ndog\nowl\n");
  for (const std::string& bytes : {classifier(false), with_archive(classifier(false), "other", "x"),
                                   good.substr(0, good.size() - 30)}) {
    convert::Report report;
    const auto made = convert_tflite_bytes(bytes, {}, &report);
    ck_assert(made.ok());
    ck_assert(made.value().labels.empty());
    ck_assert_uint_eq(report.warnings.size(), 2);  // the picture is told, too
    ck_assert(report.warnings[1].find("'labels.txt', are not to be read") != std::string::npos);
  }
}
END_TEST

START_TEST(of_several_inputs_all_but_one_get_values) {
  TfliteModel m({1, 4, 5, 6});
  const int k = m.tensor("k", {6}), y = m.tensor("y", {1, 4, 5, 6});
  m.input(k).op("MUL", {0, k}, {y}).output(y);
  const std::string bytes = m.bytes();
  expect_refused(convert_tflite_bytes(bytes), {"2 inputs", "'x' and 'k'", "--set"});
  convert::ConvertOptions options;
  options.import.inputs = {{"k", {6}, {1, 2, 3, 4, 5, 6}}};
  auto made = convert_tflite_bytes(bytes, options);
  ck_assert(made.ok());
  const auto out = run_model("set", std::move(made.value()), rising(120).data());
  const auto in = rising(120);
  for (size_t i = 0; i < 120; ++i) {
    const float want = in[i % 6 * 20 + i / 6] * static_cast<float>(i % 6 + 1);
    ck_assert(std::fabs(out[i] - want) < 0.01f);
  }
}
END_TEST

DVNN_SUITE(import_tflite, convolutions_are_those_of_loops,
           weights_of_half_precision_are_read_through_dequantize,
           quantised_numbers_are_those_that_they_stand_for,
           a_range_that_begins_at_zero_cuts_what_is_below, sparse_weights_are_spread,
           convolutions_over_parts_are_dilated, transposed_convolutions_spread_their_input,
           averages_leave_out_pads, functions_of_single_elements, operands_of_any_shape_repeat,
           parts_of_tensors_are_as_their_masks_say, splits_give_each_part,
           pictures_are_resized_by_the_three_rules, shapes_that_are_computed_are_known,
           groups_are_reduced_in_either_order, what_is_not_supported_is_named,
           damaged_files_are_refused, models_end_where_they_are_told_to,
           suppression_is_left_to_the_decoder, the_file_says_its_picture_and_its_labels,
           labels_that_are_not_to_be_read_are_told, of_several_inputs_all_but_one_get_values)

}  // namespace dvnn::test::tflite_tests
