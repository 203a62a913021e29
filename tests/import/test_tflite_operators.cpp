// SPDX-License-Identifier: Apache-2.0
// TensorFlow Lite's other operators on the software device against plain loops.
#include <algorithm>
#include <cmath>
#include <functional>

#include "tflite_fixture.h"

namespace dvnn::test::tflite_operators_tests {

DVNN_SUITE(import_tflite_operators);

using tfl::Options;
using tfl::Padding;
using tfl::TensorType;
using namespace tflite_arrays;

namespace {

// Any function of single elements.
Array mapped(const Array& in, const std::function<double(double)>& function) {
  Array out = in;
  for (double& v : out.v) v = function(v);
  return out;
}

}  // namespace

DVNN_TEST(averages_leave_out_pads) {
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

DVNN_TEST(functions_of_single_elements) {
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

DVNN_TEST(operands_of_any_shape_repeat) {
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

DVNN_TEST(parts_of_tensors_are_as_their_masks_say) {
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

DVNN_TEST(splits_give_each_part) {
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

DVNN_TEST(pictures_are_resized_by_the_three_rules) {
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

DVNN_TEST(shapes_that_are_computed_are_known) {
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

DVNN_TEST(groups_are_reduced_in_either_order) {
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

// LayerNormalization as Keras writes it: x * g + (beta - mean * g), g = gamma * rsqrt(variance +
// e).
DVNN_TEST(a_line_through_elements_is_a_normalisation) {
  for (const std::vector<int>& dims : {std::vector<int>{1, 4, 5, 6}, {1, 20, 6}}) {
    Dice dice(19);
    const Array in = dice.numbers(dims), gamma = dice.numbers({6}), beta = dice.numbers({6});
    TfliteModel m(dims32(in));
    std::vector<int32_t> whole = dims32(in), each = whole;
    each.back() = 1;
    const auto op = [&](const char* type, std::vector<int32_t> inputs, bool reduced) {
      const int y = m.tensor(type + std::to_string(inputs.back()), reduced ? each : whole);
      m.op(type, std::move(inputs), {y});
      return y;
    };
    const int axis = m.list("axis", {static_cast<int32_t>(dims.size()) - 1});
    const auto mean = [&](int of) {
      const int y = m.tensor("mean" + std::to_string(of), each);
      m.op("MEAN", {of, axis}, {y}, Options::ReducerOptions, tfl::CreateReducerOptions(m.b, true));
      return y;
    };
    const int middle = mean(0);
    const int variance = mean(op("SQUARED_DIFFERENCE", {0, middle}, false));
    const int above = op("ADD", {variance, m.floats("epsilon", {}, {0.125f})}, true);
    const int factor =
        op("MUL", {op("RSQRT", {above}, true), m.floats("gamma", {6}, gamma.floats())}, false);
    const int scaled = op("MUL", {0, factor}, false), moved = op("MUL", {middle, factor}, false);
    const int shift = op("SUB", {m.floats("beta", {6}, beta.floats()), moved}, false);
    m.output(op("ADD", {scaled, shift}, false));
    Array want = in;
    for (size_t row = 0; row < in.v.size(); row += 6) {
      double sum = 0, squares = 0;
      for (size_t c = 0; c < 6; ++c) sum += in.v[row + c] / 6;
      for (size_t c = 0; c < 6; ++c) squares += std::pow(in.v[row + c] - sum, 2) / 6;
      for (size_t c = 0; c < 6; ++c) {
        const double standard = (in.v[row + c] - sum) / std::sqrt(squares + 0.125);
        want.v[row + c] = standard * gamma.v[c] + beta.v[c];
      }
    }
    expect("normalisation", m, in, want);
    const auto made = convert_model(m);
    int standards = 0;
    for (const network::Step& step : made.value().steps) {
      const auto* layer = step.kind == network::StepKind::kCpu ? step.layer.get() : nullptr;
      standards += layer && layer->as<layers::StandardizeAttributes>() != nullptr;
      ck_assert(!layer || !layer->as<layers::ReduceAttributes>());
    }
    ck_assert_int_eq(standards, 1);
  }
}

namespace {

// Which of the numbers along an axis of (1, 4, 5, 3) is the largest, or the least.
Array place_of(const Array& in, int axis, bool largest) {
  std::vector<int> dims = in.dims;
  dims.erase(dims.begin() + axis);
  Array places(dims), best(dims);
  for (int k = 0; k < static_cast<int>(in.v.size()); ++k) {
    const int place[] = {0, k / 15, k / 3 % 5, k % 3};
    std::vector<int> at(place, place + 4);
    at.erase(at.begin() + axis);
    const double v = in.v[static_cast<size_t>(k)];
    double& so_far = best({at[0], at[1], at[2]});
    if (place[axis] > 0 && (largest ? v <= so_far : v >= so_far)) continue;
    so_far = v;
    places({at[0], at[1], at[2]}) = place[axis];
  }
  return places;
}

}  // namespace

DVNN_TEST(places_of_the_largest_and_the_least) {
  Dice dice(19);
  const Array in = dice.numbers({1, 4, 5, 3});
  for (const int axis : {1, 2, 3, -1, -3}) {
    for (const bool largest : {true, false}) {
      const Array want = place_of(in, axis < 0 ? axis + 4 : axis, largest);
      TfliteModel m(dims32(in));
      const int y = m.tensor("y", dims32(want), TensorType::INT32);
      m.op(largest ? "ARG_MAX" : "ARG_MIN", {0, m.ints("axis", {}, {axis})}, {y}).output(y);
      expect(largest ? "largest" : "least", m, in, want);
    }
  }
}

DVNN_TEST(places_become_hot) {
  Dice dice(20);
  const Array in = dice.numbers({1, 4, 5, 3});
  constexpr int kDepth = 4;
  const Array places = place_of(in, 3, true);  // (1, 4, 5)
  for (const int axis : {-1, 3, 1, 0}) {
    std::vector<int> dims = places.dims;
    dims.insert(dims.begin() + (axis < 0 ? 3 : axis), kDepth);
    Array want(dims);
    for (int y = 0; y < 4; ++y) {
      for (int x = 0; x < 5; ++x) {
        for (int d = 0; d < kDepth; ++d) {
          std::vector<int> at = {0, y, x};
          at.insert(at.begin() + (axis < 0 ? 3 : axis), d);
          want({at[0], at[1], at[2], at[3]}) = places({0, y, x}) == d ? 2 : -0.5;
        }
      }
    }
    TfliteModel m(dims32(in));
    const int p = m.tensor("p", dims32(places), TensorType::INT32);
    const int y = m.tensor("y", dims32(want));
    m.op("ARG_MAX", {0, m.ints("axis", {}, {3})}, {p});
    m.op("ONE_HOT",
         {p, m.ints("depth", {}, {kDepth}), m.floats("on", {}, {2}), m.floats("off", {}, {-0.5f})},
         {y}, Options::OneHotOptions, tfl::CreateOneHotOptions(m.b, axis));
    m.output(y);
    expect("hot", m, in, want);
  }
}

DVNN_TEST(tensors_are_repeated_to_a_shape) {
  const struct {
    std::vector<int> from, to;
  } kShapes[] = {{{1, 4, 1, 3}, {1, 4, 5, 3}},
                 {{1, 1, 1, 3}, {1, 4, 5, 3}},
                 {{4, 1}, {4, 5}},
                 {{1, 3}, {2, 4, 3}}};
  for (const auto& shapes : kShapes) {
    Dice dice(21);
    const Array in = dice.numbers(shapes.from);
    Array want(shapes.to);
    for (size_t k = 0; k < want.v.size(); ++k) {
      // From the last dimension to the first.
      size_t rest = k, offset = 0, step = 1;
      for (size_t i = 0; i < shapes.to.size(); ++i) {
        const auto size = static_cast<size_t>(shapes.to[shapes.to.size() - 1 - i]);
        const size_t at = rest % size;
        rest /= size;
        if (i >= shapes.from.size()) continue;
        const auto own = static_cast<size_t>(shapes.from[shapes.from.size() - 1 - i]);
        offset += (own == 1 ? 0 : at) * step;
        step *= own;
      }
      want.v[k] = in.v[offset];
    }
    TfliteModel m(dims32(in));
    const int y = m.tensor("y", dims32(want));
    m.op("BROADCAST_TO", {0, m.list("shape", dims32(want))}, {y}).output(y);
    expect("repeated", m, in, want);
  }
}

DVNN_TEST(what_was_largest_goes_back_to_its_place) {
  Dice dice(22);
  const Array in = dice.numbers({1, 4, 6, 3}, 0.25f, 1);
  // Padding, strides and window as they lie in memory: width first. Half as high, a third as wide.
  constexpr int kHigh = 2, kWide = 3;
  const std::vector<int32_t> options = {1, kWide, kHigh, kWide, kHigh, 0};
  Array want = in;
  for (int y = 0; y < 4; ++y) {
    for (int x = 0; x < 6; ++x) {
      for (int c = 0; c < 3; ++c) {
        for (int k = 0; k < kHigh * kWide; ++k) {
          const int v = y / kHigh * kHigh + k / kWide, u = x / kWide * kWide + k % kWide;
          if (in({0, v, u, c}) > in({0, y, x, c})) want({0, y, x, c}) = 0;
        }
      }
    }
  }
  TfliteModel m(dims32(in));
  const int most = m.tensor("most", {1, 2, 2, 3}), places = m.tensor("places", {1, 2, 2, 3});
  const int y = m.tensor("y", dims32(in));
  m.custom("MaxPoolingWithArgmax2D", {0}, {most, places}, options);
  m.custom("MaxUnpooling2D", {most, places}, {y}, options).output(y);
  expect("back", m, in, want);
}

}  // namespace dvnn::test::tflite_operators_tests
