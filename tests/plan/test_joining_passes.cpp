// SPDX-License-Identifier: Apache-2.0
// The passes that join elementwise functions, that read channels where they lie, and that make one
// convolution of a detector's heads.
#include "check_suite.h"
#include "graph_maker.h"
#include "plan/passes/passes.h"

namespace dvnn::test::joining_passes_tests {

DVNN_SUITE(plan_joining_passes);

using namespace dvnn::plan;
using device::Activation;
using kernels::Curve;
using kernels::Operation;

namespace {

template <typename Layer>
int count_layers(const Graph& graph) {
  return static_cast<int>(std::count_if(graph.nodes.begin(), graph.nodes.end(), [](const Node& n) {
    return !n.dead && n.op != Op::kConcat && n.layer<Layer>();
  }));
}

int count_chains(const Graph& graph) {
  return static_cast<int>(std::count_if(graph.nodes.begin(), graph.nodes.end(), [](const Node& n) {
    const auto* layer = n.as<CpuLayer>();
    return !n.dead && layer && layer->in_chunks;
  }));
}

struct MovingMaker : Maker {
  using Maker::Maker;
  int times(int a, int b) { return sure(binary(name(), Operation::kMul, a, b)); }
  int plus(int a, int b) { return sure(sum(name(), a, b)); }
  int function(Curve f, int in, float a = 0, float b = 0) {
    return sure(unary(name(), f, in, a, b));
  }
  int silu(int in) { return times(in, active(in, Activation::kSigmoid)); }
  // Some channels of a picture.
  int channels(int in, int first, int last, int step = 1) {
    const Shape s = shape_of(in);
    const int count = (last - first + step - 1) / step;
    return sure(slice(name(), in, {0, first, 0, 0}, {1, step, 1, 1}, {1, count, s.h(), s.w()}));
  }
  // Every other row and column of a picture.
  int phase(int in, int y, int x) {
    const Shape s = shape_of(in);
    return sure(slice(name(), in, {0, 0, y, x}, {1, 1, 2, 2}, {1, s.c(), s.h() / 2, s.w() / 2}));
  }
  // ShuffleNet's: channels of `groups` groups taken in turns.
  int shuffled(int in, int groups) {
    const Shape s = shape_of(in);
    const int wide = sure(reshape(name(), in, {groups, s.c() / groups, s.h() * s.w()}));
    const int turned = sure(permute(name(), wide, {1, 0, 2}));
    return sure(reshape(name(), turned, {1, s.c(), s.h(), s.w()}));
  }
  // How PyTorch exports a pooling over channels: as one of columns, between permutations.
  int stepped(int in, const std::vector<int64_t>& there, const std::vector<int64_t>& back,
              int kernel, int stride_x, int stride_y) {
    import::PoolSpec spec;
    spec.kernel_x = spec.kernel_y = kernel;
    spec.stride_x = stride_x;
    spec.stride_y = stride_y;
    const int turned = sure(permute(name(), in, there));
    return sure(permute(name(), sure(pooling(name(), turned, spec)), back));
  }
};

}  // namespace

DVNN_TEST(silu_is_one_step) {
  MovingMaker m;
  const int a = m.silu(m.conv(m.graph.input, 12)), b = m.silu(m.conv(a, 12));
  const Graph joined = after("silu", m.done({m.conv(m.plus(a, b), 4)}), fuse_elementwise);
  ck_assert_int_eq(count_chains(joined), 2);  // the first one's result is read twice
  ck_assert_uint_eq(joined.nodes.size(), 5);
}

DVNN_TEST(hard_swish_is_one_step) {
  MovingMaker m;
  const int conv = m.conv(m.graph.input, 10);
  const std::vector<float> one(10, 1.0f), three(10, 3.0f), sixth(10, 1 / 6.0f);
  const int above = sure(m.affine("plus three", conv, one, three));
  const int product = m.times(conv, m.active(above, Activation::kRelu6));
  const int scaled = sure(m.affine("a sixth", product, sixth, std::vector<float>(10, 0.0f)));
  const Graph joined = after("hard-swish", m.done({m.conv(scaled, 4)}), fuse_elementwise);
  ck_assert_int_eq(count_chains(joined), 1);
  ck_assert_uint_eq(joined.nodes.size(), 3);
}

DVNN_TEST(what_a_convolution_does_for_nothing_stays_its) {
  MovingMaker m;
  const int conv = m.active(m.conv(m.graph.input, 8), Activation::kRelu);
  const int gate = sure(m.global_pooling("gate", conv, true));
  const int gated = m.times(conv, m.function(Curve::kHardSigmoid, gate, 0.2f, 0.5f));
  const int sum = m.plus(gated, m.conv(gated, 8));
  const Graph joined = after("gate", m.done({sum}), fuse_elementwise);
  ck_assert_int_eq(count(joined, Op::kActivation), 1);
  ck_assert_int_eq(count(joined, Op::kAdd), 1);
  ck_assert_int_eq(count_chains(joined), 2);  // the gate is as large as one pixel
}

DVNN_TEST(constants_and_every_function_join) {
  MovingMaker m;
  int x = m.conv(m.graph.input, 6);
  x = m.times(x, sure(m.constant("per channel", {1, 6, 1, 1}, numbers(6, 0.5f, 2))));
  x = sure(m.binary("off", Operation::kSub, x, sure(m.constant("one", {1}, {0.25f}))));
  x = sure(m.binary("by", Operation::kDiv, sure(m.constant("two", {1}, {2})),
                    m.function(Curve::kExp, x)));
  x = m.function(Curve::kTanh, m.function(Curve::kLine, x, -1));
  x = sure(m.binary("most", Operation::kMax, x, m.active(x, Activation::kPrelu)));
  x = sure(m.binary("least", Operation::kMin, x, m.active(x, Activation::kElu)));
  const Graph joined = after("functions", m.done({m.conv(x, 4)}), [](Graph* g) {
    fuse_elementwise(g);
    remove_unused(g);
  });
  ck_assert_int_eq(count_chains(joined), 1);
  ck_assert_uint_eq(joined.nodes.size(), 3);
}

DVNN_TEST(long_chains_become_several_steps) {
  MovingMaker m;
  int x = m.conv(m.graph.input, 4);
  for (int i = 0; i < 60; ++i) x = m.function(i % 2 ? Curve::kTanh : Curve::kLine, x, -1);
  const Graph joined = after("long", m.done({x}), fuse_elementwise);
  ck_assert_int_ge(count_chains(joined), 60 / 16);
  ck_assert_int_le(static_cast<int>(joined.nodes.size()), 8);
}

DVNN_TEST(outputs_and_shared_values_are_kept) {
  MovingMaker m;
  const int sigmoid = m.function(Curve::kSigmoid, m.conv(m.graph.input, 4));
  const int squared = m.times(sigmoid, sigmoid);
  const Graph graph = m.done({sigmoid, m.function(Curve::kSqrt, squared), squared});
  ck_assert_int_eq(count_chains(after("outputs", graph, fuse_elementwise)), 3);
}

DVNN_TEST(space_to_depth_becomes_a_stride) {
  for (int kernel : {1, 3}) {
    MovingMaker m(12, 20);
    const int in = m.graph.input;
    const int phases =
        m.joined({m.phase(in, 0, 0), m.phase(in, 1, 0), m.phase(in, 0, 1), m.phase(in, 1, 1)});
    const Graph moved =
        after("phases", m.done({m.conv(phases, 8, kernel)}), with_limits(move_channels));
    ck_assert_uint_eq(moved.nodes.size(), 1);
    ck_assert_int_eq(moved.nodes[0].run.kernel.x, 2 * kernel);
    ck_assert_int_eq(moved.nodes[0].run.stride.y, 2);
  }
}

DVNN_TEST(kernels_beyond_the_device_leave_space_to_depth) {
  MovingMaker m(12, 12);
  const int in = m.graph.input;
  const int phases =
      m.joined({m.phase(in, 0, 0), m.phase(in, 1, 0), m.phase(in, 0, 1), m.phase(in, 1, 1)});
  const Graph kept = after("5x5", m.done({m.conv(phases, 8, 5)}), with_limits(move_channels));
  ck_assert_int_eq(kept.nodes.back().run.kernel.x, 5);
}

// ShuffleNet v2: half of the shuffled channels pass by, the other half go through a branch.
DVNN_TEST(shuffled_halves_are_taken_by_weights_and_one_step) {
  for (int half : {8, 12}) {
    MovingMaker m;
    int x = m.joined({m.conv(m.graph.input, half), m.conv(m.graph.input, half)});
    for (int block = 0; block < 3; ++block) {
      const int mixed = m.shuffled(x, 2);
      const int branch = m.conv(m.channels(mixed, half, 2 * half), half, 1);
      x = m.joined({m.channels(mixed, 0, half), m.active(branch, Activation::kRelu)});
    }
    const Graph moved = after("shuffle", m.done({m.conv(x, 4, 1)}), with_limits(move_channels));
    ck_assert_int_eq(count_layers<layers::PermuteAttributes>(moved), 0);
    ck_assert_int_eq(count_layers<layers::SliceAttributes>(moved), 0);
    ck_assert_int_eq(count(moved, Op::kReshape), 0);
    ck_assert_int_eq(count_layers<layers::ChannelGatherAttributes>(moved), 3);
  }
}

DVNN_TEST(slices_that_the_device_finds_stay_slices) {
  MovingMaker m;
  const int conv = m.conv(m.graph.input, 24);
  const int first = m.pooled(m.channels(conv, 8, 16), false, 2, 2);
  const int second = m.pooled(m.channels(conv, 3, 11), false, 2, 2);
  const Graph moved = after("slices", m.done({first, second}), with_limits(move_channels));
  ck_assert_int_eq(count_layers<layers::SliceAttributes>(moved), 1);
  ck_assert_int_eq(count_layers<layers::ChannelGatherAttributes>(moved), 1);
}

DVNN_TEST(other_orders_of_elements_are_left_alone) {
  MovingMaker m;
  const int conv = m.conv(m.graph.input, 8);
  const int rows = sure(m.permute("rows", conv, {0, 2, 3, 1}));
  const int flat = sure(m.reshape("flat", rows, {1, 16 * 16 * 8}));
  const Graph graph = m.done({flat, m.channels(conv, 1, 5)});
  const Graph moved = after("rows", graph, with_limits(move_channels));
  ck_assert_int_eq(count_layers<layers::PermuteAttributes>(moved), 1);
  ck_assert_int_eq(count_layers<layers::ChannelGatherAttributes>(moved), 0);
}

DVNN_TEST(steps_over_channels_are_a_slice) {
  MovingMaker m;
  const int conv = m.conv(m.graph.input, 24);
  const int channels = m.stepped(conv, {0, 2, 3, 1}, {0, 3, 1, 2}, 1, 4, 1);
  // Every second row of every third channel.
  const int both = m.stepped(conv, {0, 3, 1, 2}, {0, 2, 3, 1}, 1, 2, 3);
  const Graph graph = m.done({m.active(channels, Activation::kRelu), both});
  const Graph sliced = after("steps", graph, slice_steps);
  ck_assert_int_eq(count_layers<layers::PermuteAttributes>(sliced), 0);
  ck_assert_int_eq(count_layers<layers::SliceAttributes>(sliced), 2);
  const Graph moved = after("moved steps", sliced, with_limits(move_channels));
  ck_assert_int_eq(count_layers<layers::ChannelGatherAttributes>(moved), 1);

  // Larger windows compute something, and other permutations do not cancel out.
  MovingMaker other;
  const int in = other.conv(other.graph.input, 24);
  const int larger = other.stepped(in, {0, 2, 3, 1}, {0, 3, 1, 2}, 2, 2, 1);
  const int turned = other.stepped(in, {0, 2, 3, 1}, {0, 2, 3, 1}, 1, 2, 1);
  const Graph kept = after("kept", other.done({larger, turned}), slice_steps);
  ck_assert_int_eq(count_layers<layers::SliceAttributes>(kept), 0);
}

DVNN_TEST(random_movements_are_followed) {
  std::mt19937 random(dvnn_seed(11));
  const int rounds = dvnn_rounds(150);
  for (int round = 0; round < rounds; ++round) {
    MovingMaker m(8, 6);
    std::vector<int> made = {m.conv(m.graph.input, 8), m.conv(m.graph.input, 12, 1)};
    auto any = [&] { return made[random() % made.size()]; };
    for (int i = 0; i < 12; ++i) {
      const int x = any();
      const Shape s = m.shape_of(x);
      switch (random() % 7) {
        case 0:
          made.push_back(m.shuffled(x, s.c() % 4 == 0 ? 4 : s.c() % 2 == 0 ? 2 : 1));
          break;
        case 1: {
          const int first = static_cast<int>(random() % static_cast<unsigned>(s.c()));
          made.push_back(m.channels(x, first, s.c(), 1 + static_cast<int>(random() % 3)));
          break;
        }
        case 2: {
          const int y = any();
          if (m.shape_of(y).c() + s.c() <= 64) made.push_back(m.joined({x, y}));
          break;
        }
        case 3:
          made.push_back(m.conv(x, 8, random() % 2 ? 1 : 3));
          break;
        case 4:
          made.push_back(m.active(x, Activation::kRelu));
          break;
        case 5:
          made.push_back(m.silu(x));
          break;
        case 6:
          made.push_back(
              m.stepped(x, {0, 2, 3, 1}, {0, 3, 1, 2}, 1, 1 + static_cast<int>(random() % 4), 1));
          break;
      }
    }
    const Graph graph = m.done({m.conv(made.back(), 4, 1), made[made.size() - 2]});
    const std::string what = "round " + std::to_string(round);
    const Graph sliced = after(what.c_str(), graph, slice_steps);
    const Graph moved = after(what.c_str(), sliced, with_limits(move_channels));
    after(what.c_str(), moved, fuse_elementwise);
  }
}

DVNN_TEST(channels_of_fewer_rows_are_not_the_pictures) {
  MovingMaker m;
  const int joined = m.joined({m.conv(m.graph.input, 8), m.conv(m.graph.input, 16)});
  const Shape s = m.shape_of(joined);
  const int cut =
      sure(m.slice(m.name(), joined, {0, 0, 0, 0}, {1, 1, 1, 1}, {1, s.c(), s.h() - 2, s.w()}));
  const int fewer = m.channels(cut, 2, 20);
  const Graph graph = m.done({m.conv(cut, 8, 1), m.conv(fewer, 8, 3)});
  after("fewer rows", graph, with_limits(move_channels));
}

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

}  // namespace dvnn::test::joining_passes_tests
