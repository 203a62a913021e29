// SPDX-License-Identifier: Apache-2.0
// Faults that tests/judge/judge_keras.py found: each test is one of its models, compared with the
// formulas of Keras' documentation.
#include <algorithm>
#include <cmath>
#include <functional>

#include "base/json.h"
#include "keras_fixture.h"
#include "run_model.h"

namespace dvnn::test::keras_corners_tests {

DVNN_SUITE(import_keras_corners);

using json = dvnn::Json;

namespace {

using Values = std::vector<float>;
constexpr size_t kH = 4, kW = 4, kC = 3;  // square: a wrong axis is not seen by its size
constexpr size_t kLength = 4, kChannels = 4;

json input(const char* name, const json& sides) {
  json dims = {nullptr};
  for (const json& side : sides) dims.push_back(side);
  return {{"class_name", "InputLayer"},
          {"name", name},
          {"config", {{"name", name}, {"batch_input_shape", dims}}},
          {"inbound_nodes", json::array()}};
}

json call(const char* layer, int node = 0, int result = 0) {
  return {layer, node, result, json::object()};
}

// A layer, and its calls: each a list of references.
json layer(const char* class_name, const char* name, json config, std::vector<json> calls) {
  config["name"] = name;
  json nodes = json::array();
  for (json& references : calls) nodes.push_back(std::move(references));
  return {{"class_name", class_name}, {"name", name}, {"config", config}, {"inbound_nodes", nodes}};
}

json model(json layers, json outputs, json inputs = {{"x", 0, 0}}) {
  return {{"class_name", "Functional"},
          {"config",
           {{"name", "m"},
            {"layers", std::move(layers)},
            {"input_layers", std::move(inputs)},
            {"output_layers", std::move(outputs)}}}};
}

// A model's first output for an input in the graph's order, in FP32 as imported and as converted.
void expect(const char* what, const KerasModel& keras, const json& architecture, const Values& in,
            const Values& want, const char* version = "2.4.0") {
  convert::Report report;
  auto made = convert_model(keras, architecture, version, &report);
  ck_assert_msg(made.ok(), "%s: %s", what, made.ok() ? "" : made.error().message.c_str());
  expect_close(what, run_reference(what, *report.imported, in.data()), want.data(), want.size(),
               kFloatTolerance);
  expect_close(what, run_model(what, std::move(made.value()), in.data()), want.data(), want.size());
}

// A layer alone, on a picture of 4 x 4 x 3 or on a sequence of 4 x 4.
void expect_layer(const char* class_name, const json& config, const KerasModel& weights,
                  bool sequence, const Values& want, const char* version = "2.4.0") {
  const json dims = sequence ? json{kLength, kChannels} : json{kH, kW, kC};
  const Values in = rising(sequence ? kLength * kChannels : kH * kW * kC);
  const json made =
      model({input("x", dims), layer(class_name, "l", config, {json{call("x")}})}, {{"l", 0, 0}});
  expect(class_name, weights, made, in, want, version);
}

// A picture of rising numbers in the graph's order, of which each element is changed.
Values picture(const std::function<double(double value, size_t y, size_t x, size_t c)>& change) {
  Values values = rising(kH * kW * kC);
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t c = i / (kH * kW), y = i / kW % kH, x = i % kW;
    values[i] = static_cast<float>(change(double{values[i]}, y, x, c));
  }
  return values;
}

// A sequence of rising numbers, (channels, length) in the graph, of which each element is changed.
Values sequence(const std::function<double(double value, size_t at, size_t c)>& change) {
  Values values = rising(kLength * kChannels);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(change(double{values[i]}, i % kLength, i / kLength));
  }
  return values;
}

json double_of(const char* name, std::vector<json> calls) {
  return layer("Rescaling", name, {{"scale", 2}, {"offset", 0.5}}, std::move(calls));
}

// A function that is another one when it is applied twice. (Products and sums of the input alone
// would become part of the picture's scale.)
json sigmoid(const char* name, std::vector<json> calls) {
  return layer("Activation", name, {{"activation", "sigmoid"}}, std::move(calls));
}

double sigmoid_of(double v) {
  return 1 / (1 + std::exp(-v));
}

}  // namespace

