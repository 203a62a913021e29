// SPDX-License-Identifier: Apache-2.0
// Operators of quantised models, of ONNX Runtime's optimiser, of sequences and places, and Einsum.
// Wanted numbers are those of ONNX Runtime 1.21 without optimisation, on the same model and input.
#include "onnx_fixture.h"
#include "run_model.h"

namespace dvnn::test::onnx_families_tests {

DVNN_SUITE(import_onnx_families);

namespace {

constexpr int kUint8 = 2, kInt8 = 3, kInt32 = 6;
constexpr const char* kMicrosoft = "com.microsoft";

// The model's result "y" for rising(count), or for `input`.
void expect(const char* what, OnnxModel& model, const std::vector<float>& input,
            const std::vector<float>& want) {
  const auto got = run_model(what, made_of(model.output("y")), input.data());
  expect_close(what, got, want.data(), want.size());
}

// i * step modulo `count`, about 0.
std::vector<int> integers(size_t size, int step, int count, int shift = 0) {
  std::vector<int> values;
  for (size_t i = 0; i < size; ++i) {
    values.push_back(static_cast<int>(i) * step % count - count / 2 + shift);
  }
  return values;
}

// A model whose input is quantised as "q", with scale and zero "xs" and "xz"; results have "ys" and
// "yz".
OnnxModel quantised(std::vector<int64_t> input, float result_scale) {
  OnnxModel m(std::move(input), 13);
  m.floats("xs", {0.0625f}).integers("xz", kUint8, {}, {16});
  m.floats("ys", {result_scale}).integers("yz", kUint8, {}, {100});
  for (onnx::TensorProto& tensor : *m.graph().mutable_initializer()) tensor.clear_dims();
  return m.node("QuantizeLinear", {"x", "xs", "xz"}, {"q"});
}

// Adds a tensor of numbers that rise from -0.75 on, times `factor`.
void add_rising(OnnxModel* m, const char* name, const std::vector<int64_t>& dims,
                float factor = 1) {
  size_t count = 1;
  for (int64_t d : dims) count *= static_cast<size_t>(d);
  std::vector<float> values = rising(count);
  for (float& value : values) value *= factor;
  m->floats(name, values);
  onnx::TensorProto* tensor = m->graph().mutable_initializer(m->graph().initializer_size() - 1);
  tensor->clear_dims();
  for (int64_t d : dims) tensor->add_dims(d);
}

// A recurrent layer of two units over three steps of three numbers.
OnnxModel recurrent(const char* type, int gates, int directions, std::vector<std::string> inputs,
                    std::vector<std::string> outputs) {
  OnnxModel m({3, 1, 3}, 14);
  add_rising(&m, "W", {directions, gates * 2, 3});
  add_rising(&m, "R", {directions, gates * 2, 2}, 0.5f);
  add_rising(&m, "B", {directions, gates * 4});
  add_rising(&m, "h", {1, 1, 2});
  return m.node(type, std::move(inputs), std::move(outputs)).set("hidden_size", 2);
}

}  // namespace

DVNN_TEST(quantised_convolutions_round_as_they_say) {
  OnnxModel m = quantised({1, 3, 4, 4}, 0.5f);
  m.integers("w", kInt8, {2, 3, 2, 2}, integers(24, 7, 23)).floats("ws", {0.125f, 0.25f});
  m.integers("wz", kInt8, {2}, {0, 0}).integers("b", kInt32, {2}, {40, -60});
  m.node("QLinearConv", {"q", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"}, {"c"});
  m.list("strides", {2, 2}).list("pads", {1, 1, 0, 0});
  m.node("DequantizeLinear", {"c", "ys", "yz"}, {"y"});
  expect("QLinearConv", m, rising(48), {0, -1, 1, 4, -2, -1, 1, -4});
}

DVNN_TEST(quantised_products_round_as_they_say) {
  OnnxModel product = quantised({2, 4}, 0.5f);
  product.integers("m", kInt8, {4, 3}, integers(12, 5, 19)).floats("ms", {0.25f});
  product.integers("mz", kInt8, {1}, {1});
  product.node("QLinearMatMul", {"q", "xs", "xz", "m", "ms", "mz", "ys", "yz"}, {"c"});
  product.node("DequantizeLinear", {"c", "ys", "yz"}, {"y"});
  expect("QLinearMatMul", product, rising(8), {1, 1.5f, 1, 0.5f, 0.5f, 0.5f});
  OnnxModel gemm = quantised({1, 4}, 0.5f);
  gemm.integers("m", kInt8, {2, 4}, integers(8, 5, 19)).floats("ms", {0.125f, 0.25f});
  gemm.integers("mz", kInt8, {2}, {0, 0}).integers("b", kInt32, {2}, {40, -60});
  gemm.node("QGemm", {"q", "xs", "xz", "m", "ms", "mz", "b", "ys", "yz"}, {"c"});
  gemm.domain(kMicrosoft).set("transB", 1).node("DequantizeLinear", {"c", "ys", "yz"}, {"y"});
  expect("QGemm", gemm, rising(4), {1, 0});
}

// What is at its zero point is 0, though each product with it is far from 0.
DVNN_TEST(zero_points_cancel_before_products) {
  OnnxModel m({1, 2, 64}, 13);
  m.floats("xs", {1}).integers("xz", kUint8, {1}, {132});
  m.floats("ys", {0.5f}).integers("yz", kUint8, {1}, {100});
  m.integers("m", kInt8, {64, 3}, integers(192, 5, 19, 10)).floats("ms", {0.3f});
  m.integers("mz", kInt8, {1}, {0});
  std::vector<int> same(64 * 64);
  for (size_t i = 0; i < 64; ++i) same[i * 65] = 1;
  m.integers("e", kInt8, {64, 64}, same);
  m.node("DequantizeLinear", {"e", "xs"}, {"ef"}).node("MatMul", {"x", "ef"}, {"p"});
  m.node("QuantizeLinear", {"p", "xs", "xz"}, {"q"});
  m.node("QLinearMatMul", {"q", "xs", "xz", "m", "ms", "mz", "ys", "yz"}, {"c"});
  m.node("DequantizeLinear", {"c", "ys", "yz"}, {"y"});
  std::vector<float> input(128);
  input[64] = 1;  // times weights of 1, 6 and 11
  expect("QLinearMatMul", m, input, {0, 0, 0, 0.5f, 2, 3.5f});
}

DVNN_TEST(quantised_sums_and_concatenations_meet_in_one_scale) {
  OnnxModel sum = quantised({1, 3, 2, 2}, 0.125f);
  sum.node("QLinearAdd", {"q", "xs", "xz", "q", "xs", "xz", "ys", "yz"}, {"c"}).domain(kMicrosoft);
  sum.node("DequantizeLinear", {"c", "ys", "yz"}, {"y"});
  expect("QLinearAdd", sum, rising(12),
         {-1.5f, -1.25f, -1, -0.75f, -0.5f, -0.25f, 0, 0.25f, 0.5f, 0.75f, 1, 1.25f});
  OnnxModel concat = quantised({1, 1, 2, 3}, 0.125f);
  concat.floats("other", {0.25f});
  concat.node("QLinearConcat", {"ys", "yz", "q", "xs", "xz", "q", "other", "xz"}, {"c"});
  concat.domain(kMicrosoft).set("axis", 1).node("DequantizeLinear", {"c", "ys", "yz"}, {"y"});
  expect("QLinearConcat", concat, rising(6),
         {-0.75f, -0.625f, -0.5f, -0.375f, -0.25f, -0.125f, -3, -2.5f, -2, -1.5f, -1, -0.5f});
}

// What the integers cannot hold is an activation that the exporter left out.
DVNN_TEST(without_rounding_only_activations_are_left_of_quantisation) {
  const struct {
    const char* what;
    int type, zero;
    float scale;
    std::vector<float> in, want;
  } cases[] = {
      {"ReLU", kUint8, 0, 0.25f, {-1, 0.1f, 0.9f, 100}, {0, 0.1f, 0.9f, 100}},
      {"ReLU of signed numbers", kInt8, -128, 0.25f, {-1, 0.1f, 0.9f, 7}, {0, 0.1f, 0.9f, 7}},
      {"ReLU6", kUint8, 0, 6.0f / 255, {-1, 0.1f, 5.99f, 7}, {0, 0.1f, 5.99f, 6}},
      {"none", kUint8, 100, 0.25f, {-100, -0.1f, 0.9f, 100}, {-100, -0.1f, 0.9f, 100}},
      {"none of signed numbers", kInt8, 0, 0.25f, {-90, -0.1f, 0.9f, 100}, {-90, -0.1f, 0.9f, 100}},
  };
  convert::ConvertOptions options;
  options.import.unrounded = true;
  for (const auto& c : cases) {
    OnnxModel m({1, 1, 2, 2}, 13);
    m.floats("s", {c.scale}).integers("z", c.type, {}, {c.zero});
    m.floats("same", {c.scale});
    m.node("QuantizeLinear", {"x", "s", "z"}, {"q"});
    m.node("DequantizeLinear", {"q", "same", "z"}, {"r"});
    m.floats("w", {2}).node("Mul", {"r", "w"}, {"y"});
    auto made = convert_model(m.output("y"), options);
    ck_assert_msg(made.ok(), "%s: %s", c.what, made.ok() ? "" : made.error().message.c_str());
    std::vector<float> want = c.want;
    for (float& number : want) number *= 2;
    const auto got = run_model(c.what, std::move(made.value()), c.in.data());
    expect_close(c.what, got, want.data(), want.size());
  }
}

DVNN_TEST(a_model_that_rounds_nothing_is_refused_without_rounding) {
  OnnxModel plain({1, 1, 2, 2}, 13);
  plain.node("Relu", {"x"}, {"y"});
  convert::ConvertOptions options;
  options.import.unrounded = true;
  const auto made = convert_model(plain.output("y"), options);
  ck_assert(!made.ok());
  ck_assert_msg(made.error().message.find("leave --no-rounding out") != std::string::npos, "%s",
                made.error().message.c_str());
}

DVNN_TEST(scales_may_be_measured_in_every_picture) {
  OnnxModel conv({1, 3, 2, 3}, 13);
  conv.integers("w", kUint8, {2, 3, 1, 2}, integers(12, 7, 23, 100))
      .integers("wz", kUint8, {}, {100});
  conv.node("DynamicQuantizeLinear", {"x"}, {"q", "s", "z"});
  conv.node("ConvInteger", {"q", "w", "z", "wz"}, {"c"}).node("Cast", {"c"}, {"f"}).set("to", 1);
  conv.node("Mul", {"f", "s"}, {"y"});
  expect("ConvInteger", conv, rising(18),
         {6.7764707f, 15.594118f, 13.882353f, 12.958824f, -5.5058823f, 9.7705889f, 7.7176471f,
          6.7588239f});
  OnnxModel product({2, 4}, 13);
  product.integers("m", kInt8, {4, 3}, integers(12, 5, 19));
  product.node("DynamicQuantizeLinear", {"x"}, {"q", "s", "z"});
  product.node("MatMulInteger", {"q", "m", "z"}, {"c"}).node("Cast", {"c"}, {"f"}).set("to", 1);
  product.node("Mul", {"f", "s"}, {"y"});
  expect("MatMulInteger", product, rising(8),
         {2.762255f, 3.3730392f, 1.6367648f, 1.2661765f, 2.3607843f, 1.1083333f});
}

DVNN_TEST(einsum_sums_over_what_is_not_wanted) {
  std::vector<float> doubled = rising(12);
  for (float& value : doubled) value *= 2;
  const struct {
    const char* equation;
    std::vector<int64_t> first, second;
    std::vector<float> values, want;
  } cases[] = {
      {"bhid,bjhd->bhij",
       {1, 2, 2, 3},
       {1, 2, 2, 3},
       doubled,
       {2.40625f, -0.40625f, 1, -0.125f, -0.125f, 0.4375f, -0.6875f, 1.5625f}},
      {"ij,jk", {2, 3}, {3, 2}, rising(6), {1, 0.765625f, 0.4375f, 0.34375f}},
      {"i j k -> k j i",
       {2, 3, 2},
       {},
       {},
       {-0.75f, 0, -0.5f, 0.25f, -0.25f, 0.5f, -0.625f, 0.125f, -0.375f, 0.375f, -0.125f, 0.625f}},
  };
  for (const auto& c : cases) {
    OnnxModel m(c.first, 13);
    std::vector<std::string> inputs = {"x"};
    if (!c.second.empty()) {
      inputs.push_back("w");
      onnx::TensorProto* tensor = m.floats("w", c.values).graph().mutable_initializer(0);
      tensor->clear_dims();
      for (int64_t d : c.second) tensor->add_dims(d);
    }
    m.node("Einsum", inputs, {"y"}).set("equation", c.equation);
    expect(c.equation, m, rising(12), c.want);
  }
  OnnxModel diagonal({3, 3, 2}, 13);
  diagonal.node("Einsum", {"x"}, {"y"}).set("equation", "ii...->i...");
  const std::vector<float> all = rising(18);
  expect("diagonal", diagonal, all, {all[0], all[1], all[8], all[9], all[16], all[17]});
  OnnxModel dots({2, 3, 2}, 13);
  dots.floats("w", {1, 2, -1}).node("Einsum", {"x", "w"}, {"y"}).set("equation", "...i,...k");
  std::vector<float> outer;
  for (float value : rising(12)) outer.push_back(value);
  std::vector<float> summed;
  // Dots of the first are its rows; the second repeats along them.
  for (size_t row = 0; row < 6; ++row) {
    for (size_t i = 0; i < 2; ++i) {
      for (float w : {1.0f, 2.0f, -1.0f}) summed.push_back(outer[row * 2 + i] * w);
    }
  }
  expect("dots", dots, rising(12), summed);
  const char* const refusals[][2] = {{"iij->j", "no square"},
                                     {"..ij->ij", "does not name the axes"},
                                     {"ijk->kz", "wrong letter"},
                                     {"ij->ji", "2x3x2"}};
  for (const auto& [equation, word] : refusals) {
    OnnxModel m({2, 3, 2}, 13);
    m.node("Einsum", {"x"}, {"y"}).set("equation", equation).output("y");
    expect_refused(convert_model(m), {"Einsum", word});
  }
}

DVNN_TEST(classes_become_hot_and_triangles_stay) {
  OnnxModel hot({1, 4}, 13);
  hot.ints("depth", {3}, true).floats("values", {-1, 4});
  hot.node("OneHot", {"x", "depth", "values"}, {"y"}).set("axis", 1);
  expect("OneHot", hot, {0, -1, 2, 5}, {4, -1, -1, -1, -1, -1, -1, -1, -1, 4, 4, -1});
  OnnxModel low({1, 3, 4}, 14);
  low.ints("k", {-1}, true).node("Trilu", {"x", "k"}, {"y"}).set("upper", 0);
  expect("Trilu", low, rising(12), {0, 0, 0, 0, -0.25f, 0, 0, 0, 0.25f, 0.375f, 0, 0});
}

// Indices beyond 2,048 have no neighbours in 16 bits.
DVNN_TEST(places_are_exact_in_long_arrays) {
  OnnxModel m({1, 6000}, 13);
  m.ints("places", {2049, 4097, -1});
  onnx::TensorProto* tensor = m.graph().mutable_initializer(0);
  tensor->clear_dims();
  for (int64_t d : {1, 3}) tensor->add_dims(d);
  m.node("GatherElements", {"x", "places"}, {"y"}).set("axis", 1);
  std::vector<float> input(6000);
  for (size_t i = 0; i < input.size(); ++i) input[i] = static_cast<float>(i % 97);
  expect("GatherElements", m, input, {input[2049], input[4097], input[5999]});
}

// Exporters fill a part of an array by the places of what is not 0.
DVNN_TEST(places_of_known_numbers_are_known) {
  OnnxModel m({2, 3}, 13);
  m.integers("mask", kInt32, {2, 3}, {0, 1, 0, 1, 0, 1}).ints("one", {1}, true);
  m.node("NonZero", {"mask"}, {"n"}).node("Transpose", {"n"}, {"places"}).list("perm", {1, 0});
  m.node("Size", {"x"}, {"size"}).node("Sub", {"size", "one"}, {"five"});
  m.node("Cast", {"five"}, {"number"}).set("to", 1).floats("ones", {1, 1, 1});
  m.node("Mul", {"ones", "number"}, {"updates"});
  m.node("ScatterND", {"x", "places", "updates"}, {"y"});
  expect("NonZero", m, {7, 7, 7, 7, 7, 7}, {7, 5, 7, 5, 7, 5});
}

DVNN_TEST(what_an_optimiser_fused_is_taken_apart) {
  OnnxModel conv({1, 2, 2, 2}, 13);
  conv.floats("w", rising(4)).node("FusedConv", {"x", "w", "", "x"}, {"y"}).domain(kMicrosoft);
  conv.set("activation", "Relu");
  onnx::TensorProto* weights = conv.graph().mutable_initializer(0);
  weights->clear_dims();
  for (int64_t d : {2, 2, 1, 1}) weights->add_dims(d);
  expect("FusedConv", conv, rising(8), {0, 0, 0, 0, 0.21875f, 0.234375f, 0.25f, 0.265625f});
  OnnxModel skip({1, 2, 4}, 13);
  std::vector<float> doubled = rising(8);
  for (float& value : doubled) value *= 2;
  skip.floats("s", doubled).floats("g", {1, 2, 3, 4}).floats("b", {0, 1, 0, -1});
  onnx::TensorProto* added = skip.graph().mutable_initializer(0);
  added->clear_dims();
  for (int64_t d : {1, 2, 4}) added->add_dims(d);
  skip.node("SkipLayerNormalization", {"x", "s", "g", "b"}, {"y"}).domain(kMicrosoft);
  skip.set("epsilon", 1e-5f);
  expect("SkipLayerNormalization", skip, rising(8),
         {-1.3416027f, 0.10559821f, 1.3416027f, 4.3664107f, -1.3416027f, 0.10559821f, 1.3416027f,
          4.3664107f});
  OnnxModel gelu({3, 2}, 13);
  gelu.floats("b", {0.5f, -0.5f}).node("FastGelu", {"x", "b"}, {"y"}).domain(kMicrosoft);
  expect("FastGelu", gelu, rising(6),
         {-0.10032465f, -0.14677517f, 0, -0.16704731f, 0.14967535f, -0.16627885f});
  OnnxModel last({1, 2, 2, 2}, 13);
  last.floats("s", {1}).node("QLinearSigmoid", {"x", "s", "", "s"}, {"y"}).domain(kMicrosoft);
  last.set("channels_last", 1).output("y");
  expect_refused(convert_model(last), {"QLinearSigmoid", "channels_last"});
}

DVNN_TEST(recurrent_layers_remember) {
  const std::vector<float> lstm[] = {
      {-0.15364523f, -0.14096184f, 0.087734804f, 0.098016389f, -0.22637175f, -0.18118073f,
       0.051332589f, 0.10922281f, -0.2320668f, -0.084754869f, 0.0097856754f, 0.091882572f},
      {-0.2320668f, -0.084754869f, 0.087734804f, 0.098016389f},
      {-0.47019413f, -0.13929103f, 0.25158259f, 0.38999164f}};
  for (size_t i = 0; i < 3; ++i) {
    std::vector<std::string> outputs(i, "");
    outputs.push_back("y");
    OnnxModel m = recurrent("LSTM", 4, 2, {"x", "W", "R", "B"}, outputs);
    m.set("direction", "bidirectional");
    expect("LSTM", m, rising(9), lstm[i]);
  }
  const std::vector<std::string> all = {"x", "W", "R", "B", "", "h"};
  OnnxModel before = recurrent("GRU", 3, 1, all, {"y"});
  before.set("direction", "reverse");
  expect("GRU", before, rising(9),
         {0.13866739f, 0.56325501f, -0.068561509f, 0.26801217f, -0.3547689f, -0.16528034f});
  OnnxModel after = recurrent("GRU", 3, 1, all, {"y"});
  after.set("linear_before_reset", 1);
  expect("GRU, reset after", after, rising(9),
         {-0.51226598f, -0.10948333f, -0.2949343f, 0.14165302f, -0.27456123f, 0.11359012f});
  OnnxModel plain = recurrent("RNN", 1, 1, {"x", "W", "R"}, {"y"});
  plain.set("clip", 0.5f).texts("activations", {"Relu"});
  expect("RNN", plain, rising(9), {0.5f, 0.5f, 0.15625f, 0, 0, 0});
}

// As quantize_dynamic writes it: the weights have their last axes the other way round.
DVNN_TEST(a_dynamically_quantised_lstm_is_one_of_the_numbers_it_stands_for) {
  constexpr int kGates = 8, kInputs = 3, kUnits = 2;
  constexpr float kScale = 0.015625f;
  const std::vector<int> w = integers(kGates * kInputs, 7, 101),
                         r = integers(kGates * kUnits, 5, 83);
  const auto turned = [](const std::vector<int>& matrix, int columns) {
    std::vector<int> made;
    for (int c = 0; c < columns; ++c) {
      for (int g = 0; g < kGates; ++g) made.push_back(matrix[static_cast<size_t>(g * columns + c)]);
    }
    return made;
  };
  const auto real = [](const std::vector<int>& matrix) {
    std::vector<float> made;
    for (int number : matrix) made.push_back(static_cast<float>(number - 3) * kScale);
    return made;
  };
  OnnxModel plain({3, 1, kInputs}, 14), quantised({3, 1, kInputs}, 14);
  const auto shaped = [](OnnxModel* m, const char* name, const std::vector<float>& values,
                         int columns) {
    m->floats(name, values);
    onnx::TensorProto* tensor = m->graph().mutable_initializer(m->graph().initializer_size() - 1);
    tensor->clear_dims();
    for (int64_t d : {1, kGates, columns}) tensor->add_dims(d);
  };
  shaped(&plain, "w", real(w), kInputs);
  shaped(&plain, "r", real(r), kUnits);
  add_rising(&plain, "b", {1, 2 * kGates});
  plain.node("LSTM", {"x", "w", "r", "b"}, {"y"}).set("hidden_size", kUnits);
  auto made = convert_model(plain.output("y"));
  ck_assert(made.ok());
  const auto want = run_model("LSTM", std::move(made.value()), rising(9).data());

  quantised.integers("w", kInt8, {1, kInputs, kGates}, turned(w, kInputs));
  quantised.integers("r", kInt8, {1, kUnits, kGates}, turned(r, kUnits));
  quantised.floats("s", {kScale}).integers("z", kInt8, {1}, {3});
  add_rising(&quantised, "b", {1, 2 * kGates});
  quantised.node("DynamicQuantizeLSTM", {"x", "w", "r", "b", "", "", "", "", "s", "z", "s", "z"},
                 {"y", "h", "c"});
  quantised.domain(kMicrosoft).set("hidden_size", kUnits);
  expect("DynamicQuantizeLSTM", quantised, rising(9), want);
}

// Exporters write lists for splits whose number they do not know, and for what a loop collects.
DVNN_TEST(tensors_are_found_in_lists) {
  for (int64_t opset : {12, 17}) {
    OnnxModel m({1, 5, 3}, opset);
    m.ints("two", {2}, true)
        .ints("first", {0}, true)
        .ints("last", {-1}, true)
        .ints("parts", {1, 4});
    m.node("SplitToSequence", {"x", "two"}, {"list"}).set("axis", 1);  // 2, 2, 1
    m.node("SequenceAt", {"list", "last"}, {"a"}).node("SequenceAt", {"list", "first"}, {"b"});
    m.node("Neg", {"a"}, {"c"}).node("SequenceInsert", {"list", "c", "first"}, {"longer"});
    m.node("SequenceErase", {"longer", "last"}, {"shorter"});
    m.node("ConcatFromSequence", {"shorter"}, {"d"}).set("axis", 1);  // -a, then what is but a
    m.node("SplitToSequence", {"d", "parts"}, {"others"}).set("axis", 1);
    m.node("SequenceAt", {"others", "last"}, {"e"});
    m.node("SplitToSequence", {"b"}, {"rows"}).set("axis", 1).set("keepdims", 0);
    m.node("ConcatFromSequence", {"rows"}, {"f"}).set("axis", 1).set("new_axis", 1);
    m.node("Concat", {"d", "e", "f"}, {"y"}).set("axis", 1);
    const std::vector<float> x = rising(15);
    std::vector<float> want;
    for (size_t i : {12, 13, 14}) want.push_back(-x[i]);
    for (int repeated = 0; repeated < 2; ++repeated)
      want.insert(want.end(), x.begin(), x.begin() + 12);
    want.insert(want.end(), x.begin(), x.begin() + 6);
    expect("lists", m, x, want);
  }
  OnnxModel beyond({1, 5, 3}, 17);
  beyond.ints("three", {3}, true).node("SequenceConstruct", {"x", "x"}, {"list"});
  beyond.node("SequenceAt", {"list", "three"}, {"y"}).output("y");
  expect_refused(convert_model(beyond), {"SequenceAt", "its place is not in the list"});
}

// With layout 1 the batch is first, in the state, too.
DVNN_TEST(a_state_may_have_its_batch_first) {
  constexpr int kBatch = 2, kSteps = 3, kInputs = 3, kUnits = 2;
  const std::vector<float> x = rising(18), w = rising(6), r = rising(4), h = rising(4);
  OnnxModel m({kBatch, kSteps, kInputs}, 14);
  add_rising(&m, "W", {1, kUnits, kInputs});
  add_rising(&m, "R", {1, kUnits, kUnits});
  add_rising(&m, "h", {kBatch, 1, kUnits});
  m.node("RNN", {"x", "W", "R", "", "", "h"}, {"y"}).set("hidden_size", kUnits).set("layout", 1);
  std::vector<float> want;
  const auto at = [](const std::vector<float>& list, int i) {
    return double{list[static_cast<size_t>(i)]};
  };
  for (int n = 0; n < kBatch; ++n) {
    double state[kUnits] = {at(h, n * kUnits), at(h, n * kUnits + 1)};
    for (int t = 0; t < kSteps; ++t) {
      double next[kUnits] = {};
      for (int u = 0; u < kUnits; ++u) {
        for (int i = 0; i < kInputs; ++i) {
          next[u] += at(w, u * kInputs + i) * at(x, (n * kSteps + t) * kInputs + i);
        }
        for (int i = 0; i < kUnits; ++i) next[u] += at(r, u * kUnits + i) * state[i];
        next[u] = std::tanh(next[u]);
        want.push_back(static_cast<float>(next[u]));
      }
      std::copy(next, next + kUnits, state);
    }
  }
  expect("RNN, batch first", m, x, want);
}

DVNN_TEST(what_scatters_combines) {
  OnnxModel add({2, 4}, 16);
  add.places("i", {2, 3}, {1, -1, 1, 0, 0, 2});
  add_rising(&add, "u", {2, 3});
  add.node("ScatterElements", {"x", "i", "u"}, {"y"}).set("axis", 1).set("reduction", "add");
  expect("ScatterElements", add, rising(8),
         {-0.75f, -1.875f, -0.5f, -1, -0.875f, -0.125f, -0.125f, 0.125f});
  OnnxModel product({4, 2}, 16);
  product.places("i", {3, 1}, {1, 1, -1});
  add_rising(&product, "u", {3, 2});
  product.node("ScatterND", {"x", "i", "u"}, {"y"}).set("reduction", "mul");
  expect("ScatterND", product, rising(8),
         {-0.75f, -0.625f, -0.1875f, -0.087890625f, -0.25f, -0.125f, 0, -0.015625f});
  OnnxModel gather({2, 3, 2}, 13);
  gather.places("i", {2, 1, 1}, {1, -1}).node("GatherND", {"x", "i"}, {"y"}).set("batch_dims", 1);
  expect("GatherND", gather, rising(12), {-0.5f, -0.375f, 0.5f, 0.625f});
  OnnxModel unpool({1, 2, 2, 4}, 13);
  unpool.node("MaxPool", {"x"}, {"p", "i"}).list("kernel_shape", {2, 2}).list("strides", {2, 2});
  unpool.node("MaxUnpool", {"p", "i"}, {"y"}).list("kernel_shape", {2, 2}).list("strides", {2, 2});
  expect("MaxUnpool", unpool, rising(16),
         {0, 0, 0, 0, 0, -0.125f, 0, 0.125f, 0, 0, 0, 0.625f, 0.75f, 0, 0, 0});
}

DVNN_TEST(sequences_of_several_lengths_are_refused) {
  OnnxModel m({4, 2, 3}, 14);
  m.weights("W", {1, 8, 3}).weights("R", {1, 8, 2}).integers("lengths", kInt32, {2}, {4, 3});
  m.node("LSTM", {"x", "W", "R", "", "lengths"}, {"y"}).set("hidden_size", 2).output("y");
  expect_refused(convert_model(m), {"LSTM", "3 steps among those of 4", "one length"});
}

}  // namespace dvnn::test::onnx_families_tests
