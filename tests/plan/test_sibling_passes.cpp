// SPDX-License-Identifier: Apache-2.0
// The pass that makes one convolution of a detector's heads.
#include "check_suite.h"
#include "graph_maker.h"
#include "plan/passes/passes.h"

namespace dvnn::test::sibling_passes_tests {

DVNN_SUITE(plan_sibling_passes);

using namespace dvnn::plan;
using device::Activation;

namespace {

// The usual end of a detector's head: a row of channels for each pixel.
int rows_of(Maker* m, int in) {
  const Shape s = m->shape_of(in);
  const int turned = sure(m->permute(m->name(), in, {0, 2, 3, 1}));
  return sure(m->reshape(m->name(), turned, {1, s.h() * s.w(), s.c()}));
}

// Groups of one channel are the device's depthwise convolutions by then.
Graph merged(const char* what, const Graph& graph) {
  return after(what, graph, [](Graph* g) {
    lower_groups(g);
    merge_siblings(g);
  });
}

std::vector<layers::SliceAttributes> slices_of(const Graph& graph) {
  std::vector<layers::SliceAttributes> list;
  for (const Node& node : graph.nodes) {
    if (const auto* slice = node.layer<layers::SliceAttributes>()) list.push_back(*slice);
  }
  return list;
}

}  // namespace

DVNN_TEST(heads_of_few_channels_become_one) {
  Maker m;
  const int features = m.conv(m.graph.input, 16);
  std::vector<int> outputs;
  for (const int channels : {1, 4, 16, 10}) {
    outputs.push_back(rows_of(&m, m.conv(features, channels, 1)));
  }
  const Graph one = merged("heads", m.done(outputs));
  ck_assert_int_eq(count(one, Op::kConvolution), 2);
  ck_assert_int_eq(one.nodes[1].run.m, 31);
  // Whole chunks lie where they need no move.
  const auto slices = slices_of(one);
  ck_assert_uint_eq(slices.size(), 4);
  ck_assert(slices[0].begin[1] == 0 && slices[0].count[1] == 16);
  ck_assert(slices[3].begin[1] == 21 && slices[3].count[1] == 10);
}

DVNN_TEST(what_works_on_each_of_their_channels_does_too) {
  Maker m;
  const int features = m.conv(m.graph.input, 16);
  std::vector<int> outputs;
  for (const int channels : {1, 4, 1, 10}) {
    const int head = m.conv(features, channels, 1);
    outputs.push_back(rows_of(&m, m.conv(head, channels, 3, -1, channels)));
  }
  const Graph one = merged("heads in two steps", m.done(outputs));
  ck_assert_int_eq(count(one, Op::kConvolution), 3);
  ck_assert_int_eq(one.nodes[1].run.m, 16);
  ck_assert(one.nodes[2].run.conv == device::ConvKind::kDepthwise);
  ck_assert_int_eq(one.nodes[2].run.m, 16);
}

DVNN_TEST(families_of_one_value_stay_apart) {
  Maker m;
  const int features = m.conv(m.graph.input, 16);
  std::vector<int> outputs;
  for (const int kernel : {1, 3, 1, 3, 1}) {
    outputs.push_back(rows_of(&m, m.conv(features, 3, kernel)));
  }
  const Graph two = merged("two families", m.done(outputs));
  ck_assert_int_eq(count(two, Op::kConvolution), 3);
  ck_assert_uint_eq(slices_of(two).size(), 5);
}

DVNN_TEST(what_is_no_sibling_or_gains_nothing_stays) {
  Maker m;
  const int features = m.conv(m.graph.input, 16);
  const auto head = [&](int channels, int kernel) {
    return rows_of(&m, m.conv(features, channels, kernel));
  };
  const int shared = m.conv(features, 3, 5);
  const int followed = m.conv(m.conv(features, 2, 7), 2, 3, -1, 2);
  const int active = m.active(m.conv(features, 2, 3), Activation::kRelu);
  const Graph graph = m.done({
      head(8, 1), head(24, 1),                  // whole chunks
      head(1, 3), rows_of(&m, active),          // the device reads one of them
      head(2, 5), rows_of(&m, shared), shared,  // one of them is an output
      head(2, 7), rows_of(&m, followed),        // one of them is followed by another
  });
  const Graph same = merged("no siblings", graph);
  ck_assert_int_eq(count(same, Op::kConvolution), count(graph, Op::kConvolution));
  ck_assert_uint_eq(slices_of(same).size(), 0);
}

DVNN_TEST(random_heads_compute_the_same) {
  std::mt19937 random(5);
  const auto below = [&](unsigned n) { return static_cast<int>(random() % n); };
  for (int round = 0; round < 60; ++round) {
    Maker m(5 + below(9), 5 + below(9));
    const int features[] = {m.conv(m.graph.input, 8), m.conv(m.graph.input, 5)};
    std::vector<int> outputs;
    for (int i = 2 + below(7); i > 0; --i) {
      const int channels = 1 + below(20);
      int made = m.conv(features[below(2)], channels, 1 + 2 * below(2), 1);
      if (below(2)) made = m.conv(made, channels, 3, below(2), channels);
      outputs.push_back(below(5) ? rows_of(&m, made) : made);
    }
    merged(("round " + std::to_string(round)).c_str(), m.done(outputs));
  }
}

}  // namespace dvnn::test::sibling_passes_tests