// Layers stand where they are called first: what a later call reads may stand behind.
DVNN_TEST(shared_layers_read_what_stands_behind_them) {
  const json shared =
      model({input("x", {kH, kW, kC}), sigmoid("a", {json{call("x")}, json{call("b")}}),
             layer("Rescaling", "b", {{"scale", -1}, {"offset", 1}}, {json{call("a")}}),
             layer("Subtract", "s", json::object(), {json{call("a", 1), call("a", 0)}})},
            {{"s", 0, 0}});
  expect("a(b(a(x)))", KerasModel(), shared, rising(kH * kW * kC),
         picture([](double v, size_t, size_t, size_t) {
           return sigmoid_of(1 - sigmoid_of(v)) - sigmoid_of(v);
         }));
  json loop = shared;
  loop["config"]["layers"][2]["inbound_nodes"] = json::array({json::array({call("a", 1)})});
  expect_refused(convert_model(KerasModel(), loop), {"'a'", "reads itself"});
  loop["config"]["layers"][2]["inbound_nodes"] = json::array({json::array({call("none")})});
  expect_refused(convert_model(KerasModel(), loop), {"'none'", "does not exist"});
}

// A model that is a layer has a call of its own before all others, which Keras 2 counts.
DVNN_TEST(calls_of_nested_models_are_counted_from_one) {
  const json inner = model({input("i", {kH, kW, kC}), sigmoid("d", {json{call("i")}})},
                           {{"d", 0, 0}}, {{"i", 0, 0}})["config"];
  const json twice =
      model({input("x", {kH, kW, kC}),
             layer("Functional", "n", inner, {json{call("x")}, json{call("n", 1)}}),
             layer("Subtract", "s", json::object(), {json{call("n", 2), call("n", 1)}})},
            {{"s", 0, 0}});
  expect("n(n(x)) - n(x)", KerasModel(), twice, rising(kH * kW * kC),
         picture([](double v, size_t, size_t, size_t) {
           return sigmoid_of(sigmoid_of(v)) - sigmoid_of(v);
         }));
}

DVNN_TEST(nested_models_have_several_inputs_and_results) {
  json inner = model({input("i", {kH, kW, kC}), input("j", {kH, kW, kC}),
                      layer("Subtract", "d", json::object(), {json{call("j"), call("i")}}),
                      double_of("e", {json{call("i")}})},
                     {{"d", 0, 0}, {"e", 0, 0}}, {{"i", 0, 0}, {"j", 0, 0}})["config"];
  const json two =
      model({input("x", {kH, kW, kC}),
             layer("Rescaling", "y", {{"scale", 3}, {"offset", 0}}, {json{call("x")}}),
             layer("Functional", "n", inner, {json{call("x"), call("y")}}),
             layer("Add", "s", json::object(), {json{call("n", 1, 0), call("n", 1, 1)}})},
            {{"s", 0, 0}});
  expect("two inputs", KerasModel(), two, rising(kH * kW * kC),
         picture([](double v, size_t, size_t, size_t) { return 3 * v - v + 2 * v + 0.5; }));
  json few = two;
  few["config"]["layers"][2]["inbound_nodes"] = json::array({json::array({call("x")})});
  expect_refused(convert_model(KerasModel(), few), {"'n'", "1 inputs", "lists 2"});
}

// "block/c" is both a layer's name and a path that ends with the layer "c".
DVNN_TEST(weights_of_nested_models_are_found_by_whole_names) {
  const json one = {{"use_bias", true}, {"kernel_size", {1, 1}}};
  json b = one, c = one;
  const json inner = model({input("i", {kH, kW, kC}), layer("Conv2D", "c", b, {json{call("i")}}),
                            layer("Conv2D", "block/c", c, {json{call("c")}})},
                           {{"block/c", 0, 0}}, {{"i", 0, 0}})["config"];
  const json outer =
      model({input("x", {kH, kW, kC}), layer("Functional", "n", inner, {json{call("x")}})},
            {{"n", 1, 0}});
  auto diagonal = [](float factor) {
    Values kernel(kC * kC, 0.0f);
    for (size_t i = 0; i < kC; ++i) kernel[i * (kC + 1)] = factor;
    return kernel;
  };
  const Values want =
      picture([](double v, size_t, size_t, size_t) { return 3 * (2 * v + 0.5) + 0.25; });
  KerasModel weights;
  weights.array("block/c", "kernel:0", {1, 1, kC, kC}, diagonal(3), "n")
      .array("block/c", "bias:0", {kC}, {0.25f, 0.25f, 0.25f}, "n")
      .array("c", "kernel:0", {1, 1, kC, kC}, diagonal(2), "n")
      .array("c", "bias:0", {kC}, {0.5f, 0.5f, 0.5f}, "n");
  expect("block/c", weights, outer, rising(kH * kW * kC), want);
  // Another model of the program has a "c", too: this one's weights are numbered.
  KerasModel numbered;
  numbered.array("block/c", "kernel:0", {1, 1, kC, kC}, diagonal(3), "n")
      .array("block/c", "bias:0", {kC}, {0.25f, 0.25f, 0.25f}, "n")
      .array("c_1", "kernel:0", {1, 1, kC, kC}, diagonal(2), "n")
      .array("c_1", "bias:0", {kC}, {0.5f, 0.5f, 0.5f}, "n");
  expect("c_1", numbered, outer, rising(kH * kW * kC), want);
}

