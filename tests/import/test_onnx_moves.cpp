// SPDX-License-Identifier: Apache-2.0
// Reshapes and permutations one after the other: the same elements in the same order, and few
// steps.
#include <algorithm>
#include <numeric>
#include <random>

#include "layers/attributes.h"
#include "onnx_fixture.h"
#include "run_model.h"

namespace dvnn::test::onnx_moves_tests {

DVNN_SUITE(import_onnx_moves);

namespace {

using Dims = std::vector<int64_t>;
using Random = std::mt19937_64;

int64_t below(int64_t count, Random* random) {
  return std::uniform_int_distribution<int64_t>(0, count - 1)(*random);
}

// An array whose axes can be put into another order.
struct Array {
  Dims dims;
  std::vector<float> values;

  Array permuted(const Dims& order) const {
    Dims strides(dims.size(), 1);
    for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
    Array made;
    for (int64_t axis : order) made.dims.push_back(dims[static_cast<size_t>(axis)]);
    Dims at(dims.size(), 0);
    for (size_t n = 0; n < values.size(); ++n) {
      int64_t from = 0;
      for (size_t i = 0; i < at.size(); ++i) from += at[i] * strides[static_cast<size_t>(order[i])];
      made.values.push_back(values[static_cast<size_t>(from)]);
      for (size_t i = at.size(); i-- > 0 && ++at[i] == made.dims[i];) at[i] = 0;
    }
    return made;
  }
};

// The same number of elements along other axes: primes, in some of at most 5 groups.
Dims other_dims(int64_t elements, Random* random) {
  Dims made(static_cast<size_t>(1 + below(5, random)), 1);
  for (int64_t prime = 2; elements > 1;) {
    if (elements % prime != 0) {
      ++prime;
      continue;
    }
    elements /= prime;
    made[static_cast<size_t>(below(static_cast<int64_t>(made.size()), random))] *= prime;
  }
  return made;
}

size_t steps_of(const network::Model& model, const std::string& type) {
  return static_cast<size_t>(
      std::count_if(model.steps.begin(), model.steps.end(), [&](const network::Step& step) {
        return step.layer && layers::type_of(*step.layer) == type;
      }));
}

network::Model converted(const OnnxModel& model) {
  auto made = convert_model(model);
  ck_assert_msg(made.ok(), "%s", made.ok() ? "" : made.error().message.c_str());
  return std::move(made.value());
}

// Dimensions of one permutation, and the order in which their parts lie.
Dims shuffled(size_t axes, Random* random) {
  Dims order(axes);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), *random);
  return order;
}

}  // namespace

DVNN_TEST(elements_are_where_all_moves_bring_them) {
  const uint64_t seed = dvnn_seed(1);
  for (int round = 0; round < std::max(4, dvnn_rounds(120)); ++round) {
    Random random(seed * 1000 + static_cast<uint64_t>(round));
    const Dims input = {1, 8 * (1 + below(2, &random)), 2 + 2 * below(4, &random),
                        3 + below(6, &random)};
    OnnxModel m(input);
    Array now{input, rising(static_cast<size_t>(input[1] * input[2] * input[3]))};
    const std::vector<float> given = now.values;
    std::string value = "x";
    if (round % 2 == 0) {  // so that the device's own layout is moved
      std::vector<float> same(static_cast<size_t>(input[1] * input[1]), 0);
      for (int64_t c = 0; c < input[1]; ++c) same[static_cast<size_t>(c * (input[1] + 1))] = 1;
      m.floats("same", same).ints("square", {input[1], input[1], 1, 1});
      m.node("Reshape", {"same", "square"}, {"w"}).node("Conv", {"x", "w"}, {"conv"});
      value = "conv";
    }
    for (int64_t left = 2 + below(6, &random); left > 0; --left) {
      const std::string next = "v" + std::to_string(left);
      if (below(2, &random)) {
        now.dims = other_dims(static_cast<int64_t>(now.values.size()), &random);
        m.ints("to_" + next, now.dims).node("Reshape", {value, "to_" + next}, {next});
      } else {
        const Dims order = shuffled(now.dims.size(), &random);
        now = now.permuted(order);
        m.node("Transpose", {value}, {next}).list("perm", order);
      }
      value = next;
    }
    const std::string what = "round " + std::to_string(round);
    network::Model model = converted(m.output(value));
    const size_t permutes = steps_of(model, "Permute") + steps_of(model, "PixelGather");
    const auto have = run_model(what.c_str(), std::move(model), given.data());
    ck_assert_uint_eq(have.size(), now.values.size());
    // Only what has parts that do not divide each other takes several.
    ck_assert_msg(permutes <= 3, "%s: %zu moves", what.c_str(), permutes);
    for (size_t i = 0; i < have.size(); ++i) {
      ck_assert_msg(have[i] == now.values[i], "%s (seed %ju), element %zu: %g, not %g",
                    what.c_str(), uintmax_t{seed}, i, double{have[i]}, double{now.values[i]});
    }
  }
}

// MobileViT: the pixels of one place in all patches are a sequence. Only the product needs them,
// for which their order is the same.
DVNN_TEST(patches_of_pixels_are_left_where_they_lie) {
  constexpr int64_t kChannels = 16, kSide = 8, kHalf = kSide / 2;
  OnnxModel m({1, kChannels, kSide, kSide});
  m.weights("w", {kChannels, kChannels, 1, 1}).node("Conv", {"x", "w"}, {"c"});
  m.ints("rows", {kChannels * kHalf, 2, kHalf, 2}).ints("places", {1, kChannels, kHalf * kHalf, 4});
  m.ints("sequences", {4, kHalf * kHalf, kChannels}).weights("matrix", {kChannels, kChannels});
  m.node("Reshape", {"c", "rows"}, {"a"})
      .node("Transpose", {"a"}, {"b"})
      .list("perm", {0, 2, 1, 3});
  m.node("Reshape", {"b", "places"}, {"d"}).node("Transpose", {"d"}, {"e"});
  m.list("perm", {0, 3, 2, 1}).node("Reshape", {"e", "sequences"}, {"tokens"});
  m.node("MatMul", {"tokens", "matrix"}, {"product"});
  m.ints("apart", {1, 4, kHalf * kHalf, kChannels}).ints("lines", {kChannels * kHalf, kHalf, 2, 2});
  m.ints("picture", {1, kChannels, kSide, kSide});
  m.node("Reshape", {"product", "apart"}, {"f"}).node("Transpose", {"f"}, {"g"});
  m.list("perm", {0, 3, 2, 1}).node("Reshape", {"g", "lines"}, {"h"});
  m.node("Transpose", {"h"}, {"i"}).list("perm", {0, 2, 1, 3});
  m.node("Reshape", {"i", "picture"}, {"j"}).weights("last", {4, kChannels, 3, 3});
  m.node("Conv", {"j", "last"}, {"y"}).list("kernel_shape", {3, 3}).output("y");
  convert::Report report;
  auto model = convert_model(m, {}, &report);
  ck_assert_msg(model.ok(), "%s", model.ok() ? "" : model.error().message.c_str());
  ck_assert_uint_eq(steps_of(model.value(), "Permute"), 0);
  ck_assert_uint_eq(steps_of(model.value(), "PixelGather"), 0);
  const std::vector<float> input = rising(kChannels * kSide * kSide);
  const auto want = run_reference("MobileViT", *report.imported, input.data());
  const auto have = run_model("MobileViT", std::move(model.value()), input.data());
  expect_close("MobileViT", have, want.data(), want.size());
}

}  // namespace dvnn::test::onnx_moves_tests
