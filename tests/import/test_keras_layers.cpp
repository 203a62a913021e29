// SPDX-License-Identifier: Apache-2.0
// Every layer of Keras that is not a convolution, against its formula in Keras' documentation, and
// the biases of convolutions.
#include <functional>

#include "base/json.h"
#include "keras_fixture.h"
#include "run_model.h"

namespace dvnn::test::keras_layers_tests {

DVNN_SUITE(import_keras_layers);

using json = dvnn::Json;

namespace {

constexpr size_t kH = 4, kW = 6, kC = 3, kPlane = kH * kW;
using Values = std::vector<float>;

// The input of all models here, channels first; values of both signs, none twice in a channel.
Values picture() {
  Values values(kC * kPlane);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i * 29 % 71) / 16 - 2.0f;
  }
  return values;
}

json shaped(const char* name, json more) {
  more["name"] = name;
  more["batch_input_shape"] = {nullptr, static_cast<int>(kH), static_cast<int>(kW),
                               static_cast<int>(kC)};
  return more;
}

// Returns the shape of the output, whose values must be `want`, channels first.
Shape expect(const char* what, const KerasModel& keras, const Values& want,
             const json& architecture = nullptr) {
  convert::Report report;
  auto model = convert_model(keras, architecture, "2.4.0", &report);
  ck_assert_msg(model.ok(), "%s: %s", what, model.ok() ? "" : model.error().message.c_str());
  const Values input = picture();
  expect_close(what, run_reference(what, *report.imported, input.data()), want.data(), want.size(),
               kFloatTolerance);
  const auto output = static_cast<size_t>(model.value().outputs[0].tensor);
  const Shape shape = model.value().tensors[output].desc.shape;
  expect_close(what, run_model(what, std::move(model.value()), input.data()), want.data(),
               want.size());
  return shape;
}

// Returns the picture after a function of a value and its channel.
Values each(const std::function<double(double value, size_t channel)>& function) {
  Values values = picture();
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(function(double{values[i]}, i / kPlane));
  }
  return values;
}

KerasModel one(const char* class_name, json config) {
  KerasModel m;
  m.layer(class_name, shaped("l", std::move(config)));
  return m;
}

Values identity() {
  Values kernel(kC * kC, 0.0f);
  for (size_t c = 0; c < kC; ++c) kernel[c * (kC + 1)] = 1;
  return kernel;
}

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

}  // namespace

DVNN_TEST(activations_are_what_keras_says) {
  const std::pair<const char*, double (*)(double)> kFunctions[] = {
      {"linear", [](double x) { return x; }},
      {"relu", [](double x) { return std::max(x, 0.0); }},
      {"relu6", [](double x) { return std::min(std::max(x, 0.0), 6.0); }},
      {"elu", [](double x) { return x > 0 ? x : std::expm1(x); }},
      {"sigmoid", sigmoid},
      {"tanh", [](double x) { return std::tanh(x); }},
      {"hard_sigmoid", [](double x) { return std::min(std::max(0.2 * x + 0.5, 0.0), 1.0); }},
      {"exponential", [](double x) { return std::exp(x); }},
      {"softplus", [](double x) { return std::log1p(std::exp(x)); }},
      {"swish", [](double x) { return x * sigmoid(x); }},
      {"silu", [](double x) { return x * sigmoid(x); }},
      {"leaky_relu", [](double x) { return x > 0 ? x : x / 5; }},
      {"softsign", [](double x) { return x / (1 + std::fabs(x)); }},
      {"selu", [](double x) { return 1.05070098 * (x > 0 ? x : 1.67326324 * std::expm1(x)); }},
      {"gelu", [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }},
      {"mish", [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }},
      {"hard_silu", [](double x) { return x * std::min(std::max(x / 6 + 0.5, 0.0), 1.0); }}};
  for (const auto& [name, function] : kFunctions) {
    const auto* const f = &function;
    const Values want = each([f](double x, size_t) { return (*f)(x); });
    // Alone a linear function is no step at all, and a network has one.
    if (std::string(name) != "linear") {
      expect(name, one("Activation", {{"activation", name}}), want);
    }
    KerasModel own = one("Conv2D", {{"activation", name}, {"use_bias", false}});
    expect(name, own.array("l", "kernel:0", {1, 1, kC, kC}, identity()), want);
  }
  Values shares = picture();
  for (size_t i = 0; i < kPlane; ++i) {
    double sum = 0;
    for (size_t c = 0; c < kC; ++c) sum += std::exp(double{picture()[c * kPlane + i]});
    for (size_t c = 0; c < kC; ++c) {
      float& share = shares[c * kPlane + i];
      share = static_cast<float>(std::exp(double{share}) / sum);
    }
  }
  expect("softmax", one("Activation", {{"activation", "softmax"}}), shares);
  expect("Softmax", one("Softmax", json::object()), shares);
  Values columns = picture();
  for (size_t i = 0; i < columns.size(); ++i) {
    const size_t top = i / kPlane * kPlane + i % kW;
    double sum = 0;
    for (size_t y = 0; y < kH; ++y) sum += std::exp(double{picture()[top + y * kW]});
    columns[i] = static_cast<float>(std::exp(double{columns[i]}) / sum);
  }
  expect("Softmax of columns", one("Softmax", {{"axis", 1}}), columns);
  expect_refused(convert_model(one("Softmax", {{"axis", 4}})), {"'l'", "axis 4"});
}