DVNN_TEST(prelu_has_slopes_of_any_shape) {
  auto slopes = [](std::vector<hsize_t> dims) {
    KerasModel m;
    return m.weights("l", "alpha:0", std::move(dims));
  };
  // Of what is not shared, by its place.
  struct Case {
    json shared;
    std::vector<hsize_t> dims;
    size_t of_y, of_x, of_c;
  };
  const Case cases[] = {{{1, 2}, {1, 1, kC}, 0, 0, 1},          {{1, 3}, {1, kW, 1}, 0, 1, 0},
                        {{2, 3}, {kH, 1, 1}, 1, 0, 0},          {{1, 2, 3}, {1, 1, 1}, 0, 0, 0},
                        {{1}, {1, kW, kC}, 0, kC, 1},           {{3}, {kH, kW, 1}, kW, 1, 0},
                        {nullptr, {kH, kW, kC}, kW * kC, kC, 1}};
  for (const Case& one : cases) {
    const KerasModel weights = slopes(one.dims);
    const Values& alpha = weights.values(0);
    expect_layer("PReLU", {{"shared_axes", one.shared}}, weights, false,
                 picture([&](double v, size_t y, size_t x, size_t c) {
                   return v > 0 ? v : v * double{alpha[y * one.of_y + x * one.of_x + c * one.of_c]};
                 }));
  }
  const KerasModel along = slopes({kLength, 1});
  expect_layer("PReLU", {{"shared_axes", {2}}}, along, true,
               sequence([&](double v, size_t at, size_t) {
                 return v > 0 ? v : v * double{along.values(0)[at]};
               }));
  expect_refused(convert_model(slopes({2, 1, 1}),
                               model({input("x", {kH, kW, kC}),
                                      layer("PReLU", "l", json::object(), {json{call("x")}})},
                                     {{"l", 0, 0}})),
                 {"'l'", "2x1x1"});
}

// (H, W, C) with (C), and with (1, W, 1): what has fewer dimensions gets some of size 1 in front.
DVNN_TEST(merges_broadcast) {
  auto merge = [](const char* class_name, const char* second, json more) {
    json layers = {input("x", {kH, kW, kC}),
                   layer("GlobalMaxPooling2D", "v", json::object(), {json{call("x")}}),
                   layer("MaxPooling2D", "p", {{"pool_size", {kH, 1}}}, {json{call("x")}})};
    for (const json& one : more) layers.push_back(one);
    layers.push_back(layer(class_name, "l", json::object(), {json{call("x"), call(second)}}));
    return model(layers, {{"l", 0, 0}});
  };
  const Values in = rising(kH * kW * kC);
  Values peaks(kC, -9.0f), columns(kC * kW, -9.0f);
  for (size_t i = 0; i < in.size(); ++i) {
    const size_t c = i / (kH * kW);
    peaks[c] = std::max(peaks[c], in[i]);
    float& column = columns[c * kW + i % kW];
    column = std::max(column, in[i]);
  }
  const std::pair<const char*, double (*)(double, double)> kMerges[] = {
      {"Add", [](double a, double b) { return a + b; }},
      {"Subtract", [](double a, double b) { return a - b; }},
      {"Multiply", [](double a, double b) { return a * b; }},
      {"Average", [](double a, double b) { return (a + b) / 2; }},
      {"Maximum", [](double a, double b) { return std::max(a, b); }}};
  for (const auto& [name, function] : kMerges) {
    const auto f = function;
    expect(name, KerasModel(), merge(name, "v", json::array()), in,
           picture([&](double v, size_t, size_t, size_t c) { return f(v, double{peaks[c]}); }));
    expect(name, KerasModel(), merge(name, "p", json::array()), in,
           picture([&](double v, size_t, size_t x, size_t c) {
             return f(v, double{columns[c * kW + x]});
           }));
  }
  const json row = layer("Reshape", "r", {{"target_shape", {1, kC}}}, {json{call("v")}});
  const json four = layer("Reshape", "r", {{"target_shape", {1, kH, 1, kC}}}, {json{call("p")}});
  expect("a sequence", KerasModel(), merge("Multiply", "r", {row}), in,
         picture([&](double v, size_t, size_t, size_t c) { return v * double{peaks[c]}; }));
  // (4, 4, 3) and (1, 4, 1, 3), whose result (1, 4, 4, 3) has Keras' order; p's columns are rows.
  Values turned;
  for (size_t i = 0; i < kH * kW; ++i) {
    for (size_t c = 0; c < kC; ++c) {
      turned.push_back(in[c * kH * kW + i] + columns[c * kW + i / kW]);
    }
  }
  expect("four dimensions", KerasModel(), merge("Add", "r", {four}), in, turned);
}

