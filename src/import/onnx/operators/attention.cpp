// SPDX-License-Identifier: Apache-2.0
// Attention, as one node of ONNX and of ONNX Runtime's optimiser: softmax(scale q k' + bias) v of
// each head. Only whole sequences are supported (prefill), without tokens before them.
#include <cmath>

#include "base/format.h"
#include "import/onnx/operators.h"
#include "import/onnx/operators/rotary.h"

namespace dvnn::import {
namespace {

using kernels::Curve;
using kernels::Operation;

// Sequences split by heads: (1, heads, length, size of a head).
struct Heads {
  int query = -1, key = -1, value = -1;
};

// Computations between the two products.
struct Rule {
  float scale = 0;  // factor of products; 0: 1 / sqrt(size of a head)
  float cap = 0;    // 0: none; else products go through cap * tanh(x / cap)
  bool causal = false;
  int64_t window = -1;    // number of tokens seen, up to the own one, if causal; -1: all
  float masked = 0;       // added to products of tokens that are not seen
  std::vector<int> bias;  // values added to products, which repeat to (1, heads, length, length)
};

class Attention {
 public:
  explicit Attention(const OnnxNode& node) : node_(node), b_(node.builder()) {}

  GraphBuilder& builder() const { return b_; }
  std::string name(const char* what) { return node_.name() + format("_%s%d", what, ++names_); }

  Result<int64_t> heads(const char* attribute) const {
    const int64_t count = node_.integer(attribute, 0);
    constexpr int64_t kMost = 1 << 16;
    if (count >= 1 && count <= kMost) return count;
    return malformed(format("%s is %lld", attribute, static_cast<long long>(count)));
  }

  Status lacks(int input, const char* what) const {
    if (!node_.has(input)) return {};
    return unsupported(std::string(what) +
                       " is given: only whole sequences are supported, with nothing before them");
  }

  // Splits (1, length, heads x size) by heads; values of four dimensions are split already.
  Result<int> split(int in, int64_t heads) {
    const Shape shape = b_.shape_of(in);
    if (shape.rank == 4 && shape[1] == heads) return in;
    if (shape.rank != 3 || shape[2] % heads != 0) {
      return unsupported(shape.to_string() +
                         format(" is no sequence of %lld heads", static_cast<long long>(heads)));
    }
    DVNN_ASSIGN(const int apart,
                b_.reshape(name("heads"), in, {shape[0], shape[1], heads, shape[2] / heads}));
    return b_.permute(name("by_head"), apart, {0, 2, 1, 3});
  }

  Result<int> join(int in) {
    const Shape shape = b_.shape_of(in);
    DVNN_ASSIGN(const int ordered, b_.permute(name("by_token"), in, {0, 2, 1, 3}));
    return b_.reshape(name("joined"), ordered, {shape[0], shape[2], int64_t{shape[1]} * shape[3]});
  }

  // Adds the bias, from number `first` on, along the last axis of the input.
  Result<int> with_bias(int in, int bias_input, int64_t first) {
    if (!node_.has(bias_input)) return in;
    const Shape shape = b_.shape_of(in);
    DVNN_ASSIGN(const auto all, node_.constant(bias_input));
    const int64_t count = shape[shape.rank - 1];
    if (first + count > static_cast<int64_t>(all->values.size())) {
      return malformed(format("the bias has %zu numbers", all->values.size()));
    }
    const std::vector<float> floats = all->floats();
    DVNN_ASSIGN(const int part,
                b_.constant(name("bias"), {count},
                            {floats.begin() + static_cast<ptrdiff_t>(first),
                             floats.begin() + static_cast<ptrdiff_t>(first + count)}));
    return b_.binary(name("biased"), Operation::kAdd, in, part);
  }

  // Returns `count` columns of the last axis, from `first` on.
  Result<int> part(int in, int64_t first, int64_t count) {
    std::vector<int64_t> dims = dims_of(b_.shape_of(in)), begin(dims.size(), 0);
    if (first < 0 || count < 1 || first + count > dims.back()) {
      return malformed("the parts are not the whole");
    }
    begin.back() = first;
    dims.back() = count;
    return b_.slice(name("part"), in, begin, std::vector<int64_t>(dims.size(), 1), dims);
  }

