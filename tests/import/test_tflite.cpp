// SPDX-License-Identifier: Apache-2.0
// TensorFlow Lite's operators with weights, of all types, on the software device against plain
// loops over (h, w, c).
#include <flatbuffers/flexbuffers.h>

#include <algorithm>
#include <cmath>

#include "tflite_fixture.h"

namespace dvnn::test::tflite_tests {

DVNN_SUITE(import_tflite);

using tfl::Activation;
using tfl::Options;
using tfl::Padding;
using tfl::TensorType;
using namespace tflite_arrays;

namespace {

double activated(double v, Activation activation) {
  if (activation == Activation::RELU) return std::max(v, 0.0);
  if (activation == Activation::RELU6) return std::min(std::max(v, 0.0), 6.0);
  if (activation == Activation::RELU_N1_TO_1) return std::min(std::max(v, -1.0), 1.0);
  return v;
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

DVNN_TEST(convolutions_are_those_of_loops) {
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

DVNN_TEST(weights_of_half_precision_are_read_through_dequantize) {
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

DVNN_TEST(quantised_numbers_are_those_that_they_stand_for) {
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

DVNN_TEST(a_range_that_begins_at_zero_cuts_what_is_below) {
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

DVNN_TEST(sparse_weights_are_spread) {
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

DVNN_TEST(convolutions_over_parts_are_dilated) {
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

DVNN_TEST(transposed_convolutions_spread_their_input) {
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

// MediaPipe's rectangle around some landmarks, level with the line between two of them.
DVNN_TEST(a_matrix_brings_the_output_to_its_landmarks) {
  Dice dice(31);
  constexpr int kLandmarks = 7, kWidth = 16, kHeight = 8;
  const std::vector<int> subset = {1, 2, 4, 6};
  for (const double target : {0.0, 0.5}) {
    const Array in = dice.numbers({1, kLandmarks, 3}, 0, 20);
    flexbuffers::Builder options;
    options.Map([&] {
      options.TypedVector("subset_idxs", [&] {
        for (int i : subset) options.Int(i);
      });
      options.Int("left_rotation_idx", 0);
      options.Int("right_rotation_idx", 3);
      options.Double("target_rotation_radians", target);
      options.Int("output_width", kWidth);
      options.Int("output_height", kHeight);
      options.Double("scale_x", 1.5);
      options.Double("scale_y", 1.25);
    });
    options.Finish();
    const double angle =
        std::atan2(in({0, 3, 1}) - in({0, 0, 1}), in({0, 3, 0}) - in({0, 0, 0})) - target;
    const double c = std::cos(angle), s = std::sin(angle);
    double least[2] = {1e9, 1e9}, most[2] = {-1e9, -1e9};
    for (int i : subset) {
      const double x = in({0, i, 0}), y = in({0, i, 1});
      const double level[2] = {c * x + s * y, c * y - s * x};
      for (int axis : {0, 1}) {
        least[axis] = std::min(least[axis], level[axis]);
        most[axis] = std::max(most[axis], level[axis]);
      }
    }
    const double u = (least[0] + most[0]) / 2, v = (least[1] + most[1]) / 2;
    const double sx = 1.5 * (most[0] - least[0]) / kWidth,
                 sy = 1.25 * (most[1] - least[1]) / kHeight;
    Array want({1, 4, 4});
    want({0, 0, 0}) = c * sx, want({0, 0, 1}) = -s * sy;
    want({0, 1, 0}) = s * sx, want({0, 1, 1}) = c * sy;
    want({0, 0, 3}) = c * u - s * v - c * sx * kWidth / 2 + s * sy * kHeight / 2;
    want({0, 1, 3}) = s * u + c * v - s * sx * kWidth / 2 - c * sy * kHeight / 2;
    want({0, 2, 2}) = want({0, 3, 3}) = 1;
    TfliteModel m(dims32(in));
    const int y = m.tensor("y", dims32(want));
    m.custom("Landmarks2TransformMatrix", {0}, {y}, options.GetBuffer()).output(y);
    expect("matrix", m, in, want, 0.05);
  }
}

DVNN_TEST(a_part_of_a_map_is_turned_and_scaled) {
  Dice dice(32);
  constexpr int kSide = 5, kWidth = 6, kHeight = 5, kChannels = 8;
  const std::vector<float> matrix = {0.8f, -0.5f, 0, 0.5f, 0.5f, 0.75f, 0, 1.25f,
                                     0,    0,     1, 0,    0,    0,     0, 1};
  const Array in = dice.numbers({1, kSide, kSide, kChannels});
  Array want({1, kHeight, kWidth, kChannels});
  size_t outside = 0;
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      const double at_x = 0.8f * (x + 0.5) - 0.5 * (y + 0.5) + 0.5 - 0.5;
      const double at_y = 0.5 * (x + 0.5) + 0.75 * (y + 0.5) + 1.25 - 0.5;
      const bool beyond = at_x < 0 || at_y < 0 || at_x > kSide - 1 || at_y > kSide - 1;
      outside += beyond ? 1 : 0;
      const int left = static_cast<int>(std::floor(at_x)), top = static_cast<int>(std::floor(at_y));
      for (int c = 0; c < kChannels && !beyond; ++c) {
        const auto line = [&](int row) {
          const double part = at_x - left;
          return (1 - part) * in({0, row, left, c}) + part * in({0, row, left + 1, c});
        };
        want({0, y, x, c}) = (1 - at_y + top) * line(top) + (at_y - top) * line(top + 1);
      }
    }
  }
  ck_assert_uint_gt(outside, 0);  // one of them by less than half a pixel
  flexbuffers::Builder options;
  options.Map([&] {
    options.Int("output_width", kWidth);
    options.Int("output_height", kHeight);
  });
  options.Finish();
  TfliteModel m(dims32(in));
  const int by = m.floats("by", {1, 4, 4}, matrix), y = m.tensor("y", dims32(want));
  m.custom("TransformTensorBilinear", {0, by}, {y}, options.GetBuffer()).output(y);
  expect("part", m, in, want);
}

DVNN_TEST(landmarks_of_a_part_are_brought_back) {
  Dice dice(33);
  const std::vector<float> matrix = {0.5f, -0.25f, 0, 2, 0.25f, 0.75f, 0, -1,
                                     0,    0,      1, 0, 0,     0,     0, 1};
  const Array in = dice.numbers({1, 5, 2}, 0, 8);
  Array want({1, 5, 2});
  for (int i = 0; i < 5; ++i) {
    want({0, i, 0}) = 0.5 * in({0, i, 0}) - 0.25 * in({0, i, 1}) + 2;
    want({0, i, 1}) = 0.25 * in({0, i, 0}) + 0.75 * in({0, i, 1}) - 1;
  }
  TfliteModel m(dims32(in));
  const int by = m.floats("by", {1, 4, 4}, matrix), y = m.tensor("y", dims32(want));
  m.custom("TransformLandmarks", {0, by}, {y}).output(y);
  expect("landmarks", m, in, want);
}

}  // namespace dvnn::test::tflite_tests