// Of (length, channels), axis 1 is the length.
DVNN_TEST(axes_of_sequences_are_theirs) {
  const Values in = rising(kLength * kChannels);
  Values joined;
  for (size_t c = 0; c < kChannels; ++c) {
    for (float factor : {1.0f, 2.0f}) {
      for (size_t i = 0; i < kLength; ++i) joined.push_back(in[c * kLength + i] * factor);
    }
  }
  const json layers = {
      input("x", {kLength, kChannels}), layer("Rescaling", "d", {{"scale", 2}}, {json{call("x")}}),
      layer("Concatenate", "l", {{"axis", 1}}, {json{call("x"), call("d")}}),
      layer("MaxPooling1D", "p", {{"pool_size", {5}}, {"strides", {3}}}, {json{call("l")}})};
  expect("Concatenate", KerasModel(), model(layers, {{"l", 0, 0}}), in, joined);
  Values peaks;  // of five that stand beside each other, on both sides of the seam
  for (size_t c = 0; c < kChannels; ++c) {
    for (size_t first : {0, 3}) {
      const auto at = joined.begin() + static_cast<std::ptrdiff_t>(c * 2 * kLength + first);
      peaks.push_back(*std::max_element(at, at + 5));
    }
  }
  expect("a sequence of both", KerasModel(), model(layers, {{"p", 0, 0}}), in, peaks);
  expect_layer("Softmax", {{"axis", 1}}, KerasModel(), true,
               sequence([&](double v, size_t, size_t c) {
                 double sum = 0;
                 for (size_t i = 0; i < kLength; ++i) sum += std::exp(in[c * kLength + i]);
                 return std::exp(v) / sum;
               }));
  KerasModel norm;
  norm.array("l", "moving_mean:0", {kLength}, {1, 2, 3, 4})
      .array("l", "moving_variance:0", {kLength}, {1, 4, 9, 16});
  expect_layer("BatchNormalization",
               {{"axis", 1}, {"epsilon", 0}, {"scale", false}, {"center", false}}, norm, true,
               sequence([](double v, size_t at, size_t) {
                 const double n = static_cast<double>(at) + 1;
                 return (v - n) / n;
               }));
  expect_layer("Permute", {{"dims", {2, 1}}}, KerasModel(), true,
               sequence([&](double, size_t at, size_t c) { return in[at * kLength + c]; }));
}

DVNN_TEST(what_is_reshaped_to_a_sequence_is_one) {
  KerasModel weights;
  weights.array("l", "kernel:0", {1, kChannels, kChannels},
                {1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 3, 0, 0, 0, 0, 4});
  const json layers = {
      input("x", {kLength * kChannels}),
      layer("Reshape", "r", {{"target_shape", {kLength, kChannels}}}, {json{call("x")}}),
      layer("Conv1D", "l", {{"use_bias", false}}, {json{call("r")}})};
  const Values in = rising(kLength * kChannels);
  Values want;
  for (size_t c = 0; c < kChannels; ++c) {
    for (size_t i = 0; i < kLength; ++i) {
      want.push_back(in[i * kChannels + c] * static_cast<float>(c + 1));
    }
  }
  expect("Conv1D", weights, model(layers, {{"l", 0, 0}}), in, want);
}