DVNN_TEST(layers_of_slopes_and_bounds_take_theirs) {
  auto leaky = [](double slope) {
    return each([slope](double x, size_t) { return x > 0 ? x : slope * x; });
  };
  expect("LeakyReLU", one("LeakyReLU", json::object()), leaky(0.3));
  expect("LeakyReLU", one("LeakyReLU", {{"alpha", 0.125}}), leaky(0.125));
  expect("LeakyReLU", one("LeakyReLU", {{"negative_slope", 0.25}}), leaky(0.25));
  expect("ReLU", one("ReLU", {{"max_value", nullptr}, {"negative_slope", 0.5}}), leaky(0.5));
  expect("ELU", one("ELU", {{"alpha", 1.0}}),
         each([](double x, size_t) { return x > 0 ? x : std::expm1(x); }));
  KerasModel six = one("Conv2D", {{"use_bias", false}});
  Values fourfold = identity();
  for (float& v : fourfold) v *= 4;
  six.array("l", "kernel:0", {1, 1, kC, kC}, fourfold);
  six.layer("ReLU", {{"name", "r"}, {"max_value", 6}});
  expect("ReLU 6", six, each([](double x, size_t) { return std::min(std::max(4 * x, 0.0), 6.0); }));
  KerasModel slopes = one("PReLU", {{"shared_axes", {1, 2}}});
  slopes.array("l", "alpha:0", {1, 1, kC}, {0.5f, 0.25f, -1});
  const double of[] = {0.5, 0.25, -1};
  expect("PReLU", slopes, each([&](double x, size_t c) { return x > 0 ? x : of[c] * x; }));
  const double scales[] = {2, 0.5, -1}, offsets[] = {1, 2, 3};
  expect("Rescaling", one("Rescaling", {{"scale", {2, 0.5, -1}}, {"offset", {1, 2, 3}}}),
         each([&](double x, size_t c) { return x * scales[c] + offsets[c]; }));
  expect("ReLU from 1 on", one("ReLU", {{"threshold", 1}}),
         each([](double x, size_t) { return x >= 1 ? x : 0; }));
  expect("ReLU 1.5", one("ReLU", {{"max_value", 1.5}}),
         each([](double x, size_t) { return std::min(std::max(x, 0.0), 1.5); }));
  expect("ReLU 1.5 with a slope", one("ReLU", {{"max_value", 1.5}, {"negative_slope", 0.25}}),
         each([](double x, size_t) { return std::min(std::max(x, x * 0.25), 1.5); }));
  expect("ELU", one("ELU", {{"alpha", 0.5}}),
         each([](double x, size_t) { return x > 0 ? x : std::expm1(x) / 2; }));
  expect_refused(convert_model(one("ReLU", {{"threshold", 1}, {"negative_slope", 0.5}})),
                 {"'l'", "threshold"});
  expect_refused(convert_model(one("ReLU", {{"max_value", "3"}})), {"'l'", "max_value"});
}

