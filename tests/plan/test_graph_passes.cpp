// SPDX-License-Identifier: Apache-2.0
// Every pass by itself, on graphs made for it and on random ones: its result must compute the same
// in FP32.
#include "check_suite.h"
#include "graph_maker.h"
#include "plan/passes/passes.h"

namespace dvnn::test::graph_passes_tests {

DVNN_SUITE(plan_graph_passes);

using namespace dvnn::import;
using namespace dvnn::plan;
using device::Activation;

namespace {

const int kUnifiedBuffer = kBoard.unified_buffer_bytes;

Pass fits() {
  return [](Graph* g) { ck_assert(fit_device(g, PlanOptions()).ok()); };
}

Pass fused() {
  return [](Graph* g) { fuse_commands(g, kBoard); };
}

Pass merged() {
  return [](Graph* g) { merge_branches(g, kBoard); };
}

}  // namespace

DVNN_TEST(poolings_follow_the_boards_windows) {
  Maker m(12, 12);
  const Graph graph = m.done({m.pooled(m.graph.input, false, 3, 3)});
  device::Limits small;
  small.maximum_window = 2;
  const auto on = [](const device::Limits& limits) {
    return [limits](Graph* g) { ck_assert(lower_poolings(g, limits).ok()); };
  };
  ck_assert_int_eq(count(after("3x3", graph, on(device::Limits())), Op::kPooling), 1);
  ck_assert_int_eq(count(after("3x3", graph, on(small)), Op::kPooling), 0);
}

DVNN_TEST(what_no_output_needs_is_dropped) {
  Maker m;
  const int used = m.conv(m.graph.input, 8);
  m.active(m.conv(used, 4), Activation::kRelu);
  ck_assert_uint_eq(after("unused", m.done({used}), remove_unused).nodes.size(), 1);
}

namespace {

// Makes the weights of a dense convolution for all inputs from `first` on zeros.
void read_only(Graph* graph, int made_by, size_t inputs, size_t first) {
  for (Node& node : graph->nodes) {
    if (node.output != made_by) continue;
    const size_t taps = node.run.kernel.area();
    for (size_t i = 0; i < node.weights.size(); ++i) {
      if (i / taps % inputs >= first) node.weights[i] = 0;
    }
  }
}

// Makes results from `first` on `bias` everywhere.
void make_constant(Graph* graph, int made_by, size_t first, float bias) {
  for (Node& node : graph->nodes) {
    if (node.output != made_by) continue;
    const size_t row = node.weights.size() / node.run.outputs();
    std::fill(node.weights.begin() + static_cast<std::ptrdiff_t>(first * row), node.weights.end(),
              0.0f);
    std::fill(node.bias.begin() + static_cast<std::ptrdiff_t>(first), node.bias.end(), bias);
  }
}

UnreadChannels dropped_from(const char* what, const Graph& graph) {
  PlanReport report;
  after(what, graph, [&report](Graph* g) { drop_unread_channels(g, &report); });
  return report.unread;
}

}  // namespace

// Channels whose readers have zeros for them go, with all that is made of them channel by channel.
DVNN_TEST(channels_that_nothing_reads_are_dropped) {
  Maker m;
  const int wide = m.conv(m.graph.input, 64);
  const int depthwise = m.conv(m.active(m.scaled(wide), Activation::kPrelu), 64, 3, 1, 64);
  const int silu = sure(m.unary("silu", kernels::Curve::kSwish, depthwise, 1, 0));
  const int mean = sure(m.global_pooling("mean", silu, true));
  const int weighed = m.conv(mean, 64, 1, 0);
  const int gate = m.active(weighed, Activation::kSigmoid);
  const int last = m.conv(sure(m.binary("gated", kernels::Operation::kMul, silu, gate)), 8);
  Graph graph = m.done({last});
  lower_groups(&graph);
  ck_assert_int_eq(dropped_from("all are read", graph).dropped, 0);
  read_only(&graph, last, 64, 20);
  ck_assert_int_eq(dropped_from("the gate reads all", graph).dropped, 0);
  read_only(&graph, weighed, 64, 20);
  const UnreadChannels found = dropped_from("few are read", graph);
  ck_assert_int_eq(found.channels, 64 + 64 + 8);
  ck_assert_int_eq(found.dropped, 40 + 40);
}

// A sum's channels go together, and a join's with those of its parts.
DVNN_TEST(sums_and_joins_drop_the_same_channels) {
  Maker m;
  const int a = m.conv(m.graph.input, 32), b = m.conv(m.graph.input, 32);
  const int sum = sure(m.sum("sum", a, b));
  const int joined = m.joined({sum, m.conv(m.graph.input, 16)});
  const int last = m.conv(joined, 8, 1);
  Graph graph = m.done({last});
  read_only(&graph, last, 48, 13);
  UnreadChannels found = dropped_from("sum", graph);
  ck_assert_int_eq(found.dropped, 16 + 16 + 8);
  graph.outputs.push_back(b);
  graph.output_names.emplace_back("b");
  found = dropped_from("an output", graph);
  ck_assert_int_eq(found.dropped, 8);
}

// A channel of zeros goes although it is read; one of another number does not.
DVNN_TEST(channels_of_zeros_are_dropped) {
  for (const float bias : {-1.0f, 1.0f}) {
    Maker m;
    const int wide = m.conv(m.graph.input, 24);
    const int active = sure(m.activation("relu", wide, Activation::kRelu, 0, {}));
    Graph graph = m.done({m.conv(m.conv(active, 24, 3, 1, 24), 8), m.conv(active, 8, 1)});
    make_constant(&graph, wide, 5, bias);
    lower_groups(&graph);
    // Depthwise results are their biases then, which the next convolution reads.
    ck_assert_int_eq(dropped_from("depthwise", graph).dropped, 0);
    Graph plain = m.graph;
    plain.outputs = {plain.outputs[1]};
    plain.output_names.resize(1);
    make_constant(&plain, wide, 5, bias);
    remove_unused(&plain);
    ck_assert_int_eq(dropped_from("zeros", plain).dropped, bias < 0 ? 16 : 0);
  }
}

DVNN_TEST(zeros_around_a_picture_become_pads) {
  Maker m;
  const int padded = sure(m.pad("zeros", m.graph.input, 1, 2, 3, 0));
  const Graph graph = m.done({m.conv(padded, 8)});
  const Graph folded = after("pads", graph, fold_pads);
  ck_assert_uint_eq(folded.nodes.size(), 1);
  const device::Pad& pad = folded.nodes[0].run.conv_pad;
  ck_assert(pad.left == 2 && pad.right == 3 && pad.top == 4 && pad.bottom == 1);

  Maker shared;  // another node reads the padded picture, too
  const int twice = sure(shared.pad("zeros", shared.graph.input, 1, 1, 1, 1));
  const Graph kept = shared.done({shared.conv(twice, 8), shared.conv(twice, 4)});
  ck_assert_uint_eq(after("shared pads", kept, fold_pads).nodes.size(), 3);
}

DVNN_TEST(affine_layers_go_into_weights) {
  Maker m;
  const int conv = m.scaled(m.scaled(m.conv(m.graph.input, 8)));
  const int fc = sure(
      m.inner_product("fc", sure(m.global_pooling("g", conv, true)), 5, numbers(40), numbers(5)));
  const Graph graph = m.done({m.scaled(fc), conv});
  const Graph folded = after("affine", graph, fold_affine);
  ck_assert_int_eq(count(folded, Op::kAffine), 0);

  Maker small;  // 2^-9 three times is no normal number of binary16
  int value = small.graph.input;
  for (const char* name : {"a", "b", "c"}) {
    const auto channels = static_cast<size_t>(small.graph.shape_of(value).channels());
    value = sure(small.affine(name, value, std::vector<float>(channels, 1.0f / 512),
                              std::vector<float>(channels, 0.0f)));
  }
  ck_assert_int_eq(count(after("small", small.done({value}), fold_affine), Op::kAffine), 3);

  Maker shared;  // the unscaled result is read, too
  const int plain = shared.conv(shared.graph.input, 8);
  const Graph kept = shared.done({shared.scaled(plain), plain});
  ck_assert_int_eq(count(after("shared", kept, fold_affine), Op::kAffine), 1);
  ck_assert_int_eq(count(after("depthwise", kept, with_limits(lower_affines)), Op::kAffine), 0);
}

DVNN_TEST(groups_become_depthwise_sliced_or_dense) {
  Maker m(9, 9);
  const int eight = m.conv(m.graph.input, 32, 1);
  const Graph graph =
      m.done({m.conv(eight, 32, 3, 1, 32), m.conv(eight, 48, 3, 1, 2), m.conv(eight, 12, 3, 1, 4)});
  const Graph lowered = after("groups", graph, lower_groups);
  for (const Node& node : lowered.nodes) {
    if (node.op != Op::kConvolution) continue;
    const bool depthwise = node.run.conv == device::ConvKind::kDepthwise;
    ck_assert(depthwise || node.groups == 1);
  }
  ck_assert_int_eq(count(lowered, Op::kConvolution), 1 + 1 + 2 + 1);  // the last is dense
  ck_assert_int_eq(count(lowered, Op::kConcat), 1);
}

// A dense form of thousands of groups would be nothing but zeros, and more than memory has.
DVNN_TEST(groups_whose_dense_form_is_large_are_the_cpus) {
  Maker m(3, 2);
  const int wide = m.conv(m.graph.input, 1500, 1);
  const Graph graph = m.done({m.conv(wide, 3000, 3, 1, 1500), m.conv(wide, 300, 3, 1, 300)});
  const Graph lowered = after("groups", graph, lower_groups);
  ck_assert_int_eq(count(lowered, Op::kCpu), 1);
  ck_assert_int_eq(count(lowered, Op::kConvolution), 2);
  for (const Node& node : lowered.nodes) {
    if (node.op == Op::kCpu) ck_assert(node.why.find("77 MiB") != std::string::npos);
  }
}

DVNN_TEST(convolutions_beyond_the_device_are_the_cpus) {
  Maker m;
  ConvSpec spec;
  spec.outputs = 4;
  spec.kernel_x = 3, spec.kernel_y = 3;
  spec.dilation_x = 2, spec.dilation_y = 1;
  const int dilated =
      sure(m.convolution("dilated", m.graph.input, spec, numbers(4 * 3 * 9), numbers(4)));
  const int large = m.conv(m.graph.input, 6, 9, 4, 3), small = m.conv(m.graph.input, 4);
  const Graph graph = m.done({dilated, large, small});
  const Graph lowered = after("convolutions", graph, fits());
  ck_assert_int_eq(count(lowered, Op::kConvolution), 1);
  ck_assert(lowered.nodes[1].why.find("9 x 9") != std::string::npos);
}

DVNN_TEST(poolings_suit_the_device) {
  struct Case {
    int size;
    bool average;
    int kernel, stride;
    bool ceil;
  };
  const Case cases[] = {{13, false, 3, 2, true}, {14, false, 3, 2, true},  {16, false, 2, 2, false},
                        {14, true, 14, 1, true}, {12, true, 2, 2, true},   {15, true, 15, 1, true},
                        {13, false, 5, 2, true}, {13, true, 13, 1, true},  {9, true, 3, 2, true},
                        {12, false, 6, 6, true}, {18, false, 18, 1, true}, {16, true, 8, 8, true},
                        {64, true, 64, 1, true}, {61, true, 61, 1, true},  {10, false, 5, 5, true}};
  for (const Case& c : cases) {
    Maker m(c.size, c.size);
    const Graph graph = m.done({m.pooled(m.graph.input, c.average, c.kernel, c.stride, c.ceil)});
    after("pooling", graph, with_limits(lower_poolings));
  }
}

// Source: dv-sdk converter, pooling splits: 14 x 14 is 7 x 7 and 2 x 2, 13 x 13 the same with a
// column and a row of zeros.
DVNN_TEST(large_windows_are_split_as_the_vendor_does) {
  auto stages = [](int size, bool average, int kernel, int stride, int pad) {
    Maker m(size, size);
    PoolSpec spec;
    spec.average = average;
    spec.kernel_x = spec.kernel_y = kernel;
    spec.stride_x = spec.stride_y = stride;
    spec.left = spec.right = spec.top = spec.bottom = pad;
    const Graph graph = m.done({sure(m.pooling("pool", m.graph.input, spec))});
    std::vector<int> windows;
    for (const Node& node : after("split", graph, with_limits(lower_poolings)).nodes) {
      if (node.op == Op::kPooling) windows.push_back(node.run.pool_size.x);
    }
    return windows;
  };
  ck_assert(stages(14, true, 14, 1, 0) == std::vector<int>({7, 2}));
  ck_assert(stages(13, true, 13, 1, 0) == std::vector<int>({7, 2}));
  ck_assert(stages(8, true, 8, 1, 0) == std::vector<int>({4, 2}));
  ck_assert(stages(12, false, 6, 6, 0) == std::vector<int>({3, 2}));
  ck_assert(stages(13, false, 5, 1, 2) == std::vector<int>({3, 3}));  // spatial pyramid pooling
  ck_assert(stages(13, false, 13, 1, 6) == std::vector<int>(6, 3));
  ck_assert(stages(13, false, 4, 2, 0).empty());  // overlapping by two: the CPU's
}

DVNN_TEST(averages_that_begin_at_tiles_are_averages_of_tiles) {
  struct Case {
    device::Extent kernel, stride;
    size_t stages;  // 0: the CPU's
  };
  const Case cases[] = {{{10, 4}, {2, 4}, 2}, {{4, 10}, {4, 2}, 2},  {{12, 9}, {8, 3}, 2},
                        {{14, 3}, {7, 1}, 2}, {{10, 10}, {3, 3}, 0}, {{16, 2}, {2, 2}, 0}};
  for (const Case& c : cases) {
    Maker m(33, 34);
    PoolSpec spec;
    spec.average = true;
    spec.kernel_x = c.kernel.x, spec.kernel_y = c.kernel.y;
    spec.stride_x = c.stride.x, spec.stride_y = c.stride.y;
    const Graph graph = m.done({sure(m.pooling("pool", m.graph.input, spec))});
    const Graph split = after("tiles", graph, with_limits(lower_poolings));
    ck_assert_int_eq(count(split, Op::kPooling), static_cast<int>(c.stages));
  }
}

DVNN_TEST(commands_take_in_sums_activations_and_poolings) {
  Maker m;
  const int a = m.conv(m.graph.input, 8), b = m.conv(m.graph.input, 8);
  const int sum = sure(m.sum("sum", a, b));
  const Graph graph = m.done({m.pooled(m.active(sum, Activation::kRelu), false, 2, 2)});
  const Graph one = after("fuse", graph, fused());
  ck_assert_uint_eq(one.nodes.size(), 2);

  Maker tanh;  // a sum of what two others read: a command of its own
  const int c = tanh.conv(tanh.graph.input, 8), d = tanh.conv(tanh.graph.input, 8);
  const int out = tanh.active(sure(tanh.sum("sum", c, d)), Activation::kTanh);
  ck_assert_uint_eq(after("alone", tanh.done({out, c, d}), fused()).nodes.size(), 3);
}

DVNN_TEST(a_falling_activation_stays_behind_its_pooling) {
  Maker m;
  const int conv = m.conv(m.graph.input, 8);
  const int act = sure(m.activation("slope", conv, Activation::kRelu, -0.5f));
  const Graph graph = m.done({m.pooled(act, false, 2, 2)});
  ck_assert_uint_eq(after("falling", graph, fused()).nodes.size(), 2);
}

DVNN_TEST(what_follows_a_concatenation_is_done_to_each_part) {
  Maker m;
  const int both = m.joined({m.conv(m.graph.input, 8), m.conv(m.graph.input, 16)});
  const Graph graph = m.done({m.active(m.scaled(both), Activation::kPrelu)});
  const Graph split = after("split", graph, split_at_concat);
  ck_assert_int_eq(count(split, Op::kAffine), 2);
  const Graph one = after("fused", after("folded", split, fold_affine), fused());
  ck_assert_uint_eq(after("merged", one, merged()).nodes.size(), 1);
}

DVNN_TEST(a_pooling_moves_before_what_is_joined) {
  Maker m;
  const int a = m.active(m.conv(m.graph.input, 8), Activation::kRelu),
            b = m.conv(m.graph.input, 16);
  const Graph graph = m.done({m.pooled(m.joined({a, b}), false, 3, 2)});
  const Graph moved = after("pool before concat", graph, pool_before_concat);
  ck_assert_int_eq(count(moved, Op::kPooling), 2);
  ck_assert(moved.nodes.back().op == Op::kConcat);

  Maker mixed;  // an input of the network cannot take the pooling in
  const int c = mixed.conv(mixed.graph.input, 8);
  const Graph kept = mixed.done({mixed.pooled(mixed.joined({c, mixed.graph.input}), false, 3, 2)});
  ck_assert_int_eq(count(after("mixed", kept, pool_before_concat), Op::kPooling), 1);
}

// An Inception module: 1x1; 1x1, 3x3; 1x1, 5x5; pooling, 1x1.
DVNN_TEST(branches_become_runs_of_one_command) {
  Maker m(14, 14);
  const int x = m.conv(m.graph.input, 32, 1);
  PoolSpec same;
  same.kernel_x = same.kernel_y = 3;
  same.left = same.right = same.top = same.bottom = 1;
  const int pool = sure(m.pooling("pool", x, same));
  const Graph graph = m.done({m.joined({m.conv(x, 16, 1), m.conv(m.conv(x, 8, 1), 24),
                                        m.conv(m.conv(x, 8, 1), 8, 5), m.conv(pool, 8, 1)})});
  const Graph one = after("inception", graph, merged());
  ck_assert_uint_eq(one.nodes.size(), 2);
  const Node& branches = one.nodes[1];
  ck_assert(branches.op == Op::kBranches);
  ck_assert_uint_eq(branches.as<Branches>()->parts.size(), 7);
  ck_assert_uint_eq(branches.as<Branches>()->topo,
                    0x55);  // as the vendor's converter has it for GoogLeNet

  Maker two(14, 14);  // the longer branch first
  const int y = two.conv(two.graph.input, 16, 1);
  const Graph longer = two.done({two.joined({two.conv(two.conv(y, 8), 16), two.conv(y, 8)})});
  ck_assert_uint_eq(after("longer first", longer, merged()).nodes[1].as<Branches>()->topo, 6);
}

DVNN_TEST(branches_that_do_not_fit_stay) {
  auto commands_of = [](Graph graph, int buffer_bytes) {
    return after("not merged", graph,
                 [buffer_bytes](Graph* g) {
                   device::Limits limits;
                   limits.unified_buffer_bytes = buffer_bytes;
                   merge_branches(g, limits);
                 })
        .nodes.size();
  };
  Maker small;
  const int x = small.conv(small.graph.input, 16, 1);
  const Graph fits = small.done({small.joined({small.conv(x, 8), small.conv(x, 8)})});
  ck_assert_uint_eq(commands_of(fits, kUnifiedBuffer), 2);
  ck_assert_uint_eq(commands_of(fits, 4096), 4);  // too large for a small buffer

  Maker odd;  // 12 channels do not end with a whole chunk
  const int y = odd.conv(odd.graph.input, 16, 1);
  const Graph ragged = odd.done({odd.joined({odd.conv(y, 12), odd.conv(y, 8)})});
  ck_assert_uint_eq(commands_of(ragged, kUnifiedBuffer), 4);

  Maker deep;  // three in a row
  const int z = deep.conv(deep.graph.input, 16, 1);
  const int third = deep.conv(deep.conv(deep.conv(z, 8), 8), 8);
  ck_assert_uint_eq(commands_of(deep.done({deep.joined({third, deep.conv(z, 8)})}), kUnifiedBuffer),
                    6);

  Maker read;  // somebody else reads a branch's middle
  const int w = read.conv(read.graph.input, 16, 1);
  const int middle = read.conv(w, 8);
  const Graph open = read.done({read.joined({read.conv(middle, 8), read.conv(w, 8)}), middle});
  ck_assert_uint_eq(commands_of(open, kUnifiedBuffer), 5);
}

DVNN_TEST(what_is_left_becomes_commands_or_cpu_layers) {
  Maker m;
  const int conv = m.conv(m.graph.input, 8);
  const int flat = sure(m.reshape("flat", conv, {1, 8 * 16 * 16}));
  const int act = m.active(flat, Activation::kSigmoid);
  const Graph graph = m.done({m.scaled(m.active(conv, Activation::kElu)), act});
  const Graph lowered = after("leftovers", graph, with_limits(lower_rest_to_cpu));
  ck_assert_int_eq(count(lowered, Op::kActivation), 0);
  ck_assert_int_eq(count(lowered, Op::kAffine), 0);
  ck_assert_int_eq(count(lowered, Op::kCpu), 2);  // the flat one, and the affine layer
}

DVNN_TEST(every_activation_is_a_layer_of_the_cpus_too) {
  for (Activation kind : {Activation::kTanh, Activation::kRelu, Activation::kSigmoid,
                          Activation::kPrelu, Activation::kElu, Activation::kRelu6}) {
    Maker m;
    const int conv = m.conv(m.graph.input, 8);
    const Graph graph = m.done({m.active(sure(m.reshape("flat", conv, {1, 8 * 16 * 16})), kind)});
    ck_assert_int_eq(count(after("activation", graph, with_limits(lower_rest_to_cpu)), Op::kCpu),
                     1);
  }
}

DVNN_TEST(a_value_that_was_kept_smaller_is_given_back_once) {
  Maker m;
  const int large = m.conv(m.graph.input, 8);
  const int first = sure(m.softmax("first", large, 1)),
            second = sure(m.softmax("second", large, 2));
  const Graph graph = m.done({first, second, large});
  std::vector<float> largest(graph.values.size(), 1);
  largest[static_cast<size_t>(large)] = 1e6f;
  const Graph kept = after("rescaled", graph, [&](Graph* g) { rescale(g, largest); });
  ck_assert_uint_eq(kept.nodes.size(), graph.nodes.size() + 1);
}

// Within a chain it is a float; in memory it would be one, too, which takes twice the room.
DVNN_TEST(a_value_is_given_back_within_the_chain_that_reads_it) {
  Maker m;
  const int large = m.conv(m.graph.input, 8);
  const int gate = sure(m.unary("gate", kernels::Curve::kSigmoid, large));
  const Graph graph = m.done({m.conv(gate, 4)});
  std::vector<float> largest(graph.values.size(), 1);
  largest[static_cast<size_t>(large)] = 1e6f;
  const auto pass = [&](Graph* g) {
    rescale(g, largest);
    fuse_elementwise(g);
  };
  const Graph kept = after("rescaled", graph, pass);
  ck_assert_uint_eq(kept.nodes.size(), 3);
  const auto* chain = kept.nodes[1].layer<layers::ElementwiseAttributes>();
  ck_assert(chain && !chain->wide && chain->steps.size() == 2);
  // An output is given back by itself: nothing else writes it as a float.
  const Graph told = after("told", m.done({large, m.conv(gate, 4)}), pass);
  ck_assert_int_eq(std::count_if(told.nodes.begin(), told.nodes.end(),
                                 [](const Node& node) {
                                   const auto* layer = node.layer<layers::ElementwiseAttributes>();
                                   return layer && layer->wide;
                                 }),
                   1);
}

DVNN_TEST(fully_connected_layers_become_convolutions) {
  Maker m;
  const int pool = sure(m.global_pooling("g", m.conv(m.graph.input, 24), true));
  const int flat = sure(m.reshape("flat", pool, {1, 24}));
  const Graph graph = m.done({sure(m.inner_product("fc", flat, 10, numbers(240), numbers(10)))});
  const Graph lowered = after("inner product", graph,
                              [](Graph* g) { ck_assert(lower_inner_products(g, false).ok()); });
  ck_assert_int_eq(count(lowered, Op::kInnerProduct), 0);
  ck_assert_int_eq(count(lowered, Op::kReshape), 0);
}

DVNN_TEST(an_affine_input_goes_into_mean_and_scale) {
  Maker m;
  const Graph graph = m.done({m.conv(m.scaled(m.graph.input), 8)});
  Graph folded = graph;
  InputSpec picture;
  picture.scale = {{0.5f, 1, 2}};
  picture.mean = {{10, 20, 30}};
  InputSpec changed = picture;
  fold_input_affine(&folded, &changed);
  ck_assert_uint_eq(folded.nodes.size(), 1);
  const size_t plane = 16 * 16;
  const std::vector<float> pixels = numbers(3 * plane, 0, 255);
  auto normalised = [&](const InputSpec& spec) {
    std::vector<float> values = pixels;
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = (values[i] - spec.mean[i / plane]) * spec.scale[i / plane];
    }
    return values;
  };
  const auto want = computed(graph, normalised(picture))[0];
  const auto have = computed(folded, normalised(changed))[0];
  for (size_t i = 0; i < want.size(); ++i) ck_assert_float_eq_tol(have[i], want[i], 0.05f);
}