DVNN_TEST(dense_layers_take_the_last_axis) {
  KerasModel weights;
  weights.array("l", "kernel:0", {kC, 1}, {1, 10, 100}).array("l", "bias:0", {1}, {0.5f});
  const Values in = rising(kH * kW * kC);
  Values want;
  for (size_t i = 0; i < kH * kW; ++i) {
    want.push_back(in[i] + 10 * in[kH * kW + i] + 100 * in[2 * kH * kW + i] + 0.5f);
  }
  expect_layer("Dense", json::object(), weights, false, want);
  KerasModel along;
  along.array("l", "kernel:0", {kChannels, 1}, {1, 2, 3, 4});
  const Values row = rising(kLength * kChannels);
  Values sums(kLength, 0.0f);
  for (size_t i = 0; i < row.size(); ++i) {
    sums[i % kLength] += row[i] * static_cast<float>(i / kLength + 1);
  }
  expect_layer("Dense", {{"use_bias", false}}, along, true, sums);
}

DVNN_TEST(the_hard_sigmoid_of_keras_3_has_a_slope_of_a_sixth) {
  for (const auto& [version, slope] : {std::pair("2.4.0", 0.2), std::pair("3.4.1", 1.0 / 6)}) {
    const double s = slope;
    expect_layer("Activation", {{"activation", "hard_sigmoid"}}, KerasModel(), false,
                 picture([s](double v, size_t, size_t, size_t) {
                   return std::min(std::max(s * v + 0.5, 0.0), 1.0);
                 }),
                 version);
  }
}

// Of ones, each pixel counts the kernel's places that it is read by.
DVNN_TEST(transposed_convolutions_have_keras_sides) {
  auto along = [](const json& config, size_t kernel, const Values& want, const char* version) {
    KerasModel weights;
    const std::vector<hsize_t> dims = {1, kernel, 1, kC};
    weights.array("l", "kernel:0",
                  version[0] == '1' ? std::vector<hsize_t>{1, kernel, kC, 1} : dims,
                  Values(kernel * kC, 1.0f));
    json given = config;
    given[version[0] == '1' ? "bias" : "use_bias"] = false;
    const char* name = version[0] == '1' ? "Deconvolution2D" : "Conv2DTranspose";
    const json made =
        model({input("x", {1, kW, kC}), layer(name, "l", given, {json{call("x")}})}, {{"l", 0, 0}});
    Values ones(kW * kC, 1.0f), thrice = want;
    for (float& v : thrice) v *= kC;
    expect(name, weights, made, ones, thrice, version);
  };
  along({{"padding", "same"}, {"dilation_rate", {1, 2}}}, 3, {2, 2, 2, 2}, "2.4.0");
  along({{"padding", "valid"}, {"strides", {1, 2}}, {"output_padding", {0, 1}}}, 2,
        {1, 1, 1, 1, 1, 1, 1, 1, 0}, "2.4.0");
  along({{"border_mode", "valid"}, {"subsample", {1, 2}}, {"output_shape", {nullptr, 1, 9, 1}}}, 2,
        {1, 1, 1, 1, 1, 1, 1, 1, 0}, "1.2.2");
  along({{"border_mode", "same"}, {"subsample", {1, 2}}, {"output_shape", {nullptr, 1, 7, 1}}}, 3,
        {1, 2, 1, 2, 1, 2, 1}, "1.2.2");
  KerasModel weights;
  weights.array("l", "kernel:0", {2, 1, kChannels}, Values(2 * kChannels, 1.0f));
  const Values in = rising(kLength * kChannels);
  Values sums(2 * kLength + 1, 0.0f);
  for (size_t i = 0; i < in.size(); ++i) {
    for (size_t k : {0, 1}) sums[2 * (i % kLength) + k] += in[i];
  }
  expect_layer("Conv1DTranspose", {{"strides", {2}}, {"output_padding", {1}}, {"use_bias", false}},
               weights, true, sums);
  expect_refused(convert_model(weights, model({input("x", {kLength, kChannels}),
                                               layer("Conv1DTranspose", "l",
                                                     {{"output_padding", {3}}}, {json{call("x")}})},
                                              {{"l", 0, 0}})),
                 {"'l'", "a side of 8"});
}