  // Returns the result by heads.
  Result<int> run(const Heads& heads, const Rule& rule) {
    const Shape q = b_.shape_of(heads.query), k = b_.shape_of(heads.key);
    const Shape v = b_.shape_of(heads.value);
    const bool fits = q.rank == 4 && k.rank == 4 && v.rank == 4 && q[3] == k[3] && k[2] == v[2] &&
                      k[1] == v[1] && q[0] == k[0] && k[0] == v[0] && q[1] % k[1] == 0;
    if (!fits) {
      return unsupported("query " + q.to_string() + ", key " + k.to_string() + " and value " +
                         v.to_string() + " do not go together");
    }
    const int64_t group = q[1] / k[1];  // number of query heads that share a key head
    const float scale = rule.scale != 0 ? rule.scale : 1 / std::sqrt(static_cast<float>(q[3]));
    DVNN_ASSIGN(int query, times(heads.query, scale));
    DVNN_ASSIGN(int key, b_.permute(name("turned"), heads.key, {0, 1, 3, 2}));
    int value = heads.value;
    if (group > 1) {
      DVNN_ASSIGN(query, b_.reshape(name("groups"), query, {q[0], k[1], group, q[2], q[3]}));
      DVNN_ASSIGN(key, b_.reshape(name("shared_key"), key, {k[0], k[1], 1, k[3], k[2]}));
      DVNN_ASSIGN(value, b_.reshape(name("shared_value"), value, {v[0], v[1], 1, v[2], v[3]}));
    }
    DVNN_ASSIGN(int products, b_.cpu(name("products"), layers::MatMulAttributes(), {query, key}));
    DVNN_ASSIGN(products, between(products, rule, {q, k, group}));
    DVNN_ASSIGN(int made, b_.cpu(name("result"), layers::MatMulAttributes(), {products, value}));
    if (group == 1) return made;
    return b_.reshape(name("all_heads"), made, {q[0], q[1], q[2], v[3]});
  }

  // Returns a known mask as a bias: `masked` for keys that are not seen, else 0.
  Result<int> bias_of_mask(std::vector<bool> seen, const std::vector<int64_t>& dims, float masked) {
    std::vector<float> bias;
    for (bool see : seen) bias.push_back(see ? 0 : masked);
    return b_.constant(name("mask"), dims, std::move(bias));
  }

 private:
  struct Sizes {
    Shape q, k;
    int64_t group;
  };

  Result<int> times(int value, float factor) {
    if (factor == 1) return value;
    DVNN_ASSIGN(const int by, b_.constant(name("factor"), {1}, {factor}));
    return b_.binary(name("scaled"), Operation::kMul, value, by);
  }

  // Applies cap, bias, mask and softmax, in ONNX Runtime's order.
  Result<int> between(int products, const Rule& rule, const Sizes& sizes) {
    if (rule.cap > 0) {
      DVNN_ASSIGN(products, times(products, 1 / rule.cap));
      DVNN_ASSIGN(products, b_.unary(name("bent"), Curve::kTanh, products));
      DVNN_ASSIGN(products, times(products, rule.cap));
    }
    for (int bias : rule.bias) {
      DVNN_ASSIGN(const int own, by_group(bias, sizes));
      DVNN_ASSIGN(products, b_.binary(name("biased"), Operation::kAdd, products, own));
    }
    if (rule.causal) {
      DVNN_ASSIGN(const int mask, causal_mask(rule, sizes));
      DVNN_ASSIGN(products, b_.binary(name("causal"), Operation::kAdd, products, mask));
    }
    return b_.softmax(name("weights"), products, b_.shape_of(products).rank - 1);
  }

  // Returns a bias of up to four dimensions, split by query heads, in the shape of grouped
  // products.
  Result<int> by_group(int bias, const Sizes& sizes) {
    const Shape shape = b_.shape_of(bias);
    if (sizes.group == 1 || shape.rank < 3) return bias;
    std::vector<int64_t> dims = dims_of(shape);
    const size_t at = dims.size() - 3;
    const bool each = dims[at] == sizes.q[1];
    dims.insert(dims.begin() + static_cast<ptrdiff_t>(at), each ? int64_t{sizes.k[1]} : 1);
    dims[at + 1] = each ? sizes.group : 1;
    return b_.reshape(name("bias_by_group"), bias, dims);
  }

