// SPDX-License-Identifier: Apache-2.0
// Sequences that become pictures: products on the device, and attention in one step.
#include <algorithm>

#include "check_suite.h"
#include "graph_maker.h"
#include "pass_check.h"
#include "plan/passes/passes.h"

namespace dvnn::test::token_passes_tests {

DVNN_SUITE(plan_token_passes);

using namespace dvnn::import;
using namespace dvnn::plan;
using kernels::Operation;

namespace {

void turn(Graph* graph) {
  ck_assert(turn_tokens(graph, kBoard).ok());
}

template <typename Layer>
int layers_of(const Graph& graph) {
  int found = 0;
  for (const Node& node : graph.nodes) found += node.layer<Layer>() != nullptr;
  return found;
}

// Nodes of sequences, each with a name of its own.
struct Tokens : Maker {
  using Maker::Maker;

  std::string next() { return "t" + std::to_string(++names); }
  int known(const std::vector<int64_t>& dims) {
    size_t count = 1;
    for (int64_t d : dims) count *= static_cast<size_t>(d);
    return sure(constant(next(), dims, numbers(count)));
  }
  int product(int a, int b) { return sure(cpu(next(), layers::MatMulAttributes(), {a, b})); }
  int both(Operation operation, int a, int b) { return sure(binary(next(), operation, a, b)); }
  int linear(int in, int64_t outputs) {
    const Shape shape = shape_of(in);
    const int made = product(in, known({shape[shape.rank - 1], outputs}));
    return both(Operation::kAdd, made, known({outputs}));
  }
  int normal(int in) {
    const Shape shape = shape_of(in);
    const int made =
        sure(cpu(next(), layers::StandardizeAttributes{{shape.rank - 1}, 1e-3f, true}, {in}));
    const int64_t c = shape[shape.rank - 1];
    return both(Operation::kAdd, both(Operation::kMul, made, known({c})), known({c}));
  }
  int shaped(int in, const std::vector<int64_t>& dims) { return sure(reshape(next(), in, dims)); }
  int turned(int in, const std::vector<int64_t>& order) { return sure(permute(next(), in, order)); }
  // The picture's pixels, (1, pixels, channels).
  int pixels(int in) {
    const Shape shape = shape_of(in);
    return turned(shaped(in, {1, shape.c(), int64_t{shape.h()} * shape.w()}), {0, 2, 1});
  }