DVNN_TEST(numbers_of_the_last_axis_are_its_own) {
  const Values in = rising(kLength * kChannels);
  Values want = in;
  for (size_t i = 0; i < want.size(); ++i) want[i] *= static_cast<float>(i % kChannels + 1);
  const json layers = {
      input("x", {kLength * kChannels}),
      layer("Reshape", "r", {{"target_shape", {kLength, kChannels}}}, {json{call("x")}}),
      layer("Rescaling", "l", {{"scale", {1, 2, 3, 4}}}, {json{call("r")}})};
  expect("Rescaling", KerasModel(), model(layers, {{"l", 0, 0}}), in, want);
  json few = layers;
  few[2]["config"]["scale"] = {1, 2, 3};
  expect_refused(convert_model(KerasModel(), model(few, {{"l", 0, 0}})), {"'l'", "scale", "4"});
}

// x * 2 and 1 - x, in Keras 3, are operators with the number among their arguments.
DVNN_TEST(operators_read_numbers) {
  auto tensor = [](const char* name) {
    return json{{"class_name", "__keras_tensor__"}, {"config", {{"keras_history", {name, 0, 0}}}}};
  };
  auto node = [](json args) {
    return json::array({json{{"args", std::move(args)}, {"kwargs", json::object()}}});
  };
  json twice = layer("Multiply", "t", json::object(), {});
  twice["module"] = "keras.src.ops.numpy";
  twice["inbound_nodes"] = node({tensor("x"), 2.0});
  json less = layer("Subtract", "l", json::object(), {});
  less["module"] = "keras.src.ops.numpy";
  less["inbound_nodes"] = node({1, tensor("t")});
  expect("1 - x * 2", KerasModel(),
         model({input("x", {kH, kW, kC}), twice, less}, {"l", 0, 0}, {"x", 0, 0}),
         rising(kH * kW * kC), picture([](double v, size_t, size_t, size_t) { return 1 - v * 2; }),
         "3.4.1");
}

// Early versions of Keras 2 wrote a sequence as a list, in which sequences have no names.
DVNN_TEST(lists_of_layers_hold_models) {
  auto conv = [](const char* name) {
    return json{{"class_name", "Conv2D"}, {"config", {{"name", name}, {"use_bias", false}}}};
  };
  json first = conv("a");
  first["config"]["batch_input_shape"] = {nullptr, kH, kW, kC};
  const json inner = {{"class_name", "Sequential"}, {"config", json::array({conv("b")})}};
  // A model that comes first has the input.
  const json whole = {
      {"class_name", "Sequential"},
      {"config",
       json::array(
           {{{"class_name", "Model"},
             {"config", model({input("i", {kH, kW, kC}),
                               layer("Conv2D", "a", {{"use_bias", false}}, {json{call("i")}})},
                              {{"a", 0, 0}}, {{"i", 0, 0}})["config"]}},
            inner})}};
  KerasModel weights;
  weights.array("a", "kernel:0", {1, 1, kC, kC}, {2, 0, 0, 0, 2, 0, 0, 0, 2}, "m")
      .array("b", "kernel:0", {1, 1, kC, kC}, {3, 0, 0, 0, 3, 0, 0, 0, 3}, "seq");
  weights.groups = {"m", "seq"};
  expect("a list", weights, whole, rising(kH * kW * kC),
         picture([](double v, size_t, size_t, size_t) { return 6 * v; }));
}

DVNN_TEST(modes_of_keras_1_are_told_apart) {
  KerasModel norm;
  norm.array("l", "l_running_mean", {kC}, {1, 2, 3}).array("l", "l_running_std", {kC}, {1, 1, 1});
  auto made = [](int mode) {
    return model({input("x", {kH, kW, kC}),
                  layer("BatchNormalization", "l",
                        {{"mode", mode}, {"scale", false}, {"center", false}, {"epsilon", 0}},
                        {json{call("x")}})},
                 {{"l", 0, 0}});
  };
  expect("mode 0", norm, made(0), rising(kH * kW * kC),
         picture([](double v, size_t, size_t, size_t c) { return v - static_cast<double>(c) - 1; }),
         "1.2.2");
  expect_refused(convert_model(norm, made(2), "1.2.2"), {"'l'", "mode 2"});
}

}  // namespace dvnn::test::keras_corners_tests