  Result<int> causal_mask(const Rule& rule, const Sizes& sizes) {
    const int64_t rows = sizes.q[2], columns = sizes.k[2];
    DVNN_TRY(node_.importer().check_numbers(static_cast<uint64_t>(rows * columns)));
    std::vector<bool> seen;
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        seen.push_back(j <= i && (rule.window < 0 || j > i - rule.window));
      }
    }
    return bias_of_mask(std::move(seen), {rows, columns}, rule.masked);
  }

  const OnnxNode& node_;
  GraphBuilder& b_;
  int names_ = 0;
};

// Large enough to outweigh any product, but no sum of it is infinite.
constexpr float kNever = -1e30f;

Status only_one_batch(const Shape& shape) {
  if (shape.rank == 0 || shape[0] == 1) return {};
  return unsupported(format("a mask for %d sequences at once is not supported", shape[0]));
}

// Adds ONNX Runtime's masks of keys: the length, its end and begin, one number for each key, or one
// for each pair of query and key.
Status add_key_mask(const OnnxNode& node, int input, const Shape& query, const Shape& key,
                    Attention* attention, Rule* rule) {
  if (!node.has(input)) return {};
  DVNN_TRY(only_one_batch(query));
  DVNN_ASSIGN(const auto mask, node.constant(input));
  const int64_t rows = query[2], columns = key[2];
  const auto count = static_cast<int64_t>(mask->values.size());
  std::vector<bool> seen;
  if (mask->dims.size() == 1 && count <= 2) {
    const double end = mask->values[0], first = count == 2 ? mask->values[1] : 0;
    for (int64_t j = 0; j < columns; ++j) {
      seen.push_back(static_cast<double>(j) < end && static_cast<double>(j) >= first);
    }
  } else if (count == columns || count == rows * columns) {
    for (double number : mask->values) seen.push_back(number != 0);
  } else {
    return unsupported(format("a mask of %lld numbers for %lld queries and %lld keys",
                              static_cast<long long>(count), static_cast<long long>(rows),
                              static_cast<long long>(columns)));
  }
  const int64_t high = static_cast<int64_t>(seen.size()) / columns;
  DVNN_ASSIGN(const int bias, attention->bias_of_mask(std::move(seen), {high, columns},
                                                      node.number("mask_filter_value", -10000)));
  rule->bias.push_back(bias);
  return {};
}

Status add_bias(const OnnxNode& node, int input, Rule* rule) {
  if (!node.has(input)) return {};
  DVNN_ASSIGN(const int bias, node.value(input));
  rule->bias.push_back(bias);
  return {};
}

// Reads the rule of ONNX Runtime's Attention and MultiHeadAttention, whose masks are input `mask`.
Result<Rule> microsoft_rule(const OnnxNode& node, int mask, const Heads& heads,
                            Attention* attention) {
  const GraphBuilder& b = node.builder();
  Rule rule;
  rule.scale = node.number("scale", 0);
  rule.causal = node.integer("unidirectional", 0) != 0;
  rule.masked = kNever;
  DVNN_TRY(
      add_key_mask(node, mask, b.shape_of(heads.query), b.shape_of(heads.key), attention, &rule));
  DVNN_TRY(add_bias(node, 5, &rule));
  return rule;
}

// Returns keys and values, which later calls would reuse.
Status keep_present(const OnnxNode& node, const Heads& heads) {
  if (node.outputs() > 1) DVNN_TRY(node.done_at(1, heads.key));
  if (node.outputs() > 2) DVNN_TRY(node.done_at(2, heads.value));
  return {};
}

}  // namespace