  int names = 0;
};

// Weights of four heads of 8 numbers on the values, of one projection; softmax along `axis`.
int attended(Tokens* m, int in, int64_t sequences, int axis = 3) {
  const int64_t tokens = m->shape_of(in)[1] / sequences;
  const int all =
      m->turned(m->shaped(m->linear(in, 96), {sequences, tokens, 3, 4, 8}), {2, 0, 3, 1, 4});
  const auto part = [&](int64_t i) {
    const int taken = sure(
        m->slice(m->next(), all, {i, 0, 0, 0, 0}, {1, 1, 1, 1, 1}, {1, sequences, 4, tokens, 8}));
    return m->shaped(taken, {sequences, 4, tokens, 8});
  };
  const int query = part(0), key = m->turned(part(1), {0, 1, 3, 2});
  int products = m->both(Operation::kMul, m->product(query, key), m->known({1}));
  products = sure(m->sum(m->next(), products, m->known({1, 4, tokens, tokens})));
  const int weights = sure(m->softmax(m->next(), products, axis));
  const int made = m->turned(m->product(weights, part(2)), {0, 2, 1, 3});
  return m->shaped(made, {1, sequences * tokens, 32});
}

int block(Tokens* m, int in, int64_t sequences) {
  const int64_t c = m->shape_of(in)[2];
  const int seen = m->linear(attended(m, m->normal(in), sequences), c);
  const int sum = m->both(Operation::kAdd, in, seen);
  const int wide = m->linear(m->normal(sum), 3 * c);
  const int gate = sure(m->activation(m->next(), wide, device::Activation::kSigmoid));
  return m->both(Operation::kAdd, sum, m->linear(m->both(Operation::kMul, wide, gate), c));
}

}  // namespace

DVNN_TEST(a_block_stays_in_the_devices_form) {
  for (const int64_t sequences : {1, 3}) {
    Tokens m(6, 4);
    const int first = m.pixels(m.conv(m.graph.input, 16));
    const Graph graph = m.done({block(&m, block(&m, first, sequences), sequences)});
    const Graph turned = after("block", graph, turn);
    ck_assert_int_eq(layers_of<layers::MatMulAttributes>(turned), 0);
    ck_assert_int_eq(layers_of<layers::AttentionAttributes>(turned), 2);
    ck_assert_int_eq(layers_of<layers::PermuteAttributes>(turned), 1);  // of the output
    ck_assert_int_eq(count(turned, Op::kConvolution), 1 + 2 * 4);
  }
}

DVNN_TEST(steps_of_a_normalisation_become_one_layer) {
  enum Form { kPower, kProduct, kTwice, kReciprocal, kOneOver, kMeanSquare, kPicture, kForms };
  // What is no normalisation: another power, another axis, a mean of something else.
  enum Fault { kNone, kCube, kOtherAxis, kOtherMean, kFaults };
  for (int form = 0; form < kForms; ++form) {
    for (int fault = 0; fault < kFaults; ++fault) {
      Tokens m(6, 4);
      const int conv = m.conv(m.graph.input, 16);
      const int in = form == kPicture ? m.turned(conv, {0, 2, 3, 1}) : m.pixels(conv);
      const int axis = form == kPicture ? 3 : 2;
      const auto mean = [&](int value, int along) {
        return sure(m.cpu(
            m.next(), layers::ReduceAttributes{layers::Reduction::kMean, {along}, true}, {value}));
      };
      const auto number = [&](float value) { return sure(m.constant(m.next(), {1}, {value})); };
      const auto centred = [&](int value) {
        const int other = fault == kOtherMean ? m.both(Operation::kMul, value, value) : value;
        return m.both(Operation::kSub, value, mean(other, axis));
      };
      const bool centres = form != kMeanSquare;
      const int deviation = centres ? centred(in) : in;
      const int again = form == kTwice ? centred(in) : deviation;
      const int squares = form == kProduct && fault != kCube
                              ? m.both(Operation::kMul, again, again)
                              : m.both(Operation::kPow, again, number(fault == kCube ? 3 : 2));
      const int variance = mean(squares, fault == kOtherAxis ? 1 : axis);
      const int above = form == kProduct ? m.both(Operation::kAdd, number(4), variance)
                                         : m.both(Operation::kAdd, variance, number(4));
      const int root = sure(m.unary(m.next(), kernels::Curve::kSqrt, above));
      int made;
      if (form == kReciprocal) {
        made = m.both(Operation::kMul, deviation,
                      sure(m.unary(m.next(), kernels::Curve::kReciprocal, root)));
      } else if (form == kOneOver) {
        made = m.both(Operation::kMul, m.both(Operation::kDiv, number(1), root), deviation);
      } else {
        made = m.both(Operation::kDiv, deviation, root);
      }
      const Graph found = after("steps", m.done({m.linear(made, 8)}), find_standards);
      // Without its mean, the deviation is divided by the root of its own mean square.
      const bool one = fault == kNone || (fault != kCube && form != kTwice);
      const bool whole = fault == kNone || form == kMeanSquare;
      const auto layer = std::find_if(found.nodes.begin(), found.nodes.end(), [](const Node& n) {
        return n.layer<layers::StandardizeAttributes>() != nullptr;
      });
      ck_assert_msg((layer != found.nodes.end()) == one, "%d, %d", form, fault);
      if (!one) continue;
      ck_assert_int_eq(layer->layer<layers::StandardizeAttributes>()->centre, whole && centres);
      ck_assert_int_eq(layers_of<layers::ReduceAttributes>(found), whole ? 0 : 1);
      if (fault != kNone) continue;  // it is followed as tokens
      ck_assert_int_eq(layers_of<layers::PermuteAttributes>(after("tokens", found, turn)), 1);
    }
  }
}

DVNN_TEST(sums_in_four_dimensions_are_followed) {
  Tokens m(6, 4);
  const int in = m.turned(m.conv(m.graph.input, 16), {0, 2, 3, 1});
  const int made = m.linear(m.shaped(m.normal(in), {1, 24, 16}), 16);
  const int sum = sure(m.sum(m.next(), in, m.shaped(made, {1, 6, 4, 16})));
  const Graph turned = after("sums", m.done({m.linear(m.normal(sum), 8)}), turn);
  ck_assert_int_eq(count(turned, Op::kAdd), 1);
  ck_assert_int_eq(layers_of<layers::PermuteAttributes>(turned), 1);  // of the output
}

DVNN_TEST(a_softmax_of_queries_is_no_attention) {
  Tokens m(6, 4);
  const int made = attended(&m, m.pixels(m.conv(m.graph.input, 16)), 1, 2);
  const Graph turned = after("of queries", m.done({made}), turn);
  ck_assert_int_eq(layers_of<layers::AttentionAttributes>(turned), 0);
  ck_assert_int_eq(layers_of<layers::MatMulAttributes>(turned), 2);
}

DVNN_TEST(who_reads_tokens_gets_tokens) {
  Tokens m(4, 4);
  const int tokens = m.linear(m.pixels(m.conv(m.graph.input, 16)), 24);
  const int sum =
      sure(m.cpu("sum", layers::ReduceAttributes{layers::Reduction::kSum, {1}, false}, {tokens}));
  const int picture = m.shaped(m.turned(tokens, {0, 2, 1}), {1, 24, 4, 4});
  after("readers", m.done({tokens, sum, m.conv(picture, 8)}), turn);
}

DVNN_TEST(affine_layers_go_into_the_product_behind_them) {
  Tokens m(4, 4);
  const int in = m.pixels(m.conv(m.graph.input, 16));
  const Graph turned = after("affine", m.done({m.linear(m.normal(m.linear(in, 16)), 8)}), turn);
  // What follows the product is left, and goes into it by fold_affine.
  ck_assert_int_eq(count(turned, Op::kAffine), 2);
}

DVNN_TEST(patches_become_pixels) {
  Tokens m(24, 32);
  ConvSpec spec;
  spec.outputs = 16;
  spec.kernel_x = spec.kernel_y = spec.stride_x = spec.stride_y = 8;
  const int patches =
      sure(m.convolution("patches", m.graph.input, spec, numbers(16 * 3 * 64), numbers(16)));
  const Graph turned = after("patches", m.done({m.linear(m.pixels(patches), 8)}), turn);
  for (const Node& node : turned.nodes) ck_assert_int_eq(node.run.kernel.x, 1);
}

DVNN_TEST(a_matrix_for_each_sequence_is_left) {
  Tokens m(4, 4);
  const int parts = m.shaped(m.pixels(m.conv(m.graph.input, 16)), {2, 8, 16});
  const Graph turned = after("matrices", m.done({m.product(parts, m.known({2, 16, 4}))}), turn);
  ck_assert_int_eq(layers_of<layers::MatMulAttributes>(turned), 1);
}

}  // namespace dvnn::test::token_passes_tests
