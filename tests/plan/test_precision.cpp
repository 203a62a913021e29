// SPDX-License-Identifier: Apache-2.0
// Values that are compared must be rounded alike: peaks of heat maps, whose values are compared
// with the maxima around them.
#include "../import/run_model.h"
#include "check_suite.h"
#include "graph_maker.h"
#include "pass_check.h"
#include "plan/passes/passes.h"
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

}  // namespace dvnn::test::precision_tests