Status import_microsoft_attention(const OnnxNode& node) {
  Attention attention(node);
  DVNN_TRY(attention.lacks(4, "past"));
  if (node.integer("do_rotary", 0) != 0) return unsupported("do_rotary is not supported");
  if (node.outputs() > 1 && !node.output_name(1).empty()) {
    return unsupported("its output 'present' is not supported");
  }
  DVNN_ASSIGN(const int64_t count, attention.heads("num_heads"));
  DVNN_ASSIGN(const int in, node.value(0));
  DVNN_ASSIGN(const auto weights, node.constant(1));
  if (weights->dims.size() != 2) return malformed("the weights are no matrix");
  DVNN_ASSIGN(int all, onnx_product(node, node.name() + "_projected", in, *weights));
  DVNN_ASSIGN(all, attention.with_bias(all, 2, 0));
  std::vector<int64_t> sizes = node.integers("qkv_hidden_sizes");
  if (sizes.size() != 3) sizes.assign(3, weights->dims[1] / 3);
  Heads heads;
  int64_t first = 0;
  int* const parts[] = {&heads.query, &heads.key, &heads.value};
  for (size_t i = 0; i < 3; ++i) {
    DVNN_ASSIGN(const int part, attention.part(all, first, sizes[i]));
    DVNN_ASSIGN(*parts[i], attention.split(part, count));
    first += sizes[i];
  }
  DVNN_ASSIGN(const Rule rule, microsoft_rule(node, 3, heads, &attention));
  DVNN_ASSIGN(const int made, attention.run(heads, rule));
  return node.done(attention.join(made));
}

namespace {

// Returns queries, keys and values of MultiHeadAttention, which may lie in one value.
Result<Heads> read_heads(const OnnxNode& node, int64_t count, Attention* attention) {
  GraphBuilder& b = node.builder();
  Heads heads;
  DVNN_ASSIGN(const int query, node.value(0));
  const Shape shape = b.shape_of(query);
  if (shape.rank == 5) {
    return unsupported("queries, keys and values in one input are not supported");
  }
  for (int i : {1, 2}) {
    if (node.has(i)) continue;
    return unsupported("has no keys or no values of their own");
  }
  DVNN_ASSIGN(int key, node.value(1));
  DVNN_ASSIGN(int value, node.value(2));
  // The bias has the numbers of queries, keys and values one after the other.
  const int64_t width = shape[shape.rank - 1];
  DVNN_ASSIGN(const int own, attention->with_bias(query, 3, 0));
  if (b.shape_of(key).rank == 3) {
    DVNN_ASSIGN(key, attention->with_bias(key, 3, width));
    DVNN_ASSIGN(value, attention->with_bias(value, 3, 2 * width));
  } else if (node.has(3)) {
    return unsupported("a bias of keys that come by heads is not supported");
  }
  DVNN_ASSIGN(heads.query, attention->split(own, count));
  DVNN_ASSIGN(heads.key, attention->split(key, count));
  DVNN_ASSIGN(heads.value, attention->split(value, count));
  return heads;
}

}  // namespace

Status import_microsoft_multi_head_attention(const OnnxNode& node) {
  Attention attention(node);
  DVNN_TRY(attention.lacks(6, "past_key"));
  DVNN_ASSIGN(const int64_t count, attention.heads("num_heads"));
  DVNN_ASSIGN(const Heads heads, read_heads(node, count, &attention));
  DVNN_ASSIGN(const Rule rule, microsoft_rule(node, 4, heads, &attention));
  DVNN_ASSIGN(const int made, attention.run(heads, rule));
  DVNN_TRY(keep_present(node, heads));
  return node.done(attention.join(made));
}

namespace {

// Returns queries, keys and values of GroupQueryAttention by heads, with rotary embedding if the
// node asks for it.
Result<Heads> read_groups(const OnnxNode& node, int64_t count, int64_t shared,
                          Attention* attention) {
  GraphBuilder& b = node.builder();
  DVNN_ASSIGN(int query, node.value(0));
  int key = -1, value = -1;
  if (node.has(1)) {
    DVNN_ASSIGN(key, node.value(1));
    DVNN_ASSIGN(value, node.value(2));
  } else {  // all three in one value
    const Shape shape = b.shape_of(query);
    const int64_t size = shape[shape.rank - 1] / (count + 2 * shared);
    const int all = query;
    DVNN_ASSIGN(query, attention->part(all, 0, count * size));
    DVNN_ASSIGN(key, attention->part(all, count * size, shared * size));
    DVNN_ASSIGN(value, attention->part(all, (count + shared) * size, shared * size));
  }
  Heads heads;
  DVNN_ASSIGN(heads.query, attention->split(query, count));
  DVNN_ASSIGN(heads.key, attention->split(key, shared));
  DVNN_ASSIGN(heads.value, attention->split(value, shared));
  if (node.integer("do_rotary", 0) == 0) return heads;
  Rotary rotary;
  rotary.interleaved = node.integer("rotary_interleaved", 0) != 0;
  DVNN_ASSIGN(rotary.cosines, node.constant(7));
  DVNN_ASSIGN(rotary.sines, node.constant(8));
  if (node.has(9)) {
    DVNN_ASSIGN(rotary.places, node.constant(9));
  }
  DVNN_ASSIGN(heads.query, turned_by_place(node, node.name() + "_query", heads.query, rotary));
  DVNN_ASSIGN(heads.key, turned_by_place(node, node.name() + "_key", heads.key, rotary));
  return heads;
}

}  // namespace