DVNN_TEST(batch_normalisation_takes_the_numbers_that_it_has) {
  const Values gamma = {2, 0.5f, -1}, beta = {0.25f, -0.5f, 1}, mean = {0.5f, -0.25f, 1},
               variance = {3.5f, 0.5f, 15.5f};
  for (bool scales : {true, false}) {
    for (bool centres : {true, false}) {
      KerasModel m =
          one("BatchNormalization", {{"epsilon", 0.5}, {"scale", scales}, {"center", centres}});
      if (scales) m.array("l", "gamma:0", {kC}, gamma);
      if (centres) m.array("l", "beta:0", {kC}, beta);
      m.array("l", "moving_mean:0", {kC}, mean).array("l", "moving_variance:0", {kC}, variance);
      expect("BatchNormalization", m, each([&](double x, size_t c) {
               const double v = (x - double{mean[c]}) / std::sqrt(double{variance[c]} + 0.5);
               return v * (scales ? double{gamma[c]} : 1) + (centres ? double{beta[c]} : 0);
             }));
    }
  }
  KerasModel odd = one("BatchNormalization", {{"scale", false}, {"center", false}});
  odd.array("l", "moving_mean:0", {kC}, mean).array("l", "moving_variance:0", {kC}, {1, -1, 1});
  expect_refused(convert_model(odd), {"'l'", "variance of channel 1"});
}

DVNN_TEST(global_pooling_keeps_a_picture_if_it_is_told_to) {
  Values means(kC, 0.0f), peaks(kC, -100.0f);
  const Values in = picture();
  for (size_t i = 0; i < in.size(); ++i) {
    means[i / kPlane] += in[i] / static_cast<float>(kPlane);
    peaks[i / kPlane] = std::max(peaks[i / kPlane], in[i]);
  }
  const std::pair<const char*, const Values*> kinds[] = {{"GlobalAveragePooling2D", &means},
                                                         {"GlobalMaxPooling2D", &peaks}};
  for (const auto& [name, want] : kinds) {
    ck_assert(expect(name, one(name, json::object()), *want) == Shape({1, kC}));
    ck_assert(expect(name, one(name, {{"keepdims", true}}), *want) == Shape({1, kC, 1, 1}));
  }
}

DVNN_TEST(windows_at_the_edge_have_the_pixels_that_there_are) {
  // Windows of 3 in steps of 2, "same": rows 0 to 2 and 2 to 3, columns likewise; pads do not
  // count.
  auto pooled = [](bool average) {
    const Values in = picture();
    Values out;
    for (size_t c = 0; c < kC; ++c) {
      for (size_t y = 0; y < kH; y += 2) {
        for (size_t x = 0; x < kW; x += 2) {
          float sum = 0, most = -100, count = 0;
          for (size_t v = y; v < std::min(y + 3, kH); ++v) {
            for (size_t u = x; u < std::min(x + 3, kW); ++u, ++count) {
              const float value = in[c * kPlane + v * kW + u];
              sum += value;
              most = std::max(most, value);
            }
          }
          out.push_back(average ? sum / count : most);
        }
      }
    }
    return out;
  };
  const json config = {{"pool_size", {3, 3}}, {"strides", {2, 2}}, {"padding", "same"}};
  expect("AveragePooling2D", one("AveragePooling2D", config), pooled(true));
  expect("MaxPooling2D", one("MaxPooling2D", config), pooled(false));
  expect_refused(convert_model(one("MaxPooling2D", {{"strides", 0}})), {"'l'", "stride is 0"});
}

