// SPDX-License-Identifier: Apache-2.0
// TensorFlow Lite's operators that move, join, choose and sum along an axis, on the software device
// against plain loops over indices.
#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tflite_fixture.h"

namespace dvnn::test::tflite_moves_tests {

DVNN_SUITE(import_tflite_moves);

using tfl::Options;
using tfl::TensorType;
using namespace tflite_arrays;

namespace {

using Index = std::vector<int>;

size_t offset_of(const Array& a, const Index& index) {
  size_t offset = 0;
  for (size_t i = 0; i < index.size(); ++i) {
    offset = offset * static_cast<size_t>(a.dims[i]) + static_cast<size_t>(index[i]);
  }
  return offset;
}

double at(const Array& a, const Index& index) {
  return a.v[offset_of(a, index)];
}

// The array whose element at each index is what `element` returns.
Array filled(const std::vector<int>& dims, const std::function<double(const Index&)>& element) {
  Array a(dims);
  Index index(dims.size(), 0);
  for (double& v : a.v) {
    v = element(index);
    for (size_t i = dims.size(); i-- > 0;) {
      if (++index[i] < dims[i]) break;
      index[i] = 0;
    }
  }
  return a;
}

Index with(Index index, size_t axis, int value) {
  index[axis] = value;
  return index;
}

// One operator that reads the input and these constants.
void expect_of(const char* type, const Array& in,
               const std::function<std::vector<int32_t>(TfliteModel*)>& others, const Array& want) {
  TfliteModel m(dims32(in));
  std::vector<int32_t> reads = {0};
  for (int32_t other : others(&m)) reads.push_back(other);
  const int y = m.tensor("y", dims32(want));
  m.op(type, reads, {y}).output(y);
  expect(type, m, in, want);
}

template <typename T>
void expect_of(const char* type, const Array& in, std::vector<int32_t> reads, TfliteModel* model,
               Options kind, flatbuffers::Offset<T> options, const Array& want) {
  const int y = model->tensor("y", dims32(want));
  model->op(type, reads, {y}, kind, options).output(y);
  expect(type, *model, in, want);
}

}  // namespace

DVNN_TEST(axes_change_places) {
  for (const auto& [dims, order] : std::vector<std::pair<Index, Index>>{
           {{1, 4, 6, 5}, {0, 3, 1, 2}}, {{1, 4, 6, 5}, {0, 2, 1, 3}}, {{3, 7}, {1, 0}}}) {
    Dice dice(31);
    const Array in = dice.numbers(dims);
    Index turned;
    for (int axis : order) turned.push_back(dims[static_cast<size_t>(axis)]);
    const Array want = filled(turned, [&, by = order](const Index& index) {
      Index from(index.size());
      for (size_t i = 0; i < index.size(); ++i) from[static_cast<size_t>(by[i])] = index[i];
      return at(in, from);
    });
    const auto list = order;
    expect_of(
        "TRANSPOSE", in,
        [&](TfliteModel* m) { return std::vector<int32_t>{m->list("order", list)}; }, want);
  }
}

DVNN_TEST(axes_of_one_element_come_and_go) {
  Dice dice(32);
  const Array in = dice.numbers({1, 4, 1, 5});
  Array want = in;
  for (int axis : {1, -1}) {
    want.dims = axis == 1 ? Index{1, 1, 4, 1, 5} : Index{1, 4, 1, 5, 1};
    expect_of(
        "EXPAND_DIMS", in,
        [&](TfliteModel* m) { return std::vector<int32_t>{m->ints("axis", {}, {axis})}; }, want);
  }
  want.dims = {4, 5};
  TfliteModel all(dims32(in));
  expect_of("SQUEEZE", in, {0}, &all, Options::SqueezeOptions, tfl::CreateSqueezeOptions(all.b),
            want);
  want.dims = {1, 4, 5};
  TfliteModel one(dims32(in));
  expect_of("SQUEEZE", in, {0}, &one, Options::SqueezeOptions,
            tfl::CreateSqueezeOptions(one.b, one.b.CreateVector(std::vector<int32_t>{2})), want);
}

DVNN_TEST(tensors_are_joined_along_any_axis) {
  for (const Index& dims : {Index{1, 4, 6, 5}, Index{3, 7}}) {
    for (int axis = dims.size() == 4 ? 1 : 0; axis < static_cast<int>(dims.size()); ++axis) {
      Dice dice(33);
      const auto along = static_cast<size_t>(axis);
      const Array in = dice.numbers(dims), more = dice.numbers(with(dims, along, 2));
      const int size = dims[along];
      // The input, its opposite, and a constant, of which what is below 0 goes.
      const Array want = filled(with(dims, along, 2 * size + 2), [&](const Index& index) {
        const int i = index[along];
        const double v = i < size       ? at(in, index)
                         : i < 2 * size ? -at(in, with(index, along, i - size))
                                        : at(more, with(index, along, i - 2 * size));
        return std::max(v, 0.0);
      });
      TfliteModel m(dims32(in));
      const int opposite = m.tensor("opposite", dims32(in));
      const int constant = m.floats("constant", dims32(more), more.floats());
      m.op("NEG", {0}, {opposite});
      const int given = axis == 3 ? -1 : axis;
      expect_of("CONCATENATION", in, {0, opposite, constant}, &m, Options::ConcatenationOptions,
                tfl::CreateConcatenationOptions(m.b, given, tfl::Activation::RELU), want);
    }
  }
}

DVNN_TEST(edges_are_padded_by_numbers_or_mirrors) {
  const struct {
    Index dims;
    std::vector<int32_t> pads;  // before and after, for each axis
  } kCases[] = {{{1, 4, 6, 5}, {0, 0, 1, 2, 3, 0, 0, 0}},
                {{1, 4, 6, 5}, {0, 0, 0, 1, 2, 1, 2, 1}},
                {{4, 7}, {1, 2, 3, 0}}};
  // Which element of `size` is mirrored at place `i`, where the outermost is repeated or is not.
  const auto mirrored = [](int i, int size, bool repeats) {
    if (i < 0) return repeats ? -1 - i : -i;
    if (i >= size) return repeats ? 2 * size - 1 - i : 2 * size - 2 - i;
    return i;
  };
  for (const auto& each : kCases) {
    Dice dice(34);
    const Array in = dice.numbers(each.dims);
    Index larger = each.dims;
    for (size_t i = 0; i < larger.size(); ++i) larger[i] += each.pads[2 * i] + each.pads[2 * i + 1];
    const auto padded = [&](const std::function<double(const Index&)>& outside) {
      return filled(larger, [&](Index index) {
        bool inside = true;
        for (size_t i = 0; i < index.size(); ++i) {
          index[i] -= each.pads[2 * i];
          inside = inside && index[i] >= 0 && index[i] < each.dims[i];
        }
        return inside ? at(in, index) : outside(index);
      });
    };
    const std::vector<int32_t> size = {static_cast<int32_t>(each.dims.size()), 2};
    for (const bool numbered : {false, true}) {
      expect_of(
          numbered ? "PADV2" : "PAD", in,
          [&](TfliteModel* m) {
            std::vector<int32_t> reads = {m->ints("pads", size, each.pads)};
            if (numbered) reads.push_back(m->floats("value", {}, {1.5f}));
            return reads;
          },
          padded([&](const Index&) { return numbered ? 1.5 : 0.0; }));
    }
    for (const bool repeats : {false, true}) {
      const Array want = padded([&](Index index) {
        for (size_t i = 0; i < index.size(); ++i) {
          index[i] = mirrored(index[i], each.dims[i], repeats);
        }
        return at(in, index);
      });
      TfliteModel m(dims32(in));
      const int pads = m.ints("pads", size, each.pads);
      const auto mode = repeats ? tfl::MirrorMode::SYMMETRIC : tfl::MirrorMode::REFLECT;
      expect_of("MIRROR_PAD", in, {0, pads}, &m, Options::MirrorPadOptions,
                tfl::CreateMirrorPadOptions(m.b, mode), want);
    }
  }
}

DVNN_TEST(channels_become_pixels_and_pixels_channels) {
  Dice dice(35);
  constexpr int kBlock = 2, kChannels = 3;
  const Array deep = dice.numbers({1, 2, 4, kBlock * kBlock * kChannels});
  const Array wide = filled({1, 2 * kBlock, 4 * kBlock, kChannels}, [&](const Index& i) {
    const int part = i[1] % kBlock * kBlock + i[2] % kBlock;
    return at(deep, {0, i[1] / kBlock, i[2] / kBlock, part * kChannels + i[3]});
  });
  TfliteModel out(dims32(deep));
  expect_of("DEPTH_TO_SPACE", deep, {0}, &out, Options::DepthToSpace,
            tfl::CreateBlockOptions(out.b, kBlock), wide);
  TfliteModel back(dims32(wide));
  expect_of("SPACE_TO_DEPTH", wide, {0}, &back, Options::SpaceToDepth,
            tfl::CreateBlockOptions(back.b, kBlock), deep);
}

DVNN_TEST(rows_are_unpacked_one_by_one) {
  Dice dice(36);
  const Array in = dice.numbers({1, 3, 4, 5});
  for (int axis : {1, 3, -2}) {
    const auto along = static_cast<size_t>(axis < 0 ? axis + 4 : axis);
    const int parts = in.dims[along];
    Index rest = in.dims;
    rest.erase(rest.begin() + static_cast<ptrdiff_t>(along));
    for (int part : {0, parts - 1}) {
      TfliteModel m(dims32(in));
      std::vector<int32_t> made;
      for (int i = 0; i < parts; ++i) {
        made.push_back(m.tensor("y" + std::to_string(i), {rest.begin(), rest.end()}));
      }
      m.op("UNPACK", {0}, made, Options::UnpackOptions, tfl::CreateUnpackOptions(m.b, parts, axis));
      m.output(made[static_cast<size_t>(part)]);
      expect("UNPACK", m, in, filled(rest, [&](Index index) {
               index.insert(index.begin() + static_cast<ptrdiff_t>(along), part);
               return at(in, index);
             }));
    }
  }
}

DVNN_TEST(tensors_are_repeated_and_reversed) {
  Dice dice(37);
  for (const Index& dims : {Index{1, 3, 4, 5}, Index{3, 4}}) {
    const Array in = dice.numbers(dims);
    std::vector<int32_t> times(dims.size(), 1);
    times[dims.size() - 2] = 2;
    times[dims.size() - 1] = 3;
    Index larger = dims;
    for (size_t i = 0; i < dims.size(); ++i) larger[i] *= times[i];
    expect_of(
        "TILE", in, [&](TfliteModel* m) { return std::vector<int32_t>{m->list("times", times)}; },
        filled(larger, [&](Index index) {
          for (size_t i = 0; i < index.size(); ++i) index[i] %= dims[i];
          return at(in, index);
        }));
    for (const int axis : {-1, -2}) {
      const size_t along = dims.size() - static_cast<size_t>(-axis);
      expect_of(
          "REVERSE_V2", in,
          [&](TfliteModel* m) { return std::vector<int32_t>{m->list("axis", {axis})}; },
          filled(dims, [&](const Index& index) {
            return at(in, with(index, along, dims[along] - 1 - index[along]));
          }));
    }
  }
}

DVNN_TEST(elements_are_gathered_by_their_places) {
  Dice dice(38);
  const Array in = dice.numbers({1, 3, 4, 5});
  const std::vector<int32_t> places = {2, 0, 2, 1};
  for (const int axis : {1, 2, -1}) {
    const auto along = static_cast<size_t>(axis < 0 ? axis + 4 : axis);
    TfliteModel m(dims32(in));
    const int list = m.list("places", places);
    const Array want = filled(with(in.dims, along, 4), [&](const Index& index) {
      return at(in, with(index, along, places[static_cast<size_t>(index[along])]));
    });
    expect_of("GATHER", in, {0, list}, &m, Options::GatherOptions,
              tfl::CreateGatherOptions(m.b, axis, 0), want);
  }
  // Rows of channels at (0, 2, 3) and (0, 1, 0).
  const std::vector<std::vector<int>> rows = {{0, 2, 3}, {0, 1, 0}};
  expect_of(
      "GATHER_ND", in,
      [&](TfliteModel* m) {
        return std::vector<int32_t>{m->ints("places", {2, 3}, {0, 2, 3, 0, 1, 0})};
      },
      filled({2, 5}, [&](const Index& index) {
        const auto& row = rows[static_cast<size_t>(index[0])];
        return at(in, {row[0], row[1], row[2], index[1]});
      }));
}

DVNN_TEST(elements_are_chosen_and_cut_to_whole_numbers) {
  Dice dice(39);
  const Array in = dice.numbers({1, 3, 4, 5}, -3, 3);
  TfliteModel m(dims32(in));
  const std::vector<int32_t> dims = dims32(in);
  const int whole = m.tensor("whole", dims, TensorType::INT32);
  const int again = m.tensor("again", dims), other = m.tensor("other", dims, TensorType::BOOL);
  const int none = m.tensor("none", dims), y = m.tensor("y", dims);
  m.op("CAST", {0}, {whole}).op("CAST", {whole}, {again});
  m.op("NOT_EQUAL", {again, m.floats("one", {}, {1})}, {other});
  m.op("ZEROS_LIKE", {0}, {none}).op("SELECT_V2", {other, 0, none}, {y}).output(y);
  expect("chosen", m, in, filled(in.dims, [&](const Index& i) {
           return std::trunc(at(in, i)) != 1 ? at(in, i) : 0.0;
         }));
}

DVNN_TEST(sums_run_along_an_axis) {
  Dice dice(40);
  const Array in = dice.numbers({3, 7});
  for (const bool exclusive : {false, true}) {
    for (const bool backwards : {false, true}) {
      TfliteModel m(dims32(in));
      const int axis = m.ints("axis", {}, {1});
      const Array want = filled(in.dims, [&](const Index& index) {
        double sum = 0;
        for (int i = 0; i < 7; ++i) {
          const bool before = backwards ? i > index[1] : i < index[1];
          if (before || (i == index[1] && !exclusive)) sum += at(in, {index[0], i});
        }
        return sum;
      });
      expect_of("CUMSUM", in, {0, axis}, &m, Options::CumsumOptions,
                tfl::CreateCumsumOptions(m.b, exclusive, backwards), want);
    }
  }
}

DVNN_TEST(the_largest_come_first) {
  Dice dice(41);
  const Array in = dice.numbers({3, 7});
  TfliteModel m(dims32(in));
  const int count = m.ints("count", {}, {2});
  const int y = m.tensor("y", {3, 2}), places = m.tensor("places", {3, 2}, TensorType::INT32);
  m.op("TOPK_V2", {0, count}, {y, places}).output(y);
  expect("TOPK_V2", m, in, filled({3, 2}, [&](const Index& index) {
           const auto row = in.v.begin() + index[0] * 7;
           std::vector<double> sorted(row, row + 7);
           std::sort(sorted.rbegin(), sorted.rend());
           return sorted[static_cast<size_t>(index[1])];
         }));
}

DVNN_TEST(channels_are_normalised_by_their_squares) {
  Dice dice(42);
  const Array in = dice.numbers({1, 3, 4, 6});
  const auto squares = [&](const Index& index, int first, int last) {
    double sum = 0;
    for (int c = std::max(first, 0); c <= std::min(last, 5); ++c) {
      sum += std::pow(at(in, with(index, 3, c)), 2);
    }
    return sum;
  };
  expect_of(
      "L2_NORMALIZATION", in, [](TfliteModel*) { return std::vector<int32_t>(); },
      filled(in.dims, [&](const Index& i) { return at(in, i) / std::sqrt(squares(i, 0, 5)); }));
  constexpr int kRadius = 1;
  constexpr float kBias = 2, kAlpha = 0.5f, kBeta = 0.75f;
  TfliteModel m(dims32(in));
  expect_of("LOCAL_RESPONSE_NORMALIZATION", in, {0}, &m, Options::LocalResponseNormalizationOptions,
            tfl::CreateLocalResponseNormalizationOptions(m.b, kRadius, kBias, kAlpha, kBeta),
            filled(in.dims, [&](const Index& i) {
              const double sum = squares(i, i[3] - kRadius, i[3] + kRadius);
              return at(in, i) / std::pow(double{kBias} + double{kAlpha} * sum, double{kBeta});
            }));
}

DVNN_TEST(what_is_below_0_is_scaled) {
  Dice dice(43);
  const Array in = dice.numbers({1, 3, 4, 5});
  TfliteModel m(dims32(in));
  expect_of(
      "LEAKY_RELU", in, {0}, &m, Options::LeakyReluOptions, tfl::CreateLeakyReluOptions(m.b, 0.25f),
      filled(in.dims, [&](const Index& i) { return at(in, i) * (at(in, i) < 0 ? 0.25 : 1); }));
}

DVNN_TEST(matrices_are_multiplied_as_they_lie_or_turned) {
  for (const bool turn_a : {false, true}) {
    for (const bool turn_b : {false, true}) {
      Dice dice(44);
      const Array in = dice.numbers(turn_a ? Index{2, 5, 3} : Index{2, 3, 5});
      const Array by = dice.numbers(turn_b ? Index{2, 4, 5} : Index{2, 5, 4});
      const Array want = filled({2, 3, 4}, [&](const Index& index) {
        double sum = 0;
        for (int k = 0; k < 5; ++k) {
          const Index a = turn_a ? Index{index[0], k, index[1]} : Index{index[0], index[1], k};
          const Index b = turn_b ? Index{index[0], index[2], k} : Index{index[0], k, index[2]};
          sum += at(in, a) * at(by, b);
        }
        return sum;
      });
      TfliteModel m(dims32(in));
      const int other = m.floats("by", dims32(by), by.floats());
      expect_of("BATCH_MATMUL", in, {0, other}, &m, Options::BatchMatMulOptions,
                tfl::CreateBatchMatMulOptions(m.b, turn_a, turn_b), want);
    }
  }
}

DVNN_TEST(each_pixel_is_fully_connected_where_dimensions_are_kept) {
  Dice dice(45);
  const Array in = dice.numbers({1, 3, 4, 5}), weights = dice.numbers({7, 5});
  const Array bias = dice.numbers({7});
  TfliteModel m(dims32(in));
  const int w = m.floats("weights", dims32(weights), weights.floats());
  const int b = m.floats("bias", dims32(bias), bias.floats());
  expect_of("FULLY_CONNECTED", in, {0, w, b}, &m, Options::FullyConnectedOptions,
            tfl::CreateFullyConnectedOptions(m.b, tfl::Activation::RELU, 0, true),
            filled({1, 3, 4, 7}, [&](const Index& i) {
              double sum = at(bias, {i[3]});
              for (int c = 0; c < 5; ++c) sum += at(in, with(i, 3, c)) * at(weights, {i[3], c});
              return std::max(sum, 0.0);
            }));
}

DVNN_TEST(numbers_of_shapes_are_computed) {
  Dice dice(46);
  const Array in = dice.numbers({1, 6});
  TfliteModel m(dims32(in));
  // 0, 2 and 4, from the input's number of dimensions; then three rows of the input, by both
  // shapes' larger sizes; and a half to each.
  const int rank = m.tensor("rank", {}, TensorType::INT32);
  const int range = m.tensor("range", {3}, TensorType::INT32);
  const int column = m.tensor("column", {3, 1}, TensorType::INT32);
  const int steps = m.tensor("steps", {3, 1});
  const int shape = m.tensor("shape", {2}, TensorType::INT32), rows = m.tensor("rows", {3, 6});
  const int halves = m.tensor("halves", {3, 6}), sum = m.tensor("sum", {3, 6});
  const int y = m.tensor("y", {3, 6});
  m.op("RANK", {0}, {rank});
  m.op("RANGE", {m.ints("start", {}, {0}), m.ints("limit", {}, {5}), rank}, {range});
  m.op("RESHAPE", {range, m.list("as", {3, 1})}, {column}).op("CAST", {column}, {steps});
  m.op("BROADCAST_ARGS", {m.list("a", {3, 1}), m.list("b", {6})}, {shape});
  m.op("BROADCAST_TO", {0, shape}, {rows});
  m.op("FILL", {shape, m.floats("half", {}, {0.5f})}, {halves});
  m.op("ADD", {rows, halves}, {sum}).op("ADD", {sum, steps}, {y}).output(y);
  expect("shapes", m, in, filled({3, 6}, [&](const Index& i) {
           return at(in, {0, i[1]}) + 0.5 + 2 * i[0];
         }));
}

}  // namespace dvnn::test::tflite_moves_tests