Status import_microsoft_group_query_attention(const OnnxNode& node) {
  Attention attention(node);
  DVNN_TRY(attention.lacks(3, "past_key"));
  DVNN_TRY(attention.lacks(4, "past_value"));
  DVNN_ASSIGN(const int64_t count, attention.heads("num_heads"));
  DVNN_ASSIGN(const int64_t shared, attention.heads("kv_num_heads"));
  DVNN_ASSIGN(const Heads heads, read_groups(node, count, shared, &attention));
  const int64_t length = node.builder().shape_of(heads.key)[2];
  if (node.has(5)) {
    DVNN_ASSIGN(const auto last, node.constant(5));
    for (double number : last->values) {
      if (static_cast<int64_t>(number) == length - 1) continue;
      return unsupported(format("seqlens_k is %g, where %lld tokens come at once", number,
                                static_cast<long long>(length)));
    }
  }
  Rule rule;
  rule.scale = node.number("scale", 0);
  rule.cap = node.number("softcap", 0);
  rule.causal = true;
  rule.window = node.integer("local_window_size", -1);
  rule.masked = kNever;
  DVNN_TRY(add_bias(node, 10, &rule));
  if (node.has(11) || node.integer("smooth_softmax", 0) == 1) {
    return unsupported("a softmax with a sink is not supported");
  }
  DVNN_ASSIGN(const int made, attention.run(heads, rule));
  DVNN_TRY(keep_present(node, heads));
  return node.done(attention.join(made));
}

Status import_onnx_attention(const OnnxNode& node) {
  Attention attention(node);
  for (int i : {4, 5, 6}) DVNN_TRY(attention.lacks(i, i == 6 ? "nonpad_kv_seqlen" : "past"));
  if (node.outputs() > 3 && !node.output_name(3).empty()) {
    return unsupported("its output of products is not supported");
  }
  GraphBuilder& b = node.builder();
  Heads heads;
  DVNN_ASSIGN(heads.query, node.value(0));
  DVNN_ASSIGN(heads.key, node.value(1));
  DVNN_ASSIGN(heads.value, node.value(2));
  const bool flat = b.shape_of(heads.query).rank == 3;
  if (flat) {
    DVNN_ASSIGN(const int64_t count, attention.heads("q_num_heads"));
    DVNN_ASSIGN(const int64_t shared, attention.heads("kv_num_heads"));
    DVNN_ASSIGN(heads.query, attention.split(heads.query, count));
    DVNN_ASSIGN(heads.key, attention.split(heads.key, shared));
    DVNN_ASSIGN(heads.value, attention.split(heads.value, shared));
  }
  Rule rule;
  rule.scale = node.number("scale", 0);
  rule.cap = node.number("softcap", 0);
  rule.causal = node.integer("is_causal", 0) != 0;
  rule.masked = kNever;
  constexpr int64_t kBool = 9;
  if (node.is_constant(3) && node.constant(3).value()->type == kBool) {
    DVNN_ASSIGN(const auto mask, node.constant(3));
    std::vector<bool> seen;
    for (double number : mask->values) seen.push_back(number != 0);
    DVNN_ASSIGN(const int bias, attention.bias_of_mask(std::move(seen), mask->dims, kNever));
    rule.bias.push_back(bias);
  } else if (node.has(3) && node.is_integral(3)) {
    return unsupported("a mask of true and false that the picture decides is not supported");
  } else {
    DVNN_TRY(add_bias(node, 3, &rule));
  }
  DVNN_ASSIGN(const int made, attention.run(heads, rule));
  DVNN_TRY(keep_present(node, heads));
  return flat ? node.done(attention.join(made)) : node.done(made);
}

}  // namespace dvnn::import
