// SPDX-License-Identifier: Apache-2.0
// Which values are rounded, and how: those that are compared must be rounded alike, as peaks of
// heat maps are with the maxima around them; weights are one of few values.
#include <cmath>
#include <random>

#include "../import/run_model.h"
#include "check_suite.h"
#include "graph_maker.h"
#include "plan/passes/passes.h"
#include "plan/passes/quantise.h"
#include "plan/plan.h"

namespace dvnn::test::precision_tests {

DVNN_SUITE(plan_precision);

using namespace dvnn::plan;
using kernels::Operation;

namespace {

struct Heat : Maker {
  Heat() : Maker(12, 12) {}
  int turned(int in, const std::vector<int64_t>& order) { return sure(permute(name(), in, order)); }
  // A map that the CPU makes in single precision, its channels last.
  int map() {
    const int flat = sure(permute(name(), conv(graph.input, 8, 3), {0, 2, 3, 1}));
    return sure(softmax(name(), flat, 3));
  }
  int largest(int in) {
    import::PoolSpec spec;
    spec.kernel_x = spec.kernel_y = 3;
    spec.left = spec.right = spec.top = spec.bottom = 1;
    return sure(pooling(name(), in, spec));
  }
  int equal(int a, int b) { return sure(binary(name(), Operation::kEqual, a, b)); }
};

// Returns the share of the network's results that equal the reference's.
double agreement(const Graph& graph, const std::vector<float>& input) {
  auto model = dvnn::plan::plan(graph, PlanOptions(), InputSpec(), nullptr);
  ck_assert_msg(model.ok(), "%s", model.ok() ? "" : model.error().message.c_str());
  const auto want = run_reference("heat", graph, input.data());
  const auto have = run_model("heat", std::move(model.value()), input.data());
  ck_assert_uint_eq(have.size(), want.size());
  size_t same = 0, peaks = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    same += have[i] == want[i];
    peaks += want[i] != 0;
  }
  ck_assert_uint_gt(peaks, 5);
  return static_cast<double>(same) / static_cast<double>(want.size());
}

// Checks that at least this share of results equals the reference's, and that this number of
// poolings run on the CPU.
void expect_peaks(const Graph& graph, double share, int poolings) {
  const auto input = numbers(graph.shape_of(graph.input).count(), -1, 1);
  ck_assert_double_ge(agreement(graph, input), share);
  Graph planned = graph;
  const PlanOptions options;
  ck_assert(run_passes(sized_passes(), {&planned, nullptr, &options}).ok());
  const auto of_cpu = std::count_if(planned.nodes.begin(), planned.nodes.end(), [](const Node& n) {
    return n.layer<layers::PoolingAttributes>() != nullptr;
  });
  ck_assert_int_eq(static_cast<int>(of_cpu), poolings);
}

}  // namespace

DVNN_TEST(peaks_of_a_map_in_single_precision_are_found) {
  source.seed(7);
  Heat m;
  const int map = m.map();
  const int there = m.turned(map, {0, 3, 1, 2});
  const int back = m.turned(m.largest(there), {0, 2, 3, 1});
  // The device's convolution comes first: values a rounding apart may change places.
  expect_peaks(m.done({m.equal(map, back)}), 0.98, 1);
}

DVNN_TEST(peaks_of_what_the_device_made_stay_on_the_device) {
  source.seed(8);
  Heat m;
  const int map = m.conv(m.graph.input, 8, 3);
  expect_peaks(m.done({m.equal(map, m.largest(map))}), 0.98, 0);
}