DVNN_TEST(biases_are_added) {
  const Values bias = {1, -2, 0.5f};
  const Values want = each([&](double x, size_t c) { return x + double{bias[c]}; });
  KerasModel conv = one("Conv2D", json::object());
  conv.array("l", "kernel:0", {1, 1, kC, kC}, identity()).array("l", "bias:0", {kC}, bias);
  expect("Conv2D", conv, want);
  KerasModel separable = one("SeparableConv2D", json::object());
  separable.array("l", "depthwise_kernel:0", {1, 1, kC, 1}, {1, 1, 1})
      .array("l", "pointwise_kernel:0", {1, 1, kC, kC}, identity())
      .array("l", "bias:0", {kC}, bias);
  expect("SeparableConv2D", separable, want);
  // Every channel makes two: times 1 and times 2.
  KerasModel depthwise = one("DepthwiseConv2D", {{"depth_multiplier", 2}});
  depthwise.array("l", "depthwise_kernel:0", {1, 1, kC, 2}, {1, 2, 1, 2, 1, 2})
      .array("l", "bias:0", {2 * kC}, {1, 2, 3, 4, 5, 6});
  Values doubled;
  for (size_t c = 0; c < 2 * kC; ++c) {
    for (size_t i = 0; i < kPlane; ++i) {
      doubled.push_back(picture()[c / 2 * kPlane + i] * static_cast<float>(c % 2 + 1) +
                        static_cast<float>(c + 1));
    }
  }
  expect("DepthwiseConv2D", depthwise, doubled);
  // Steps of 2 with a kernel of 2 by 2: every pixel becomes four.
  KerasModel transposed = one("Conv2DTranspose", {{"strides", 2}});
  transposed.array("l", "kernel:0", {2, 2, 1, kC}, Values(4 * kC, 1.0f))
      .array("l", "bias:0", {1}, {3});
  Values spread;
  for (size_t y = 0; y < 2 * kH; ++y) {
    for (size_t x = 0; x < 2 * kW; ++x) {
      float sum = 3;
      for (size_t c = 0; c < kC; ++c) sum += picture()[c * kPlane + y / 2 * kW + x / 2];
      spread.push_back(sum);
    }
  }
  expect("Conv2DTranspose", transposed, spread);
  KerasModel dense = one("GlobalMaxPooling2D", json::object());
  dense.layer("Dense", {{"name", "d"}, {"activation", "relu"}});
  dense.array("d", "kernel:0", {kC, kC}, identity()).array("d", "bias:0", {kC}, {1, -9, 0.5f});
  Values peaks(kC, -100.0f);
  for (size_t i = 0; i < kC * kPlane; ++i) {
    peaks[i / kPlane] = std::max(peaks[i / kPlane], picture()[i]);
  }
  expect("Dense", dense, {peaks[0] + 1, 0, peaks[2] + 0.5f});
}

DVNN_TEST(layers_of_several_inputs_merge_them) {
  // x and 2 x + 1 and -x.
  auto merged = [](const char* class_name, json config, size_t count) {
    auto reference = [](const char* name) { return json{name, 0, 0, json::object()}; };
    auto layer = [&](const char* type, const char* name, json own, json nodes) {
      own["name"] = name;
      return json{{"class_name", type}, {"name", name}, {"config", own}, {"inbound_nodes", nodes}};
    };
    const json from_x = json::array({json::array({reference("x")})});
    json inputs = json::array();
    const char* names[] = {"a", "b", "c"};
    for (size_t i = 0; i < count; ++i) inputs.push_back(reference(names[i]));
    const json input = {
        {"batch_input_shape",
         {nullptr, static_cast<int>(kH), static_cast<int>(kW), static_cast<int>(kC)}}};
    return json{{"class_name", "Functional"},
                {"config",
                 {{"name", "f"},
                  {"layers",
                   {layer("InputLayer", "x", input, json::array()),
                    layer("Rescaling", "a", {{"scale", 1}, {"offset", 0.5}}, from_x),
                    layer("Rescaling", "b", {{"scale", 2}, {"offset", 1}}, from_x),
                    layer("Rescaling", "c", {{"scale", -1}, {"offset", 0}}, from_x),
                    layer(class_name, "m", std::move(config), json::array({inputs}))}},
                  {"input_layers", {{"x", 0, 0}}},
                  {"output_layers", {{"m", 0, 0}}}}}};
  };
  auto a = [](double x) { return x + 0.5; };
  auto b = [](double x) { return 2 * x + 1; };
  const std::tuple<const char*, const char*, size_t, std::function<double(double)>> kMerges[] = {
      {"Add", "sum", 3, [&](double x) { return a(x) + b(x) - x; }},
      {"Average", "ave", 3, [&](double x) { return (a(x) + b(x) - x) / 3; }},
      {"Maximum", "max", 3,
       [&](double x) {
         return std::max({a(x), b(x), -x});
       }},
      {"Multiply", "mul", 3, [&](double x) { return a(x) * b(x) * -x; }},
      {"Subtract", "", 2, [&](double x) { return a(x) - b(x); }}};
  for (const auto& [name, mode, count, function] : kMerges) {
    const auto* const f = &function;
    const Values want = each([f](double x, size_t) { return (*f)(x); });
    expect(name, KerasModel(), want, merged(name, json::object(), count));
    if (*mode) expect(mode, KerasModel(), want, merged("Merge", {{"mode", mode}}, count));
  }
  const Values first = each([&](double x, size_t) { return a(x); }),
               second = each([&](double x, size_t) { return b(x); });
  Values channels = first, columns;
  channels.insert(channels.end(), second.begin(), second.end());
  for (size_t row = 0; row < kC * kH; ++row) {
    for (const Values* part : {&first, &second}) {
      columns.insert(columns.end(), part->begin() + static_cast<ptrdiff_t>(row * kW),
                     part->begin() + static_cast<ptrdiff_t>(row * kW + kW));
    }
  }
  expect("Concatenate", KerasModel(), channels, merged("Concatenate", json::object(), 2));
  expect("columns", KerasModel(), columns, merged("Concatenate", {{"axis", 2}}, 2));
  expect("concat", KerasModel(), channels,
         merged("Merge", {{"mode", "concat"}, {"concat_axis", -1}}, 2));
  expect_refused(convert_model(KerasModel(), merged("Subtract", json::object(), 3)),
                 {"'m'", "two inputs"});
  expect_refused(convert_model(KerasModel(), merged("Merge", {{"mode", "dot"}}, 2)),
                 {"'m'", "mode", "dot"});
}