namespace {

// Returns a random network with everything that the passes look for.
Graph random_graph() {
  Maker m(12 + static_cast<int>(source() % 5), 12 + static_cast<int>(source() % 5));
  std::vector<int> values = {m.conv(m.graph.input, 16)};
  auto any = [&] { return values[source() % values.size()]; };
  const Activation kinds[] = {Activation::kRelu, Activation::kTanh,  Activation::kPrelu,
                              Activation::kElu,  Activation::kRelu6, Activation::kSigmoid};
  for (int step = 0; step < 10; ++step) {
    const int in = any();
    const bool small = m.shape_of(in).h() < 6 || m.shape_of(in).w() < 6;
    switch (source() % 8) {
      case 0:
      case 1:
        values.push_back(
            m.conv(in, 8 * (1 + static_cast<int>(source() % 2)), 1 + 2 * (source() % 2)));
        break;
      case 2:
        values.push_back(m.scaled(in));
        break;
      case 3:
        values.push_back(m.active(in, kinds[source() % 6]));
        break;
      case 4:
        if (!small) values.push_back(m.pooled(in, source() % 2, 2 + source() % 2, 2, source() % 2));
        break;
      case 5:
        values.push_back(m.conv(in, m.shape_of(in).c(), 3, 1, m.shape_of(in).c()));
        break;
      case 6:
      case 7: {
        const int a = m.conv(in, 8, 1), b = m.conv(source() % 2 ? a : in, 8, 3);
        values.push_back(source() % 2 ? m.joined({a, b}) : sure(m.sum("sum", a, b)));
        break;
      }
    }
  }
  return m.done({values.back(), any()});
}

}  // namespace

DVNN_TEST(random_networks_survive_all_passes) {
  const struct {
    const char* name;
    Pass pass;
  } passes[] = {{"remove_unused", remove_unused},
                {"fold_pads", fold_pads},
                {"lower_groups", lower_groups},
                {"split_at_concat", split_at_concat},
                {"fold_affine", fold_affine},
                {"split_large_kernels",
                 [](Graph* g) { ck_assert(split_large_kernels(g, PlanOptions()).ok()); }},
                {"fit_device", fits()},
                {"lower_poolings", with_limits(lower_poolings)},
                {"lower_affines", with_limits(lower_affines)},
                {"pool_before_concat", pool_before_concat},
                {"fuse_commands", fused()},
                {"merge_branches", merged()},
                {"lower_rest_to_cpu", with_limits(lower_rest_to_cpu)}};
  int branches = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    source.seed(seed);
    Graph graph = random_graph();
    for (const auto& p : passes) {
      graph =
          after((std::string(p.name) + " of seed " + std::to_string(seed)).c_str(), graph, p.pass);
    }
    branches += count(graph, Op::kBranches);
  }
  ck_assert_int_ge(branches, 5);  // the random networks do have what is looked for
}

}  // namespace dvnn::test::graph_passes_tests
