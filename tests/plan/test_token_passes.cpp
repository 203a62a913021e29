// SPDX-License-Identifier: Apache-2.0
// Sequences that become pictures: products on the device, and attention in one step.
#include <algorithm>

#include "check_suite.h"
#include "graph_maker.h"
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

// Moves tokens to the front along an axis, and those that stood there to its end.
int rolled(Tokens* m, int in, int axis, int by) {
  const Shape shape = m->shape_of(in);
  const auto part = [&](int from, int count) {
    std::vector<int> begin(4, 0), step(4, 1), counts(shape.dims, shape.dims + 4);
    nth(begin, axis) = from, nth(counts, axis) = count;
    return sure(m->cpu(m->next(), layers::SliceAttributes{begin, step, counts}, {in}));
  };
  const int first = part(by, shape[axis] - by), second = part(0, by);
  return sure(m->concat(m->next(), {first, second}, axis));
}

// Windows of 2 x 2 of a picture's pixels, (1, rows, columns, channels), as sequences, and back.
int in_windows(Tokens* m, int in, bool back, const Shape& whole) {
  const int64_t h = whole[1] / 2, w = whole[2] / 2, c = whole[3];
  if (back) {
    const int parts = m->turned(m->shaped(in, {1, h, w, 2, 2, c}), {0, 1, 3, 2, 4, 5});
    return m->shaped(parts, {1, 2 * h, 2 * w, c});
  }
  const int parts = m->turned(m->shaped(in, {1, h, 2, w, 2, c}), {0, 1, 3, 2, 4, 5});
  return m->shaped(parts, {1, h * w * 4, c});
}

// Swin's attention: windows that may be shifted, of a picture that may need zeros around it.
int attended_in_windows(Tokens* m, int in, int shift) {
  const Shape shape = m->shape_of(in);
  Shape whole = shape;
  for (int axis : {1, 2}) whole[axis] += shape[axis] % 2;
  int made = m->normal(in);
  if (whole != shape) {
    made = sure(m->cpu(
        m->next(),
        layers::BorderAttributes{{0, 0, 0, 0}, {0, whole[1] - shape[1], whole[2] - shape[2], 0}},
        {made}));
  }
  for (int axis : {1, 2}) made = shift > 0 ? rolled(m, made, axis, shift) : made;
  const int sequences = whole[1] * whole[2] / 4;
  made = m->linear(attended(m, in_windows(m, made, false, whole), sequences), shape[3]);
  made = in_windows(m, made, true, whole);
  for (int axis : {1, 2}) made = shift > 0 ? rolled(m, made, axis, whole[axis] - shift) : made;
  if (whole != shape) {
    made = sure(m->cpu(
        m->next(),
        layers::SliceAttributes{{0, 0, 0, 0}, {1, 1, 1, 1}, {1, shape[1], shape[2], shape[3]}},
        {made}));
  }
  return sure(m->sum(m->next(), in, made));
}

}  // namespace

DVNN_TEST(windows_are_places_of_tokens) {
  Tokens m(6, 4);
  int made = m.turned(m.conv(m.graph.input, 16), {0, 2, 3, 1});
  for (const int shift : {0, 1}) made = attended_in_windows(&m, made, shift);
  const Graph turned = after("windows", m.done({m.linear(m.normal(made), 8)}), turn);
  ck_assert_int_eq(layers_of<layers::AttentionAttributes>(turned), 2);
  ck_assert_int_eq(layers_of<layers::PixelGatherAttributes>(turned), 0);
  ck_assert_int_eq(layers_of<layers::SliceAttributes>(turned), 0);
  ck_assert_int_eq(layers_of<layers::PermuteAttributes>(turned), 1);  // of the output
  for (const Node& node : turned.nodes) {
    const auto* attention = node.layer<layers::AttentionAttributes>();
    if (attention) ck_assert_uint_eq(attention->places.size(), 24);
  }
}

DVNN_TEST(windows_with_zeros_are_gathered_in_one_step) {
  Tokens m(5, 3);
  int made = m.turned(m.conv(m.graph.input, 16), {0, 2, 3, 1});
  for (const int shift : {0, 1}) made = attended_in_windows(&m, made, shift);
  const Graph turned = after("zeros", m.done({m.linear(m.normal(made), 8)}), turn);
  ck_assert_int_eq(layers_of<layers::AttentionAttributes>(turned), 2);
  ck_assert_int_eq(layers_of<layers::PixelGatherAttributes>(turned), 2 * 2);
  ck_assert_int_eq(layers_of<layers::PermuteAttributes>(turned), 1);
}