DVNN_TEST(pixels_go_where_keras_puts_them) {
  const Values in = picture();
  auto at = [&](size_t y, size_t x, size_t c) { return in[c * kPlane + y * kW + x]; };
  Values padded, doubled, tripled, between, turned, folded;
  for (size_t c = 0; c < kC; ++c) {
    for (size_t y = 0; y < kH + 3; ++y) {
      for (size_t x = 0; x < kW + 3; ++x) {  // one above, two below, three to the right
        padded.push_back(y >= 1 && y < kH + 1 && x < kW ? at(y - 1, x, c) : 0);
      }
    }
    for (size_t y = 0; y < 2 * kH; ++y) {
      for (size_t x = 0; x < 2 * kW; ++x) doubled.push_back(at(y / 2, x / 2, c));
    }
    for (size_t y = 0; y < 3 * kH; ++y) {
      for (size_t x = 0; x < 2 * kW; ++x) tripled.push_back(at(y / 3, x / 2, c));
    }
    for (size_t y = 0; y < kH; ++y) {
      for (size_t x = 0; x < 2 * kW; ++x) {
        const size_t low = std::max<size_t>(x, 1) / 2 - (x % 2 == 0 && x > 0 ? 1 : 0);
        const float share = x == 0 ? 0.0f : x % 2 == 0 ? 0.75f : 0.25f;
        between.push_back(at(y, low, c) * (1 - share) +
                          at(y, std::min(low + 1, kW - 1), c) * share);
      }
    }
  }
  expect("ZeroPadding2D", one("ZeroPadding2D", {{"padding", {{1, 2}, {0, 3}}}}), padded);
  expect("ZeroPadding2D", one("ZeroPadding2D", {{"padding", {1, 2, 0, 3}}}), padded);
  expect("UpSampling2D", one("UpSampling2D", {{"size", {2, 2}}}), doubled);
  expect("UpSampling2D", one("UpSampling2D", {{"size", {3, 2}}}), tripled);
  // Halfway between two pixels' centres are both alike, and at the edge is the edge's.
  expect("UpSampling2D", one("UpSampling2D", {{"size", {1, 2}}, {"interpolation", "bilinear"}}),
         between);
  expect_refused(convert_model(one("UpSampling2D", {{"interpolation", "bicubic"}})),
                 {"'l'", "bicubic", "bilinear"});
  expect_refused(convert_model(one("UpSampling2D", {{"data_format", "channels_first"}})),
                 {"'l'", "channels_first"});
  // (h, w, c) becomes (c, h, w): its channels are the old columns.
  for (size_t x = 0; x < kW; ++x) {
    for (size_t c = 0; c < kC; ++c) {
      for (size_t y = 0; y < kH; ++y) turned.push_back(at(y, x, c));
    }
  }
  expect("Permute", one("Permute", {{"dims", {3, 1, 2}}}), turned);
  expect_refused(convert_model(one("Permute", {{"dims", {3, 1, 4}}})), {"'l'", "each axis once"});
  // (4, 6, 3) becomes (3, 4, 6) by Keras' order.
  for (size_t c = 0; c < 6; ++c) {
    for (size_t y = 0; y < 3; ++y) {
      for (size_t x = 0; x < 4; ++x) {
        const size_t i = (y * 4 + x) * 6 + c;
        folded.push_back(at(i / (kW * kC), i / kC % kW, i % kC));
      }
    }
  }
  expect("Reshape", one("Reshape", {{"target_shape", {3, -1, 6}}}), folded);
  expect_refused(convert_model(one("Reshape", {{"target_shape", {-1, -1}}})),
                 {"'l'", "does not fit"});
}

}  // namespace dvnn::test::keras_layers_tests
