// SPDX-License-Identifier: Apache-2.0
// Operators of transformers, few bits and moved places, against their formulas in double precision.
// What ONNX Runtime makes of the same is the judge's (tests/judge).
#include <algorithm>
#include <cmath>
#include <functional>

#include "onnx_fixture.h"
#include "run_model.h"

namespace dvnn::test::onnx_attention_tests {

DVNN_SUITE(import_onnx_attention);

namespace {

constexpr const char* kMicrosoft = "com.microsoft";
constexpr int kTokens = 6, kChannels = 8;

using Numbers = std::vector<double>;

// A model's constant.
Numbers constant(OnnxModel& m, const std::string& name) {
  for (const onnx::TensorProto& tensor : m.graph().initializer()) {
    if (tensor.name() == name) return {tensor.float_data().begin(), tensor.float_data().end()};
  }
  ck_abort_msg("no constant %s", name.c_str());
}

void expect(const char* what, OnnxModel& model, size_t inputs, const Numbers& want) {
  const auto have = run_model(what, made_of(model.output("y")), rising(inputs).data());
  const std::vector<float> floats(want.begin(), want.end());
  expect_close(what, have, floats.data(), floats.size(), 0.004);
}

Numbers input(size_t count) {
  const auto floats = rising(count);
  return {floats.begin(), floats.end()};
}

// Rows times a matrix of `n` columns.
Numbers times(const Numbers& rows, const Numbers& matrix, size_t n) {
  const size_t k = matrix.size() / n;
  Numbers made;
  for (size_t i = 0; i < rows.size() / k; ++i) {
    for (size_t o = 0; o < n; ++o) {
      double sum = 0;
      for (size_t c = 0; c < k; ++c) sum += rows[i * k + c] * matrix[c * n + o];
      made.push_back(sum);
    }
  }
  return made;
}

struct Heads {
  Numbers q, k, v;  // (tokens, heads x numbers)
  size_t heads, shared, size;
};

using Bend = std::function<double(size_t h, size_t i, size_t j, double product)>;

// What each token sees; `bend` is what happens between the products.
Numbers attended(const Heads& in, const Bend& bend) {
  const size_t tokens = in.q.size() / in.heads / in.size;
  Numbers made(in.q.size());
  for (size_t h = 0; h < in.heads; ++h) {
    const size_t own = h / (in.heads / in.shared);
    const auto at = [&](const Numbers& from, size_t count, size_t head, size_t t, size_t c) {
      return from[(t * count + head) * in.size + c];
    };
    for (size_t i = 0; i < tokens; ++i) {
      Numbers weights;
      double sum = 0;
      for (size_t j = 0; j < tokens; ++j) {
        double dot = 0;
        for (size_t c = 0; c < in.size; ++c) {
          dot += at(in.q, in.heads, h, i, c) * at(in.k, in.shared, own, j, c);
        }
        weights.push_back(std::exp(bend(h, i, j, dot)));
        sum += weights.back();
      }
      for (size_t c = 0; c < in.size; ++c) {
        double seen = 0;
        for (size_t j = 0; j < tokens; ++j) {
          seen += weights[j] / sum * at(in.v, in.shared, own, j, c);
        }
        made[(i * in.heads + h) * in.size + c] = seen;
      }
    }
  }
  return made;
}

// A model of projections to `heads`, and `shared` for keys and values, of 4 numbers each.
OnnxModel projections(int heads, int shared, int64_t opset = 17) {
  OnnxModel m({1, kTokens, kChannels}, opset);
  const int width[] = {heads * 4, shared * 4, shared * 4};
  const char* const names[] = {"q", "k", "v"};
  for (int i = 0; i < 3; ++i) {
    const std::string weights = std::string("w") + names[i];
    m.weights(weights, {kChannels, width[i]}, -1, 1).node("MatMul", {"x", weights}, {names[i]});
  }
  return m;
}

Heads heads_of(OnnxModel& m, size_t heads, size_t shared) {
  const Numbers x = input(kTokens * kChannels);
  return {times(x, constant(m, "wq"), heads * 4),
          times(x, constant(m, "wk"), shared * 4),
          times(x, constant(m, "wv"), shared * 4),
          heads,
          shared,
          4};
}

constexpr size_t kInput = size_t{kTokens} * kChannels;
constexpr double kNever = -1e9;

}  // namespace

DVNN_TEST(attention_in_one_node_is_computed_by_its_formula) {
  OnnxModel plain = projections(2, 2);
  plain.weights("b", {24}, -0.5f, 0.5f);
  plain.node("MultiHeadAttention", {"q", "k", "v", "b"}, {"y"}).domain(kMicrosoft);
  plain.set("num_heads", 2);
  Heads in = heads_of(plain, 2, 2);
  const Numbers bias = constant(plain, "b");
  Numbers* const parts[] = {&in.q, &in.k, &in.v};
  for (size_t p = 0; p < 3; ++p) {
    for (size_t i = 0; i < parts[p]->size(); ++i) (*parts[p])[i] += bias[p * 8 + i % 8];
  }
  expect("MultiHeadAttention", plain, kInput,
         attended(in, [](size_t, size_t, size_t, double dot) { return dot / 2; }));

  OnnxModel whole({1, kTokens, kChannels}, 17);
  whole.weights("w", {kChannels, 24}, -1, 1).weights("b", {24}, -0.5f, 0.5f);
  whole.node("Attention", {"x", "w", "b"}, {"y"}).domain(kMicrosoft);
  whole.set("num_heads", 2).set("unidirectional", 1).set("scale", 0.75f);
  Numbers all = times(input(kInput), constant(whole, "w"), 24);
  const Numbers added = constant(whole, "b");
  Heads own = {{}, {}, {}, 2, 2, 4};
  for (size_t i = 0; i < all.size(); ++i) {
    Numbers& part = i % 24 < 8 ? own.q : i % 24 < 16 ? own.k : own.v;
    part.push_back(all[i] + added[i % 24]);
  }
  expect("Attention of ONNX Runtime", whole, kInput,
         attended(own, [](size_t, size_t i, size_t j, double dot) {
           return j <= i ? 0.75 * dot : kNever;
         }));
}

// As exporters write a causal mask: -infinity, of which no list of JSON has a form.
DVNN_TEST(what_a_mask_of_infinities_hides_is_not_seen) {
  const std::vector<float> never = {-INFINITY}, zero = {0};
  for (bool added : {false, true}) {
    OnnxModel m = projections(1, 1);
    std::vector<int> sees;
    for (int i = 0; i < kTokens * kTokens; ++i) sees.push_back(i % kTokens <= i / kTokens ? 1 : 0);
    m.integers("sees", 9, {1, kTokens, kTokens}, sees).floats("never", never).floats("zero", zero);
    m.node("Transpose", {"k"}, {"t"}).list("perm", {0, 2, 1}).node("MatMul", {"q", "t"}, {"p"});
    if (added) {
      m.node("Where", {"sees", "zero", "never"}, {"mask"}).node("Add", {"p", "mask"}, {"s"});
    } else {
      m.node("Where", {"sees", "p", "never"}, {"s"});
    }
    m.node("Softmax", {"s"}, {"a"}).set("axis", -1).node("MatMul", {"a", "v"}, {"y"});
    expect("mask", m, kInput,
           attended(heads_of(m, 1, 1),
                    [](size_t, size_t i, size_t j, double dot) { return j <= i ? dot : kNever; }));
  }
}

// The input is quantised where it is run, as by DynamicQuantizeLinear.
DVNN_TEST(quantised_attention_is_that_of_the_numbers_it_stands_for) {
  OnnxModel m({1, kTokens, kChannels}, 17);
  std::vector<int> whole;
  for (int i = 0; i < kChannels * 12; ++i) whole.push_back(i * 37 % 201 - 100);
  m.integers("w", 3, {kChannels, 12}, whole).floats("ws", {0.01f}).integers("wz", 3, {1}, {2});
  m.floats("xs", {0.0078125f}).integers("xz", 2, {1}, {128}).weights("b", {12}, -0.5f, 0.5f);
  for (onnx::TensorProto& tensor : *m.graph().mutable_initializer()) {
    if (tensor.name() == "xs" || tensor.name() == "xz") tensor.clear_dims();
  }
  m.node("QuantizeLinear", {"x", "xs", "xz"}, {"q"});
  m.node("QAttention", {"q", "w", "b", "xs", "ws", "", "xz", "wz"}, {"y"}).domain(kMicrosoft);
  m.set("num_heads", 1);
  Numbers x = input(kInput), weights;
  for (double& number : x) {
    number = (std::clamp(std::nearbyint(number / 0.0078125) + 128, 0.0, 255.0) - 128) * 0.0078125;
  }
  for (int number : whole) weights.push_back((number - 2) * 0.01);
  const Numbers all = times(x, weights, 12), bias = constant(m, "b");
  Heads own = {{}, {}, {}, 1, 1, 4};
  for (size_t i = 0; i < all.size(); ++i) {
    Numbers& part = i % 12 < 4 ? own.q : i % 12 < 8 ? own.k : own.v;
    part.push_back(all[i] + bias[i % 12]);
  }
  expect("QAttention", m, kInput,
         attended(own, [](size_t, size_t, size_t, double dot) { return dot / 2; }));
}

DVNN_TEST(groups_share_keys_and_masks_hide_tokens) {
  OnnxModel group = projections(4, 2);
  group.integers("last", 6, {1}, {kTokens - 1}).integers("all", 6, {}, {kTokens});
  group.node("GroupQueryAttention", {"q", "k", "v", "", "", "last", "all"}, {"y", "p", "r"});
  group.domain(kMicrosoft).set("num_heads", 4).set("kv_num_heads", 2).set("local_window_size", 3);
  expect("GroupQueryAttention", group, kInput,
         attended(heads_of(group, 4, 2), [](size_t, size_t i, size_t j, double dot) {
           return j <= i && j + 3 > i ? dot / 2 : kNever;
         }));

  OnnxModel masked = projections(4, 2, 23);
  std::vector<int> seen;
  for (int i = 0; i < kTokens * kTokens; ++i) seen.push_back(i % 5 != 1);
  masked.integers("mask", 9, {kTokens, kTokens}, seen);
  masked.node("Attention", {"q", "k", "v", "mask"}, {"y"}).set("q_num_heads", 4);
  masked.set("kv_num_heads", 2).set("softcap", 1.5f);
  expect("Attention of ONNX", masked, kInput,
         attended(heads_of(masked, 4, 2), [&](size_t, size_t i, size_t j, double dot) {
           return seen[i * kTokens + j] != 0 ? 1.5 * std::tanh(dot / 2 / 1.5) : kNever;
         }));

  OnnxModel later = projections(2, 2);
  later.integers("last", 6, {1}, {3}).integers("all", 6, {}, {kTokens});
  later.node("GroupQueryAttention", {"q", "k", "v", "", "", "last", "all"}, {"y", "p", "r"});
  later.domain(kMicrosoft).set("num_heads", 2).set("kv_num_heads", 2).output("y");
  expect_refused(convert_model(later), {"GroupQueryAttention", "seqlens_k is 3"});
  OnnxModel past = projections(2, 2);
  past.weights("past", {1, 2, 3, 4});
  past.node("MultiHeadAttention", {"q", "k", "v", "", "", "", "past", "past"}, {"y"});
  past.domain(kMicrosoft).set("num_heads", 2).output("y");
  expect_refused(convert_model(past), {"past_key is given"});
  OnnxModel odd = projections(2, 2);
  odd.node("MultiHeadAttention", {"q", "k", "v"}, {"y"}).domain(kMicrosoft).set("num_heads", 3);
  expect_refused(convert_model(odd.output("y")), {"1x6x8", "3 heads"});
}

DVNN_TEST(places_turn_pairs) {
  for (const bool neighbours : {false, true}) {
    OnnxModel m({1, 3, 8}, 23);  // two heads of 4 numbers, all of which turn
    const std::vector<float> angles = {0, 0, 0.5f, 0.25f, 1, 0.5f};
    std::vector<float> cosines, sines;
    for (float angle : angles) {
      cosines.push_back(std::cos(angle));
      sines.push_back(std::sin(angle));
    }
    for (const auto& [name, numbers] : {std::pair("c", cosines), std::pair("s", sines)}) {
      onnx::TensorProto* t =
          m.floats(name, numbers).graph().mutable_initializer(m.graph().initializer_size() - 1);
      t->clear_dims();
      t->add_dims(3);
      t->add_dims(2);
    }
    m.places("p", {1, 3}, {2, 0, 1});
    m.node("RotaryEmbedding", {"x", "c", "s", "p"}, {"y"}).set("num_heads", 2);
    m.set("interleaved", neighbours ? 1 : 0);
    const Numbers x = input(24);
    Numbers want = x;
    const size_t rows[] = {2, 0, 1};
    for (size_t t = 0; t < 3; ++t) {
      for (size_t h = 0; h < 2; ++h) {
        for (size_t pair = 0; pair < 2; ++pair) {
          const size_t base = t * 8 + h * 4;
          const size_t a = base + (neighbours ? 2 * pair : pair);
          const size_t b = base + (neighbours ? 2 * pair + 1 : pair + 2);
          const double angle = static_cast<double>(angles[rows[t] * 2 + pair]);
          want[a] = x[a] * std::cos(angle) - x[b] * std::sin(angle);
          want[b] = x[a] * std::sin(angle) + x[b] * std::cos(angle);
        }
      }
    }
    expect("RotaryEmbedding", m, 24, want);
  }
}

DVNN_TEST(few_bits_are_the_numbers_that_they_stand_for) {
  // Two blocks of 16 numbers for each of three columns.
  OnnxModel m({2, 32}, 17);
  std::vector<int> bytes;
  for (int i = 0; i < 3 * 2 * 8; ++i) bytes.push_back(i * 37 % 256);
  m.integers("w", 2, {3, 2, 8}, bytes).weights("s", {6}, 0.02f, 0.2f);
  m.integers("z", 2, {3}, {0x59, 0x83, 0x7c});
  m.node("MatMulNBits", {"x", "w", "s", "z"}, {"y"}).domain(kMicrosoft);
  m.set("K", 32).set("N", 3).set("bits", 4).set("block_size", 16);
  const Numbers scales = constant(m, "s");
  const int zeros[] = {0x59, 0x83, 0x7c};
  Numbers weights(32 * 3);
  for (size_t n = 0; n < 3; ++n) {
    for (size_t k = 0; k < 32; ++k) {
      const int bits = bytes[n * 16 + k / 2] >> (k % 2 * 4) & 15;
      const int zero = zeros[n] >> (k / 16 * 4) & 15;
      weights[k * 3 + n] = (bits - zero) * scales[n * 2 + k / 16];
    }
  }
  expect("MatMulNBits", m, 64, times(input(64), weights, 3));

  OnnxModel blocks({2, 6}, 21);
  std::vector<int> whole;
  for (int i = 0; i < 12; ++i) whole.push_back(i * 41 % 200 - 100);
  blocks.integers("w", 3, {6, 2}, whole).weights("s", {2, 2}, 0.01f, 0.05f);
  blocks.node("DequantizeLinear", {"w", "s"}, {"f"}).set("axis", 0).set("block_size", 4);
  blocks.node("MatMul", {"x", "f"}, {"y"});
  const Numbers steps = constant(blocks, "s");
  Numbers matrix;
  for (size_t i = 0; i < 12; ++i) matrix.push_back(whole[i] * steps[i / 2 / 4 * 2 + i % 2]);
  expect("DequantizeLinear in blocks", blocks, 12, times(input(12), matrix, 2));

  OnnxModel odd({2, 32}, 17);
  odd.integers("w", 2, {3, 2, 7}, std::vector<int>(42)).weights("s", {6});
  odd.node("MatMulNBits", {"x", "w", "s"}, {"y"}).domain(kMicrosoft);
  odd.set("K", 32).set("N", 3).set("bits", 4).set("block_size", 16).output("y");
  expect_refused(convert_model(odd), {"MatMulNBits", "another size"});
}

DVNN_TEST(windows_see_where_offsets_say) {
  // One kernel of 3 x 3 over 5 x 5 pixels of two channels, offsets and masks that are known.
  OnnxModel m({1, 2, 5, 5}, 19);
  m.weights("w", {3, 2, 3, 3}, -1, 1).weights("o", {1, 18, 5, 5}, -1.5f, 1.5f);
  m.weights("b", {3}).weights("m", {1, 9, 5, 5}, 0, 1);
  m.node("DeformConv", {"x", "w", "o", "b", "m"}, {"y"}).list("kernel_shape", {3, 3});
  m.list("pads", {1, 1, 1, 1});
  const Numbers x = input(50), w = constant(m, "w"), o = constant(m, "o"), b = constant(m, "b");
  const Numbers mask = constant(m, "m");
  const auto pixel = [&](size_t c, int y, int column) {
    const bool inside = y >= 0 && y < 5 && column >= 0 && column < 5;
    return inside ? x[c * 25 + static_cast<size_t>(y * 5 + column)] : 0;
  };
  const auto between = [&](size_t c, double y, double column) {
    const int y0 = static_cast<int>(std::floor(y)), x0 = static_cast<int>(std::floor(column));
    const double fy = y - y0, fx = column - x0;
    return (1 - fy) * ((1 - fx) * pixel(c, y0, x0) + fx * pixel(c, y0, x0 + 1)) +
           fy * ((1 - fx) * pixel(c, y0 + 1, x0) + fx * pixel(c, y0 + 1, x0 + 1));
  };
  Numbers want;
  for (size_t k = 0; k < 3; ++k) {
    for (size_t at = 0; at < 25; ++at) {
      double sum = b[k];
      for (size_t tap = 0; tap < 9; ++tap) {
        const double y = static_cast<double>(at / 5 + tap / 3) - 1 + o[tap * 50 + at];
        const double column = static_cast<double>(at % 5 + tap % 3) - 1 + o[tap * 50 + 25 + at];
        for (size_t c = 0; c < 2; ++c) {
          sum += w[(k * 2 + c) * 9 + tap] * mask[tap * 25 + at] * between(c, y, column);
        }
      }
      want.push_back(sum);
    }
  }
  expect("DeformConv", m, 50, want);
}

DVNN_TEST(columns_become_a_picture_and_matrices_a_grid) {
  // Windows of 2 x 2 at all places of 3 x 3 pixels: each pixel is the sum of what covers it.
  OnnxModel columns({1, 4, 4}, 18);
  columns.ints("image", {3, 3}).ints("block", {2, 2});
  columns.node("Col2Im", {"x", "image", "block"}, {"y"});
  const Numbers x = input(16);
  Numbers sums(9);
  for (size_t tap = 0; tap < 4; ++tap) {
    for (size_t at = 0; at < 4; ++at) {
      sums[(at / 2 + tap / 2) * 3 + at % 2 + tap % 2] += x[tap * 4 + at];
    }
  }
  expect("Col2Im", columns, 16, sums);
  OnnxModel wrong({1, 4, 5}, 18);
  wrong.ints("image", {3, 3}).ints("block", {2, 2});
  wrong.node("Col2Im", {"x", "image", "block"}, {"y"}).output("y");
  expect_refused(convert_model(wrong), {"Col2Im", "4 windows of 4 elements"});

  for (const bool corners : {false, true}) {
    OnnxModel grid({1, 2, 3}, 20);
    grid.ints("size", {1, 1, 2, 3});
    grid.node("AffineGrid", {"x", "size"}, {"y"}).set("align_corners", corners ? 1 : 0);
    const Numbers theta = input(6);
    Numbers want;
    for (int h = 0; h < 2; ++h) {
      for (int column = 0; column < 3; ++column) {
        const double v = corners ? 2 * h - 1 : (2 * h + 1) / 2.0 - 1;
        const double u = corners ? column - 1 : (2 * column + 1) / 3.0 - 1;
        for (size_t row : {size_t{0}, size_t{3}}) {
          want.push_back(theta[row] * u + theta[row + 1] * v + theta[row + 2]);
        }
      }
    }
    expect("AffineGrid", grid, 6, want);
  }
}

DVNN_TEST(a_fused_activation_and_a_turned_product_are_taken_apart) {
  OnnxModel m({4, 3}, 17);
  m.weights("w", {5, 4}, -1, 1);
  m.node("FusedMatMul", {"x", "w"}, {"y"}).domain(kMicrosoft);
  m.set("transA", 1).set("transB", 1).set("alpha", 0.5f);
  const Numbers x = input(12), w = constant(m, "w");
  Numbers want;
  for (size_t i = 0; i < 3; ++i) {
    for (size_t o = 0; o < 5; ++o) {
      double sum = 0;
      for (size_t k = 0; k < 4; ++k) sum += x[k * 3 + i] * w[o * 4 + k];
      want.push_back(sum / 2);
    }
  }
  expect("FusedMatMul", m, 12, want);

  OnnxModel gemm({2, 4}, 17);
  gemm.weights("w", {4, 3}, -1, 1).weights("c", {3});
  gemm.node("FusedGemm", {"x", "w", "c"}, {"y"}).domain(kMicrosoft);
  gemm.set("activation", "LeakyRelu").set("activation_alpha", 0.25f);
  Numbers bent = times(input(8), constant(gemm, "w"), 3);
  const Numbers c = constant(gemm, "c");
  for (size_t i = 0; i < bent.size(); ++i) {
    bent[i] += c[i % 3];
    if (bent[i] < 0) bent[i] /= 4;
  }
  expect("FusedGemm", gemm, 8, bent);
}

}  // namespace dvnn::test::onnx_attention_tests