// Tokens of other orders meet: a sum takes them in one, and attention stays where it is.
DVNN_TEST(tokens_that_lie_otherwise_are_gathered) {
  Tokens m(6, 4);
  const Shape whole = {1, 6, 4, 16};
  const int in = m.turned(m.conv(m.graph.input, 16), {0, 2, 3, 1});
  const int plain = m.linear(m.normal(m.shaped(in, {1, 24, 16})), 16);
  const int other = m.linear(in_windows(&m, m.shaped(plain, {1, 6, 4, 16}), false, whole), 16);
  const int sum = sure(m.sum(m.next(), plain, other));
  const int gate = m.both(Operation::kMul, other, plain);
  const int scores = m.product(plain, m.turned(other, {0, 2, 1}));
  const int taken = m.product(sure(m.softmax(m.next(), scores, 2)), plain);
  const int normal = m.linear(m.normal(other), 8);  // follows windows
  after("orders", m.done({m.linear(sum, 8), m.linear(gate, 8), taken, normal, other}), turn);
}

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

// As Keras writes it: x * g + (beta - mean * g), where g = gamma / root(variance + epsilon).
DVNN_TEST(lines_through_elements_become_one_layer) {
  enum Form { kLite, kNegative, kSquares, kPlain, kTurned, kPicture, kPictureNegative, kForms };
  enum Fault { kNone, kOtherFactor, kOtherMean, kOtherVariance, kOtherSign, kFaults };
  for (int form = 0; form < kForms; ++form) {
    for (int fault = 0; fault < kFaults; ++fault) {
      Tokens m(6, 4);
      const bool picture = form == kPicture || form == kPictureNegative;
      const int conv = m.conv(m.graph.input, 16), in = picture ? conv : m.pixels(conv);
      const int axis = picture ? 1 : 2;
      const auto known = [&] {
        if (!picture) return m.known({16});
        return m.known({16, 1, 1});
      };
      const auto mean = [&](int value) {
        return sure(m.cpu(
            m.next(), layers::ReduceAttributes{layers::Reduction::kMean, {axis}, true}, {value}));
      };
      const auto times = [&](int a, int b) { return m.both(Operation::kMul, a, b); };
      const auto curve = [&](kernels::Curve kind, int a) {
        return sure(m.unary(m.next(), kind, a));
      };
      const auto negative = [&](int a) {
        return sure(m.unary(m.next(), kernels::Curve::kLine, a, -1, 0));
      };
      const int middle = mean(in);
      int spread;
      if (form == kSquares) {
        spread = m.both(Operation::kSub, mean(times(in, in)), times(middle, middle));
      } else {
        const int other_middle = fault == kOtherVariance ? in : middle;
        const int off = form == kTurned ? m.both(Operation::kSub, other_middle, in)
                                        : m.both(Operation::kSub, in, other_middle);
        spread = mean(times(off, off));
      }
      if (fault == kOtherVariance && form == kSquares) spread = mean(times(in, in));
      const int above = m.both(Operation::kAdd, spread, sure(m.constant(m.next(), {1}, {0.5f})));
      const int root = curve(kernels::Curve::kReciprocal, curve(kernels::Curve::kSqrt, above));
      const int factor = form == kPlain ? root : times(root, known());
      const int other = fault == kOtherFactor ? times(root, known()) : factor;
      const int taken = fault == kOtherMean ? mean(times(in, in)) : middle;
      const bool negates = form == kNegative || form == kPlain || form == kPictureNegative;
      const bool wrong = fault == kOtherSign;
      int shift;
      if (form == kPlain) {
        shift = wrong ? times(taken, other) : times(negative(taken), other);
      } else if (negates) {
        shift = m.both(Operation::kAdd, times(wrong ? taken : negative(taken), other), known());
      } else {
        shift = m.both(Operation::kSub, known(), times(wrong ? negative(taken) : taken, other));
      }
      const int made = sure(m.sum(m.next(), times(in, factor), shift));
      const int read = picture ? m.conv(made, 8, 1) : m.linear(made, 8);
      const Graph found = after("line", m.done({read}), find_standards);
      ck_assert_msg(layers_of<layers::StandardizeAttributes>(found) == (fault == kNone), "%d, %d",
                    form, fault);
      if (fault == kNone) ck_assert_int_eq(layers_of<layers::ReduceAttributes>(found), 0);
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

// Numbers that 16 bits do not have are the CPU's.
DVNN_TEST(large_factors_are_left_to_the_cpu) {
  for (const Operation operation : {Operation::kMul, Operation::kDiv}) {
    Tokens m(4, 4);
    const int product = m.linear(m.pixels(m.conv(m.graph.input, 16)), 8);
    const float number = operation == Operation::kMul ? 7e4f : 1 / 7e4f;
    const int made = m.both(operation, product, sure(m.constant(m.next(), {1}, {number})));
    const Graph turned = after("large", m.done({made}), turn);
    for (const Node& node : turned.nodes) {
      if (node.op == Op::kAffine) ck_assert_float_lt(node.weights[0], 65504);
    }
    ck_assert_int_eq(layers_of<layers::ElementwiseAttributes>(turned), 1);
  }
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