DVNN_TEST(a_map_that_the_device_reads_too_is_rounded_for_all) {
  source.seed(9);
  Heat m;
  const int map = m.map();
  const int there = m.turned(map, {0, 3, 1, 2});
  const int read = m.conv(there, 8, 3);  // so `there` is in 16 bits
  const int back = m.turned(m.largest(there), {0, 2, 3, 1});
  const Graph graph = m.done({m.equal(map, back), read});
  const auto input = numbers(graph.shape_of(graph.input).count(), -1, 1);
  // Each element that is the largest about it is equal to itself; in 16 bits some neighbours are,
  // too.
  ck_assert_double_ge(agreement(graph, input), 0.95);
  Graph planned = graph;
  const PlanOptions options;
  ck_assert(run_passes(sized_passes(), {&planned, nullptr, &options}).ok());
  const auto rounds = std::count_if(planned.nodes.begin(), planned.nodes.end(), [](const Node& n) {
    const auto* layer = n.layer<layers::ElementwiseAttributes>();
    return layer && layer->steps[0].curve == kernels::Curve::kHalf;
  });
  ck_assert_int_eq(static_cast<int>(rounds), 1);
}

DVNN_TEST(a_value_without_its_sign_is_compared_as_it_is) {
  source.seed(10);
  Heat m;
  const int map = m.map();
  const int positive = sure(m.unary(m.name(), kernels::Curve::kAbs, m.turned(map, {0, 3, 1, 2})));
  const int read = m.conv(positive, 8, 3);  // so it is in 16 bits
  const Graph graph = m.done({m.equal(map, m.turned(positive, {0, 2, 3, 1})), read});
  const auto input = numbers(graph.shape_of(graph.input).count(), -1, 1);
  ck_assert_double_eq(agreement(graph, input), 1);
}

namespace {

float stored(const QuantisedWeights& q, size_t i) {
  return half_to_float(q.table[q.indices[i]]);
}

std::vector<float> gaussian(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> value(0, 0.05f);
  std::vector<float> weights;
  for (size_t i = 0; i < count; ++i) weights.push_back(value(random));
  return weights;
}

double mean_square(const std::vector<float>& weights, const QuantisedWeights& q) {
  double sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    const double d = double{weights[i]} - double{stored(q, i)};
    sum += d * d;
  }
  return sum / static_cast<double>(weights.size());
}

}  // namespace

DVNN_TEST(weights_of_zero_stay_zero) {
  std::vector<float> weights = gaussian(5000, 1);
  for (size_t i = 0; i < weights.size(); i += 3) weights[i] = 0;
  const QuantisedWeights q = quantise(weights);
  ck_assert_uint_eq(q.table.size(), 256);
  ck_assert(half_to_float(q.table[0]) == 0);
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) ck_assert_uint_eq(q.indices[i], 0);
  }
  ck_assert(quantise({0, 0, 0}).indices == std::vector<uint8_t>({0, 0, 0}));
  ck_assert(quantise({}).indices.empty());
}

DVNN_TEST(weights_of_few_values_are_kept) {
  std::mt19937 random(2);
  std::vector<float> weights;
  for (int i = 0; i < 20000; ++i) {
    weights.push_back(half_to_float(float_to_half(static_cast<float>(random() % 200) / 64 - 1.6f)));
  }
  const QuantisedWeights q = quantise(weights);
  for (size_t i = 0; i < weights.size(); ++i) ck_assert(stored(q, i) == weights[i]);
}

DVNN_TEST(errors_of_weights_are_near_the_least_possible) {
  // Panter and Dite: with n levels the least mean square error of a Gaussian is
  // sqrt(3) pi / 2 * variance / n^2. Ten percent more are allowed: 40,000 samples, binary16
  // centres.
  const std::vector<float> weights = gaussian(40000, 3);
  const double least = std::sqrt(3.0) * M_PI / 2 * 0.05 * 0.05 / (255.0 * 255.0);
  const double have = mean_square(weights, quantise(weights));
  ck_assert_msg(have < 1.1 * least, "%g, the least is %g", have, least);
}

DVNN_TEST(quantised_weights_depend_on_the_weights_alone) {
  const std::vector<float> weights = gaussian(3000, 4);
  const QuantisedWeights a = quantise(weights), b = quantise(weights);
  ck_assert(a.table == b.table && a.indices == b.indices);
}

}  // namespace dvnn::test::precision_tests
